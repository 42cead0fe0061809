// Rewrites of math and arith operations on scalars and vectors into what a code generator selects
// well.
#ifndef PASSES_MATH_EXPANDMATH_H
#define PASSES_MATH_EXPANDMATH_H
#include "passes/math/Formula.h"

namespace mlir {
class RewritePatternSet;
}

namespace tw {

inline constexpr double kLog2E = 1.44269504088896340736;
// ln 2 in two parts of float32, whose products with an exponent are exact.
inline constexpr double kLn2High = 0x1.62e430p-1, kLn2Low = -0x1.05c610p-29;

/// The instructions that the machine offers to math functions.
struct MathMachine {
  unsigned vectorBytes = 0;     // of a register; 0: for functions of scalars
  bool hasFma = true;           // one instruction multiplies and adds
  bool hasScale = true;         // one instruction multiplies by a power of two
  bool hasVectorLibrary = true; // functions of libmvec may be called
};

/// Elementwise functions of the math dialect: formulas, library calls, or 16-bit floats through
/// f32.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns, const MathMachine &machine);
/// Operations of arith that are undefined upstream for some operands and defined on tiles: shifts,
/// integer division, float to integer; and conversions to 16-bit floats without library calls.
void populateDefinedArithPatterns(mlir::RewritePatternSet &patterns);
/// Adds the patterns of those for shifts.
void populateShiftPatterns(mlir::RewritePatternSet &patterns);

/// An integral float n, and the float that carries n and a bias in its low bits.
struct RoundedExponent {
  mlir::Value integral, shifted;
};
/// The integer nearest to x, for scaleByPower.
RoundedExponent roundExponent(Formula &f, mlir::Value x);
/// p * 2^n, overflowing to infinity and underflowing gradually, for n in [-152, 128], of float64 in
/// [-1077, 1024].
mlir::Value scaleByPower(Formula &f, mlir::Value p, const RoundedExponent &n);

/// exp(x) and 2^x for |x| up to half a binade and a little beyond.
mlir::Value emitExpNearZero(Formula &f, mlir::Value x);
mlir::Value emitExp2NearZero(Formula &f, mlir::Value x);

/// x = 2^exponent * (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)).
struct DecomposedFloat {
  mlir::Value exponent, fraction;
  mlir::Value exponentBits; // exponent, in the place of a float's exponent
};
/// For any positive finite x: subnormal numbers are scaled up first.
DecomposedFloat decomposePositive(Formula &f, mlir::Value x);

/// An angle as rest + quadrant * pi/2; the low two bits of the integer `quadrant` count.
struct ReducedAngle {
  mlir::Value rest, quadrant;
};
/// For |x| <= largestReducibleAngle(); beyond, a quadrant is no longer near enough to x / (pi/2).
ReducedAngle reduceAngle(Formula &f, mlir::Value x);
double largestReducibleAngle(Formula &f);
/// sin(angle + quarters * pi/2); the sign of -0 is lost.
mlir::Value emitSinOf(Formula &f, const ReducedAngle &angle, int quarters);
/// sin(r) and cos(r) for |r| <= pi/4.
mlir::Value emitShortSin(Formula &f, mlir::Value r);
mlir::Value emitShortCos(Formula &f, mlir::Value r);

/// Formulas for float32 and (all but erf, sin and cos) float64, one of each row of
/// ir/tile/Elementwise.td that names one. The largest error of float32 is in the row.
using VectorFormulaFunction = mlir::Value(Formula &f, mlir::Value x);
#include "ir/tile/SimdFormulas.inc"

/// Calls `name` of the C library (for float64; "f" is appended for float32), by its vector forms
/// where the machine's library has them. Declares what it calls in the module around the insertion
/// point.
mlir::Value emitLibraryCall(Formula &f, const MathMachine &machine, llvm::StringRef name,
                            mlir::ValueRange operands);
/// The same by scalar calls only, in a function of its own so that rare paths stay small.
mlir::Value emitOutlinedCalls(Formula &f, llvm::StringRef name, mlir::ValueRange operands);

/// Conversion between float types, rounded to nearest even once, by instructions only.
mlir::Value emitFloatCast(mlir::OpBuilder &builder, mlir::Location location, mlir::Value value,
                          mlir::Type type);

} // namespace tw
#endif
