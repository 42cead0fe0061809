// Arithmetic: Python's meaning at compile time, operations of the language at run time.
#include "frontend/operators/Operators.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/values/StaticOperators.h"
#include "frontend/values/ValueText.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

/// Returns true if a double cannot hold an integer: Python divides such integers without rounding
/// them.
static bool isLargeInteger(const PyValue &value) {
  return value.is<llvm::APSInt>() && value.as<llvm::APSInt>()->getSignificantBits() > 54;
}

/// x ** n for a small n known at compile time, by multiplications: exact for integers, and for
/// floats up to the fourth power as good as the function.
static std::optional<int64_t> factorsOfPower(const TypedValue &base, const PyValue &exponent) {
  std::optional<int64_t> count = exponent.isInteger() ? toInt64(exponent) : std::nullopt;
  bool isFew = count && *count >= 1 && *count <= (base.dtype.isFloat() ? 4 : 64);
  return isFew && !base.dtype.isPointer ? count : std::nullopt;
}

static FailureOr<PyValue> emitPower(Emitter &emitter, TypedValue base, int64_t count,
                                    const Node &site, const Node &baseNode) {
  std::optional<TypedValue> result;
  for (; count > 0; count >>= 1) {
    if (count & 1) {
      TileOr next = result ? emitter.tiles.binary(BinaryOperator::Mul, *result, base) : base;
      if (!next)
        return emitter.error(next.reason(), site, {&baseNode, &baseNode});
      result = *next;
    }
    if (count == 1)
      break;
    TileOr square = emitter.tiles.binary(BinaryOperator::Mul, base, base);
    if (!square)
      return emitter.error(square.reason(), site, {&baseNode, &baseNode});
    base = *square;
  }
  return PyValue{*result};
}

bool tw::checksOverflowHere(Emitter &emitter) {
  return emitter.options.checksOverflow && !emitter.mayWrap && !emitter.frame().source->isLibrary;
}

/// An operator on values that are all known at compile time.
static FailureOr<PyValue> evaluateBinary(Emitter &emitter, BinaryOperator op, const PyValue &lhs,
                                         const PyValue &rhs, const Node &site) {
  bool isFormatting = op == BinaryOperator::Mod && lhs.is<std::string>();
  bool isRounded = op == BinaryOperator::Div && (isLargeInteger(lhs) || isLargeInteger(rhs));
  bool isPythons = isObject(lhs) || isObject(rhs) || isFormatting || isRounded;
  FailureOr<PyValue> result = orReport(
      emitter, isPythons ? pythonBinary(emitter, op, lhs, rhs) : staticBinary(op, lhs, rhs), site);
  if (succeeded(result))
    result->isNamed = (lhs.isNamed || rhs.isNamed) && result->isNumber();
  return result;
}

FailureOr<PyValue> tw::emitBinary(Emitter &emitter, BinaryOperator op, const PyValue &lhs,
                                  const PyValue &rhs, const Node &site, const Node &lhsNode,
                                  const Node &rhsNode) {
  for (const auto &[operand, node] : {std::pair(&lhs, &lhsNode), std::pair(&rhs, &rhsNode)})
    if (operand->is<Descriptor>())
      return rejectDescriptor(emitter, *operand, *node);
  if (!lhs.isRuntime() && !rhs.isRuntime() && !lhs.is<Absent>() && !rhs.is<Absent>())
    return evaluateBinary(emitter, op, lhs, rhs, site);
  FailureOr<std::pair<TypedValue, TypedValue>> operands =
      toRuntime(emitter, lhs, lhsNode, rhs, rhsNode);
  if (failed(operands))
    return failure();
  auto [left, right] = *operands;
  emitter.locate(site);
  llvm::SaveAndRestore checks(emitter.tiles.checksOverflow, checksOverflowHere(emitter));
  if (op == BinaryOperator::Pow)
    if (std::optional<int64_t> count = factorsOfPower(left, rhs))
      return emitPower(emitter, left, *count, site, lhsNode);
  return orReport(emitter, emitter.tiles.binary(op, left, right), site, {&lhsNode, &rhsNode});
}

FailureOr<PyValue> tw::emitUnary(Emitter &emitter, UnaryOperator op, const PyValue &operand,
                                 const Node &site, const Node &node) {
  if (op == UnaryOperator::Not && operand.is<Opaque>()) {
    FailureOr<bool> truth = staticTruth(emitter, operand, node);
    if (failed(truth))
      return failure();
    return PyValue{!*truth};
  }
  if (!operand.isRuntime() && !operand.is<Absent>() && !operand.is<Descriptor>()) {
    OrReason<PyValue> known =
        isObject(operand) ? pythonUnary(emitter, op, operand) : staticUnary(op, operand);
    FailureOr<PyValue> result = orReport(emitter, known, site);
    if (succeeded(result))
      result->isNamed = operand.isNamed && result->isNumber();
    return result;
  }
  FailureOr<TypedValue> typed = toRuntime(emitter, operand, node);
  if (failed(typed))
    return failure();
  emitter.locate(site);
  llvm::SaveAndRestore checks(emitter.tiles.checksOverflow, checksOverflowHere(emitter));
  return orReport(emitter, emitter.tiles.unary(op, *typed), site, {&node});
}
