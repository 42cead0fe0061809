// Builtins that compute per element, choose, convert or multiply matrices.
#include "frontend/builtins/MethodBuiltin.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/operators/Operators.h"
#include "frontend/values/StaticOperators.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/SaveAndRestore.h"
#include <cmath>

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

FailureOr<PyValue> tw::emitElementwise(BuiltinCall &call) {
  std::vector<TypedValue> operands(call.bound.size());
  for (auto [i, operand] : llvm::enumerate(operands))
    if (failed(call.readInto(i, operand)))
      return failure();
  return call.orReport(
      call.tiles().elementwise(*tile::findElementwise(call.name), std::move(operands)));
}

/// div_rn(x, y) and fdiv(x, y, ieee_rounding, approx).
static FailureOr<PyValue> emitFdiv(BuiltinCall &call) {
  TypedValue lhs, rhs;
  if (failed(call.read(lhs, rhs)))
    return failure();
  bool isFdiv = call.name == "fdiv", isExact = !isFdiv, isApproximate = false;
  if (isFdiv && failed(call.readFrom(2, isExact, isApproximate)))
    return failure();
  if (isExact && isApproximate)
    return call.emitter.error(Code::BadOption, call.node(3),
                              "a quotient is not both approximate and correctly rounded",
                              "give either ieee_rounding or approx");
  return call.orReport(call.tiles().fdiv(lhs, rhs, isExact));
}

template <BinaryOperator op> static FailureOr<PyValue> emitOperator(BuiltinCall &call) {
  bool sanitizes = true;
  if (failed(call.readFrom(2, sanitizes)))
    return failure();
  llvm::SaveAndRestore wraps(call.emitter.mayWrap, !sanitizes);
  return emitBinary(call.emitter, op, call.value(0), call.value(1), call.site, call.node(0),
                    call.node(1));
}

/// -(-a // b), as Python rounds quotients down.
static OrReason<PyValue> staticCdiv(const PyValue &number, const PyValue &divisor) {
  OrReason<PyValue> negated = staticUnary(UnaryOperator::USub, number);
  if (!negated)
    return negated;
  OrReason<PyValue> quotient = staticBinary(BinaryOperator::FloorDiv, *negated, divisor);
  return quotient ? staticUnary(UnaryOperator::USub, *quotient) : quotient;
}

static FailureOr<PyValue> emitCdiv(BuiltinCall &call) {
  if (call.value(0).isInteger() && call.value(1).isInteger())
    return orReport(call.emitter, staticCdiv(call.value(0), call.value(1)), call.site);
  llvm::SaveAndRestore checks(call.tiles().checksOverflow, checksOverflowHere(call.emitter));
  return callTileMethod(call, &TileBuilder::cdiv);
}

static bool isNan(const PyValue &number) {
  const double *real = number.as<double>();
  return real && std::isnan(*real);
}

/// Returns the index of the extremum of two known numbers, by the rules of the run time: a NaN
/// counts only where it propagates.
static size_t placeOfExtremum(const PyValue &a, const PyValue &b, bool isMinimum, bool propagates) {
  if (isNan(a) || isNan(b))
    return isNan(a) == propagates ? 0 : 1;
  return truthOf(*staticCompare(isMinimum ? Comparison::LtE : Comparison::GtE, a, b)) ? 0 : 1;
}

static FailureOr<PyValue> emitExtremum(BuiltinCall &call) {
  bool isMinimum = call.name == "minimum";
  FailureOr<bool> propagates = call.propagatesNan(2);
  if (failed(propagates))
    return failure();
  if (call.value(0).isNumber() && call.value(1).isNumber())
    return call.value(placeOfExtremum(call.value(0), call.value(1), isMinimum, *propagates));
  TypedValue lhs, rhs;
  if (failed(call.read(lhs, rhs)))
    return failure();
  return call.orReport(isMinimum ? call.tiles().minimum(lhs, rhs, *propagates)
                                 : call.tiles().maximum(lhs, rhs, *propagates));
}

static FailureOr<PyValue> emitClamp(BuiltinCall &call) {
  TypedValue x, low, high;
  if (failed(call.read(x, low, high)))
    return failure();
  FailureOr<bool> propagates = call.propagatesNan(3);
  if (failed(propagates))
    return failure();
  return call.orReport(call.tiles().clamp(x, low, high, *propagates));
}

static FailureOr<PyValue> emitWhere(BuiltinCall &call) {
  if (isStatic(call.value(0)) && call.value(1).isNumber() && call.value(2).isNumber())
    return call.value(truthOf(call.value(0)) ? 1 : 2);
  return callTileMethod(call, &TileBuilder::where);
}

static FailureOr<PyValue> emitCast(BuiltinCall &call) {
  TypedValue operand;
  DType dtype;
  std::string rounding;
  bool isBitcast = false;
  if (failed(call.read(operand, dtype, rounding, isBitcast)))
    return failure();
  if (!rounding.empty() && rounding != "rtne" && rounding != "rtz")
    return call.badOption(2, "\"rtne\" and \"rtz\"");
  TileOr result = call.tiles().cast(operand, dtype, {isBitcast, rounding});
  if (result)
    result->isLiteral = false;
  return call.orReport(result);
}

static FailureOr<PyValue> emitToTensor(BuiltinCall &call) {
  TypedValue operand;
  if (failed(call.read(operand)))
    return failure();
  operand.isLiteral = false;
  return PyValue{operand};
}

//===-- dot ----------------------------------------------------------------------------------===//

/// input_precision, or its older spelling allow_tf32, at these positions; empty without either.
static LogicalResult readPrecision(BuiltinCall &call, size_t precision, size_t allowTf32,
                                   std::string &text) {
  static constexpr llvm::StringLiteral kKnown[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};
  if (failed(call.readInto(precision, text)))
    return failure();
  if (call.has(precision) && !llvm::is_contained(kKnown, text))
    return call.badOption(precision, "\"tf32\", \"tf32x3\", \"ieee\", \"bf16x3\", \"bf16x6\"");
  if (!call.has(allowTf32))
    return success();
  if (call.has(precision))
    return call.emitter.error(Code::BadOption, call.node(allowTf32),
                              "`dot` is given both input_precision and allow_tf32",
                              "leave out allow_tf32, the older spelling of the same");
  bool allowsTf32 = true;
  if (failed(call.readInto(allowTf32, allowsTf32)))
    return failure();
  text = allowsTf32 ? "tf32" : "ieee";
  return success();
}

static FailureOr<PyValue> emitDot(BuiltinCall &call) {
  TypedValue a, b;
  DotOptions options;
  std::string precision;
  if (failed(call.read(a, b, options.acc)) || failed(readPrecision(call, 3, 4, precision)) ||
      failed(call.readFrom(5, options.maxImprecise, options.outDType)))
    return failure();
  options.precision = precision;
  return call.orReport(call.tiles().dot(a, b, options));
}

static constexpr BuiltinRow kMathRows[] = {
    {"add", "x, y, sanitize_overflow=True", emitOperator<BinaryOperator::Add>},
    {"sub", "x, y, sanitize_overflow=True", emitOperator<BinaryOperator::Sub>},
    {"mul", "x, y, sanitize_overflow=True", emitOperator<BinaryOperator::Mul>},
    {"cdiv", "x, div", emitCdiv},
    {"fdiv", "x, y, ieee_rounding=False, approx=False", emitFdiv},
    {"div_rn", "x, y", emitFdiv},
    {"umulhi", "x, y", emitMethod<&TileBuilder::umulhi>},
    {"minimum", "x, y, propagate_nan=PropagateNan.NONE", emitExtremum},
    {"maximum", "x, y, propagate_nan=PropagateNan.NONE", emitExtremum},
    {"clamp", "x, min, max, propagate_nan=PropagateNan.NONE", emitClamp},
    {"where", "condition, x, y", emitWhere},
    {"cast", "input, dtype, fp_downcast_rounding=None, bitcast=False", emitCast},
    {"to_tensor", "x", emitToTensor},
    {"dot",
     "input, other, acc=None, input_precision=None, allow_tf32=None, "
     "max_num_imprecise_acc=None, out_dtype=None",
     emitDot},
    {"inline_asm_elementwise", "asm, constraints, args, dtype, is_pure, pack", emitInlineAsm},
    {"extern_call", "symbol, args, dtype, is_pure", emitExternCall},
};

llvm::ArrayRef<BuiltinRow> tw::mathBuiltins() { return kMathRows; }
