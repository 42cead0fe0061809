// Integers of a loop as exact sums, by walking definitions.
#include "passes/analysis/AffineRange.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::tile;

/// Bits of an integer; an index has as many as an address.
static unsigned widthOf(Type type) {
  Type element = elementTypeOf(type);
  return element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
}

/// Whether every number that a range stands for, and each part of it, has less than 62 bits, so
/// that 64 are enough to compute sums and differences of two of them.
static bool isComputable(const AffineRange &range) {
  using Wide = __int128;
  auto magnitude = [](int64_t value) { return value < 0 ? -Wide(value) : Wide(value); };
  // A loop between two scalars has at most twice as many iterations as these can count.
  Wide sum = magnitude(range.slope) << (kWideScalarBits + 1);
  sum += std::max(magnitude(range.low), magnitude(range.high));
  for (const AffineRange::Term &term : range.terms) {
    unsigned bits = std::min(widthOf(term.scalar.getType()), kWideScalarBits);
    sum += magnitude(term.factor) << bits;
  }
  return sum < Wide(1) << 61;
}

static std::optional<AffineRange> computable(AffineRange range) {
  return isComputable(range) ? std::optional(std::move(range)) : std::nullopt;
}

std::optional<AffineRange> tw::combine(const AffineRange &lhs, const AffineRange &rhs,
                                       int64_t sign) {
  AffineRange sum = lhs;
  for (const AffineRange::Term &term : rhs.terms) {
    auto *same = llvm::find_if(sum.terms, [&](auto &own) { return own.scalar == term.scalar; });
    if (same == sum.terms.end())
      sum.terms.push_back({term.scalar, sign * term.factor});
    else
      same->factor += sign * term.factor;
  }
  llvm::erase_if(sum.terms, [](auto &term) { return term.factor == 0; });
  sum.slope += sign * rhs.slope;
  sum.low += sign > 0 ? rhs.low : -rhs.high;
  sum.high += sign > 0 ? rhs.high : -rhs.low;
  return computable(std::move(sum));
}

static std::optional<AffineRange> scaled(AffineRange range, int64_t factor) {
  constexpr int64_t largest = int64_t(1) << 31; // products with slopes and factors fit 64 bits
  auto isLarge = [&](int64_t value) { return value > largest || value < -largest; };
  if (isLarge(factor) || isLarge(range.slope) || isLarge(range.low) || isLarge(range.high))
    return std::nullopt;
  for (AffineRange::Term &term : range.terms) {
    if (isLarge(term.factor))
      return std::nullopt;
    term.factor *= factor;
  }
  if (factor == 0)
    range.terms.clear();
  range.slope *= factor;
  range.low *= factor;
  range.high *= factor;
  if (factor < 0)
    std::swap(range.low, range.high);
  return computable(std::move(range));
}

static AffineRange constantRange(int64_t value) { return {{}, 0, value, value}; }

static std::optional<int64_t> integerOf(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)) || number.getSignificantBits() > 60)
    return std::nullopt;
  return number.getSExtValue();
}

AffineRange AffineRanges::leaf(Value scalar) {
  AffineRange range = {{{scalar, 1}}, 0, 0, 0};
  constexpr int64_t bound = int64_t(1) << kWideScalarBits;
  if (widthOf(scalar.getType()) > kWideScalarBits)
    guards.push_back({range, -bound, bound - 1});
  return range;
}

/// A result of the kernel's arithmetic, which wraps around at the width of its type.
std::optional<AffineRange> AffineRanges::fitting(std::optional<AffineRange> range, Type type) {
  unsigned width = widthOf(type);
  if (!range || width > 62)
    return range;
  int64_t max = (int64_t(1) << (width - 1)) - 1;
  if (!range->isConstant() || range->low > max || range->low < -max - 1)
    guards.push_back({*range, -max - 1, max});
  return range;
}

void AffineRanges::requireNonNegative(const AffineRange &range) {
  guards.push_back({range, 0, std::numeric_limits<int64_t>::max()});
}

std::optional<AffineRange> AffineRanges::of(Value value) {
  auto found = known.find(value);
  if (found != known.end())
    return found->second;
  std::optional<AffineRange> range = compute(value);
  known[value] = range;
  return range;
}

/// What the loop counts, or carries with a constant step.
std::optional<AffineRange> AffineRanges::ofArgument(BlockArgument argument) {
  if (argument.getOwner() != loop.getBody() || isa<RankedTensorType>(argument.getType()))
    return std::nullopt;
  Value start = loop.getLowerBound(), step = loop.getStep();
  bool isCarried = argument.getArgNumber() > 0, isSubtracted = false;
  if (isCarried) {
    unsigned position = argument.getArgNumber() - 1;
    Operation *next = loop.getBody()->getTerminator()->getOperand(position).getDefiningOp();
    isSubtracted = isa_and_nonnull<arith::SubIOp>(next);
    bool isSum = isSubtracted || isa_and_nonnull<arith::AddIOp>(next);
    if (!isSum || next->getOperand(0) != argument)
      return std::nullopt;
    start = loop.getInitArgs()[position];
    step = next->getOperand(1);
  }
  std::optional<int64_t> slope = integerOf(step);
  std::optional<AffineRange> range = of(start);
  if (!slope || !range)
    return std::nullopt;
  range->slope = isSubtracted ? -*slope : *slope;
  range = computable(std::move(*range));
  // The loop's counter never wraps.
  return isCarried ? fitting(range, argument.getType()) : range;
}

std::optional<AffineRange> AffineRanges::ofProduct(Value lhs, Value rhs) {
  std::optional<AffineRange> left = of(lhs), right = of(rhs);
  if (!left || !right)
    return std::nullopt;
  if (left->isConstant())
    return scaled(*right, left->low);
  return right->isConstant() ? scaled(*left, right->low) : std::nullopt;
}

std::optional<AffineRange> AffineRanges::compute(Value value) {
  Type element = elementTypeOf(value.getType());
  bool isScalar = !isa<RankedTensorType>(value.getType());
  if (!element.isIntOrIndex() || element.isInteger(1))
    return std::nullopt;
  if (auto number = integerOf(value))
    return constantRange(*number);
  if (isScalar && loop.isDefinedOutsideOfLoop(value))
    return leaf(value);
  if (auto argument = dyn_cast<BlockArgument>(value))
    return ofArgument(argument);
  using Range = std::optional<AffineRange>;
  auto sum = [&](Operation *op, int64_t sign) -> Range {
    Range lhs = of(op->getOperand(0)), rhs = of(op->getOperand(1));
    return lhs && rhs ? fitting(combine(*lhs, *rhs, sign), value.getType()) : std::nullopt;
  };
  return llvm::TypeSwitch<Operation *, Range>(value.getDefiningOp())
      .Case([&](ArangeOp op) {
        return Range({{}, 0, int64_t(op.getStart()), int64_t(op.getEnd()) - 1});
      })
      .Case<ShapeOp, HintOp, arith::ExtSIOp>([&](Operation *op) { return of(op->getOperand(0)); })
      .Case<arith::TruncIOp, arith::IndexCastOp>(
          [&](Operation *op) { return fitting(of(op->getOperand(0)), value.getType()); })
      .Case([&](arith::ExtUIOp op) {
        Range range = of(op.getIn());
        if (range)
          requireNonNegative(*range);
        return range;
      })
      .Case([&](arith::AddIOp op) { return sum(op, 1); })
      .Case([&](arith::SubIOp op) { return sum(op, -1); })
      .Case([&](arith::MulIOp op) {
        return fitting(ofProduct(op.getLhs(), op.getRhs()), value.getType());
      })
      .Case([&](arith::ShLIOp op) -> Range {
        Range lhs = of(op.getLhs());
        std::optional<int64_t> count = integerOf(op.getRhs());
        if (!lhs || !count || *count < 0 || *count >= std::min(31u, widthOf(value.getType())))
          return std::nullopt;
        return fitting(scaled(*lhs, int64_t(1) << *count), value.getType());
      })
      .Default([](Operation *) { return std::nullopt; });
}
