// The pass `lower-spirv`: what one thread does in the `simt` dialect becomes LLVM dialect with
// functions of OpenCL. Control flow and arithmetic stay for lower-to-llvm.
#include "backend/spirv/LowerSpirv.h"
#include "backend/gpu/BranchedAccess.h"
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::spirv;

static Value lowerPure(Lowering &lowering, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<simt::ThreadIdOp>([&](auto) { return threadId(lowering); })
      .Case([&](simt::ProgramIdOp id) { return programId(lowering, id.getAxis()); })
      .Case([&](simt::NumProgramsOp num) { return numPrograms(lowering, num.getAxis()); })
      .Case([&](simt::ShuffleOp shuffle) { return spirv::lowerShuffle(lowering, shuffle); })
      .Case([&](simt::SharedAddressOp address) {
        return sharedAddress(lowering, address.getOffset());
      })
      .Case([&](simt::ApproxOp approx) { return lowerApprox(lowering, approx); })
      .Case([&](simt::RoundTf32Op round) { return emitRoundTf32(lowering, round.getSource()); })
      .Case([&](simt::DivideOp divide) {
        return divideNearly(lowering, divide.getLhs(), divide.getRhs());
      })
      .Default([](Operation *) { return Value(); });
}

/// Lowers what is done for its effect and never refused; false where `op` is something else.
static bool lowerEffect(Lowering &lowering, Operation *op) {
  bool isEffect = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](simt::BarrierOp barrier) { lowerBarrier(lowering, barrier); })
      .Case([&](simt::GlobalLoadOp load) { lowerLoadByBranch(lowering, load); })
      .Case([&](simt::GlobalStoreOp store) { lowerStoreByBranch(lowering, store); })
      .Case([&](simt::AtomicOp atomic) { lowerAtomic(lowering, atomic); })
      .Case([&](simt::PrintOp print) { spirv::lowerPrint(lowering, print); })
      .Case([&](simt::AssertOp check) { spirv::lowerAssert(lowering, check); })
      .Default([&](Operation *) { isEffect = false; });
  return isEffect;
}

/// Reports what OpenCL has no word for.
static LogicalResult refuse(Operation *op) {
  const char *what = nullptr, *hint = nullptr;
  if (isa<simt::MachineOp>(op)) {
    what = "OpenCL has neither a clock in nanoseconds nor numbers of processors";
    hint = "time launches from the host";
  } else if (isa<simt::InlineAsmOp>(op)) {
    what = "SPIR-V has no assembly of the machine that executes it";
    hint = "write the operation in the language";
  }
  if (!what)
    return op->emitOpError("has no meaning for one thread");
  InFlightDiagnostic error = emitCoded(op, Code::ThreadExceeded) << what;
  error.attachNote(op->getLoc()) << hint;
  return failure();
}

static LogicalResult lowerOperation(Lowering &lowering, Operation *op) {
  if (Value value = lowerPure(lowering, op)) {
    op->getResult(0).replaceAllUsesWith(value);
    return success();
  }
  if (auto product = dyn_cast<simt::MmaFragmentOp>(op))
    return lowerMmaFragment(lowering, product);
  if (auto load = dyn_cast<simt::LoadBlockOp>(op))
    return lowerLoadBlock(lowering, load);
  return lowerEffect(lowering, op) ? success() : refuse(op);
}

static LogicalResult lowerKernel(LLVM::LLVMFuncOp kernel, unsigned numWarps, const SpirvArch &arch,
                                 SpirvRunner runner, const ProgramOrder &order) {
  Lowering lowering(kernel, numWarps, targetOf(kernel), arch, runner);
  lowering.order = order;
  if (auto bytes = lowering.module->getAttrOfType<IntegerAttr>(simt::kSharedBytes))
    lowering.sharedBytes = unsigned(bytes.getInt());
  if (runner == SpirvRunner::Simulator)
    lowering.stackSpace = 5; // as the simulator's other machines number it
  addFailureWord(lowering);
  if (arch.splitsBarriers)
    splitBarriers(lowering);
  if (failed(
          lowerOperations(lowering, [&](Operation *op) { return lowerOperation(lowering, op); })))
    return failure();
  expandBf16(lowering);
  if (runner == SpirvRunner::Driver)
    expandWideProducts(lowering);
  declareKernel(lowering);
  return success();
}

namespace {
struct LowerSpirv : PassWrapper<LowerSpirv, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerSpirv)
  LowerSpirv(const SpirvArch &arch, SpirvRunner runner, ProgramOrder order)
      : arch(arch), runner(runner), order(order) {}
  StringRef getArgument() const override { return "lower-spirv"; }
  StringRef getDescription() const override {
    return "what one thread does becomes functions of OpenCL";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    if (failed(lowerKernels(getOperation(), [&](LLVM::LLVMFuncOp kernel, unsigned numWarps) {
          return lowerKernel(kernel, numWarps, arch, runner, order);
        })))
      signalPassFailure();
  }
  const SpirvArch &arch;
  SpirvRunner runner;
  ProgramOrder order;
};
} // namespace

std::unique_ptr<Pass> tw::createLowerSpirv(const SpirvArch &arch, SpirvRunner runner,
                                           ProgramOrder order) {
  return std::make_unique<LowerSpirv>(arch, runner, order);
}

ArrayRef<PassInput> tw::spirvPassInputs() {
  static constexpr PassInput inputs[] = {{"lower-spirv", "lowered-bytes"}};
  return inputs;
}

void tw::registerSpirvPasses() {
  registerPass([] { return createLowerSpirv(*findSpirvArch("generic16")); });
}
