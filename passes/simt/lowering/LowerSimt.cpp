// The pass `lower-simt`: walks a kernel in order; each tile becomes the registers of one thread.
#include "ir/Diagnostic.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/Passes.h"
#include "passes/analysis/CopiesInFlight.h"
#include "passes/analysis/LoaderNeeds.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/analysis/ProductsInFlight.h"
#include "passes/analysis/SourcePlace.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "runtime/arguments/ArgumentSpec.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tw {
#define GEN_PASS_DEF_LOWERSIMT
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

/// Operations of one scalar per program: they need no registers. False for others.
static bool lowerScalar(SimtFunction &f, Operation *op) {
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](tile::ProgramIdOp id) {
        f.setRegisters(id, {f.create<simt::ProgramIdOp>(id.getAxis())});
        return true;
      })
      .Case([&](tile::NumProgramsOp count) {
        f.setRegisters(count, {f.create<simt::NumProgramsOp>(count.getAxis())});
        return true;
      })
      .Case([&](tile::MachineOp machine) {
        Type type = f.builder.getI64Type();
        f.setRegisters(machine, {f.create<simt::MachineOp>(type, machine.getFact())});
        return true;
      })
      .Case([&](tile::OrderLaunchesOp order) {
        f.create<simt::OrderLaunchesOp>(order.getOrder());
        return true;
      })
      .Case([&](AssumeOp assume) {
        f.create<LLVM::AssumeOp>(f.scalarOf(assume.getCondition()));
        return true;
      })
      .Case([&](simt::BarrierOp barrier) {
        f.create<simt::BarrierOp>(barrier.getWarp(), barrier.getLoader(), barrier.getCluster());
        return true;
      })
      .Case([&](TurnOp turn) {
        Value group = f.create<arith::DivUIOp>(f.warp, f.constantI32(turn.getWarps()));
        f.create<TurnOp>(turn.getStep(), turn.getWarps(), group);
        return true;
      })
      .Case([&](AsyncCommitOp) {
        f.create<AsyncCommitOp>();
        return true;
      })
      .Case([&](AsyncWaitOp wait) {
        f.create<AsyncWaitOp>(wait.getPending());
        return true;
      })
      .Case([&](FenceAsyncOp fence) {
        f.create<FenceAsyncOp>(fence.getGlobal());
        return true;
      })
      .Case([](AllocSharedOp) { return true; })
      .Case([&](func::ReturnOp) {
        f.create<LLVM::ReturnOp>(ValueRange());
        return true;
      })
      .Default([](Operation *) { return false; });
}

LogicalResult SimtFunction::lowerOperation(Operation *op) {
  loc = op->getLoc();
  if (tile::isAtomic(op))
    return lowerAtomic(op);
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp loop) { return lowerFor(loop); })
      .Case([&](scf::IfOp branch) { return lowerIf(branch); })
      .Case([&](scf::WhileOp loop) { return lowerWhile(loop); })
      .Case([&](LoadOp load) { return lowerLoad(load); })
      .Case([&](StoreOp store) { return lowerStore(store); })
      .Case([&](ReduceOp reduce) { return lowerReduce(reduce); })
      .Case([&](PartialReduceOp reduce) { return lowerPartialReduce(reduce); })
      .Case([&](ScanOp scan) { return lowerScan(scan); })
      .Case([&](ConvertLayoutOp convert) { return lowerConvertLayout(convert); })
      .Case([&](StoreSharedOp store) { return lowerStoreShared(store); })
      .Case([&](LoadSharedOp load) { return lowerLoadShared(load); })
      .Case([&](GatherSharedOp gather) { return lowerGatherShared(gather); })
      .Case([&](DotSharedOp dot) { return lowerDotShared(dot); })
      .Case([&](MmaOp mma) { return lowerMma(mma); })
      .Case([&](MmaAsyncOp mma) { return lowerMmaAsync(mma); })
      .Case([&](MmaWaitOp wait) { return lowerMmaWait(wait); })
      .Case([&](SlotOp slot) { return lowerSlot(slot); })
      .Case([&](AsyncCopyOp copy) { return lowerAsyncCopy(copy); })
      .Case([&](ArrayCopyOp copy) { return lowerArrayCopy(copy); })
      .Case([&](BoxCopyOp copy) { return lowerBoxCopy(copy); })
      .Case([&](BoxStoreOp store) { return lowerBoxStore(store); })
      .Case([&](LoadBlocksOp load) { return lowerLoadBlocks(load); })
      .Case<PhaseInitOp, PhaseDropOp, PhaseAwaitOp, ReleaseOp>(
          [&](Operation *phase) { return lowerPhase(phase); })
      .Case([&](LoaderOp loader) { // which was lowered beside the program
        for (Value result : loader.getResults())
          setRegisters(result, {constantI32(0)}); // which only the loader uses
        return success();
      })
      .Case([&](tile::PrintOp print) { return lowerPrint(print); })
      .Case([&](tile::AssertOp check) { return lowerAssert(check); })
      .Case([&](tile::InlineAsmOp assembly) { return lowerInlineAsm(assembly); })
      .Case<ArangeOp, ShapeOp, JoinOp, SplitOp>([&](Operation *shape) { return lowerShape(shape); })
      .Default([&](Operation *other) {
        return lowerScalar(*this, other) ? success() : lowerElementwise(other);
      });
}

LogicalResult SimtFunction::lowerBlock(Block &block) {
  for (Operation &op : block) {
    if (isa<scf::YieldOp, scf::ConditionOp>(op))
      return success(); // the enclosing operation's lowering writes what they carry
    if (failed(lowerOperation(&op)))
      return failure();
  }
  return success();
}

/// Returns true if the kernel both reads and writes an argument's memory, or may wait for another
/// launch, which may write there. Its threads then see values of others, which LLVM assumes to be
/// impossible in the code of one thread whose pointer aliases no other.
static bool isChangedByOthers(func::FuncOp kernel, Value argument) {
  bool isRead = false, isWritten = false;
  kernel.walk([&](Operation *op) {
    auto note = [&](Value pointer, bool reads, bool writes) {
      if ((isRead || !reads) && (isWritten || !writes))
        return;
      bool isMet = mayAlias(argument, pointer);
      isRead |= reads && isMet;
      isWritten |= writes && isMet;
    };
    if (auto access = dyn_cast<tile::MemoryAccess>(op)) {
      auto load = dyn_cast<tile::LoadOp>(op);
      bool mayChange = access.isOrdered() || (load && load.getIsVolatile());
      note(access.getPointers(), access.readsMemory(), mayChange);
    }
    auto mapped = [&](uint32_t map) {
      auto attribute = cast<TensorMapAttr>(tensorMapsOf(kernel)[map]);
      return kernel.getArgument(attribute.getArgument());
    };
    if (auto store = dyn_cast<BoxStoreOp>(op))
      note(mapped(store.getMap()), /*reads=*/store.getKind().has_value(), /*writes=*/true);
    if (auto copy = dyn_cast<BoxCopyOp>(op))
      for (int32_t map : copy.getMaps())
        note(mapped(map), /*reads=*/true, /*writes=*/false);
    if (auto load = dyn_cast<LoadBlocksOp>(op))
      note(load.getBase(), /*reads=*/true, /*writes=*/false);
    if (auto copy = dyn_cast<ArrayCopyOp>(op))
      note(copy.getBase(), /*reads=*/true, /*writes=*/false);
    if (auto assembly = dyn_cast<tile::InlineAsmOp>(op)) {
      isRead |= !assembly.getIsPure();
      isWritten |= !assembly.getIsPure();
    }
    isRead |= awaitsLaunches(op);
    isWritten |= awaitsLaunches(op);
  });
  return isRead && isWritten;
}

/// Returns for each argument of a kernel whether an access may be below it.
static BitVector findAccessesBelow(func::FuncOp kernel, const IndexFacts &facts) {
  BitVector below(kernel.getNumArguments());
  kernel.walk([&](MemoryAccess access) {
    Value pointers = access.getPointers();
    if (facts.of(pointers).isNonNegative)
      return;
    if (std::optional<SmallVector<unsigned>> arguments = argumentsBehind(pointers))
      for (unsigned argument : *arguments)
        below.set(argument);
    else
      below.set();
  });
  return below;
}

/// Tells what LLVM and machines may know of the kernel's arguments.
static void addArgumentFacts(func::FuncOp source, LLVM::LLVMFuncOp lowered,
                             const IndexFacts &facts) {
  Builder builder(source.getContext());
  BitVector below = findAccessesBelow(source, facts);
  for (BlockArgument argument : source.getArguments()) {
    unsigned number = argument.getArgNumber();
    for (const ArgumentFact &fact : kArgumentFacts)
      if (source.getArgAttr(number, fact.attribute))
        lowered.setArgAttr(number, fact.attribute, builder.getUnitAttr());
    if (!isa<PtrType>(argument.getType()))
      continue;
    if (!below[number])
      lowered.setArgAttr(number, kArgForward, builder.getUnitAttr());
    if (source.getArgAttr(number, kArgDisjoint) && !isChangedByOthers(source, argument))
      lowered.setArgAttr(number, "llvm.noalias", builder.getUnitAttr());
    auto divisibility = source.getArgAttrOfType<IntegerAttr>(number, kArgDivisibility);
    if (divisibility && llvm::isPowerOf2_64(divisibility.getInt()))
      lowered.setArgAttr(number, "llvm.align", builder.getI64IntegerAttr(divisibility.getInt()));
  }
}

LogicalResult SimtFunction::emitPrologue() {
  thread = create<ThreadIdOp>();
  lane = create<arith::AndIOp>(thread, constantI32(machine.warpSize - 1));
  warp = create<arith::ShRUIOp>(thread, constantI32(llvm::Log2_32(machine.warpSize)));
  prologueEnd = warp.getDefiningOp();
  return success();
}

/// Elements of a tile that a thread may have: twice the registers of the largest register file.
/// Such a tile still compiles in a second, with most of it spilled; larger ones take minutes.
static constexpr int64_t kMaxElementsPerThread = 512;

static LogicalResult checkRegisters(func::FuncOp kernel) {
  int64_t numThreads = threadsOf(kernel).count(), limit = kMaxElementsPerThread * numThreads;
  WalkResult result = kernel.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    for (auto tile :
         llvm::make_filter_range(op->getResultTypes(), llvm::IsaPred<RankedTensorType>)) {
      int64_t count = cast<RankedTensorType>(tile).getNumElements();
      if (count <= limit)
        continue;
      InFlightDiagnostic error = emitCoded(placeOf(op), Code::ThreadExceeded)
                                 << "a tile of " << count
                                 << " elements needs more registers than a thread has";
      error.attachNote() << "with " << numThreads << " threads the largest is of " << limit
                         << ": loop over smaller tiles, launch more programs, or raise num_warps";
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult SimtFunction::lower() {
  MLIRContext *context = source.getContext();
  SmallVector<Type> arguments;
  for (Type type : source.getArgumentTypes())
    arguments.push_back(lowerType(type));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), arguments);
  builder.setInsertionPoint(source);
  auto lowered = create<LLVM::LLVMFuncOp>(source.getName(), type);
  lowered->setAttr(kKernel, builder.getUnitAttr());
  addArgumentFacts(source, lowered, facts);
  function = lowered;
  Block *entry = lowered.addEntryBlock(builder);
  builder.setInsertionPointToStart(entry);
  if (failed(emitPrologue()))
    return failure();
  for (auto [from, to] : llvm::zip(source.getArguments(), entry->getArguments()))
    setRegisters(from, {to});
  if (failed(lowerRoles(source.getBody().front())))
    return failure();
  tile::CopyAttr copy = laneCopyOf(target);
  if (packedCopyOf(target) || (copy && copy.getWait() == WaitKind::Counts))
    awaitByCounts(lowered);
  source.erase();
  return success();
}

/// Checks that nothing comes before a copy into its memory, or a product that it needs, is done;
/// where something does, that is a fault of the passes before.
static LogicalResult checkInFlight(func::FuncOp function) {
  SetVector<Operation *> early = reachedInFlight(function);
  if (!early.empty())
    return early.front()->emitError("'") << early.front()->getName() << "' " << kReachedInFlight;
  return checkProductsInFlight(
      function, [](Operation *op) { return op->emitError("'") << op->getName() << "' "; });
}

namespace {
struct LowerSimt : tw::impl::LowerSimtBase<LowerSimt> {
  void runOnOperation() override {
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (failed(checkRegisters(function)) || failed(checkInFlight(function)) ||
          failed(SimtFunction(function).lower()))
        return signalPassFailure();
  }
};
} // namespace
