// The pass `lower-amd`: what one thread does in the `simt` dialect becomes LLVM dialect with
// intrinsics. Control flow and arithmetic stay for lower-to-llvm.
#include "backend/amd/LowerAmd.h"
#include "backend/amd/addresses/LoopProgress.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::amd;

Value tw::amd::callIntrinsic(Lowering &lowering, const Twine &name, Type result,
                             ValueRange operands) {
  OpBuilder &b = lowering.builder;
  StringAttr intrinsic = b.getStringAttr("llvm." + name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, lowering.loc, intrinsic, operands);
    return {};
  }
  return LLVM::CallIntrinsicOp::create(b, lowering.loc, result, intrinsic, operands).getResults();
}

Value tw::amd::readNumber(Lowering &lowering, const Twine &name, int64_t lower, int64_t upper) {
  OpBuilder &b = lowering.builder;
  Value number = callIntrinsic(lowering, name, b.getI32Type(), /*operands=*/{});
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, lower, upper);
  NamedAttribute attribute(LLVM::LLVMDialect::getRangeAttrName(), range);
  number.getDefiningOp<LLVM::CallIntrinsicOp>().setResAttrsAttr(
      b.getArrayAttr(b.getDictionaryAttr(attribute)));
  return number;
}

Value tw::amd::threadId(Lowering &lowering) {
  return readNumber(lowering, "amdgcn.workitem.id.x", 0,
                    int64_t(lowering.arch.warpSize) * lowering.numWarps);
}

Value tw::amd::programId(Lowering &lowering, unsigned axis) {
  auto place = [&](unsigned axis) {
    return readNumber(lowering, Twine("amdgcn.workgroup.id.") + Twine("xyz"[axis]), 0, INT32_MAX);
  };
  return gpu::programInOrder(lowering, axis, place,
                             [&](unsigned axis) { return numPrograms(lowering, axis); });
}

/// The numbers of programs are the first of the arguments that the driver adds to the user's ("Code
/// Object V5 Metadata", hidden_block_count_x and so on).
Value tw::amd::numPrograms(Lowering &lowering, unsigned axis) {
  OpBuilder &b = lowering.builder;
  auto constantMemory = LLVM::LLVMPointerType::get(b.getContext(), 4);
  Value hidden = callIntrinsic(lowering, "amdgcn.implicitarg.ptr", constantMemory, {});
  Value place = LLVM::GEPOp::create(b, lowering.loc, constantMemory, b.getI8Type(), hidden,
                                    ArrayRef<LLVM::GEPArg>{int32_t(4 * axis)});
  return LLVM::LoadOp::create(b, lowering.loc, b.getI32Type(), place, /*alignment=*/4,
                              /*isVolatile=*/false, /*isNonTemporal=*/false, /*isInvariant=*/true);
}

/// One of the hardware's registers: `bits` of it from `first` on ("S_GETREG_B32").
static Value readRegister(Lowering &lowering, unsigned number, unsigned first, unsigned bits) {
  return callIntrinsic(lowering, "amdgcn.s.getreg", lowering.builder.getI32Type(),
                       constantI32(lowering, int64_t(number | first << 6 | (bits - 1) << 11)));
}

/// The compute unit: HW_ID of CDNA has it from bit 8 on, with the shader array and engine above it;
/// CDNA 3 numbers its dies in XCC_ID. HW_ID1 of RDNA has the work-group processor from bit 10 on.
static Value processorNumber(Lowering &lowering) {
  OpBuilder &b = lowering.builder;
  if (lowering.arch.generation > 9)
    return readRegister(lowering, /*HW_ID1=*/23, 10, 11);
  Value unit = readRegister(lowering, /*HW_ID=*/4, 8, 8);
  if (lowering.arch.matrix == AmdMatrix::Mfma2)
    return unit;
  Value die = readRegister(lowering, /*XCC_ID=*/20, 0, 4);
  die = LLVM::ShlOp::create(b, lowering.loc, die, constantI32(lowering, 8));
  return LLVM::OrOp::create(b, lowering.loc, die, unit);
}

/// The steady clock of all these machines runs at 100 MHz.
static Value readMachine(Lowering &lowering, tile::MachineFact fact) {
  OpBuilder &b = lowering.builder;
  Type i64 = b.getI64Type();
  if (fact == tile::MachineFact::Clock) {
    Value ticks = callIntrinsic(lowering, "readsteadycounter", i64, {});
    return LLVM::MulOp::create(b, lowering.loc, ticks, constantOf(lowering, i64, 10));
  }
  return LLVM::ZExtOp::create(b, lowering.loc, i64, processorNumber(lowering));
}

static Value lowerPure(Lowering &lowering, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<simt::ThreadIdOp>([&](auto) { return threadId(lowering); })
      .Case([&](simt::ProgramIdOp id) { return programId(lowering, id.getAxis()); })
      .Case([&](simt::NumProgramsOp num) { return numPrograms(lowering, num.getAxis()); })
      .Case([&](simt::ShuffleOp shuffle) { return amd::lowerShuffle(lowering, shuffle); })
      .Case([&](simt::SharedAddressOp address) {
        return sharedAddress(lowering, address.getOffset());
      })
      .Case([&](simt::ApproxOp approx) { return lowerApprox(lowering, approx); })
      .Case([&](simt::RoundTf32Op round) { return emitRoundTf32(lowering, round.getSource()); })
      .Case([&](simt::DivideOp divide) { return lowerDivide(lowering, divide); })
      .Case([&](simt::MachineOp machine) { return readMachine(lowering, machine.getFact()); })
      .Default([](Operation *) { return Value(); });
}

/// Lowers what is done for its effect and never refused; false where `op` is something else.
static bool lowerEffect(Lowering &lowering, Operation *op) {
  bool isEffect = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](simt::BarrierOp barrier) { lowerBarrier(lowering, barrier); })
      .Case([&](simt::GlobalLoadOp load) { lowerGlobalLoad(lowering, load); })
      .Case([&](simt::GlobalStoreOp store) { lowerGlobalStore(lowering, store); })
      .Case([&](simt::AtomicOp atomic) { lowerAtomic(lowering, atomic); })
      .Case([&](simt::AssertOp check) { lowerAssert(lowering, check); })
      .Case([&](simt::LoadTransposedOp load) { lowerLoadTransposed(lowering, load); })
      .Case([&](simt::GlobalToSharedOp copy) { lowerGlobalToShared(lowering, copy); })
      .Case([&](simt::CopyArrayOp copy) { lowerCopyArray(lowering, copy); })
      .Case([&](simt::CopiesWaitOp wait) { lowerCopiesWait(lowering, wait); })
      .Default([&](Operation *) { isEffect = false; });
  return isEffect;
}

static LogicalResult lowerOperation(Lowering &lowering, Operation *op) {
  if (Value value = lowerPure(lowering, op)) {
    op->getResult(0).replaceAllUsesWith(value);
    return success();
  }
  if (lowerEffect(lowering, op))
    return success();
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](simt::MmaFragmentOp mma) { return lowerMmaFragment(lowering, mma); })
      .Case([&](simt::InlineAsmOp assembly) { return lowerInlineAsm(lowering, assembly); })
      .Case([&](simt::PrintOp print) { return lowerPrint(lowering, print); })
      .Default([](Operation *op) { return op->emitOpError("has no meaning for one thread"); });
}

static LogicalResult lowerKernel(LLVM::LLVMFuncOp kernel, unsigned numWarps, const AmdArch &arch,
                                 const AmdLimits &limits) {
  Lowering lowering(kernel, numWarps, targetOf(kernel), arch);
  lowering.hasPrint = limits.hasPrint;
  lowering.keepsFarOffsets = limits.keepsFarOffsets;
  lowering.order = limits.order;
  computeFinalValues(kernel, [&](Value value) { return lowering.uniform.contains(value); });
  if (failed(
          lowerOperations(lowering, [&](Operation *op) { return lowerOperation(lowering, op); })))
    return failure();
  if (!arch.roundsToBf16)
    roundToBf16(kernel);
  declareKernel(kernel, numWarps, arch, limits);
  return success();
}

namespace {
struct LowerAmd : PassWrapper<LowerAmd, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerAmd)
  LowerAmd(const AmdArch &arch, AmdLimits limits) : arch(arch), limits(limits) {}
  StringRef getArgument() const override { return "lower-amd"; }
  StringRef getDescription() const override {
    return "what one thread does becomes intrinsics of AMD's GPUs";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    if (failed(lowerKernels(getOperation(), [&](LLVM::LLVMFuncOp kernel, unsigned numWarps) {
          return lowerKernel(kernel, numWarps, arch, limits);
        })))
      signalPassFailure();
  }
  const AmdArch &arch;
  AmdLimits limits;
};
} // namespace

std::unique_ptr<Pass> tw::createLowerAmd(const AmdArch &arch, AmdLimits limits) {
  return std::make_unique<LowerAmd>(arch, limits);
}

ArrayRef<PassInput> tw::amdPassInputs() {
  static constexpr PassInput inputs[] = {{"lower-amd", "lowered-bytes"}};
  return inputs;
}

void tw::registerAmdPasses() {
  registerPass([] { return createLowerAmd(*findAmdArch("gfx942")); });
}
