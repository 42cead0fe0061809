// What the files that rewrite arith operations share.
#ifndef PASSES_MATH_EXPANDARITH_H
#define PASSES_MATH_EXPANDARITH_H
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace mlir {
class RewritePatternSet;
}

namespace tw {

/// Integer division that never traps: x / 0 is 0, x % 0 is 0, and MIN / -1 wraps.
void populateDivisionPatterns(mlir::RewritePatternSet &patterns);
/// Maxima and minima of float16 become those of float32.
void populateMinMaxPatterns(mlir::RewritePatternSet &patterns);
/// Float to integer saturates and turns NaN into 0; rounding to 16-bit floats needs no library.
void populateConversionPatterns(mlir::RewritePatternSet &patterns);

/// Returns true for a float of 8 bits with a sign, such as f8E4M3FN or f8E5M2FNUZ.
bool isFloat8(mlir::Type element);
/// A scalar or vector of 8-bit floats as float32: exact.
mlir::Value emitExtendFloat8(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value);
/// A float32 scalar or vector as 8-bit floats: rounded to nearest even; what is beyond the largest
/// finite value, infinity too, becomes that value; NaN stays NaN.
mlir::Value emitRoundToFloat8(mlir::OpBuilder &builder, mlir::Location location, mlir::Value x,
                              mlir::Type type);

/// A float64, float16 or bfloat16 as a float32 that rounds to the same 8-bit float.
mlir::Value emitFloat8Source(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value);
/// `x` where the value is `x` between the largest finite values of the 8-bit float, to which the
/// conversion bounds it anyway; else the value.
mlir::Value withoutFloat8Bound(mlir::Value value, mlir::Type float8);

/// A vector type with another element type, or that element type for a scalar.
mlir::Type withElement(mlir::Type type, mlir::Type element);
/// A constant of an integer type or of a vector of integers; int64_t values wrap to the width.
mlir::Value emitInteger(mlir::OpBuilder &builder, mlir::Location location, mlir::Type type,
                        const llvm::APInt &value);
mlir::Value emitInteger(mlir::OpBuilder &builder, mlir::Location location, mlir::Type type,
                        int64_t value);

} // namespace tw
#endif
