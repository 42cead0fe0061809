// The pass `overlap-products`: a product of the result of another one, as the second of attention,
// runs beside the next iteration.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Passes.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/analysis/SplitLoops.h"
#include "passes/analysis/StridedTile.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/MathExtras.h"

namespace tw {
#define GEN_PASS_DEF_OVERLAPPRODUCTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

//===-- Which product ------------------------------------------------------------------------===//

namespace {
/// A product that a loop starts last, of a tile that it computes from its other products, which it
/// starts first.
struct LateProduct {
  scf::ForOp loop;
  MmaAsyncOp first, lead, late;    // the first and the last of those before, and the last one
  BlockArgument sum;               // the carried accumulator
  SetVector<Operation *> scaling;  // what makes the accumulator of the carried one
  SmallVector<ReleaseOp> releases; // of its right operand's ring
  SetVector<Operation *> start;    // the slot that it reads, and itself
  SetVector<Value> needs;          // what those need of their iteration, beside the accumulator

  OperandRange yielded() { return loop.getBody()->getTerminator()->getOperands(); }
  /// Returns the needs that the loop does not carry as it is.
  SmallVector<Value> added();
  /// Returns the number of a need among what the loop carries, which those that are added follow.
  unsigned placeOf(Value need);
};
} // namespace

SmallVector<Value> LateProduct::added() {
  SmallVector<Value> values;
  for (Value need : needs)
    if (!llvm::is_contained(yielded(), need))
      values.push_back(need);
  return values;
}

unsigned LateProduct::placeOf(Value need) {
  SmallVector<Value> carried(yielded());
  llvm::append_range(carried, added());
  return llvm::find(carried, need) - carried.begin();
}

static SetVector<Operation *> makersOf(Value value, scf::ForOp loop) {
  SetVector<Operation *> makers;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  (void)getBackwardSlice(value, &makers, options);
  return makers;
}

/// Returns true if functions are computed of results of products, or sums over them: work for other
/// units than those that multiply.
static bool isComputedOfResults(Value operand, scf::ForOp loop) {
  SetVector<Operation *> makers = makersOf(operand, loop);
  return llvm::any_of(makers, llvm::IsaPred<MmaAsyncOp>) && llvm::any_of(makers, [](Operation *op) {
           return isa<tile::ReduceOp>(op) || isa<math::MathDialect>(op->getDialect());
         });
}

/// Returns true if a product needs no result of another one but as its accumulator.
static bool comesFirst(MmaAsyncOp product, scf::ForOp loop) {
  Value acc = product.getAcc();
  bool isChained = acc.getDefiningOp<MmaAsyncOp>();
  for (Value operand : {product.getA(), Value(product.getB()), acc})
    if (!(operand == acc && isChained) &&
        llvm::any_of(makersOf(operand, loop), llvm::IsaPred<MmaAsyncOp>))
      return false;
  return true;
}

/// Finds the products that a loop starts first and last.
static bool findProducts(LateProduct &found) {
  SmallVector<MmaAsyncOp> products;
  found.loop.getBody()->walk([&](MmaAsyncOp product) { products.push_back(product); });
  if (products.size() < 2 || llvm::any_of(products, [&](MmaAsyncOp product) {
        return product.getPartialDepth() || product->getBlock() != found.loop.getBody();
      }))
    return false;
  found.late = products.pop_back_val();
  found.first = products.front();
  found.lead = products.back();
  return isa<RankedTensorType>(found.late.getA().getType()) &&
         isComputedOfResults(found.late.getA(), found.loop) &&
         llvm::all_of(products, [&](MmaAsyncOp p) { return comesFirst(p, found.loop); });
}

/// Finds what makes the product's accumulator of the carried one, if nothing else needs that.
static bool findSum(LateProduct &found) {
  if (!found.late.getResult().hasOneUse())
    return false;
  OpOperand &use = *found.late.getResult().use_begin();
  if (use.getOwner() != found.loop.getBody()->getTerminator())
    return false;
  found.sum = found.loop.getRegionIterArg(use.getOperandNumber());
  SmallVector<Value> values = {found.sum};
  while (!values.empty()) {
    for (OpOperand &reader : values.pop_back_val().getUses()) {
      Operation *op = reader.getOwner();
      if (&reader == &found.late.getAccMutable() || found.scaling.contains(op))
        continue;
      if (op->getBlock() != found.loop.getBody() || !isMemoryEffectFree(op) ||
          op->hasTrait<OpTrait::IsTerminator>())
        return false;
      found.scaling.insert(op);
      llvm::append_range(values, op->getResults());
    }
  }
  SmallVector<Operation *> ordered(found.scaling.getArrayRef());
  llvm::sort(ordered, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  found.scaling = {ordered.begin(), ordered.end()};
  return found.late.getAcc() == found.sum ||
         found.scaling.contains(found.late.getAcc().getDefiningOp());
}

/// Finds what starts the product, which reads its right operand from a ring that a loader fills.
static bool findStart(LateProduct &found) {
  Block *body = found.loop.getBody();
  auto addSlot = [&](Value buffer) {
    auto slot = buffer.getDefiningOp<SlotOp>();
    if (!slot || !slot.getPhase() || slot->getBlock() != body)
      return false;
    found.start.insert(slot);
    found.needs.insert(slot.getNumber());
    return true;
  };
  Operation *ring = allocOf(found.late.getB());
  for (ReleaseOp release : body->getOps<ReleaseOp>())
    if (llvm::any_of(release.getBuffers(), [&](Value buffer) { return allocOf(buffer) == ring; }))
      found.releases.push_back(release);
  if (found.releases.empty() || !addSlot(found.late.getB()))
    return false;
  found.start.insert(found.late);
  found.needs.insert(found.late.getA());
  for (Operation *op = found.late->getNextNode(); op != body->getTerminator();
       op = op->getNextNode())
    if (!isMemoryEffectFree(op))
      return false;
  return true;
}

/// Returns true if copies still run ahead of the iteration that needs them first. Slots of what the
/// first products read, too, are released at the end of the next iteration: of two slots, none
/// would be filled meanwhile.
static bool runsAhead(LateProduct &found) {
  AllocSharedOp ring = allocOf(found.late.getB());
  bool isNeededFirst = false;
  found.loop.getBody()->walk([&](MmaAsyncOp product) {
    isNeededFirst |= product != found.late && allocOf(product.getB()) == ring;
  });
  for (ReleaseOp release : found.releases)
    isNeededFirst |= release.getBuffers().size() > 1;
  return !isNeededFirst || ring.getSlots().value_or(1) > 2;
}

static std::optional<LateProduct> findLateProduct(scf::ForOp loop) {
  LateProduct found;
  found.loop = loop;
  if (!findProducts(found) || !findSum(found) || !findStart(found) || !runsAhead(found))
    return std::nullopt;
  return found;
}

/// Returns the number of groups of warps that multiply.
static unsigned groupsOf(MmaAsyncOp product) {
  return layoutOf(product.getType()).size(Place::Warp) / product.getInstruction().getWarps();
}

/// Returns true if the registers of a thread hold the left operand as well, which is needed until
/// the next iteration's results are there. Threads of more than two groups have fewer.
static bool fits(LateProduct &found, tile::TargetAttr target) {
  return groupsOf(found.late) <= 2 &&
         registersIn(found.loop) + registersOf(found.late.getA()) <= registersForTiles(target);
}

//===-- Masked iterations behind it ----------------------------------------------------------===//

/// Returns true if two loops start the same product of the same values, carried at the same places.
static bool startAlike(LateProduct &one, LateProduct &other) {
  auto isAlike = [](auto pair) {
    auto [a, b] = pair;
    return OperationEquivalence::isEquivalentTo(a, b, OperationEquivalence::ignoreValueEquivalence,
                                                nullptr, OperationEquivalence::IgnoreLocations);
  };
  auto liesAlike = [&](auto pair) {
    auto [a, b] = pair;
    return a.getType() == b.getType() && one.placeOf(a) == other.placeOf(b);
  };
  return one.start.size() == other.start.size() && one.needs.size() == other.needs.size() &&
         one.sum.getArgNumber() == other.sum.getArgNumber() &&
         allocOf(one.late.getB()) == allocOf(other.late.getB()) &&
         llvm::all_of(llvm::zip(one.start, other.start), isAlike) &&
         llvm::all_of(llvm::zip(one.needs, other.needs), liesAlike);
}

/// Finds the loop of the masked iteration at an array's end that goes on behind another one, if its
/// code is right for any iteration of both: nothing in it was made simpler by where its counter
/// begins. Loops that run each time, as those on a diagonal, are faster by themselves.
static std::optional<LateProduct> findRest(LateProduct &main) {
  for (Operation *op = main.loop->getNextNode(); op; op = op->getNextNode()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop && (isa<LoaderOp>(op) || isMemoryEffectFree(op)))
      continue;
    bool isRest = loop && mainLoopOf(loop) == main.loop && main.loop->hasAttr(kLoopWholeSteps) &&
                  loop->hasAttr(kLoopOfEnd) &&
                  !loop.getBody()
                       ->walk([](tile::GatherOp) { return WalkResult::interrupt(); })
                       .wasInterrupted();
    std::optional<LateProduct> rest = isRest ? findLateProduct(loop) : std::nullopt;
    return rest && startAlike(main, *rest) ? rest : std::nullopt;
  }
  return std::nullopt;
}

//===-- The change ---------------------------------------------------------------------------===//

/// Puts behind everything else what waits for the product of the iteration before, and the
/// narrowing of the left operand, whose registers that product reads until then.
static void orderBehind(LateProduct &found) {
  for (ReleaseOp release : found.releases)
    release->moveBefore(found.late);
  for (Operation *op : found.scaling)
    op->moveBefore(found.late);
  Operation *narrowing = found.late.getA().getDefiningOp();
  if (narrowing && narrowing->getBlock() == found.loop.getBody() && isMemoryEffectFree(narrowing) &&
      found.late.getA().hasOneUse())
    narrowing->moveBefore(found.late);
}

namespace {
/// Divides a loop in its first iteration, which starts no product of an iteration before, and the
/// others; the last product follows behind. Masked iterations that go on from there use the same
/// code: each is a first iteration without others, whose masks the first one has as well.
class Divide {
public:
  Divide(LateProduct &found, std::optional<LateProduct> &rest)
      : found(found), rest(rest), loop(found.loop), builder(found.loop) {}
  void run();

private:
  void runIfAny();
  void runSegments();
  SmallVector<Value> iterateAll(LateProduct &first, Value from, Value to, ValueRange inits);
  scf::ForOp iterate(LateProduct &of, Value from, Value to, ValueRange inits, bool isFirst);
  Value startLate(ValueRange carried);
  void turn(TurnStep step);
  Value isLess(Value one, Value other);
  unsigned numCarried() { return loop.getNumRegionIterArgs(); }

  LateProduct &found;
  std::optional<LateProduct> &rest;
  scf::ForOp loop;
  OpBuilder builder;
};
} // namespace

/// Lets groups of warps take turns with starting products, where there are several: while one
/// computes, the other multiplies.
void Divide::turn(TurnStep step) {
  if (groupsOf(found.late) > 1)
    TurnOp::create(builder, found.late.getLoc(), step,
                   unsigned(found.late.getInstruction().getWarps()), /*group=*/Value());
}

/// Starts the product of the iteration before with what that has carried. Returns its result.
Value Divide::startLate(ValueRange carried) {
  IRMapping before;
  for (Value need : found.needs)
    before.map(need, carried[found.placeOf(need)]);
  before.map(found.late.getAcc(), carried[found.sum.getArgNumber() - 1]);
  for (Operation *op : found.start) {
    auto slot = dyn_cast<SlotOp>(builder.clone(*op, before));
    if (!slot)
      continue;
    int64_t slots = allocOf(slot).getSlots().value_or(1);
    slot.setPhase(llvm::mod(int64_t(*slot.getPhase()) - 1, slots));
  }
  return before.lookup(found.late.getResult());
}

scf::ForOp Divide::iterate(LateProduct &of, Value from, Value to, ValueRange inits, bool isFirst) {
  auto clone = scf::ForOp::create(builder, of.loop.getLoc(), from, to, loop.getStep(), inits,
                                  nullptr, loop.getUnsignedCmp());
  clone->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(clone.getBody());
  IRMapping mapping;
  mapping.map(of.loop.getBody()->getArguments(),
              clone.getBody()->getArguments().take_front(1 + numCarried()));
  for (Operation &op : of.loop.getBody()->without_terminator()) {
    if (&op == of.first && !isFirst)
      turn(TurnStep::Take);
    if (&op != of.late && !(of.start.contains(&op) && op.hasOneUse()))
      builder.clone(op, mapping);
    if (&op == of.lead && !isFirst) {
      mapping.map(of.sum, startLate(clone.getRegionIterArgs()));
      turn(TurnStep::Pass);
    }
  }
  SmallVector<Value> results(of.yielded());
  results[of.sum.getArgNumber() - 1] = of.late.getAcc();
  llvm::append_range(results, of.added());
  for (Value &result : results)
    result = mapping.lookupOrDefault(result);
  scf::YieldOp::create(builder, loop.getLoc(), results);
  return clone;
}

/// Runs the iterations between two bounds, one at least, and the last product of them.
SmallVector<Value> Divide::iterateAll(LateProduct &firstOf, Value from, Value to,
                                      ValueRange inits) {
  Location loc = loop.getLoc();
  SmallVector<Value> values(inits);
  for (Value value : found.added())
    values.push_back(arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(value.getType()))));
  Value second = arith::AddIOp::create(builder, loc, from, loop.getStep());
  scf::ForOp first = iterate(firstOf, from, second, values, /*isFirst=*/true);
  first->setAttr(kLoopOnce, builder.getUnitAttr());
  turn(TurnStep::Begin);
  scf::ForOp others = iterate(found, second, to, first.getResults(), /*isFirst=*/false);
  turn(TurnStep::End);
  SmallVector<Value> results(others.getResults().take_front(numCarried()));
  results[found.sum.getArgNumber() - 1] = startLate(others.getResults());
  return results;
}

Value Divide::isLess(Value one, Value other) {
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  return arith::CmpIOp::create(builder, loop.getLoc(), less, one, other);
}

void Divide::runIfAny() {
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), isLess(lower, upper), true);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, iterateAll(found, lower, upper, loop.getInitArgs()));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, loop.getInitArgs());
  loop.replaceAllUsesWith(branch.getResults());
}

/// Runs a loop over segments: all iterations without masks, if there are any, and each one of the
/// others. Its counter is the last iteration of a segment.
void Divide::runSegments() {
  builder.setInsertionPoint(rest->loop);
  Location loc = loop.getLoc();
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound(), step = loop.getStep();
  Value last = arith::SubIOp::create(builder, loc, upper, step);
  Value begin = arith::SelectOp::create(builder, loc, isLess(lower, upper), last, upper);
  auto segments = scf::ForOp::create(builder, loc, begin, rest->loop.getUpperBound(), step,
                                     loop.getInitArgs(), nullptr, loop.getUnsignedCmp());
  builder.setInsertionPointToStart(segments.getBody());
  Value counter = segments.getInductionVar();
  Value isMain = isLess(counter, upper);
  Value from = arith::SelectOp::create(builder, loc, isMain, lower, counter);
  Value second = arith::AddIOp::create(builder, loc, from, step);
  Value to = arith::SelectOp::create(builder, loc, isMain, upper, second);
  scf::YieldOp::create(builder, loc, iterateAll(*rest, from, to, segments.getRegionIterArgs()));
  rest->loop.replaceAllUsesWith(segments.getResults());
  rest->loop.erase();
}

void Divide::run() {
  orderBehind(found);
  if (rest) {
    orderBehind(*rest);
    runSegments();
  } else {
    runIfAny();
  }
  loop.erase();
}

namespace {
struct OverlapProducts : tw::impl::OverlapProductsBase<OverlapProducts> {
  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target)
      return;
    SmallVector<LateProduct> products;
    getOperation().walk([&](scf::ForOp loop) {
      std::optional<LateProduct> late;
      if (!loop->hasAttr(tile::kLoopShort))
        late = findLateProduct(loop);
      if (late && fits(*late, target))
        products.push_back(std::move(*late));
    });
    for (LateProduct &late : products) {
      emitCodedRemark(late.late, Code::PipelinedLoads)
          << "this product runs beside the next iteration";
      std::optional<LateProduct> rest = findRest(late);
      Divide(late, rest).run();
    }
  }
};
} // namespace
