// Masks that constants decide: how far along a dimension every element is known to be taken.
#include "passes/simd/KnownMasks.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

namespace {
/// The elements `first`, `first + step`, ... of a tile along a dimension.
struct Progression {
  int64_t first = 0, step = 0, count = 1;

  int64_t at(int64_t index) const { return first + step * index; }
  int64_t least() const { return std::min(first, at(count - 1)); }
};
} // namespace

/// The elements along a dimension, at index 0 of the others; none where they are not known.
static std::optional<Progression> progressionOf(const IndexFacts &facts, Value value,
                                                unsigned dim) {
  const IndexFact &fact = facts.of(value);
  bool isKnown = llvm::all_of(fact.axes, [](auto &axis) { return axis.change.isConstant(); });
  if (!isKnown || !fact.form.terms.empty())
    return std::nullopt;
  return Progression{fact.form.first, fact.axes[dim].change.step, shapeOf(value.getType())[dim]};
}

static bool isUnsignedTest(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  return llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
}

std::optional<KnownPrefix> simd::knownPrefix(const IndexFacts &facts, Value test) {
  auto compare = test.getDefiningOp<arith::CmpIOp>();
  if (!compare || !isa<RankedTensorType>(test.getType()))
    return std::nullopt;
  KnownPrefix prefix{test};
  std::optional<Progression> lhs, rhs;
  for (unsigned dim = 0; dim < shapeOf(test.getType()).size(); ++dim) {
    std::optional<Progression> left = progressionOf(facts, compare.getLhs(), dim),
                               right = progressionOf(facts, compare.getRhs(), dim);
    if (!left || !right)
      return std::nullopt;
    if (left->step == 0 && right->step == 0)
      continue;
    if (prefix.dim >= 0)
      return std::nullopt;
    prefix.dim = int(dim);
    lhs = left;
    rhs = right;
  }
  if (prefix.dim < 0)
    return std::nullopt;
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (isUnsignedTest(predicate) && std::min(lhs->least(), rhs->least()) < 0)
    return std::nullopt;
  auto holds = [&](int64_t index) {
    return arith::applyCmpPredicate(predicate, APInt(64, lhs->at(index), true),
                                    APInt(64, rhs->at(index), true));
  };
  while (prefix.count < lhs->count && holds(prefix.count))
    ++prefix.count;
  return prefix;
}

int64_t simd::knownLength(ArrayRef<KnownPrefix> prefixes, int dim, int64_t extent, int64_t step) {
  int64_t length = 0;
  for (const KnownPrefix &prefix : prefixes)
    if (prefix.dim == dim)
      length = length ? std::min(length, prefix.count) : prefix.count;
  return std::min(length, extent) / step * step;
}

void simd::assumeKnown(ArrayRef<KnownPrefix> prefixes, int dim, int64_t length,
                       llvm::DenseSet<Value> &assumedTrue) {
  for (const KnownPrefix &prefix : prefixes)
    if (prefix.dim == dim && prefix.count >= length)
      assumedTrue.insert(prefix.test);
}

llvm::DenseSet<Value> simd::tilesAtOwnPlaces(ArrayRef<Value> trees,
                                             llvm::function_ref<bool(Value)> isKept) {
  llvm::DenseSet<Value> inPlace, elsewhere;
  SmallVector<Value> here(trees), there;
  auto isLeaf = [&](Value value) {
    return !isa<RankedTensorType>(value.getType()) || !value.getDefiningOp() || isKept(value);
  };
  while (!here.empty()) {
    Value value = here.pop_back_val();
    if (!inPlace.insert(value).second || isLeaf(value))
      continue;
    Operation *op = value.getDefiningOp();
    bool isElsewhere = isa<ShapeOp, SplitOp, GatherOp>(op); // as in SimdFunction::evaluate
    llvm::append_range(isElsewhere ? there : here, op->getOperands());
  }
  while (!there.empty()) {
    Value value = there.pop_back_val();
    if (elsewhere.insert(value).second && !isLeaf(value))
      llvm::append_range(there, value.getDefiningOp()->getOperands());
  }
  for (Value value : elsewhere)
    inPlace.erase(value);
  return inPlace;
}
