// Rewrites of math and arith operations on scalars and vectors into what a code generator selects
// well.
#ifndef PASSES_SIMD_EXPANDMATH_H
#define PASSES_SIMD_EXPANDMATH_H
#include "passes/simd/Formula.h"

namespace mlir {
class RewritePatternSet;
}

namespace tw {

/// What the machine offers to math functions.
struct MathMachine {
  unsigned vectorBytes = 64;
  bool hasVectorLibrary = true; // functions of libmvec may be called
  /// AVX-512 (the only machines with registers of 64 bytes so far) scales by a power of two in one
  /// instruction; elsewhere the operation would become a call for each lane.
  bool hasScale() const { return vectorBytes >= 64; }
};

/// Elementwise functions of the math dialect: formulas, library calls, or 16-bit floats through
/// f32.
void populateExpandMathPatterns(mlir::RewritePatternSet &patterns, const MathMachine &machine);
/// Operations of arith that are undefined upstream for some operands and defined on tiles: shifts,
/// integer division, float to integer; and conversions to 16-bit floats without library calls.
void populateDefinedArithPatterns(mlir::RewritePatternSet &patterns);

/// Formulas for float32. The largest error is in the row of ir/tile/Elementwise.td.
mlir::Value emitExp(Formula &f, mlir::Value x);
mlir::Value emitExp2(Formula &f, mlir::Value x);
mlir::Value emitExpm1(Formula &f, mlir::Value x);
mlir::Value emitTanh(Formula &f, mlir::Value x);
mlir::Value emitErf(Formula &f, mlir::Value x);
mlir::Value emitLog(Formula &f, mlir::Value x);
mlir::Value emitLog2(Formula &f, mlir::Value x);
mlir::Value emitLog1p(Formula &f, mlir::Value x);
mlir::Value emitSin(Formula &f, mlir::Value x);
mlir::Value emitCos(Formula &f, mlir::Value x);
mlir::Value emitRsqrt(Formula &f, mlir::Value x);

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
