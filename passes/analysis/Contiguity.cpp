// How the elements of index and pointer tiles change along a dimension.
#include "passes/analysis/Contiguity.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::tile;

static AxisChange sum(AxisChange lhs, AxisChange rhs) {
  if (lhs.kind == AxisChange::Constant && rhs.kind == AxisChange::Constant)
    return AxisChange::constant(lhs.step + rhs.step);
  if (lhs.isInvariant())
    return rhs;
  if (rhs.isInvariant())
    return lhs;
  auto isAffine = [](AxisChange change) {
    return change.kind == AxisChange::Constant || change.kind == AxisChange::Affine;
  };
  return isAffine(lhs) && isAffine(rhs) ? AxisChange{AxisChange::Affine} : AxisChange{};
}

static AxisChange negated(AxisChange change) {
  if (change.kind == AxisChange::WrappedUnit)
    return {};
  return {change.kind, -change.step};
}

/// The change of `lhs * rhs` when one side does not vary along the dimension.
static AxisChange product(AxisChange lhs, AxisChange rhs, Value rhsValue) {
  if (lhs.isInvariant() && rhs.isInvariant())
    return AxisChange::constant(0);
  if (!rhs.isInvariant())
    return {};
  APInt factor;
  if (lhs.kind == AxisChange::Constant && matchPattern(rhsValue, m_ConstantInt(&factor)))
    return AxisChange::constant(lhs.step * factor.getSExtValue());
  bool isAffine = lhs.kind == AxisChange::Constant || lhs.kind == AxisChange::Affine;
  return isAffine ? AxisChange{AxisChange::Affine} : AxisChange{};
}

AxisChange Contiguity::along(Value tile, unsigned dim) {
  ArrayRef<int64_t> shape = shapeOf(tile.getType());
  if (shape.empty() || shape[dim] == 1)
    return AxisChange::constant(0);
  auto found = known.find({tile, dim});
  if (found != known.end())
    return found->second;
  AxisChange change = compute(tile, dim);
  known[{tile, dim}] = change;
  return change;
}

static std::optional<int64_t> factAlong(std::optional<ArrayRef<int64_t>> facts, unsigned dim) {
  if (!facts || dim >= facts->size())
    return std::nullopt;
  return (*facts)[dim];
}

/// The change of a cast of a tile that changes by `change`.
static AxisChange changeAfterCast(Operation *cast, AxisChange change) {
  if (change.isInvariant())
    return change;
  // -1 extends to 2^32 - 1, in front of 0.
  if (isa<arith::ExtUIOp>(cast))
    return change.isUnit() ? AxisChange{AxisChange::WrappedUnit} : AxisChange{};
  Type from = cast->getOperand(0).getType(), to = cast->getResult(0).getType();
  // Few values fit into narrow integers: steps wrap around within one tile.
  if (isa<arith::TruncIOp>(cast))
    return elementTypeOf(to).getIntOrFloatBitWidth() >= 32 ? change : AxisChange{};
  return isa<PtrCastOp>(cast) && from != to ? AxisChange{} : change;
}

AxisChange Contiguity::changeThrough(ShapeOp shape, unsigned dim) {
  Value source = shape->getOperand(0);
  if (std::optional<SmallVector<int>> dims = shape.getSourceDims())
    return (*dims)[dim] < 0 ? AxisChange::constant(0) : along(source, (*dims)[dim]);
  if (shapeOf(source.getType()).size() != 1)
    return {};
  AxisChange change = along(source, 0);
  for (int64_t extent : shapeOf(shape->getResult(0).getType()).drop_front(dim + 1))
    change.step *= extent;
  return change.kind == AxisChange::Constant ? change : AxisChange{};
}

AxisChange Contiguity::compute(Value tile, unsigned dim) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return {};
  auto operandAlong = [&](unsigned i) { return along(op->getOperand(i), dim); };
  auto allInvariant = [&] {
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return shapeOf(operand.getType()).size() <= dim || along(operand, dim).isInvariant();
    });
  };
  auto invariantOrUnknown = [&](bool isInvariant) {
    return isInvariant ? AxisChange::constant(0) : AxisChange{};
  };
  return TypeSwitch<Operation *, AxisChange>(op)
      .Case([&](arith::ConstantOp constant) {
        return invariantOrUnknown(isa<SplatElementsAttr>(constant.getValue()));
      })
      .Case([](ArangeOp) { return AxisChange::constant(1); })
      .Case([&](ShapeOp shape) { return changeThrough(shape, dim); })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, PtrCastOp>(
          [&](Operation *cast) { return changeAfterCast(cast, operandAlong(0)); })
      .Case<arith::AddIOp, AddPtrOp>(
          [&](Operation *) { return sum(operandAlong(0), operandAlong(1)); })
      .Case([&](arith::SubIOp) { return sum(operandAlong(0), negated(operandAlong(1))); })
      .Case([&](arith::MulIOp mul) {
        AxisChange lhs = operandAlong(0), rhs = operandAlong(1);
        return lhs.isInvariant() ? product(rhs, lhs, mul.getLhs())
                                 : product(lhs, rhs, mul.getRhs());
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](Operation *) {
        if (!operandAlong(1).isInvariant())
          return AxisChange{};
        AxisChange value = operandAlong(0);
        return value.isUnit() ? AxisChange{AxisChange::WrappedUnit}
                              : invariantOrUnknown(value.isInvariant());
      })
      .Case([&](HintOp hint) {
        int64_t extent = shapeOf(tile.getType())[dim];
        if (factAlong(hint.getContiguity(), dim).value_or(1) >= extent)
          return AxisChange::constant(1);
        if (factAlong(hint.getConstancy(), dim).value_or(1) >= extent)
          return AxisChange::constant(0);
        return operandAlong(0);
      })
      .Case([&](arith::SelectOp select) {
        AxisChange lhs = along(select.getTrueValue(), dim),
                   rhs = along(select.getFalseValue(), dim);
        bool fixedChoice = shapeOf(select.getCondition().getType()).empty() ||
                           along(select.getCondition(), dim).isInvariant();
        return fixedChoice && lhs == rhs ? lhs : AxisChange{};
      })
      .Case<LoadOp, PtrToIntOp, IntToPtrOp>(
          [&](Operation *) { return invariantOrUnknown(allInvariant()); })
      .Default([&](Operation *other) {
        bool isElementwise = other->hasTrait<OpTrait::Elementwise>();
        return invariantOrUnknown(isElementwise && allInvariant());
      });
}
