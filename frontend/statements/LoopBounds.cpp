// Computes bounds: integers of one type, and a trip count where the step may be negative.
#include "frontend/statements/LoopBounds.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/tiles/Operands.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
namespace arith = mlir::arith;

static bool isKnownPositive(const PyValue &step) {
  if (const TypedValue *typed = step.as<TypedValue>())
    return typed->value.getDefiningOp<tile::NumProgramsOp>() != nullptr;
  return toInteger(step).isStrictlyPositive();
}

/// The bounds as run-time integers of one type.
static FailureOr<std::vector<mlir::Value>> boundValues(Emitter &emitter, const RangeValue &range,
                                                       const Node &node, DType &dtype) {
  std::vector<TypedValue> bounds;
  dtype = findDType("int32");
  for (const auto *bound : {&range.start, &range.stop, &range.step}) {
    FailureOr<TypedValue> value = toRuntime(emitter, **bound, node);
    if (failed(value))
      return failure();
    if (value->isTile() || !value->dtype.isInt())
      return emitter.error(Code::WrongType, node,
                           "the bounds of a range must be integers, but one is " + value->str(),
                           value->dtype.isPointer ? kPointerHint : "convert it with .to(tw.int32)");
    if (value->dtype.bits() > 32 || (value->dtype.bits() == 32 && !value->dtype.isSigned()))
      dtype = findDType("int64");
    bounds.push_back(*value);
  }
  std::vector<mlir::Value> values;
  for (TypedValue &bound : bounds) {
    TileOr cast = emitter.tiles.cast(bound, dtype);
    if (!cast)
      return emitter.error(cast.reason(), node, {&node});
    values.push_back(cast->value);
  }
  return values;
}

/// Number of iterations for a step that is negative or of unknown sign; a step of 0 makes none.
static mlir::Value tripCount(Emitter &emitter, mlir::Value start, mlir::Value stop,
                             mlir::Value step) {
  mlir::OpBuilder &b = emitter.builder;
  mlir::Location loc = emitter.location();
  auto constant = [&](int64_t value) -> mlir::Value {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(step.getType(), value));
  };
  mlir::Value zero = constant(0), one = constant(1);
  mlir::Value isUp = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, step, zero);
  mlir::Value up = arith::SubIOp::create(b, loc, stop, start);
  mlir::Value down = arith::SubIOp::create(b, loc, start, stop);
  mlir::Value distance = arith::SelectOp::create(b, loc, isUp, up, down);
  mlir::Value negated = arith::SubIOp::create(b, loc, zero, step);
  // Distance and size are unsigned: they may be twice as large as a bound. The smallest integer is
  // its own negation, and as an unsigned number its magnitude.
  mlir::Value size = arith::SelectOp::create(b, loc, isUp, step, negated);
  size = arith::MaxUIOp::create(b, loc, size, one);
  // (distance - 1) / size + 1 cannot overflow for a positive distance.
  mlir::Value last =
      arith::DivUIOp::create(b, loc, arith::SubIOp::create(b, loc, distance, one), size);
  mlir::Value count = arith::AddIOp::create(b, loc, last, one);
  // Compared, not subtracted: the distance wraps where the bounds are far apart the other way.
  mlir::Value hasUp = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, start, stop);
  mlir::Value hasDown = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, start, stop);
  mlir::Value hasAny = arith::SelectOp::create(b, loc, isUp, hasUp, hasDown);
  mlir::Value isZero = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, step, zero);
  count = arith::SelectOp::create(b, loc, hasAny, count, zero);
  return arith::SelectOp::create(b, loc, isZero, zero, count);
}

using Folded = llvm::DenseMap<mlir::Operation *, mlir::Attribute>;

/// Returns the constant that passes will fold a value to: a constant itself, or the result of
/// operations on constants. Null for others.
static mlir::Attribute foldedValue(mlir::Value value, Folded &known, unsigned depth = 0) {
  constexpr unsigned most = 256; // of operations in a chain
  mlir::Operation *op = value.getDefiningOp();
  mlir::Attribute constant;
  if (!op || mlir::matchPattern(value, mlir::m_Constant(&constant)))
    return constant;
  if (depth == most || op->getNumResults() != 1 || op->getNumRegions() || !mlir::isPure(op))
    return nullptr;
  auto [entry, isNew] = known.try_emplace(op);
  if (!isNew)
    return entry->second;
  llvm::SmallVector<mlir::Attribute> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(foldedValue(operand, known, depth + 1));
  llvm::SmallVector<mlir::OpFoldResult> results;
  if (!llvm::is_contained(operands, nullptr) && mlir::succeeded(op->fold(operands, results)) &&
      results.size() == 1) {
    constant = llvm::dyn_cast<mlir::Attribute>(results[0]);
    if (!constant)
      constant = foldedValue(llvm::cast<mlir::Value>(results[0]), known, depth + 1);
  }
  return known[op] = constant;
}

/// Returns true if the distance between constant bounds does not fit a signed number of their type:
/// MLIR takes such a loop for one without iterations.
static bool areFarApart(const Bounds &bounds) {
  Folded known;
  auto start = llvm::dyn_cast_or_null<mlir::IntegerAttr>(foldedValue(bounds.start, known));
  auto stop = llvm::dyn_cast_or_null<mlir::IntegerAttr>(foldedValue(bounds.stop, known));
  bool overflows = false;
  if (start && stop)
    (void)stop.getValue().ssub_ov(start.getValue(), overflows);
  return overflows;
}

FailureOr<Bounds> tw::boundsOf(Emitter &emitter, const RangeValue &range, const Node &node) {
  const Node &site = node.child("iter");
  if (range.step->isInteger() && toInteger(*range.step).isZero())
    return emitter.error(Code::BadOption, site, "the step of a range must not be 0",
                         "use a positive or a negative step");
  Bounds bounds;
  FailureOr<std::vector<mlir::Value>> values = boundValues(emitter, range, site, bounds.dtype);
  if (failed(values))
    return failure();
  bounds.start = (*values)[0];
  bounds.stop = (*values)[1];
  bounds.step = (*values)[2];
  if ((range.step->isRuntime() || range.step->isInteger()) && isKnownPositive(*range.step) &&
      !areFarApart(bounds))
    return bounds;
  bounds.base = bounds.start;
  bounds.stride = bounds.step;
  bounds.stop = tripCount(emitter, bounds.start, bounds.stop, bounds.step);
  mlir::OpBuilder &b = emitter.builder;
  mlir::Type type = bounds.step.getType();
  bounds.start = arith::ConstantOp::create(b, emitter.location(), b.getIntegerAttr(type, 0));
  bounds.step = arith::ConstantOp::create(b, emitter.location(), b.getIntegerAttr(type, 1));
  return bounds;
}
