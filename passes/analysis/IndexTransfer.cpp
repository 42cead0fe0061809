// Facts of an operation's result from those of its operands. The lattice is that of Triton's
// AxisInfo (contiguity, divisibility, constancy), with signs kept apart.
#include "passes/analysis/IndexTransfer.h"
#include "ir/simt/Simt.h"
#include "ir/tile/Tile.h"
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

/// Returns what is known of every value of a type; the form is left to `factOfResult`.
static IndexFact unknownOf(Type type) {
  return {SmallVector<AxisFacts, 3>(numAxes(type)), std::nullopt, false, {}};
}

/// Along a dimension of one element nothing changes.
static void noteSingleElements(IndexFact &fact, Type type) {
  ArrayRef<int64_t> shape = shapeOf(type);
  for (unsigned dim = 0; dim < fact.axes.size(); ++dim)
    if (shape.empty() || shape[dim] == 1)
      fact.axes[dim].change = AxisChange::constant(0);
}

/// Where one group is the whole extent, neighbours change alike.
static void noteWholeGroups(IndexFact &fact, Type type) {
  for (auto [axis, extent] : llvm::zip(fact.axes, shapeOf(type))) {
    if (axis.constancy == extent)
      axis.change = AxisChange::constant(0);
    // No number wraps around in front of the next multiple.
    else if (axis.run == extent && axis.divisibility >= extent && elementTypeOf(type).isInteger())
      axis.change = AxisChange::constant(1);
  }
}

IndexFact tw::unknownFact(Value value) {
  IndexFact fact = unknownOf(value.getType());
  fact.form = LinearForm::ofLeaf(value);
  noteSingleElements(fact, value.getType());
  return fact;
}

static IndexFact uniform(Type type, int64_t divisibility) {
  IndexFact result = unknownOf(type);
  for (unsigned dim = 0; dim < result.axes.size(); ++dim)
    result.axes[dim] = {1, divisibility, extentOf(type, dim), AxisChange::constant(0)};
  return result;
}

static IndexFact constantOf(Type type, int64_t value) {
  IndexFact result = uniform(type, powerOfTwoIn(value));
  result.constant = value;
  result.isNonNegative = value >= 0;
  return result;
}

template <typename Combine>
static IndexFact zipAxes(const IndexFact &lhs, const IndexFact &rhs, Combine combine) {
  IndexFact result;
  for (auto [left, right] : llvm::zip(lhs.axes, rhs.axes))
    result.axes.push_back(combine(left, right));
  return result;
}

IndexFact tw::meet(const IndexFact &lhs, const IndexFact &rhs, Value value) {
  int64_t bytes = bytesBetween(value.getType());
  IndexFact result = zipAxes(
      lhs, rhs, [&](const auto &left, const auto &right) { return meet(left, right, bytes); });
  if (lhs.constant == rhs.constant)
    result.constant = lhs.constant;
  result.isNonNegative = lhs.isNonNegative && rhs.isNonNegative;
  result.form = lhs.form == rhs.form ? lhs.form : LinearForm::ofLeaf(value);
  return result;
}

/// Elements seen one by one: no runs.
static IndexFact single(IndexFact facts) {
  for (AxisFacts &axis : facts.axes)
    axis = {1, divisibilityAt(axis, 1), axis.constancy,
            AxisChange::invariantIf(axis.change.isInvariant())};
  return facts;
}

/// The divisibility that every element has.
static int64_t commonDivisibility(const IndexFact &facts) {
  int64_t result = 1;
  for (const AxisFacts &axis : facts.axes)
    result = std::max(result, divisibilityAt(axis, 1));
  return result;
}

/// Neighbours that are equal in all operands of an elementwise operation are equal in its result.
static IndexFact equalWhere(Type type, ArrayRef<const IndexFact *> operands) {
  IndexFact result = unknownOf(type);
  for (unsigned dim = 0; dim < result.axes.size(); ++dim) {
    AxisFacts &axis = result.axes[dim];
    axis.constancy = extentOf(type, dim);
    bool isInvariant = true;
    for (const IndexFact *operand : operands)
      if (dim < operand->axes.size()) {
        axis.constancy = std::min(axis.constancy, operand->axes[dim].constancy);
        isInvariant &= operand->axes[dim].change.isInvariant();
      }
    axis.change = AxisChange::invariantIf(isInvariant);
  }
  return result;
}

//===-- Operations ---------------------------------------------------------------------------===//

namespace {
/// Computes the facts of the results of one operation from those of its operands.
struct Transfer {
  Operation *op;
  FactOf of;

  const IndexFact &operand(unsigned i) const { return of(op->getOperand(i)); }
  Value value() const { return op->getResult(0); }
  Type type() const { return value().getType(); }
  IndexFact unknown() const { return unknownOf(type()); }
  bool areNonNegative() const { return operand(0).isNonNegative && operand(1).isNonNegative; }
  IndexFact withSign(IndexFact facts, bool isNonNegative) const {
    facts.isNonNegative = isNonNegative;
    return facts;
  }
  /// The result's constant where both operands are known.
  template <typename Compute> IndexFact folded(IndexFact facts, Compute compute) const {
    std::optional<int64_t> lhs = operand(0).constant, rhs = operand(1).constant;
    if (!lhs || !rhs || !llvm::isInt<31>(*lhs) || !llvm::isInt<31>(*rhs))
      return facts;
    int64_t value = compute(*lhs, *rhs);
    return llvm::isInt<31>(value) ? constantOf(type(), value) : facts;
  }

  IndexFact constant(arith::ConstantOp op) const;
  IndexFact arange(ArangeOp op) const;
  IndexFact multiply() const;
  IndexFact divide() const;
  IndexFact takeRemainder(bool isUnsigned) const;
  IndexFact shift() const;
  IndexFact bitAnd() const;
  IndexFact compare(arith::CmpIOp op) const;
  IndexFact select() const;
  IndexFact cast() const;
  AxisChange castChange(AxisChange change) const;
  IndexFact rearranged(ShapeOp op) const;
  IndexFact regrouped(ReshapeOp op) const;
  IndexFact hint(HintOp op) const;
  IndexFact elementwise() const;
  IndexFact arithmetic() const;
  IndexFact result() const;
};
} // namespace

IndexFact Transfer::constant(arith::ConstantOp constant) const {
  Attribute value = constant.getValue();
  if (auto splat = dyn_cast<SplatElementsAttr>(value))
    value = splat.getSplatValue<Attribute>();
  else if (isa<ElementsAttr>(value))
    return unknown();
  if (auto integer = dyn_cast<IntegerAttr>(value); integer && !integer.getType().isInteger(1))
    return constantOf(type(), integer.getValue().sextOrTrunc(64).getSExtValue());
  return uniform(type(), 1);
}

IndexFact Transfer::arange(ArangeOp arange) const {
  IndexFact result = unknown();
  int64_t start = int32_t(arange.getStart());
  result.axes[0] = {extentOf(type(), 0), powerOfTwoIn(start), 1, AxisChange::constant(1)};
  result.isNonNegative = start >= 0;
  return result;
}

IndexFact Transfer::multiply() const {
  for (unsigned side : {0u, 1u})
    if (operand(side).constant == 1)
      return operand(1 - side);
  IndexFact result = zipAxes(operand(0), operand(1), product);
  for (unsigned side : {0u, 1u})
    if (std::optional<int64_t> factor = operand(side).constant)
      for (auto [from, to] : llvm::zip(operand(1 - side).axes, result.axes))
        to = scaled(from, *factor);
  result.isNonNegative = isProductNonNegative(op, of);
  return folded(result, [](int64_t lhs, int64_t rhs) { return lhs * rhs; });
}

IndexFact Transfer::divide() const {
  std::optional<int64_t> divisor = operand(1).constant;
  if (!divisor || *divisor <= 0)
    return withSign(equalWhere(type(), {&operand(0), &operand(1)}),
                    areNonNegative() || (!isa<arith::DivUIOp>(op) && isRoundedUpQuotient(op, of)));
  if (*divisor == 1)
    return operand(0);
  bool roundsDown = !isa<arith::DivSIOp>(op) || operand(0).isNonNegative;
  IndexFact result = unknown();
  for (auto [from, to] : llvm::zip(operand(0).axes, result.axes))
    to = quotient(from, *divisor, roundsDown);
  return withSign(result, isa<arith::DivUIOp>(op) || operand(0).isNonNegative);
}

/// An unsigned divisor of 2^31 or more has remainders on both sides of 0 as signed numbers:
/// neighbours that are farther apart than 1 are then not only those where it wraps around.
IndexFact Transfer::takeRemainder(bool isUnsigned) const {
  bool roundsDown = isUnsigned || operand(0).isNonNegative;
  bool isSmall = !isUnsigned || operand(1).isNonNegative;
  IndexFact result = zipAxes(operand(0), operand(1), [&](const auto &lhs, const auto &rhs) {
    AxisFacts axis = remainder(lhs, rhs, roundsDown);
    if (axis.change.kind == AxisChange::WrappedUnit && !isSmall)
      axis.change = {};
    return axis;
  });
  return withSign(result, operand(0).isNonNegative);
}

IndexFact Transfer::shift() const {
  std::optional<int64_t> amount = operand(1).constant;
  IndexFact result = equalWhere(type(), {&operand(0), &operand(1)});
  result.isNonNegative = operand(0).isNonNegative;
  bool isLeft = isa<arith::ShLIOp>(op);
  if (!amount || *amount < 0 || *amount > 30)
    return withSign(result, !isLeft && result.isNonNegative);
  if (isLeft)
    result.isNonNegative &= isIndexWide(type()) && int64_t(1) << *amount <= kLargestIndexFactor;
  else if (isa<arith::ShRUIOp>(op) && *amount > 0)
    result.isNonNegative = true;
  for (auto [from, to] : llvm::zip(operand(0).axes, result.axes))
    to = isLeft ? scaled(from, int64_t(1) << *amount)
                : quotient(from, int64_t(1) << *amount, /*roundsDown=*/true);
  return result;
}

IndexFact Transfer::bitAnd() const {
  IndexFact result = equalWhere(type(), {&operand(0), &operand(1)});
  if (elementTypeOf(type()).isInteger(1))
    return result;
  std::optional<int64_t> mask = operand(1).constant;
  for (auto [lhs, rhs, to] : llvm::zip(operand(0).axes, operand(1).axes, result.axes)) {
    if (mask && *mask > 0 && *mask < kMaxDivisibility && llvm::isPowerOf2_64(*mask + 1))
      to = remainder(lhs, {1, *mask + 1, lhs.run, AxisChange::constant(0)}, /*roundsDown=*/true);
    else if (mask && llvm::isPowerOf2_64(-uint64_t(*mask))) {
      int64_t power = powerOfTwoIn(uint64_t(*mask));
      to = {1, power, std::max(lhs.constancy, groupsWithin(lhs, power)), to.change};
    } else
      to.divisibility = std::max(divisibilityAt(lhs, 1), divisibilityAt(rhs, 1));
  }
  result.isNonNegative = operand(0).isNonNegative || operand(1).isNonNegative;
  return result;
}

/// Comparing consecutive numbers with a bound: a group gives one answer when the bound is at its
/// first element or outside.
IndexFact Transfer::compare(arith::CmpIOp compare) const {
  using Predicate = arith::CmpIPredicate;
  IndexFact result = equalWhere(type(), {&operand(0), &operand(1)});
  Predicate predicate = compare.getPredicate();
  if (predicate == Predicate::eq || predicate == Predicate::ne)
    return result;
  // The bound is the first number with the other answer; `x <= b` has it at b + 1.
  bool isBelowFirst = llvm::is_contained(
      {Predicate::slt, Predicate::ult, Predicate::sge, Predicate::uge}, predicate);
  for (unsigned side : {0u, 1u}) {
    const IndexFact &numbers = operand(side), &bounds = operand(1 - side);
    bool isAtBound = isBelowFirst == (side == 0);
    if (!isAtBound && !bounds.constant)
      continue;
    for (auto [number, bound, to] : llvm::zip(numbers.axes, bounds.axes, result.axes)) {
      int64_t place =
          isAtBound ? divisibilityAt(bound, 1) : powerOfTwoIn(uint64_t(*bounds.constant) + 1);
      int64_t group = std::min(groupsWithin(number, place), bound.constancy);
      to.constancy = std::max(to.constancy, group);
    }
  }
  return result;
}

IndexFact Transfer::select() const {
  IndexFact result = meet(operand(1), operand(2), value());
  const IndexFact &condition = operand(0);
  if (shapeOf(op->getOperand(0).getType()).empty() && !shapeOf(type()).empty())
    return result;
  int64_t bytes = bytesBetween(type());
  for (auto [choice, to] : llvm::zip(condition.axes, result.axes)) {
    to.divisibility = divisibilityAt(to, std::min(to.run, choice.constancy), bytes);
    to.run = std::min(to.run, choice.constancy);
    to.constancy = std::min(to.constancy, choice.constancy);
    if (!choice.change.isInvariant())
      to.change = {};
  }
  return result;
}

/// Few values fit into narrow integers, where steps wrap around within one tile; and -1 extends to
/// 2^32 - 1, in front of 0.
AxisChange Transfer::castChange(AxisChange change) const {
  if (change.isInvariant())
    return change;
  if (isa<arith::ExtUIOp>(op))
    return change.isUnit() ? AxisChange{AxisChange::WrappedUnit} : AxisChange{};
  bool isNarrow = isa<arith::TruncIOp>(op) && elementTypeOf(type()).getIntOrFloatBitWidth() < 32;
  return isNarrow ? AxisChange{} : change;
}

/// Casts keep the low bits, and with them runs up to the first multiple of 2^bits.
IndexFact Transfer::cast() const {
  Type from = op->getOperand(0).getType();
  bool isSameSize = bytesBetween(from) == bytesBetween(type());
  IndexFact result = isSameSize ? operand(0) : single(operand(0));
  for (AxisFacts &axis : result.axes)
    axis.change = castChange(axis.change);
  // An address is not how far a pointer is from its argument.
  auto truncated = dyn_cast<arith::TruncIOp>(op);
  bool keepsSign = truncated && bitEnumContainsAny(truncated.getOverflowFlags(),
                                                   arith::IntegerOverflowFlags::nsw);
  if (isa<arith::TruncIOp, PtrToIntOp, IntToPtrOp>(op)) {
    result.isNonNegative &= keepsSign;
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

IndexFact Transfer::rearranged(ShapeOp shape) const {
  const IndexFact &from = operand(0);
  IndexFact result = uniform(type(), commonDivisibility(from));
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
IndexFact Transfer::regrouped(ReshapeOp reshape) const {
  const IndexFact &from = operand(0);
  IndexFact result = unknown();
  result.constant = from.constant;
  result.isNonNegative = from.isNonNegative;
  for (AxisFacts &axis : result.axes)
    axis.divisibility = commonDivisibility(from);
  ArrayRef<int64_t> source = shapeOf(reshape.getSource().getType()), target = shapeOf(type());
  if (reshape.getAllowReorder() || source.empty() || target.empty())
    return result;
  AxisFacts last = from.axes.back();
  int64_t extent = extentOf(type(), target.size() - 1);
  int64_t run = std::min(last.run, extent);
  result.axes.back() = {
      run, divisibilityAt(last, run, bytesBetween(type())), std::min(last.constancy, extent), {}};
  int64_t distance = 1; // in the source, whose elements follow each other in one dimension
  for (unsigned dim = target.size(); dim-- > 0 && source.size() == 1; distance *= target[dim])
    if (last.change.isConstant())
      result.axes[dim].change = scaled(last, distance).change;
  return result;
}

IndexFact Transfer::hint(HintOp hint) const {
  IndexFact result = operand(0);
  auto raise = [&](std::optional<ArrayRef<int64_t>> facts, int64_t AxisFacts::*field,
                   bool isWithinExtent) {
    for (unsigned dim = 0; facts && dim < result.axes.size(); ++dim) {
      int64_t fact = powerOfTwoIn((*facts)[dim]);
      if (isWithinExtent)
        fact = std::min(fact, extentOf(type(), dim));
      result.axes[dim].*field = std::max(result.axes[dim].*field, fact);
    }
  };
  raise(hint.getDivisibility(), &AxisFacts::divisibility, false);
  raise(hint.getContiguity(), &AxisFacts::run, true);
  raise(hint.getConstancy(), &AxisFacts::constancy, true);
  for (auto [axis, extent] : llvm::zip(result.axes, shapeOf(type())))
    if (axis.run == extent)
      axis.change = AxisChange::constant(1);
  return result;
}

/// Any function of the elements alone.
IndexFact Transfer::elementwise() const {
  SmallVector<const IndexFact *> operands;
  for (Value value : op->getOperands())
    operands.push_back(&of(value));
  return equalWhere(type(), operands);
}

IndexFact Transfer::arithmetic() const {
  return TypeSwitch<Operation *, IndexFact>(op)
      .Case<arith::AddIOp>([&](auto) {
        IndexFact result = zipAxes(operand(0), operand(1), [](const auto &lhs, const auto &rhs) {
          return sum(lhs, rhs, 1);
        });
        return folded(withSign(result, areNonNegative() && isIndexWide(type())),
                      [](int64_t lhs, int64_t rhs) { return lhs + rhs; });
      })
      .Case<arith::SubIOp>([&](auto) {
        return folded(
            withSign(zipAxes(operand(0), operand(1), difference), isDifferenceNonNegative(op, of)),
            [](int64_t lhs, int64_t rhs) { return lhs - rhs; });
      })
      .Case<arith::MulIOp>([&](auto) { return multiply(); })
      .Case<arith::DivSIOp, arith::FloorDivSIOp, arith::DivUIOp>([&](auto) { return divide(); })
      .Case<arith::RemSIOp>([&](auto) { return takeRemainder(false); })
      .Case<arith::RemUIOp>([&](auto) { return takeRemainder(true); })
      .Case<arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp>([&](auto) { return shift(); })
      .Case<arith::AndIOp>([&](auto) { return bitAnd(); })
      .Case<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>([&](auto) {
        IndexFact result = single(meet(operand(0), operand(1), value()));
        result.constant.reset();
        result.isNonNegative = areNonNegative() || isGroupSize(op, of) ||
                               (isa<arith::MaxSIOp, arith::MinUIOp>(op) &&
                                (operand(0).isNonNegative || operand(1).isNonNegative));
        return result;
      })
      .Case<arith::OrIOp, arith::XOrIOp>(
          [&](auto) { return withSign(elementwise(), areNonNegative()); })
      .Case([&](arith::CmpIOp op) { return compare(op); })
      .Case<arith::SelectOp>([&](auto) { return select(); })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, PtrCastOp,
            PtrToIntOp, IntToPtrOp>([&](auto) { return cast(); })
      .Default([&](Operation *other) {
        return other->hasTrait<OpTrait::Elementwise>() ? elementwise() : unknown();
      });
}

IndexFact Transfer::result() const {
  return TypeSwitch<Operation *, IndexFact>(op)
      .Case([&](arith::ConstantOp op) { return constant(op); })
      .Case([&](ArangeOp op) { return arange(op); })
      .Case<tile::ProgramIdOp, tile::NumProgramsOp>([&](auto) { return withSign(unknown(), true); })
      .Case([&](ShapeOp op) { return rearranged(op); })
      .Case([&](AddPtrOp op) {
        int64_t bytes = bytesBetween(op.getType());
        return withSign(
            zipAxes(operand(0), operand(1),
                    [&](const auto &lhs, const auto &rhs) { return sum(lhs, rhs, bytes); }),
            areNonNegative());
      })
      .Case([&](HintOp op) { return hint(op); })
      .Case([&](LoadOp op) { return op.getIsVolatile() ? unknown() : elementwise(); })
      .Case([&](simt::ConvertLayoutOp) { return operand(0); })
      .Default([&](Operation *) { return arithmetic(); });
}

IndexFact tw::factOfResult(Operation *op, FactOf of) {
  Transfer transfer{op, of};
  IndexFact fact = transfer.result();
  Type type = op->getResult(0).getType();
  noteSingleElements(fact, type);
  noteWholeGroups(fact, type);
  fact.form = formOf(op, fact, of);
  return fact;
}
