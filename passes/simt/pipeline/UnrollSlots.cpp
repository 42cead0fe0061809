// Writes two iterations of a loop one after the other where two slots take turns: then the number
// of each access's slot is known, and its place in shared memory is an immediate offset. A last
// iteration alone comes behind the loop, and has nothing to copy. Where there is one slot, that
// leaves a loop whose copies have no mask.
#include "ir/simt/MmaLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/simt/pipeline/LoopPipeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Matrix instructions of one warp and iteration; behind more, addresses do not count.
static constexpr int64_t kMostProducts = 64;

static int64_t productsOf(MmaOp mma) {
  tile::MmaAttr instruction = mma.getInstruction();
  int64_t count = tile::numElementsOf(mma.getType()) * tile::shapeOf(mma.getA().getType()).back() /
                  (int64_t(instruction.getM()) * instruction.getN() * instruction.getK());
  for (int64_t warps : mma.getWarps())
    count /= warps;
  return std::max<int64_t>(1, count);
}

/// Returns true if the loop does little besides its products, so that address computations are a
/// good part of it.
static bool isOfProducts(scf::ForOp loop) {
  int64_t products = 0;
  WalkResult result = loop.getBody()->walk([&](Operation *op) {
    if (isa<scf::ForOp, scf::WhileOp, scf::IfOp, tile::ReduceOp, tile::ScanOp, tile::DotOp>(op))
      return WalkResult::interrupt();
    if (auto mma = dyn_cast<MmaOp>(op))
      products += productsOf(mma);
    return WalkResult::advance();
  });
  return !result.wasInterrupted() && products > 0 && products <= kMostProducts;
}

namespace {
/// The loop whose last carried value is the slot.
struct Unroller {
  Unroller(scf::ForOp loop, Value exists, unsigned numSlots)
      : loop(loop), exists(exists), numSlots(numSlots), b(loop), loc(loop.getLoc()),
        numCarried(loop.getNumRegionIterArgs() - 1) {}

  void run();
  Value constant(Type type, int64_t value) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(type, value));
  }
  Value numIterations();
  SmallVector<Value> copyBody(Value induction, ValueRange carried, int64_t number, bool copies);
  Value numRounds(Value count);
  scf::ForOp createRounds(Value count);
  scf::IfOp createLast(Value count, scf::ForOp rounds);

  scf::ForOp loop;
  Value exists; // whether the next iteration does
  unsigned numSlots;
  OpBuilder b;
  Location loc;
  size_t numCarried;
};
} // namespace

/// (upper - lower - 1) / step + 1, without signs, cannot overflow.
Value Unroller::numIterations() {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Type type = lower.getType();
  Value one = constant(type, 1);
  Value reach = arith::SubIOp::create(b, loc, upper, lower);
  reach = arith::SubIOp::create(b, loc, reach, one);
  Value count = arith::DivUIOp::create(b, loc, reach, loop.getStep());
  count = arith::AddIOp::create(b, loc, count, one);
  Value isEntered = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, lower, upper);
  return arith::SelectOp::create(b, loc, isEntered, count, constant(type, 0));
}

/// Returns true if an operation only serves the iteration after its own: it writes its tile to the
/// buffer's next stage.
static bool writesNextSlot(Operation *op) {
  Value buffer;
  if (auto store = dyn_cast<StoreSharedOp>(op))
    buffer = store.getBuffer();
  else if (auto copy = dyn_cast<AsyncCopyOp>(op))
    buffer = copy.getBuffer();
  else if (auto rows = dyn_cast<ArrayCopyOp>(op))
    buffer = rows.getBuffer();
  auto slot = buffer ? buffer.getDefiningOp<SlotOp>() : SlotOp();
  return slot && slot.getPhase() && *slot.getPhase() != 0;
}

/// One iteration, of an even or odd `number`; `copies` where the next one may exist. Returns what
/// it carries on.
SmallVector<Value> Unroller::copyBody(Value induction, ValueRange carried, int64_t number,
                                      bool copies) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), induction);
  mapping.map(loop.getRegionIterArgs().drop_back(), carried);
  mapping.map(loop.getRegionIterArgs().back(), constant(b.getI32Type(), number));
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (!copies && writesNextSlot(&op))
      continue;
    Operation *copy = b.clone(op, mapping);
    if (auto slot = dyn_cast<SlotOp>(copy)) {
      if (!copies)
        slot.removePhaseAttr();
      else if (slot.getPhase())
        slot.setPhase(int64_t(*slot.getPhase()) + number);
    }
    // Behind the first iteration of a round there is always one; behind the last there is none.
    if (exists && op.getResults() == ValueRange(exists) && (!copies || number == 0))
      mapping.map(exists, constant(b.getI1Type(), copies));
  }
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues().drop_back())
    yielded.push_back(mapping.lookupOrDefault(value));
  return yielded;
}

/// Rounds of one iteration for each slot, such that the first of a round is never the last of all.
Value Unroller::numRounds(Value count) {
  Value one = constant(count.getType(), 1);
  if (numSlots == 2)
    return arith::ShRUIOp::create(b, loc, count, one);
  return arith::SubIOp::create(b, loc, count, arith::MinUIOp::create(b, loc, count, one));
}

scf::ForOp Unroller::createRounds(Value count) {
  Type type = count.getType();
  SmallVector<Value> inits(loop.getInitArgs().drop_back());
  inits.push_back(loop.getLowerBound());
  auto rounds =
      scf::ForOp::create(b, loc, constant(type, 0), numRounds(count), constant(type, 1), inits);
  rounds->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rounds.getBody());
  Value induction = rounds.getRegionIterArgs().back();
  SmallVector<Value> carried(rounds.getRegionIterArgs().drop_back());
  for (unsigned slot = 0; slot < numSlots; ++slot) {
    carried = copyBody(induction, carried, slot, /*copies=*/true);
    induction = arith::AddIOp::create(b, loc, induction, loop.getStep());
  }
  carried.push_back(induction);
  scf::YieldOp::create(b, loc, carried);
  return rounds;
}

scf::IfOp Unroller::createLast(Value count, scf::ForOp rounds) {
  Type type = count.getType();
  Value left = numSlots == 2 ? arith::AndIOp::create(b, loc, count, constant(type, 1)) : count;
  Value isLeft = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, left, constant(type, 0));
  ValueRange carried = rounds.getResults().take_front(numCarried);
  auto last = scf::IfOp::create(b, loc, carried.getTypes(), isLeft, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(last.thenBlock());
  SmallVector<Value> results = copyBody(rounds.getResults().back(), carried, 0, /*copies=*/false);
  if (carried.empty()) // the branches were built with their terminators
    return last;
  scf::YieldOp::create(b, loc, results);
  b.setInsertionPointToStart(last.elseBlock());
  scf::YieldOp::create(b, loc, carried);
  return last;
}

void Unroller::run() {
  Value count = numIterations();
  scf::ForOp rounds = createRounds(count);
  scf::IfOp last = createLast(count, rounds);
  for (size_t i = 0; i < numCarried; ++i)
    loop.getResult(i).replaceAllUsesWith(last.getResult(i));
  loop.erase();
}

void tw::simt::unrollSlots(scf::ForOp loop, Value exists, unsigned numSlots) {
  if (isOfProducts(loop))
    Unroller(loop, exists, numSlots).run();
}
