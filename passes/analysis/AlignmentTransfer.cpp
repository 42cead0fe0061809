// Facts of an operation's result from those of its operands. The lattice is that of Triton's
// AxisInfo (contiguity, divisibility, constancy), with signs kept apart.
#include "passes/analysis/AlignmentTransfer.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"
#include "passes/analysis/AxisAlignment.h"
#include "passes/analysis/Contiguity.h"
#include "passes/analysis/IndexSigns.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

//===-- Tiles --------------------------------------------------------------------------------===//

static unsigned numAxes(Type type) { return std::max<size_t>(1, shapeOf(type).size()); }

static int64_t extentOf(Type type, unsigned dim) {
  ArrayRef<int64_t> shape = shapeOf(type);
  return shape.empty() ? 1 : powerOfTwoIn(shape[dim]);
}

/// Bytes between neighbours: 1 for what is not a pointer.
static int64_t bytesBetween(Type type) {
  auto pointer = dyn_cast<PtrType>(elementTypeOf(type));
  return pointer ? int64_t(elementBytes(pointer.getPointee())) : 1;
}

TileAlignment tw::unknownAlignment(Type type) {
  return {SmallVector<AxisAlignment, 3>(numAxes(type)), std::nullopt, false};
}

static TileAlignment uniform(Type type, int64_t divisibility) {
  TileAlignment result = unknownAlignment(type);
  for (unsigned dim = 0; dim < result.axes.size(); ++dim)
    result.axes[dim] = {1, divisibility, extentOf(type, dim)};
  return result;
}

static TileAlignment constantOf(Type type, int64_t value) {
  TileAlignment result = uniform(type, powerOfTwoIn(value));
  result.constant = value;
  result.isNonNegative = value >= 0;
  return result;
}

template <typename Combine>
static TileAlignment zipAxes(const TileAlignment &lhs, const TileAlignment &rhs, Combine combine) {
  TileAlignment result;
  for (auto [left, right] : llvm::zip(lhs.axes, rhs.axes))
    result.axes.push_back(combine(left, right));
  return result;
}

TileAlignment tw::meet(const TileAlignment &lhs, const TileAlignment &rhs, Type type) {
  int64_t bytes = bytesBetween(type);
  TileAlignment result = zipAxes(
      lhs, rhs, [&](const auto &left, const auto &right) { return meet(left, right, bytes); });
  if (lhs.constant == rhs.constant)
    result.constant = lhs.constant;
  result.isNonNegative = lhs.isNonNegative && rhs.isNonNegative;
  return result;
}

/// Elements seen one by one: no runs.
static TileAlignment single(TileAlignment facts) {
  for (AxisAlignment &axis : facts.axes)
    axis = {1, divisibilityAt(axis, 1), axis.constancy};
  return facts;
}

/// The divisibility that every element has.
static int64_t commonDivisibility(const TileAlignment &facts) {
  int64_t result = 1;
  for (const AxisAlignment &axis : facts.axes)
    result = std::max(result, divisibilityAt(axis, 1));
  return result;
}

/// Neighbours that are equal in all operands of an elementwise operation are equal in its result.
static TileAlignment equalWhere(Type type, ArrayRef<const TileAlignment *> operands) {
  TileAlignment result = unknownAlignment(type);
  for (unsigned dim = 0; dim < result.axes.size(); ++dim) {
    result.axes[dim].constancy = extentOf(type, dim);
    for (const TileAlignment *operand : operands)
      if (dim < operand->axes.size())
        result.axes[dim].constancy =
            std::min(result.axes[dim].constancy, operand->axes[dim].constancy);
  }
  return result;
}

//===-- Operations ---------------------------------------------------------------------------===//

namespace {
/// Computes the facts of the results of one operation from those of its operands.
struct Transfer {
  Operation *op;
  const Alignment &alignment;

  const TileAlignment &operand(unsigned i) const { return alignment.of(op->getOperand(i)); }
  Type type() const { return op->getResult(0).getType(); }
  bool areNonNegative() const { return operand(0).isNonNegative && operand(1).isNonNegative; }
  TileAlignment withSign(TileAlignment facts, bool isNonNegative) const {
    facts.isNonNegative = isNonNegative;
    return facts;
  }
  /// The result's constant where both operands are known.
  template <typename Compute> TileAlignment folded(TileAlignment facts, Compute compute) const {
    std::optional<int64_t> lhs = operand(0).constant, rhs = operand(1).constant;
    if (!lhs || !rhs || !llvm::isInt<31>(*lhs) || !llvm::isInt<31>(*rhs))
      return facts;
    int64_t value = compute(*lhs, *rhs);
    return llvm::isInt<31>(value) ? constantOf(type(), value) : facts;
  }

  TileAlignment constant(arith::ConstantOp op) const;
  TileAlignment arange(ArangeOp op) const;
  TileAlignment multiply() const;
  TileAlignment divide(bool isUnsigned) const;
  TileAlignment takeRemainder(bool isUnsigned) const;
  TileAlignment shift() const;
  TileAlignment bitAnd() const;
  TileAlignment compare(arith::CmpIOp op) const;
  TileAlignment select() const;
  TileAlignment cast() const;
  TileAlignment rearranged(ShapeOp op) const;
  TileAlignment regrouped(ReshapeOp op) const;
  TileAlignment hint(HintOp op) const;
  TileAlignment elementwise() const;
  TileAlignment arithmetic() const;
  TileAlignment result() const;
};
} // namespace

TileAlignment Transfer::constant(arith::ConstantOp constant) const {
  Attribute value = constant.getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  else if (isa<ElementsAttr>(value))
    return unknownAlignment(type());
  if (auto integer = dyn_cast<IntegerAttr>(value); integer && !integer.getType().isInteger(1))
    return constantOf(type(), integer.getValue().sextOrTrunc(64).getSExtValue());
  return uniform(type(), 1);
}

TileAlignment Transfer::arange(ArangeOp arange) const {
  TileAlignment result = unknownAlignment(type());
  int64_t start = int32_t(arange.getStart());
  result.axes[0] = {extentOf(type(), 0), powerOfTwoIn(start), 1};
  result.isNonNegative = start >= 0;
  return result;
}

TileAlignment Transfer::multiply() const {
  for (unsigned side : {0u, 1u})
    if (operand(side).constant == 1)
      return operand(1 - side);
  TileAlignment result =
      withSign(zipAxes(operand(0), operand(1), scaled), isProductNonNegative(op, alignment));
  return folded(result, [](int64_t lhs, int64_t rhs) { return lhs * rhs; });
}

TileAlignment Transfer::divide(bool isUnsigned) const {
  std::optional<int64_t> divisor = operand(1).constant;
  if (!divisor || *divisor <= 0)
    return withSign(equalWhere(type(), {&operand(0), &operand(1)}),
                    areNonNegative() || (!isUnsigned && isRoundedUpQuotient(op, alignment)));
  if (*divisor == 1)
    return operand(0);
  bool roundsDown = isUnsigned || operand(0).isNonNegative;
  TileAlignment result = unknownAlignment(type());
  for (auto [from, to] : llvm::zip(operand(0).axes, result.axes))
    to = quotient(from, *divisor, roundsDown);
  return withSign(result, roundsDown);
}

TileAlignment Transfer::takeRemainder(bool isUnsigned) const {
  bool roundsDown = isUnsigned || operand(0).isNonNegative;
  return withSign(
      zipAxes(operand(0), operand(1),
              [&](const auto &lhs, const auto &rhs) { return remainder(lhs, rhs, roundsDown); }),
      operand(0).isNonNegative);
}

TileAlignment Transfer::shift() const {
  std::optional<int64_t> amount = operand(1).constant;
  TileAlignment result = equalWhere(type(), {&operand(0), &operand(1)});
  result.isNonNegative = operand(0).isNonNegative;
  bool isLeft = isa<arith::ShLIOp>(op);
  if (!amount || *amount < 0 || *amount > 30)
    return withSign(result, !isLeft && result.isNonNegative);
  if (isLeft)
    result.isNonNegative &= isIndexWide(type()) && int64_t(1) << *amount <= kLargestIndexFactor;
  else if (isa<arith::ShRUIOp>(op) && *amount > 0)
    result.isNonNegative = true;
  for (auto [from, to] : llvm::zip(operand(0).axes, result.axes))
    to = isLeft ? scaled(from, {1, int64_t(1) << *amount, from.constancy})
                : quotient(from, int64_t(1) << *amount, /*roundsDown=*/true);
  return result;
}

TileAlignment Transfer::bitAnd() const {
  TileAlignment result = equalWhere(type(), {&operand(0), &operand(1)});
  if (elementTypeOf(type()).isInteger(1))
    return result;
  std::optional<int64_t> mask = operand(1).constant;
  for (auto [lhs, rhs, to] : llvm::zip(operand(0).axes, operand(1).axes, result.axes)) {
    if (mask && *mask > 0 && llvm::isPowerOf2_64(*mask + 1))
      to = remainder(lhs, {1, *mask + 1, lhs.run}, /*roundsDown=*/true);
    else if (mask && llvm::isPowerOf2_64(-*mask))
      to = {1, -*mask, std::max(lhs.constancy, groupsWithin(lhs, -*mask))};
    else
      to.divisibility = std::max(divisibilityAt(lhs, 1), divisibilityAt(rhs, 1));
  }
  result.isNonNegative = operand(0).isNonNegative || operand(1).isNonNegative;
  return result;
}

/// Comparing consecutive numbers with a bound: a group gives one answer when the bound is at its
/// first element or outside.
TileAlignment Transfer::compare(arith::CmpIOp compare) const {
  using Predicate = arith::CmpIPredicate;
  TileAlignment result = equalWhere(type(), {&operand(0), &operand(1)});
  Predicate predicate = compare.getPredicate();
  if (predicate == Predicate::eq || predicate == Predicate::ne)
    return result;
  // The bound is the first number with the other answer; `x <= b` has it at b + 1.
  bool isBelowFirst = llvm::is_contained(
      {Predicate::slt, Predicate::ult, Predicate::sge, Predicate::uge}, predicate);
  for (unsigned side : {0u, 1u}) {
    const TileAlignment &numbers = operand(side), &bounds = operand(1 - side);
    bool isAtBound = isBelowFirst == (side == 0);
    if (!isAtBound && !bounds.constant)
      continue;
    for (auto [number, bound, to] : llvm::zip(numbers.axes, bounds.axes, result.axes)) {
      int64_t place = isAtBound ? divisibilityAt(bound, 1) : powerOfTwoIn(uint64_t(*bounds.constant) + 1);
      int64_t group = std::min(groupsWithin(number, place), bound.constancy);
      to.constancy = std::max(to.constancy, group);
    }
  }
  return result;
}

TileAlignment Transfer::select() const {
  TileAlignment result = meet(operand(1), operand(2), type());
  const TileAlignment &condition = operand(0);
  if (shapeOf(op->getOperand(0).getType()).empty() && !shapeOf(type()).empty())
    return result;
  int64_t bytes = bytesBetween(type());
  for (auto [choice, to] : llvm::zip(condition.axes, result.axes)) {
    to.divisibility = divisibilityAt(to, std::min(to.run, choice.constancy), bytes);
    to.run = std::min(to.run, choice.constancy);
    to.constancy = std::min(to.constancy, choice.constancy);
  }
  return result;
}

/// Casts keep the low bits, and with them runs up to the first multiple of 2^bits.
TileAlignment Transfer::cast() const {
  Type from = op->getOperand(0).getType();
  if (isa<PtrCastOp, PtrToIntOp, IntToPtrOp>(op) && bytesBetween(from) != bytesBetween(type()))
    return single(operand(0));
  TileAlignment result = operand(0);
  if (isa<arith::TruncIOp>(op)) {
    result.isNonNegative = false;
    if (result.constant && !(*result.constant >= 0 && *result.constant < 128))
      result.constant.reset();
  }
  if (isa<arith::ExtUIOp>(op)) {
    result.isNonNegative = true;
    if (result.constant && *result.constant < 0)
      result.constant.reset();
  }
  return result;
}

TileAlignment Transfer::rearranged(ShapeOp shape) const {
  const TileAlignment &from = operand(0);
  TileAlignment result = uniform(type(), commonDivisibility(from));
  result.constant = from.constant;
  result.isNonNegative = from.isNonNegative;
  std::optional<SmallVector<int>> dims = shape.getSourceDims();
  if (!dims)
    return regrouped(cast<ReshapeOp>(shape));
  for (auto [dim, axis] : llvm::zip(*dims, result.axes))
    if (dim >= 0)
      axis = from.axes[dim];
  return result;
}

/// Where indices change, neighbours in the last dimension stay neighbours, in groups that fit into
/// both.
TileAlignment Transfer::regrouped(ReshapeOp reshape) const {
  const TileAlignment &from = operand(0);
  TileAlignment result = unknownAlignment(type());
  result.constant = from.constant;
  result.isNonNegative = from.isNonNegative;
  for (AxisAlignment &axis : result.axes)
    axis.divisibility = commonDivisibility(from);
  ArrayRef<int64_t> source = shapeOf(reshape.getSource().getType()), target = shapeOf(type());
  if (reshape.getAllowReorder() || source.empty() || target.empty())
    return result;
  AxisAlignment last = from.axes.back();
  int64_t extent = extentOf(type(), target.size() - 1);
  int64_t run = std::min(last.run, extent);
  result.axes.back() = {run, divisibilityAt(last, run, bytesBetween(type())),
                        std::min(last.constancy, extent)};
  return result;
}

TileAlignment Transfer::hint(HintOp hint) const {
  TileAlignment result = operand(0);
  auto raise = [&](std::optional<ArrayRef<int64_t>> facts, int64_t AxisAlignment::*field,
                   bool isWithinExtent) {
    for (unsigned dim = 0; facts && dim < result.axes.size(); ++dim) {
      int64_t fact = powerOfTwoIn((*facts)[dim]);
      if (isWithinExtent)
        fact = std::min(fact, extentOf(type(), dim));
      result.axes[dim].*field = std::max(result.axes[dim].*field, fact);
    }
  };
  raise(hint.getDivisibility(), &AxisAlignment::divisibility, false);
  raise(hint.getContiguity(), &AxisAlignment::run, true);
  raise(hint.getConstancy(), &AxisAlignment::constancy, true);
  return result;
}

/// Any function of the elements alone.
TileAlignment Transfer::elementwise() const {
  SmallVector<const TileAlignment *> operands;
  for (Value value : op->getOperands())
    operands.push_back(&alignment.of(value));
  return equalWhere(type(), operands);
}

TileAlignment Transfer::arithmetic() const {
  return TypeSwitch<Operation *, TileAlignment>(op)
      .Case<arith::AddIOp>([&](auto) {
        TileAlignment result =
            zipAxes(operand(0), operand(1),
                    [](const auto &lhs, const auto &rhs) { return sum(lhs, rhs, 1); });
        return folded(withSign(result, areNonNegative() && isIndexWide(type())),
                      [](int64_t lhs, int64_t rhs) { return lhs + rhs; });
      })
      .Case<arith::SubIOp>([&](auto) {
        return folded(withSign(zipAxes(operand(0), operand(1), difference),
                               isDifferenceNonNegative(op, alignment)),
                      [](int64_t lhs, int64_t rhs) { return lhs - rhs; });
      })
      .Case<arith::MulIOp>([&](auto) { return multiply(); })
      .Case<arith::DivSIOp>([&](auto) { return divide(false); })
      .Case<arith::FloorDivSIOp, arith::DivUIOp>([&](auto) { return divide(true); })
      .Case<arith::RemSIOp>([&](auto) { return takeRemainder(false); })
      .Case<arith::RemUIOp>([&](auto) { return takeRemainder(true); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return shift(); })
      .Case<arith::AndIOp>([&](auto) { return bitAnd(); })
      .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>([&](auto) {
        TileAlignment result = single(meet(operand(0), operand(1), type()));
        bool isMax = isa<arith::MaxSIOp>(op);
        result.constant.reset();
        result.isNonNegative = areNonNegative() || isGroupSize(op, alignment) ||
                               (isMax && (operand(0).isNonNegative || operand(1).isNonNegative));
        return result;
      })
      .Case<arith::OrIOp>([&](auto) { return withSign(elementwise(), areNonNegative()); })
      .Case([&](arith::CmpIOp op) { return compare(op); })
      .Case<arith::SelectOp>([&](auto) { return select(); })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, PtrCastOp,
            PtrToIntOp, IntToPtrOp>([&](auto) { return cast(); })
      .Default([&](Operation *other) {
        return other->hasTrait<OpTrait::Elementwise>() ? elementwise() : unknownAlignment(type());
      });
}

TileAlignment Transfer::result() const {
  return TypeSwitch<Operation *, TileAlignment>(op)
      .Case([&](arith::ConstantOp op) { return constant(op); })
      .Case([&](ArangeOp op) { return arange(op); })
      .Case<ProgramIdOp, NumProgramsOp>(
          [&](auto) { return withSign(unknownAlignment(type()), true); })
      .Case([&](ShapeOp op) { return rearranged(op); })
      .Case([&](AddPtrOp op) {
        int64_t bytes = bytesBetween(op.getType());
        return zipAxes(operand(0), operand(1),
                       [&](const auto &lhs, const auto &rhs) { return sum(lhs, rhs, bytes); });
      })
      .Case([&](HintOp op) { return hint(op); })
      .Case(
          [&](LoadOp op) { return op.getIsVolatile() ? unknownAlignment(type()) : elementwise(); })
      .Case([&](simt::ConvertLayoutOp) { return operand(0); })
      .Default([&](Operation *) { return arithmetic(); });
}

TileAlignment tw::alignmentOfResult(Operation *op, const Alignment &alignment) {
  return Transfer{op, alignment}.result();
}
