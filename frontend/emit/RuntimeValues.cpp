// Values on their way from compile time to run time, and the reports of those that cannot go.
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/tiles/Operands.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

static TileOr literalOf(TileBuilder &tiles, const PyValue &number) {
  if (const bool *isTrue = number.as<bool>())
    return tiles.boolLiteral(*isTrue);
  if (const double *value = number.as<double>())
    return tiles.floatLiteral(*value);
  llvm::APSInt integer = toInteger(number);
  return tiles.intLiteral(integer, integer.isNegative());
}

FailureOr<TypedValue> tw::toRuntime(Emitter &emitter, const PyValue &value, const Node &node) {
  if (const TypedValue *typed = value.as<TypedValue>())
    return *typed;
  if (value.is<Absent>())
    return emitter.rejectAbsent(value, node);
  emitter.locate(node);
  if (value.isNumber()) {
    TileOr literal = literalOf(emitter.tiles, value);
    if (!literal)
      return emitter.error(literal.reason(), node, {&node});
    literal->isNamed = value.isNamed;
    return *literal;
  }
  if (value.is<Descriptor>())
    return rejectDescriptor(emitter, value, node);
  return emitter.error(Code::WrongType, node,
                       "a number or a tile is needed here, not " + typeName(value),
                       "use a scalar, a tile or a Python number");
}

FailureOr<std::pair<TypedValue, TypedValue>> tw::toRuntime(Emitter &emitter, const PyValue &lhs,
                                                           const Node &lhsNode, const PyValue &rhs,
                                                           const Node &rhsNode) {
  FailureOr<TypedValue> left = toRuntime(emitter, lhs, lhsNode);
  if (failed(left))
    return failure();
  FailureOr<TypedValue> right = toRuntime(emitter, rhs, rhsNode);
  if (failed(right))
    return failure();
  return std::pair(*left, *right);
}

mlir::LogicalResult tw::checkTruth(Emitter &emitter, const TypedValue &condition,
                                   const Node &node) {
  if (std::optional<Reason> problem = whyNoTruth(condition))
    return emitter.error(*problem, node, {&node});
  return mlir::success();
}

FailureOr<mlir::Value> tw::toCondition(Emitter &emitter, const PyValue &value, const Node &node) {
  if (isStatic(value)) {
    FailureOr<bool> truth = staticTruth(emitter, value, node);
    emitter.locate(node);
    return failed(truth) ? FailureOr<mlir::Value>(failure())
                         : emitter.tiles.boolLiteral(*truth).value;
  }
  FailureOr<TypedValue> typed = toRuntime(emitter, value, node);
  if (failed(typed))
    return failure();
  emitter.locate(node);
  if (typed->isTile() && tile::numElementsOf(typed->value.getType()) == 1)
    typed = *emitter.tiles.reshape(*typed, {}, /*allowReorder=*/false);
  if (typed->isTile())
    return emitter.error(Code::BadCondition, node,
                         "a condition must be one truth value, but this is a tile of many",
                         "use tw.where(...) to choose per element, or reduce the tile to a scalar",
                         {emitter.label(node, "this is " + typed->str())});
  emitter.locate(node);
  TileOr truth = emitter.tiles.truth(*typed);
  if (!truth)
    return emitter.error(truth.reason(), node, {&node});
  return truth->value;
}

FailureOr<PyValue> tw::orReport(Emitter &emitter, TileOr result, const Node &site,
                                llvm::ArrayRef<const Node *> operands) {
  if (!result)
    return emitter.error(result.reason(), site, operands);
  return PyValue{*result};
}

FailureOr<PyValue> tw::orReport(Emitter &emitter, OrReason<PyValue> result, const Node &site) {
  if (result)
    return *result;
  return emitter.error(Code::StaticEvaluation, site,
                       "this compile-time expression fails: " + result.reason().message,
                       "the values are known at compile time, so Python's rules hold");
}

FailureOr<std::vector<PyValue>> tw::elementsOf(Emitter &emitter, const PyValue &value,
                                               const Node &node) {
  if (std::optional<std::vector<PyValue>> items = elementsOf(value))
    return *items;
  if (value.is<Opaque>())
    if (OrReason<PyValue> items = pythonCall(emitter, "tuple", {value}))
      return (*items->as<Tuple>())->items;
  if (value.isRuntime())
    return emitter.error(Code::NotIterable, node, "a tile cannot be iterated or unpacked",
                         "use tw.split(...) or reductions; only tuples and ranges can be iterated",
                         {emitter.label(node, "this is " + value.as<TypedValue>()->str())});
  if (value.is<RangeValue>() && isStatic(value))
    return emitter.error(Code::LimitExceeded, node, "this range is too long to be unrolled",
                         "use range(...) or tw.range(...), which run the loop on the device");
  if (value.is<RangeValue>())
    return emitter.error(Code::NotStatic, node,
                         "the bounds of this range must be known at compile time",
                         "pass them as tw.constexpr, or use a `for` statement");
  return emitter.error(Code::NotIterable, node, typeName(value) + " cannot be iterated or unpacked",
                       "only tuples, lists and ranges can");
}
