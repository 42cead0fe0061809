// Formulas of one lane's math functions over the machine's approximations, and the rewrites that
// use them.
#ifndef PASSES_SIMT_LOWERING_EXPANDSIMTMATH_H
#define PASSES_SIMT_LOWERING_EXPANDSIMTMATH_H
#include "ir/simt/Simt.h"
#include "passes/math/ExpandMath.h"

namespace mlir {
class RewritePatternSet;
}

namespace tw::simt {

/// Builds operations on scalars of float32 or float64. A float32 has the machine's approximations;
/// minimum and maximum yield NaN in one instruction.
class LaneFormula : public Formula {
public:
  LaneFormula(mlir::OpBuilder &builder, mlir::Location location, mlir::Type floatType);
  /// The same on the other width.
  LaneFormula ofDouble() const;
  LaneFormula ofSingle() const;

  /// Approximates a function of float32 only; ApproxOp documents the errors.
  Value approximate(ApproxKind kind, Value x);
  /// The quotient: within 2 units in the last place, of float64 exact to half of one.
  Value divide(Value a, Value b);
  /// The quotient within 1 unit, where neither a / b nor 1 / b leaves the normal range.
  Value divideNear(Value a, Value b);
  /// The square root within 1 unit.
  Value root(Value x);
  Value truncate(Value x); // towards 0

  Value shiftLeftBy(Value a, Value amount);
  Value shiftRightBy(Value a, Value amount);  // zeros come in
  Value divideInt(Value a, int64_t divisor);  // unsigned
  Value remainderInt(Value a, Value divisor); // unsigned; the divisor is not 0
  struct Product {
    Value low, high;
  };
  /// All bits of the product of unsigned integers.
  Product multiplyInt(Value a, Value b);
  Value fromUnsigned(Value a);
  Value toOtherWidth(Value x);    // float32 <-> float64; x is of the other width
  Value toOtherWidthInt(Value x); // the unsigned integers beside them, by their low bits

  /// Returns what `rare` yields if the condition holds, else `usual`.
  llvm::SmallVector<Value> branch(Value condition,
                                  llvm::function_ref<llvm::SmallVector<Value>()> rare,
                                  llvm::ArrayRef<Value> usual);
  /// Carries values through `body` while `condition` of them holds.
  using Carried = llvm::ArrayRef<Value>;
  llvm::SmallVector<Value> repeat(llvm::function_ref<Value(Carried)> condition,
                                  llvm::function_ref<llvm::SmallVector<Value>(Carried)> body,
                                  llvm::ArrayRef<Value> initial);
};

/// The formulas that the rows of ir/tile/Elementwise.td name. The largest errors of float32 are in
/// the rows, those of float64 are 4 units in the last place.
using LaneFormulaFunction = mlir::Value(LaneFormula &f, llvm::ArrayRef<mlir::Value> operands);
#include "ir/tile/SimtFormulas.inc"
/// The remainder of a / b with the sign of a: exact.
LaneFormulaFunction emitLaneRemainder;

/// Arithmetic with the meaning that it has on tiles.
void populateSimtArithPatterns(mlir::RewritePatternSet &patterns);
/// Conversions of 8-bit floats, which the machine may have for pairs (ExpandSimtFloat8.cpp).
void populateSimtFloat8Patterns(mlir::RewritePatternSet &patterns);
/// Bytes that become f16, four at a time.
void populateSimtBytePatterns(mlir::RewritePatternSet &patterns);

} // namespace tw::simt
#endif
