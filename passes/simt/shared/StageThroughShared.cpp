// The pass `stage-through-shared`: data that moves between warps goes through explicit buffers in
// shared memory.
#include "ir/layout/DerivedLayouts.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/shared/Staging.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tw {
#define GEN_PASS_DEF_STAGETHROUGHSHARED
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

static void stageConversion(Staging &staging, ConvertLayoutOp op) {
  if (!staging.buffers.prefersShared(op.getSource().getType(), op.getType()))
    return;
  Value moved = staging.inParts(op.getSource(), op.getType(), "conversion");
  op.replaceAllUsesWith(moved);
  op.erase();
}

//===-- Reductions and scans -----------------------------------------------------------------===//

/// A reduction or scan of other sources. Results have types that follow from theirs.
static Operation *cloneOnto(Staging &staging, Operation *op, ValueRange sources, TypeRange types) {
  OpBuilder &builder = staging.builder;
  OperationState state(op->getLoc(), op->getName(), sources, types, op->getAttrs());
  state.addRegion();
  Operation *clone = builder.create(state);
  IRMapping mapping;
  op->getRegion(0).cloneInto(&clone->getRegion(0), mapping);
  return clone;
}

static void replaceConverted(Staging &staging, Operation *op, ValueRange values) {
  for (auto [result, value] : llvm::zip(op->getResults(), values))
    result.replaceAllUsesWith(staging.convert(value, result.getType(), "result"));
  op->erase();
}

/// `op` with its sources in another layout, of which `resultType` makes the results' types.
static Operation *withSourceLayout(Staging &staging, Operation *op, const LinearLayout &layout,
                                   function_ref<Type(Type)> resultType) {
  SmallVector<Value> sources;
  SmallVector<Type> types;
  for (Value source : op->getOperands()) {
    Type type = withLayout(source.getType(), layout);
    sources.push_back(staging.convert(source, type, "operand"));
    types.push_back(resultType(type));
  }
  Operation *clone = cloneOnto(staging, op, sources, types);
  replaceConverted(staging, op, clone->getResults());
  return clone;
}

/// The partial results of each warp, as a tile whose axis counts the warps' pieces.
static SmallVector<Value> reducePartially(Staging &staging, ReduceOp op) {
  SmallVector<Type> types;
  for (Value source : op.getSources())
    types.push_back(partiallyReducedType(source.getType(), op.getAxis()));
  auto partial = PartialReduceOp::create(staging.builder, op.getLoc(), types, op.getSources(),
                                         op.getAxis(), op.getCommutative());
  IRMapping mapping;
  op.getCombine().cloneInto(&partial.getCombine(), mapping);
  Operation *yield = partial.getCombine().front().getTerminator();
  OpBuilder atEnd(yield);
  simt::YieldOp::create(atEnd, yield->getLoc(), yield->getOperands());
  yield->erase();
  return partial.getResults();
}

/// Where every thread that is to hold an element of `reduced` finds its pieces: in registers, or,
/// where there are many, in lanes that would only hold copies of the result.
static LinearLayout gatheredPieces(const LinearLayout &partial, const LinearLayout *reduced,
                                   unsigned axis) {
  static constexpr unsigned kManyPieces = 3; // 2^3: three shuffles cost less than eight reads
  unsigned first = partial.firstBitOf(axis), count = partial.numBitsOf(axis);
  uint32_t below = (uint32_t(1) << first) - 1;
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane, Place::Warp}) {
    if (!reduced) {
      if (place != Place::Register)
        bases[unsigned(place)].assign(partial.numBits(place), 0);
      continue;
    }
    for (uint32_t basis : reduced->bases(place))
      bases[unsigned(place)].push_back((basis & below) | ((basis & ~below) << count));
  }
  LinearLayout::Bases &lanes = bases[unsigned(Place::Lane)];
  bool inLanes = count >= kManyPieces && llvm::count(lanes, 0u) >= int64_t(count);
  auto *lane = lanes.begin();
  LinearLayout::Bases inRegisters;
  for (unsigned piece = 0; piece < count; ++piece) {
    uint32_t basis = uint32_t(1) << (first + piece);
    if (!inLanes) {
      inRegisters.push_back(basis);
      continue;
    }
    lane = std::find(lane, lanes.end(), 0u);
    *lane = basis;
  }
  LinearLayout::Bases &registers = bases[unsigned(Place::Register)];
  registers.insert(registers.begin(), inRegisters.begin(), inRegisters.end());
  return LinearLayout(partial.shape(), bases);
}

/// Warps reduce their pieces, exchange the small results, and every warp reduces those it needs.
static void reduceAcrossWarps(Staging &staging, ReduceOp op) {
  SmallVector<Value> partial = reducePartially(staging, op);
  Type reduced = op.getResultTypes().front();
  LinearLayout pieces =
      gatheredPieces(layoutOf(partial.front().getType()),
                     hasLayout(reduced) ? &layoutOf(reduced) : nullptr, op.getAxis());
  SmallVector<Type> types;
  for (Value value : partial)
    types.push_back(withLayout(value.getType(), pieces));
  SmallVector<Value> gathered = staging.throughShared(partial, types, "reduction");
  Operation *rest = cloneOnto(staging, op, gathered, op.getResultTypes());
  op.replaceAllUsesWith(rest);
  op.erase();
}

/// A layout along an axis for the threads of a program.
static AlongAxis alongAxis(Operation *op, unsigned axis, bool hasWarps) {
  Threads threads = threadsOf(op);
  return {axis, hasWarps, threads.lanes, threads.warps};
}

static void stageReduce(Staging &staging, ReduceOp op) {
  unsigned axis = op.getAxis();
  if (tile::combinesPairs(op.getCombine()))
    op.setCommutative(true);
  const LinearLayout &layout = layoutOf(op.getSources().front().getType());
  bool isInOrder = op.getCommutative() || warpsHoldHighestBits(layout, axis);
  if (!isInOrder || !partiallyReducedType(op.getSources().front().getType(), axis)) {
    LinearLayout inOrder = layoutAlong(layout.shape(), alongAxis(op, axis, /*hasWarps=*/true));
    op = cast<ReduceOp>(
        withSourceLayout(staging, op, inOrder, [&](Type type) { return reducedType(type, axis); }));
    staging.builder.setInsertionPoint(op);
  }
  if (!warpBitsAlong(layoutOf(op.getSources().front().getType()), axis).empty())
    reduceAcrossWarps(staging, op);
}

static void stageScan(Staging &staging, ScanOp op) {
  unsigned axis = op.getAxis();
  Type type = op.getSources().front().getType();
  if (partiallyReducedType(type, axis) && warpBitsAlong(layoutOf(type), axis).empty())
    return;
  withSourceLayout(staging, op, layoutAlong(shapeOf(type), alongAxis(op, axis, /*hasWarps=*/false)),
                   [](Type source) { return source; });
}

//===-- Gathers and products -----------------------------------------------------------------===//

/// The slot that a tile is read from, if it is one of an iteration's copies; else null.
static Value slotOf(Value tile) {
  if (auto conversion = tile.getDefiningOp<ConvertLayoutOp>())
    tile = conversion.getSource();
  auto load = tile.getDefiningOp<LoadSharedOp>();
  return load && load.getBuffer().getDefiningOp<SlotOp>() ? load.getBuffer() : Value();
}

/// The buffer that a tile was written to before an operation, and nothing else is; or null.
static Value bufferBefore(Operation *op, Value tile) {
  for (Operation *user : tile.getUsers()) {
    auto store = dyn_cast<StoreSharedOp>(user);
    Operation *around = store ? store->getBlock()->findAncestorOpInBlock(*op) : nullptr;
    if (!around || !store->isBeforeInBlock(around))
      continue;
    auto alloc = store.getBuffer().getDefiningOp<AllocSharedOp>();
    bool isWhole = alloc && llvm::all_of(alloc->getUsers(), [&](Operation *other) {
                     return other == store || isa<LoadSharedOp, GatherSharedOp>(other);
                   });
    if (isWhole)
      return store.getBuffer();
  }
  return {};
}

/// Gathers from where the tile is in shared memory, or from a buffer of its own.
static void stageGather(Staging &staging, GatherOp op) {
  Type source = op.getSource().getType();
  SmallVector<int32_t> order = rowMajorOrder(shapeOf(source).size());
  Value buffer = slotOf(op.getSource());
  if (!buffer)
    buffer = bufferBefore(op, op.getSource());
  if (!buffer)
    buffer =
        staging.store(op.getSource(), sharedLayout(shapeOf(source), order), "source of gather");
  Value result = GatherSharedOp::create(staging.builder, op.getLoc(), op.getType(), buffer,
                                        op.getIndices(), op.getAxis());
  op.replaceAllUsesWith(result);
  op.erase();
}

static void stageDot(Staging &staging, DotOp op) {
  const LinearLayout &acc = layoutOf(op.getType());
  auto stage = [&](Value operand, bool isRight, StringRef purpose) -> Value {
    if (Value slot = slotOf(operand))
      return slot;
    LinearLayout reads = dotOperandReads(acc, shapeOf(operand.getType()), isRight);
    unsigned bytes = elementBytes(elementTypeOf(operand.getType()));
    return staging.store(operand,
                         conflictFreeLayout(layoutOf(operand.getType()), reads, bytes,
                                            staging.buffers.machine.banks),
                         purpose);
  };
  Value a = stage(op.getA(), false, "operand A of dot"),
        b = stage(op.getB(), true, "operand B of dot");
  Value result = DotSharedOp::create(staging.builder, op.getLoc(), op.getType(), a, b, op.getAcc(),
                                     op.getPrecision());
  op.replaceAllUsesWith(result);
  op.erase();
}

//===-- Join and split -----------------------------------------------------------------------===//

static void stageJoin(Staging &staging, JoinOp op) {
  LinearLayout paired = pairOf(layoutOf(op.getLhs().getType()));
  if (layoutOf(op.getType()).registersFrom(paired))
    return;
  Value joined = JoinOp::create(staging.builder, op.getLoc(), withLayout(op.getType(), paired),
                                op.getLhs(), op.getRhs());
  op.replaceAllUsesWith(staging.convert(joined, op.getType(), "join"));
  op.erase();
}

static void stageSplit(Staging &staging, SplitOp op) {
  LinearLayout paired = pairOf(layoutOf(op.getLhs().getType()));
  Type source = op.getSource().getType();
  if (paired.registersFrom(layoutOf(source)))
    return;
  op.getSourceMutable().assign(
      staging.convert(op.getSource(), withLayout(source, paired), "split"));
}

//===-- Atomics ------------------------------------------------------------------------------===//

/// Returns true if several threads hold the same element of a tile. All of them hold a scalar.
static bool isInSeveralThreads(Type value) {
  return !hasLayout(value) || hasCopies(layoutOf(value));
}

/// One thread does the atomic of an element; the others that hold the element read the old value
/// through shared memory. So they do with what a machine says, which differs from thread to thread.
static void shareAtomicResult(Staging &staging, Operation *op) {
  Value result = op->getResult(0);
  if (result.use_empty() || !isInSeveralThreads(result.getType()))
    return;
  staging.builder.setInsertionPointAfter(op);
  SmallPtrSet<Operation *, 1> stores;
  Value shared = staging.throughShared(
      result, result.getType(),
      isa<tile::MachineOp>(op) ? "fact of the machine" : "result of atomic", &stores);
  result.replaceAllUsesExcept(shared, stores);
}

static void stageOperation(Staging &staging, Operation *op) {
  staging.builder.setInsertionPoint(op);
  staging.loc = op->getLoc();
  if (tile::isAtomic(op))
    return shareAtomicResult(staging, op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ConvertLayoutOp convert) { stageConversion(staging, convert); })
      .Case([&](ReduceOp reduce) { stageReduce(staging, reduce); })
      .Case([&](ScanOp scan) { stageScan(staging, scan); })
      .Case([&](GatherOp gather) { stageGather(staging, gather); })
      .Case([&](DotOp dot) { stageDot(staging, dot); })
      .Case([&](JoinOp join) { stageJoin(staging, join); })
      .Case([&](SplitOp split) { stageSplit(staging, split); })
      .Case([&](tile::MachineOp machine) { shareAtomicResult(staging, machine); })
      .Case([&](tile::BarrierOp barrier) {
        simt::BarrierOp::create(staging.builder, op->getLoc(), /*warp=*/false);
        barrier.erase();
      });
}

/// Stages all of a module, and with `copy` stores of boxes as the machine copies them.
static void stageModule(ModuleOp module, CopyAttr copy) {
  Staging staging(module);
  staging.mostBytesOfPart = mostBytesOfPart(module);
  // First: what they read from shared memory, no conversion moves.
  stageAsyncProducts(staging, module);
  if (copy)
    for (auto kernel : module.getOps<func::FuncOp>())
      if (!kernel.isExternal())
        stageStores(staging, kernel, copy);
  SmallVector<Operation *> operations;
  module.walk([&](Operation *op) { operations.push_back(op); });
  for (Operation *op : operations)
    stageOperation(staging, op);
  module.walk([](Block *block) { sinkLoads(*block); });
}

namespace {
struct StageThroughShared : tw::impl::StageThroughSharedBase<StageThroughShared> {
  void runOnOperation() override {
    TargetAttr target = targetOf(getOperation());
    CopyAttr copy = boxCopyOf(target);
    if (!copy)
      return stageModule(getOperation(), nullptr);
    // Tiles that threads store go through shared memory in rounds where they do not fit; boxes do
    // not.
    OwningOpRef<ModuleOp> withBoxes = getOperation().clone();
    stageModule(*withBoxes, copy);
    bool fits = llvm::all_of(withBoxes->getOps<func::FuncOp>(), [&](func::FuncOp kernel) {
      return packedBytes(findLiveBuffers(kernel)) <= target.getSharedBytes();
    });
    if (!fits)
      return stageModule(getOperation(), nullptr);
    getOperation()->setAttrs(withBoxes->getOperation()->getAttrs());
    getOperation().getBodyRegion().takeBody(withBoxes->getBodyRegion());
  }
};
} // namespace
