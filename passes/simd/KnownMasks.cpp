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
  bool fits(unsigned bits) const {
    return llvm::isIntN(bits, first) && llvm::isIntN(bits, at(count - 1));
  }
};
} // namespace

static unsigned bitsOf(Value value) {
  Type element = elementTypeOf(value.getType());
  return element.isInteger() ? element.getIntOrFloatBitWidth() : 64;
}

static std::optional<Progression> progressionOf(Contiguity &contiguity, Value value, unsigned dim);

/// The first element of a tile of integers. Sums of so many bits wrap, here as there.
static std::optional<int64_t> firstOf(Contiguity &contiguity, Value value) {
  APInt number;
  if (matchPattern(value, m_ConstantInt(&number)))
    return number.getSExtValue();
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  auto combined = [&](auto combine) -> std::optional<int64_t> {
    std::optional<int64_t> lhs = firstOf(contiguity, op->getOperand(0));
    std::optional<int64_t> rhs = firstOf(contiguity, op->getOperand(1));
    if (!lhs || !rhs)
      return std::nullopt;
    return llvm::SignExtend64(uint64_t(combine(uint64_t(*lhs), uint64_t(*rhs))), bitsOf(value));
  };
  return llvm::TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](ArangeOp arange) { return int64_t(arange.getStart()); })
      .Case<ShapeOp, HintOp>([&](Operation *) { return firstOf(contiguity, op->getOperand(0)); })
      .Case([&](arith::ExtSIOp ext) -> std::optional<int64_t> {
        // What wraps before it is widened is in no order.
        for (unsigned dim = 0; dim < shapeOf(ext.getIn().getType()).size(); ++dim)
          if (!progressionOf(contiguity, ext.getIn(), dim))
            return std::nullopt;
        return firstOf(contiguity, ext.getIn());
      })
      .Case([&](arith::AddIOp) { return combined([](uint64_t x, uint64_t y) { return x + y; }); })
      .Case([&](arith::SubIOp) { return combined([](uint64_t x, uint64_t y) { return x - y; }); })
      .Case([&](arith::MulIOp) { return combined([](uint64_t x, uint64_t y) { return x * y; }); })
      .Default([](Operation *) { return std::nullopt; });
}

/// The elements along a dimension, at index 0 of the others; none where they may wrap.
static std::optional<Progression> progressionOf(Contiguity &contiguity, Value value, unsigned dim) {
  constexpr int64_t kLargest = int64_t(1) << 40; // products of steps and extents fit 64 bits
  auto isSmall = [](int64_t number) { return -kLargest <= number && number <= kLargest; };
  std::optional<int64_t> first = firstOf(contiguity, value);
  AxisChange change = contiguity.along(value, dim);
  if (!first || change.kind != AxisChange::Constant || !isSmall(change.step) || !isSmall(*first))
    return std::nullopt;
  Progression found{*first, change.step, shapeOf(value.getType())[dim]};
  return found.count < kLargest >> 18 && found.fits(bitsOf(value)) ? std::optional(found)
                                                                   : std::nullopt;
}

static bool isUnsignedTest(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  return llvm::is_contained({P::ult, P::ule, P::ugt, P::uge}, predicate);
}

std::optional<KnownPrefix> simd::knownPrefix(Contiguity &contiguity, Value test) {
  auto compare = test.getDefiningOp<arith::CmpIOp>();
  if (!compare || !isa<RankedTensorType>(test.getType()))
    return std::nullopt;
  KnownPrefix prefix{test};
  std::optional<Progression> lhs, rhs;
  for (unsigned dim = 0; dim < shapeOf(test.getType()).size(); ++dim) {
    std::optional<Progression> left = progressionOf(contiguity, compare.getLhs(), dim),
                               right = progressionOf(contiguity, compare.getRhs(), dim);
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
