// The pass `lower-nvidia`: what one thread does in the `simt` dialect becomes LLVM dialect with
// intrinsics and inline PTX. Control flow and arithmetic stay for lower-to-llvm.
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/InlinePtx.h"
#include "backend/nvidia/assemble/RegisterLimit.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;
using namespace tw::nvidia;

LLVM::CallIntrinsicOp tw::nvidia::callIntrinsic(Lowering &lowering, const Twine &name, Type result,
                                                ValueRange operands) {
  OpBuilder &b = lowering.builder;
  StringAttr intrinsic = b.getStringAttr("llvm.nvvm." + name);
  if (!result)
    return LLVM::CallIntrinsicOp::create(b, lowering.loc, intrinsic, operands);
  return LLVM::CallIntrinsicOp::create(b, lowering.loc, result, intrinsic, operands);
}

Value tw::nvidia::readSpecialRegister(Lowering &lowering, StringRef name, int64_t lower,
                                      int64_t upper) {
  OpBuilder &b = lowering.builder;
  auto read = callIntrinsic(lowering, "read.ptx.sreg." + name, b.getI32Type(), /*operands=*/{});
  auto range = LLVM::ConstantRangeAttr::get(b.getContext(), 32, lower, upper);
  NamedAttribute attribute(LLVM::LLVMDialect::getRangeAttrName(), range);
  read.setResAttrsAttr(b.getArrayAttr(b.getDictionaryAttr(attribute)));
  return read.getResults();
}

/// Extents of a grid: CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability".
static int64_t maxGridExtent(unsigned axis) { return axis == 0 ? INT32_MAX : 65535; }

static Value readGrid(Lowering &lowering, const char *name, unsigned axis, int64_t lower,
                      int64_t upper) {
  return readSpecialRegister(lowering, std::string(name) + "." + "xyz"[axis], lower, upper);
}

static Value numPrograms(Lowering &lowering, unsigned axis) {
  return readGrid(lowering, "nctaid", axis, 1, maxGridExtent(axis) + 1);
}

Value tw::nvidia::programId(Lowering &lowering, unsigned axis) {
  auto place = [&](unsigned axis) {
    return readGrid(lowering, "ctaid", axis, 0, maxGridExtent(axis));
  };
  return programInOrder(lowering, axis, place,
                        [&](unsigned axis) { return numPrograms(lowering, axis); });
}

/// The registers differ from read to read, so that no read may replace another (PTX ISA, "Special
/// Registers").
static Value readMachine(Lowering &lowering, tile::MachineFact fact) {
  InlinePtx code(lowering.builder, lowering.loc);
  Type i32 = lowering.builder.getI32Type(), i64 = lowering.builder.getI64Type();
  if (fact == tile::MachineFact::Clock) {
    std::string result = code.addResult(i64, Value());
    return code.emit("mov.u64 " + result + ", %globaltimer;", /*hasEffects=*/true).front();
  }
  std::string result = code.addResult(i32, Value());
  Value number = code.emit("mov.u32 " + result + ", %smid;", /*hasEffects=*/true).front();
  return LLVM::ZExtOp::create(lowering.builder, lowering.loc, i64, number);
}

/// All threads of a CTA wait; of a CTA of one warp, the lanes.
static unsigned warpsOfCta(const Lowering &lowering) {
  return lowering.numWarps + simt::extraWarpsOf(lowering.kernel);
}

/// Beside a loader the warps of the program meet at a barrier of their own. Those of a cluster meet
/// with all loaders; threads that have ended are not waited for.
static void lowerBarrier(Lowering &lowering, simt::BarrierOp op) {
  if (op.getCluster()) {
    callIntrinsic(lowering, "barrier.cluster.arrive.aligned", Type(), {});
    callIntrinsic(lowering, "barrier.cluster.wait.aligned", Type(), {});
    return;
  }
  unsigned numWarps = lowering.numWarps + op.getLoader(); // its other warps have left
  if (op.getWarp() || numWarps == 1)
    callIntrinsic(lowering, "bar.warp.sync", Type(), constantI32(lowering, -1));
  else if (numWarps < warpsOfCta(lowering))
    callIntrinsic(
        lowering, "barrier.cta.sync.aligned.count", Type(),
        {constantI32(lowering, op.getLoader() ? 0 : 1), constantI32(lowering, 32 * numWarps)});
  else
    callIntrinsic(lowering, "barrier.cta.sync.aligned.all", Type(), constantI32(lowering, 0));
}

/// PTX ISA, "griddepcontrol". LLVM's intrinsics for it claim to access no memory, so that loads
/// might move across them; this text may access all.
static void lowerOrderLaunches(Lowering &lowering, simt::OrderLaunchesOp op) {
  bool awaits = op.getOrder() == tile::LaunchOrder::Await;
  InlinePtx code(lowering.builder, lowering.loc);
  code.clobbersMemory();
  code.emit(awaits ? "griddepcontrol.wait;" : "griddepcontrol.launch_dependents;",
            /*hasEffects=*/true);
}

/// Shuffles one 32-bit register. The last operand is the clamp and segment mask of PTX: with 0 an
/// upward shuffle stops at lane 0, with 31 the others stop at lane 31.
static Value shuffleWord(Lowering &lowering, simt::ShuffleMode mode, Value word, Value lane) {
  const char *name = mode == simt::ShuffleMode::Xor     ? "bfly"
                     : mode == simt::ShuffleMode::Index ? "idx"
                     : mode == simt::ShuffleMode::Up    ? "up"
                                                        : "down";
  Value clamp = constantI32(lowering, mode == simt::ShuffleMode::Up ? 0 : 31);
  return callIntrinsic(lowering, Twine("shfl.sync.") + name + ".i32", word.getType(),
                       {constantI32(lowering, -1), word, lane, clamp})
      .getResults();
}

Value tw::nvidia::lowerWordShuffle(Lowering &lowering, simt::ShuffleOp op) {
  return lowerShuffle(lowering, op, [&](Value word, Value lane) {
    return shuffleWord(lowering, op.getMode(), word, lane);
  });
}

/// The instruction of an approximation. Without .ftz subnormals are kept, at the price of scaling
/// the operand where the result may be one.
static const char *approximation(simt::ApproxKind kind) {
  switch (kind) {
  case simt::ApproxKind::Exp2:
    return "ex2.approx.f32";
  case simt::ApproxKind::Exp2Flushed:
    return "ex2.approx.ftz.f32";
  case simt::ApproxKind::Log2:
    return "lg2.approx.f32";
  case simt::ApproxKind::Reciprocal:
    return "rcp.approx.f32";
  case simt::ApproxKind::ReciprocalFlushed:
    return "rcp.approx.ftz.f32";
  case simt::ApproxKind::Sqrt:
    return "sqrt.approx.f32";
  case simt::ApproxKind::Rsqrt:
    return "rsqrt.approx.f32";
  case simt::ApproxKind::Sin:
    return "sin.approx.f32";
  case simt::ApproxKind::Cos:
    return "cos.approx.f32";
  case simt::ApproxKind::Tanh:
    return "tanh.approx.f32";
  }
  return nullptr;
}

static Value lowerPure(Lowering &lowering, Operation *op) {
  OpBuilder &b = lowering.builder;
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<simt::ThreadIdOp>([&](auto) {
        return readSpecialRegister(lowering, "tid.x", 0, 32 * int64_t(warpsOfCta(lowering)));
      })
      .Case<simt::ProgramIdOp>(
          [&](simt::ProgramIdOp id) { return programId(lowering, id.getAxis()); })
      .Case<simt::ClusterRankOp>([&](auto) {
        return readSpecialRegister(lowering, "cluster.ctarank", 0, simt::clusterSizeOf(op));
      })
      .Case<simt::NumProgramsOp>(
          [&](simt::NumProgramsOp num) { return numPrograms(lowering, num.getAxis()); })
      .Case<simt::ShuffleOp>(
          [&](simt::ShuffleOp shuffle) { return lowerWordShuffle(lowering, shuffle); })
      .Case<simt::SharedAddressOp>([&](simt::SharedAddressOp address) {
        return sharedAddress(lowering, address.getOffset());
      })
      .Case<simt::ApproxOp>([&](simt::ApproxOp approx) {
        return emitPureInstruction(b, lowering.loc, approximation(approx.getKind()), b.getF32Type(),
                                   approx.getSource());
      })
      .Case<simt::RoundTf32Op>([&](simt::RoundTf32Op round) {
        Value bits = emitPureInstruction(b, lowering.loc, "cvt.rna.tf32.f32", b.getI32Type(),
                                         round.getSource());
        return LLVM::BitcastOp::create(b, lowering.loc, b.getF32Type(), bits).getResult();
      })
      .Case<simt::DivideOp>([&](simt::DivideOp divide) {
        return emitPureInstruction(b, lowering.loc, "div.full.f32", b.getF32Type(),
                                   {divide.getLhs(), divide.getRhs()});
      })
      .Default([](Operation *) { return Value(); });
}

/// Lowers what is done for its effect and never refused; false where `op` is something else.
static bool lowerEffect(Lowering &lowering, Operation *op) {
  bool isEffect = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](simt::BarrierOp barrier) { lowerBarrier(lowering, barrier); })
      .Case([&](simt::OrderLaunchesOp order) { lowerOrderLaunches(lowering, order); })
      .Case([&](simt::LoadMatrixOp load) { lowerLoadMatrix(lowering, load); })
      .Case([&](simt::StoreMatrixOp store) { lowerStoreMatrix(lowering, store); })
      .Case([&](simt::MmaFragmentOp mma) { lowerMmaFragment(lowering, mma); })
      .Case([&](simt::GroupMmaOp mma) { lowerGroupMma(lowering, mma); })
      .Case([&](simt::GroupWaitOp wait) { lowerGroupWait(lowering, wait); })
      .Case([&](simt::FenceAsyncOp fence) {
        InlinePtx(lowering.builder, lowering.loc)
            .emit(fence.getGlobal() ? "fence.proxy.async;" : "fence.proxy.async.shared::cta;",
                  /*hasEffects=*/true);
      })
      .Case([&](simt::GlobalToSharedOp copy) { lowerGlobalToShared(lowering, copy); })
      .Case([&](simt::PhaseInitOp init) { lowerPhaseInit(lowering, init); })
      .Case([&](simt::PhaseDropOp drop) { lowerPhaseDrop(lowering, drop); })
      .Case([&](simt::PhaseExpectOp expect) { lowerPhaseExpect(lowering, expect); })
      .Case([&](simt::PhaseAwaitOp phase) { lowerPhaseAwait(lowering, phase); })
      .Case([&](simt::PhaseArriveOp arrive) { lowerPhaseArrive(lowering, arrive); })
      .Case([&](simt::TurnOp turn) { lowerTurn(lowering, turn); })
      .Case([&](simt::ShareRegistersOp share) { lowerShareRegisters(lowering, share); })
      .Case([&](simt::ElectOp elect) { lowerElect(lowering, elect); })
      .Case([&](simt::TensorMapOp map) { lowerTensorMap(lowering, map); })
      .Case([&](simt::CopyBoxOp copy) { lowerCopyBox(lowering, copy); })
      .Case([&](simt::StoreBoxOp store) { lowerStoreBox(lowering, store); })
      .Case([&](simt::StoresWaitOp wait) { lowerStoresWait(lowering, wait); })
      .Case([&](simt::AsyncCommitOp) {
        callIntrinsic(lowering, "cp.async.commit.group", Type(), {});
      })
      .Case([&](simt::AsyncWaitOp wait) {
        callIntrinsic(lowering, "cp.async.wait.group", Type(),
                      constantI32(lowering, wait.getPending()));
      })
      .Case([&](simt::GlobalLoadOp load) { lowerGlobalLoad(lowering, load); })
      .Case([&](simt::GlobalStoreOp store) { lowerGlobalStore(lowering, store); })
      .Case([&](simt::MachineOp machine) {
        machine.replaceAllUsesWith(readMachine(lowering, machine.getFact()));
      })
      .Case([&](simt::AtomicOp atomic) { lowerAtomic(lowering, atomic); })
      .Case([&](simt::PrintOp print) { lowerPrint(lowering, print); })
      .Case([&](simt::AssertOp check) { lowerAssert(lowering, check); })
      .Default([&](Operation *) { isEffect = false; });
  return isEffect;
}

static LogicalResult lowerOperation(Lowering &lowering, Operation *op) {
  if (Value value = lowerPure(lowering, op)) {
    op->getResult(0).replaceAllUsesWith(value);
    return success();
  }
  if (isFloat8Cast(op)) {
    lowerFloat8Cast(lowering, op);
    return success();
  }
  if (lowerEffect(lowering, op))
    return success();
  if (auto assembly = dyn_cast<simt::InlineAsmOp>(op))
    return lowerInlineAsm(lowering, assembly);
  return op->emitOpError("has no meaning for one thread");
}

/// Makes the function a kernel of `numWarps` warps, with those beside the program's.
static void declareKernel(LLVM::LLVMFuncOp kernel, unsigned numWarps, unsigned maxRegisters) {
  Builder b(kernel.getContext());
  kernel.setCConv(LLVM::cconv::CConv::PTX_Kernel);
  auto attribute = [&](StringRef name, unsigned value) -> Attribute {
    return b.getStrArrayAttr({name, std::to_string(value)});
  };
  SmallVector<Attribute> launch = {attribute("nvvm.reqntid", 32 * numWarps)};
  if (sharesRegisters(kernel)) // all begin with an equal share of one CTA
    launch.push_back(attribute("nvvm.minctasm", 1));
  else if (maxRegisters > 0)
    launch.push_back(attribute("nvvm.maxnreg", std::min(maxRegisters, shareOf(32 * numWarps))));
  if (simt::clusterSizeOf(kernel) > 1) {
    auto [x, y, z] = simt::clusterOf(kernel);
    std::string extents = llvm::formatv("{0},{1},{2}", x, y, z).str();
    launch.push_back(b.getStrArrayAttr({"nvvm.cluster_dim", extents}));
  }
  kernel.setPassthroughAttr(b.getArrayAttr(launch));
  dropArgumentFacts(kernel);
}

static LogicalResult lowerKernel(LLVM::LLVMFuncOp kernel, unsigned numWarps, unsigned maxRegisters,
                                 const ProgramOrder &order) {
  Lowering lowering(kernel, numWarps, targetOf(kernel));
  lowering.order = order;
  lowering.maxRegisters = maxRegisters;
  kernel.walk([&](simt::GroupMmaOp mma) {
    for (simt::SlabsAttr slabs : {mma.getBSlabs(), mma.getASlabs().value_or(mma.getBSlabs())})
      lowering.sharedAlignment = std::max(lowering.sharedAlignment, slabs.getGroupBytes());
  });
  addTensorMaps(kernel);
  chooseLoaderWarps(lowering);
  if (failed(lowerOperations(
          lowering, [&](Operation *op) { return lowerOperation(lowering, op); }, isFloat8Cast)))
    return failure();
  declareKernel(kernel, warpsOfCta(lowering), maxRegisters);
  return success();
}

namespace {
struct LowerNvidia : PassWrapper<LowerNvidia, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerNvidia)
  LowerNvidia(unsigned maxRegisters, ProgramOrder order)
      : maxRegisters(maxRegisters), order(order) {}
  StringRef getArgument() const override { return "lower-nvidia"; }
  StringRef getDescription() const override {
    return "what one thread does becomes intrinsics and inline PTX";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry
        .insert<LLVM::LLVMDialect, arith::ArithDialect, scf::SCFDialect, vector::VectorDialect>();
  }
  void runOnOperation() override {
    if (failed(lowerKernels(getOperation(), [&](LLVM::LLVMFuncOp kernel, unsigned numWarps) {
          return lowerKernel(kernel, numWarps, maxRegisters, order);
        })))
      signalPassFailure();
  }
  unsigned maxRegisters;
  ProgramOrder order;
};
} // namespace

std::unique_ptr<Pass> tw::createLowerNvidia(unsigned maxRegisters, ProgramOrder order) {
  return std::make_unique<LowerNvidia>(maxRegisters, order);
}

ArrayRef<PassInput> tw::nvidiaPassInputs() {
  static constexpr PassInput inputs[] = {{"describe-target", "tile"},
                                         {"lower-nvidia", "lowered-bytes"},
                                         {"attach-line-tables", "llvm-dialect"}};
  return inputs;
}

void tw::registerNvidiaPasses() {
  registerPass([] { return createLowerNvidia(); });
}
