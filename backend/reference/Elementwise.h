// How elementwise operations are computed: one element of the result from one of each operand.
#ifndef BACKEND_REFERENCE_ELEMENTWISE_H
#define BACKEND_REFERENCE_ELEMENTWISE_H
#include "backend/reference/Interpreter.h"

namespace tw::reference {

/// The operands' elements at one position, with their types.
struct ElementwiseCall {
  mlir::Operation &op;
  mlir::Type operandType, resultType; // element types of the first operand and of the first result
  llvm::ArrayRef<uint64_t> operands;

  unsigned width() const { return elementWidth(operandType); }
  unsigned resultWidth() const { return elementWidth(resultType); }
  uint64_t unsignedAt(unsigned operand) const { return operands[operand]; }
  int64_t signedAt(unsigned operand) const { return signExtend(operands[operand], width()); }
  double floatAt(unsigned operand) const { return toDouble(operandType, operands[operand]); }
};

/// Runs `meaning` on every element of the operands.
llvm::LogicalResult runElementwise(Program &program, mlir::Operation &op,
                                   ElementwiseMeaning meaning);

// Operations whose meaning a function of plain numbers says. Integer results wrap at the result's
// width. Float results are computed in double and rounded once to the type: for + - * / and sqrt of
// f32, f16 and bf16 that is the correctly rounded result, since double has more than twice their
// precision.
template <auto function> uint64_t unsignedMeaning(const ElementwiseCall &call) {
  uint64_t result = function(call.unsignedAt(0), call.unsignedAt(1), call.width());
  return truncateToWidth(result, call.resultWidth());
}
template <auto function> uint64_t signedMeaning(const ElementwiseCall &call) {
  uint64_t result = function(call.signedAt(0), call.signedAt(1), call.width());
  return truncateToWidth(result, call.resultWidth());
}
template <auto function> uint64_t binaryFloatMeaning(const ElementwiseCall &call) {
  return fromDouble(call.resultType, function(call.floatAt(0), call.floatAt(1)));
}

/// The greater and the smaller number: -0 is below +0; a NaN is ignored, or wins when `propagates`.
double maximumOf(double lhs, double rhs, bool propagates);
double minimumOf(double lhs, double rhs, bool propagates);

} // namespace tw::reference
#endif
