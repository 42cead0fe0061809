// Follows elements of a tile to where they are stored.
#include "passes/analysis/UnusedElements.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

namespace {
/// Follows the elements beyond one limit.
class Follower {
public:
  Follower(const IndexFacts &facts, const IndexLimit &limit) : facts(facts), limit(limit) {}
  bool follow(Value value, unsigned dim);

private:
  bool followUse(OpOperand &use, unsigned dim);
  bool followProduct(OpOperand &use, unsigned dim);
  bool followShape(Operation *op, unsigned dim);
  bool isMasked(Value mask, unsigned dim) const;

  const IndexFacts &facts;
  const IndexLimit &limit;
  llvm::DenseMap<Value, unsigned> followed; // with the dimension along which elements are unused
};
} // namespace

/// Returns true if a mask is false beyond the limit.
bool Follower::isMasked(Value mask, unsigned dim) const {
  SmallVector<IndexLimit> limits;
  if (mask)
    (void)collectLimits(facts, mask, limits); // other conditions do not matter
  return llvm::any_of(limits, [&](const IndexLimit &own) {
    return own.dim == dim && own.index == limit.index &&
           Polynomial(own.extent) == Polynomial(limit.extent);
  });
}

/// Rows of the left operand are those of the product, and columns of the right one.
bool Follower::followProduct(OpOperand &use, unsigned dim) {
  unsigned operand = use.getOperandNumber();
  if (shapeOf(use.getOwner()->getResult(0).getType()).size() != 2)
    return false;
  bool isAcc = operand == 2, isKept = (operand == 0 && dim == 0) || (operand == 1 && dim == 1);
  return (isAcc || isKept) && operand <= 2 && follow(use.getOwner()->getResult(0), dim);
}

bool Follower::followShape(Operation *op, unsigned dim) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](ExpandDimsOp expand) { return follow(expand, dim + (dim >= expand.getAxis())); })
      .Case([&](TransOp transposed) {
        ArrayRef<int32_t> order = transposed.getOrder();
        return follow(transposed, llvm::find(order, int32_t(dim)) - order.begin());
      })
      .Case<BroadcastOp, simt::ConvertLayoutOp>(
          [&](Operation *same) { return follow(same->getResult(0), dim); })
      .Default([](Operation *) { return false; });
}

bool Follower::followUse(OpOperand &use, unsigned dim) {
  Operation *op = use.getOwner();
  if (auto store = dyn_cast<StoreOp>(op))
    return use.get() == store.getValue() && use.get() != store.getMask() &&
           isMasked(store.getMask(), dim);
  if (isa<simt::MmaOp, DotOp>(op))
    return followProduct(use, dim);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return reduce.getAxis() != dim && llvm::all_of(reduce.getResults(), [&](Value result) {
             return follow(result, dim - (dim > reduce.getAxis()));
           });
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    BlockArgument carried = loop.getTiedLoopRegionIterArg(&use);
    return carried && follow(carried, dim) && follow(loop.getTiedLoopResult(&use), dim);
  }
  if (isa<scf::YieldOp>(op)) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    unsigned number = use.getOperandNumber();
    // In a later iteration, the limit's leaves of this one are other numbers.
    if (loop && !llvm::all_of(limit.index.all(), [&](const Monomial &part) {
          return llvm::all_of(part.leaves,
                              [&](Value leaf) { return loop.isDefinedOutsideOfLoop(leaf); });
        }))
      return false;
    if (loop && !follow(loop.getRegionIterArg(number), dim))
      return false;
    return isa<scf::ForOp, scf::IfOp>(op->getParentOp()) &&
           follow(op->getParentOp()->getResult(number), dim);
  }
  bool isElementwise = op->hasTrait<OpTrait::Elementwise>() && isPure(op);
  if (isElementwise)
    return llvm::all_of(op->getResults(), [&](Value result) { return follow(result, dim); });
  return followShape(op, dim);
}

bool Follower::follow(Value value, unsigned dim) {
  // A scalar has no element that could be left out.
  if (!isTile(value))
    return value.use_empty();
  auto [found, isNew] = followed.try_emplace(value, dim);
  if (!isNew)
    return found->second == dim;
  return llvm::all_of(value.getUses(), [&](OpOperand &use) { return followUse(use, dim); });
}

bool tw::isUnusedBeyond(const IndexFacts &facts, Value tile, const IndexLimit &limit) {
  return Follower(facts, limit).follow(tile, *limit.dim);
}
