// Makes one loop of two whose bodies are alike but for a few values: the rest of a loop that masks
// were split off for takes no second copy of what both compute.
#include "passes/simt/product/MergeLoops.h"
#include "ir/target/TargetDesc.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/MaskNumbers.h"
#include "passes/analysis/StridedTile.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
/// A value of each body, in place of which a branch computes one.
struct Difference {
  Value main, rest;
  Operation *user; // the first in the main body that needs it
};

/// Compares two bodies, operation by operation.
class Alignment {
public:
  Alignment(scf::ForOp main, scf::ForOp rest) : main(main), rest(rest) {}
  /// Returns false if the bodies cannot be one.
  bool find();

  scf::ForOp main, rest;
  llvm::MapVector<Operation *, Operation *> alike; // from the main body to the other
  SmallVector<Difference> differences;

private:
  bool alignEffects();
  bool align(Value one, Value other);
  bool alignOperands(Operation *one, Operation *other);
  bool isReady(const Difference &difference);

  llvm::DenseSet<std::pair<Value, Value>> unlike;
};
} // namespace

/// The most branches that one body is worth.
constexpr size_t kMostDifferences = 4;

static bool isOf(Value value, scf::ForOp loop) {
  return loop->isAncestor(value.getParentRegion()->getParentOp());
}

static bool areEquivalent(Operation *one, Operation *other) {
  return OperationEquivalence::isEquivalentTo(one, other,
                                              OperationEquivalence::ignoreValueEquivalence, nullptr,
                                              OperationEquivalence::IgnoreLocations);
}

/// Returns true if regions of an operation read what is computed around it.
static bool capturesValues(Operation *op) {
  return op
      ->walk([&](Operation *inner) {
        bool captures = inner != op && llvm::any_of(inner->getOperands(), [&](Value operand) {
                          return !op->isAncestor(operand.getParentRegion()->getParentOp());
                        });
        return captures ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Aligns two values, or lists them as different. Returns true if they are alike.
bool Alignment::align(Value one, Value other) {
  if (!isOf(one, main) || !isOf(other, rest))
    return one == other;
  auto argument = dyn_cast<BlockArgument>(one), otherArgument = dyn_cast<BlockArgument>(other);
  if (argument || otherArgument)
    return argument && otherArgument && argument.getOwner() == main.getBody() &&
           otherArgument.getOwner() == rest.getBody() &&
           argument.getArgNumber() == otherArgument.getArgNumber();
  Operation *op = one.getDefiningOp(), *otherOp = other.getDefiningOp();
  if (auto found = alike.find(op); found != alike.end())
    return found->second == otherOp &&
           cast<OpResult>(one).getResultNumber() == cast<OpResult>(other).getResultNumber();
  if (unlike.contains({one, other}))
    return false;
  if (isMemoryEffectFree(op) && op->getBlock() == main.getBody() && areEquivalent(op, otherOp) &&
      !capturesValues(op) && alignOperands(op, otherOp))
    return true;
  unlike.insert({one, other});
  return false;
}

/// Returns true if an operation is different as a whole where an operand is: machines compute sums
/// together with products that they take in, and products for a reduction need registers one by
/// one.
static bool belongsTo(Operation *op, Value different) {
  auto isProduct = [](Value value) { return value.getDefiningOp<arith::MulFOp>() != nullptr; };
  if (isa<tile::ReduceOp>(op))
    return isProduct(different);
  return isa<arith::AddFOp, arith::SubFOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isProduct(operand) || matchPattern(operand, m_Constant());
         });
}

/// Aligns two equivalent operations. A value that both bodies have goes through a branch in place.
bool Alignment::alignOperands(Operation *one, Operation *other) {
  size_t numDifferences = differences.size(), numAlike = alike.size();
  for (auto [a, b] : llvm::zip(one->getOperands(), other->getOperands())) {
    if (align(a, b))
      continue;
    bool isOfBoth = alike.contains(a.getDefiningOp());
    if (a.getType() != b.getType() || (belongsTo(one, a) && !isOfBoth)) {
      differences.truncate(numDifferences);
      while (alike.size() > numAlike)
        alike.pop_back();
      return false;
    }
    if (llvm::none_of(differences,
                      [&](const Difference &own) { return own.main == a && own.rest == b; }))
      differences.push_back({a, b, nullptr});
  }
  alike[one] = other;
  return true;
}

/// Aligns the operations with effects, which have to come in the same order, and the ends.
bool Alignment::alignEffects() {
  auto effectsOf = [](scf::ForOp loop) {
    SmallVector<Operation *> effects;
    for (Operation &op : *loop.getBody())
      if (!isMemoryEffectFree(&op) || op.hasTrait<OpTrait::IsTerminator>())
        effects.push_back(&op);
    return effects;
  };
  SmallVector<Operation *> effects = effectsOf(main), others = effectsOf(rest);
  if (effects.size() != others.size())
    return false;
  for (auto [op, other] : llvm::zip(effects, others))
    if (!areEquivalent(op, other) || capturesValues(op) || !alignOperands(op, other))
      return false;
  return true;
}

/// Returns true if all that a branch computes can be computed there, of what both bodies have in
/// front of its user.
bool Alignment::isReady(const Difference &difference) {
  if (!difference.user)
    return false;
  llvm::DenseMap<Operation *, Operation *> owns; // of both bodies
  for (auto [own, other] : alike)
    owns[own] = owns[other] = own;
  llvm::SetVector<Value> needed;
  needed.insert(difference.main);
  needed.insert(difference.rest);
  for (size_t i = 0; i < needed.size(); ++i) { // grows
    Operation *op = needed[i].getDefiningOp();
    if (!op || !(isOf(needed[i], main) || isOf(needed[i], rest)))
      continue;
    if (Operation *own = owns.lookup(op)) {
      if (!own->isBeforeInBlock(difference.user))
        return false;
      continue;
    }
    if ((op->getBlock() != main.getBody() && op->getBlock() != rest.getBody()) ||
        !isMemoryEffectFree(op) || capturesValues(op))
      return false;
    needed.insert_range(op->getOperands());
  }
  return true;
}

bool Alignment::find() {
  if (!alignEffects() || differences.size() > kMostDifferences)
    return false;
  for (Operation &op : *main.getBody())
    if (Operation *other = alike.lookup(&op))
      for (auto [a, b] : llvm::zip(op.getOperands(), other->getOperands()))
        for (Difference &difference : differences)
          if (!difference.user && difference.main == a && difference.rest == b)
            difference.user = &op;
  return llvm::all_of(differences, [&](const Difference &each) { return isReady(each); });
}

/// Clones what a value is computed of into a branch, as far as it has no counterpart yet. Products
/// of numbers are computed again: a sum in the branch takes them in.
static Value computeIn(OpBuilder &builder, Value value, scf::ForOp loop, IRMapping &mapping) {
  auto product = value.getDefiningOp<arith::MulFOp>();
  if (!isOf(value, loop) || (mapping.contains(value) && !product))
    return mapping.lookupOrDefault(value);
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, computeIn(builder, operand, loop, mapping));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

static bool mayFuseIn(scf::ForOp loop) {
  tile::TargetAttr target = targetOf(loop->getParentOfType<ModuleOp>());
  return target && !hasFeature(target, tile::Feature::SeparateRounding);
}

namespace {
/// The body of both loops, under way.
class MergedBody {
public:
  MergedBody(Alignment &found, scf::ForOp loop)
      : found(found), loop(loop), mayFuse(mayFuseIn(loop)),
        builder(OpBuilder::atBlockBegin(loop.getBody())) {
    ofMain.map(found.main.getBody()->getArguments(), loop.getBody()->getArguments());
    ofRest.map(found.rest.getBody()->getArguments(), loop.getBody()->getArguments());
  }
  void emit();

private:
  Value compute(const Difference &difference);

  Alignment &found;
  scf::ForOp loop;
  bool mayFuse;
  OpBuilder builder;
  IRMapping ofMain, ofRest;
  Value isMain;
};
} // namespace

/// Makes one operation of a sum and of the product that it takes in. LLVM would move sums that end
/// both branches behind these, away from their products.
static Value fuse(OpBuilder &builder, Value value) {
  Operation *sum = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddFOp, arith::SubFOp>(sum))
    return value;
  for (unsigned index : {0u, 1u}) {
    auto product = sum->getOperand(index).getDefiningOp<arith::MulFOp>();
    Value other = sum->getOperand(1 - index);
    if (!product || product->getBlock() != sum->getBlock() || matchPattern(other, m_Constant()) ||
        llvm::any_of(product->getOperands(), mayHoldMaskNumber))
      continue;
    Value factor = product.getLhs();
    if (isa<arith::SubFOp>(sum)) {
      Value &negated = index == 0 ? other : factor;
      negated = arith::NegFOp::create(builder, sum->getLoc(), negated);
    }
    return math::FmaOp::create(builder, sum->getLoc(), factor, product.getRhs(), other);
  }
  return value;
}

/// Computes a value as the main body does where that runs, and else as the other one does.
Value MergedBody::compute(const Difference &difference) {
  Location loc = difference.rest.getLoc();
  if (!isMain)
    isMain = arith::CmpIOp::create(
        builder, loc, loop.getUnsignedCmp() ? arith::CmpIPredicate::ult : arith::CmpIPredicate::slt,
        loop.getInductionVar(), found.main.getUpperBound());
  auto branch = scf::IfOp::create(builder, loc, difference.main.getType(), isMain, true);
  for (auto [value, of, mapping, block] :
       {std::tuple(difference.main, found.main, &ofMain, branch.thenBlock()),
        std::tuple(difference.rest, found.rest, &ofRest, branch.elseBlock())}) {
    OpBuilder inside = OpBuilder::atBlockBegin(block);
    IRMapping local = *mapping;
    Value computed = computeIn(inside, value, of, local);
    if (mayFuse)
      computed = fuse(inside, computed);
    scf::YieldOp::create(inside, loc, computed);
  }
  return branch.getResult(0);
}

void MergedBody::emit() {
  llvm::DenseMap<std::pair<Value, Value>, Value> computed;
  for (Operation &op : *found.main.getBody()) {
    Operation *other = found.alike.lookup(&op);
    if (!other)
      continue;
    for (const Difference &difference : found.differences)
      if (difference.user == &op)
        computed[{difference.main, difference.rest}] = compute(difference);
    Operation *clone = builder.clone(op, ofMain);
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (Value value = computed.lookup({operand, other->getOperand(unsigned(index))}))
        clone->setOperand(unsigned(index), value);
    ofRest.map(other->getResults(), clone->getResults());
  }
}

scf::ForOp tw::simt::mergeLoops(scf::ForOp main, scf::ForOp rest) {
  Alignment found(main, rest);
  if (!found.find())
    return nullptr;
  OpBuilder builder(rest);
  auto loop =
      scf::ForOp::create(builder, main.getLoc(), main.getLowerBound(), rest.getUpperBound(),
                         main.getStep(), main.getInitArgs(), nullptr, main.getUnsignedCmp());
  loop->setDiscardableAttrs(main->getDiscardableAttrDictionary());
  loop->removeAttr(kLoopWholeSteps);
  MergedBody(found, loop).emit();
  rest.replaceAllUsesWith(loop.getResults());
  rest.erase();
  main.erase();
  return loop;
}
