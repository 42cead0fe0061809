// Writes arithmetic on one type of float, a scalar or a vector, as short as the formula reads.
#ifndef PASSES_MATH_FORMULA_H
#define PASSES_MATH_FORMULA_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tw {

/// Builds operations on values of `floatType` and of the integers of its width. Nothing built here
/// is poison or depends on the floating-point environment; comparisons are false on NaN.
class Formula {
public:
  using Value = mlir::Value;
  /// `hasScale`: one instruction multiplies by a power of two.
  Formula(mlir::OpBuilder &builder, mlir::Location location, mlir::Type floatType, bool hasScale)
      : builder(builder), location(location), floatType(floatType), hasScale(hasScale) {}

  mlir::OpBuilder &builder;
  const mlir::Location location;
  const mlir::Type floatType;
  const bool hasScale;
  /// arith.minimumf and arith.maximumf, which yield NaN, are one instruction each.
  bool hasNanMinimum = false;
  /// One instruction multiplies and adds.
  bool hasFma = true;

  bool isDouble() const;
  unsigned mantissaBits() const { return isDouble() ? 52 : 23; }
  int exponentBias() const { return isDouble() ? 1023 : 127; }
  /// The one of two constants that belongs to the type.
  double pick(double ofSingle, double ofDouble) const { return isDouble() ? ofDouble : ofSingle; }

  /// `floatType` with another element type.
  mlir::Type typeOf(mlir::Type element) const;
  mlir::Type integerType() const;

  Value constant(double value);
  Value integer(int64_t value);

  Value add(Value a, Value b);
  Value sub(Value a, Value b);
  Value mul(Value a, Value b);
  Value div(Value a, Value b);
  Value negate(Value a);
  /// a * b + c, rounded once; without an instruction for that, float32 by way of float64, whose
  /// rounding before the last may show once in 2^29 results.
  Value fma(Value a, Value b, Value c);
  /// coefficients[0] + x * (coefficients[1] + ...).
  Value polynomial(llvm::ArrayRef<float> coefficients, Value x);
  Value polynomial(llvm::ArrayRef<double> coefficients, Value x);
  Value polynomial(llvm::ArrayRef<float> ofSingle, llvm::ArrayRef<double> ofDouble, Value x) {
    return isDouble() ? polynomial(ofDouble, x) : polynomial(ofSingle, x);
  }

  Value absolute(Value a);
  Value copySign(Value magnitude, Value sign);
  Value bits(Value a);
  Value fromBits(Value a);
  Value fromSigned(Value a); // the float of an integer's value
  Value addInt(Value a, Value b);
  Value subInt(Value a, Value b);
  Value andInt(Value a, Value b);
  Value orInt(Value a, Value b);
  Value xorInt(Value a, Value b);
  Value shiftLeft(Value a, int64_t amount);
  Value shiftRight(Value a, int64_t amount);       // zeros come in
  Value shiftRightSigned(Value a, int64_t amount); // the sign comes in

  Value less(Value a, Value b);
  Value equal(Value a, Value b);
  Value isNan(Value a);
  Value isUnordered(Value a, Value b); // either is NaN
  Value compareInt(mlir::arith::CmpIPredicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  /// The nearer bound where x is outside; NaN stays NaN.
  Value atMost(Value x, double bound);
  Value atLeast(Value x, double bound);
};

} // namespace tw
#endif
