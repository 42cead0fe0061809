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
#include "passes/simt/product/MergeLoops.h"
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
  auto computes = [](Operation *op) {
    return isa<tile::ReduceOp>(op) || isa<math::MathDialect>(op->getDialect())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return llvm::any_of(makers, llvm::IsaPred<MmaAsyncOp>) &&
         llvm::any_of(makers, [&](Operation *op) { return op->walk(computes).wasInterrupted(); });
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

/// Moves scaled values down to the sums that take the product in: up to there, one of both needs
/// registers.
static void sinkIntoSums(scf::ForOp loop) {
  // Two products of one sum would move behind each other for ever.
  for (arith::MulFOp product : llvm::to_vector(loop.getBody()->getOps<arith::MulFOp>())) {
    Operation *user = product->hasOneUse() ? *product->user_begin() : nullptr;
    bool isScaled = registersOf(product.getLhs()) == 0 || registersOf(product.getRhs()) == 0;
    if (isScaled && isa_and_nonnull<arith::AddFOp, arith::SubFOp>(user) &&
        user->getBlock() == product->getBlock())
      product->moveBefore(user);
  }
}

//===-- Masked iterations behind it ----------------------------------------------------------===//

/// Finds the loop of the masked iteration at an array's end that goes on behind another one, if its
/// last product can run beside the next iteration, too. Loops that run each time, as those on a
/// diagonal, are faster by themselves.
static scf::ForOp findRest(scf::ForOp main) {
  for (Operation *op = main->getNextNode(); op; op = op->getNextNode()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop && (isa<LoaderOp>(op) || isMemoryEffectFree(op)))
      continue;
    bool isRest = loop && mainLoopOf(loop) == main && main->hasAttr(kLoopWholeSteps) &&
                  loop->hasAttr(kLoopOfEnd) && findLateProduct(loop);
    return isRest ? loop : nullptr;
  }
  return nullptr;
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
/// Makes each iteration of a loop start the last product of the one before, behind its own first
/// ones; that of the last iteration follows behind the loop.
class Overlap {
public:
  explicit Overlap(LateProduct &found) : found(found), loop(found.loop), builder(found.loop) {}
  void run();

private:
  SmallVector<Value> iterate();
  void startInLaterIterations(scf::ForOp clone, IRMapping &mapping);
  Value startLate(ValueRange carried);
  void turn(TurnStep step);

  LateProduct &found;
  scf::ForOp loop;
  OpBuilder builder;
};
} // namespace

/// Lets groups of warps take turns with starting products, where there are several: while one
/// computes, the other multiplies.
void Overlap::turn(TurnStep step) {
  if (groupsOf(found.late) > 1)
    TurnOp::create(builder, found.late.getLoc(), step,
                   unsigned(found.late.getInstruction().getWarps()), /*group=*/Value());
}

/// Starts the product of the iteration before with what that has carried. Returns its result.
Value Overlap::startLate(ValueRange carried) {
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

/// Starts the late product behind the first ones in all iterations but the first. The results of
/// the first ones go through both branches, so that each waits for them behind all that it starts.
void Overlap::startInLaterIterations(scf::ForOp clone, IRMapping &mapping) {
  Location loc = found.late.getLoc();
  SmallVector<Value> results;
  for (MmaAsyncOp product : loop.getBody()->getOps<MmaAsyncOp>())
    if (product != found.late && !llvm::all_of(product->getUsers(), llvm::IsaPred<MmaAsyncOp>))
      results.push_back(product.getResult());
  SmallVector<Value> started =
      llvm::map_to_vector(results, [&](Value value) { return mapping.lookup(value); });
  SmallVector<Type> types = {found.sum.getType()};
  llvm::append_range(types, TypeRange(ValueRange(started)));
  Value isLater = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                        clone.getInductionVar(), clone.getLowerBound());
  auto branch = scf::IfOp::create(builder, loc, types, isLater, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  auto endBlock = [&](Value sum) {
    turn(TurnStep::Pass);
    SmallVector<Value> passedOn = {sum};
    llvm::append_range(passedOn, started);
    scf::YieldOp::create(builder, loc, passedOn);
  };
  builder.setInsertionPointToStart(branch.thenBlock());
  endBlock(startLate(clone.getRegionIterArgs()));
  builder.setInsertionPointToStart(branch.elseBlock());
  endBlock(clone.getRegionIterArg(found.sum.getArgNumber() - 1));
  mapping.map(found.sum, branch.getResult(0));
  mapping.map(results, branch.getResults().drop_front());
}

/// Runs the iterations, one at least, and the last product of them.
SmallVector<Value> Overlap::iterate() {
  SmallVector<Value> inits(loop.getInitArgs());
  for (Value value : found.added())
    inits.push_back(arith::ConstantOp::create(
        builder, loop.getLoc(), cast<TypedAttr>(builder.getZeroAttr(value.getType()))));
  turn(TurnStep::Begin);
  auto clone =
      scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(), loop.getUpperBound(),
                         loop.getStep(), inits, nullptr, loop.getUnsignedCmp());
  clone->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  turn(TurnStep::End);
  SmallVector<Value> results(clone.getResults().take_front(loop.getNumRegionIterArgs()));
  results[found.sum.getArgNumber() - 1] = startLate(clone.getResults());

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(clone.getBody());
  IRMapping mapping;
  mapping.map(loop.getBody()->getArguments(),
              clone.getBody()->getArguments().take_front(1 + loop.getNumRegionIterArgs()));
  for (Operation &op : loop.getBody()->without_terminator()) {
    if (&op == found.first)
      turn(TurnStep::Take);
    if (&op != found.late && !(found.start.contains(&op) && op.hasOneUse()))
      builder.clone(op, mapping);
    if (&op == found.lead)
      startInLaterIterations(clone, mapping);
  }
  SmallVector<Value> yielded(found.yielded());
  yielded[found.sum.getArgNumber() - 1] = found.late.getAcc();
  llvm::append_range(yielded, found.added());
  for (Value &value : yielded)
    value = mapping.lookupOrDefault(value);
  scf::YieldOp::create(builder, loop.getLoc(), yielded);
  return results;
}

void Overlap::run() {
  orderBehind(found);
  Location loc = loop.getLoc();
  auto less = loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt;
  Value exists =
      arith::CmpIOp::create(builder, loc, less, loop.getLowerBound(), loop.getUpperBound());
  auto branch = scf::IfOp::create(builder, loc, loop.getResultTypes(), exists, true);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, iterate());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, loop.getInitArgs());
  loop.replaceAllUsesWith(branch.getResults());
  loop.erase();
}

namespace {
struct OverlapProducts : tw::impl::OverlapProductsBase<OverlapProducts> {
  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      std::optional<LateProduct> late;
      if (!loop->hasAttr(tile::kLoopShort))
        late = findLateProduct(loop);
      if (late)
        sinkIntoSums(loop);
      if (late && fits(*late, target))
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops) {
      if (scf::ForOp rest = findRest(loop))
        if (scf::ForOp merged = mergeLoops(loop, rest))
          loop = merged;
      std::optional<LateProduct> late = findLateProduct(loop);
      if (!late)
        continue;
      emitCodedRemark(late->late, Code::PipelinedLoads)
          << "this product runs beside the next iteration";
      Overlap(*late).run();
    }
  }
};
} // namespace
