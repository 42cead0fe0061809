// sin and cos on float32. The table comes from coefficients.py.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/ExpandMath.h"

using namespace mlir;
using namespace tw;

// sin(r) = r + r s p(s) and cos(r) = 1 + s p(s) with s = r^2, on [-pi/4, pi/4] and a little beyond.
static constexpr float kSin[] = {-0x1.555556p-3f, 0x1.111170p-7f, -0x1.a053f2p-13f,
                                 0x1.7a86b2p-19f};
static constexpr float kCos[] = {-0x1.000000p-1f, 0x1.555548p-5f, -0x1.6c0af4p-10f,
                                 0x1.99911cp-16f};
// pi/2 in three parts (Cody and Waite), each cut off, not rounded. The first product with a
// multiple n is exact in the fused multiply-add, because the difference is a multiple of 2^-24
// below 1.
static constexpr float kHalfPi[] = {0x1.921fb4p+0f, 0x1.4442d0p-24f, 0x1.846988p-48f};
static constexpr double kTwoOverPi = 0.636619772367581343076;
static constexpr double kRoundingShift = 12582912.0; // 1.5 * 2^23: see ExpandMathExp.cpp
// Beyond this n is no longer near enough to x / (pi/2), and the library is called.
static constexpr double kLargest = 131072.0;

/// sin(x + quarters * pi/2) for |x| <= kLargest. Which of the two polynomials a lane needs is
/// blended into its coefficients.
static Value sinShifted(Formula &f, Value x, int quarters) {
  Value shift = f.constant(kRoundingShift);
  Value shifted = f.fma(x, f.constant(kTwoOverPi), shift);
  Value n = f.sub(shifted, shift), r = x;
  for (float part : kHalfPi)
    r = f.fma(n, f.constant(-part), r);
  Value quadrant = f.addInt(f.bits(shifted), f.integer(quarters));
  Value isCos =
      f.compareInt(arith::CmpIPredicate::ne, f.andInt(quadrant, f.integer(1)), f.integer(0));
  Value square = f.mul(r, r);
  Value base = f.select(isCos, f.constant(1.0), r);
  Value sum;
  for (auto [sine, cosine] : llvm::reverse(llvm::zip_equal(kSin, kCos))) {
    Value coefficient = f.select(isCos, f.constant(cosine), f.constant(sine));
    sum = sum ? f.fma(sum, square, coefficient) : coefficient;
  }
  Value result = f.fma(f.mul(base, square), sum, base);
  Value sign = f.shiftLeft(f.andInt(quadrant, f.integer(2)), 30);
  return f.fromBits(f.xorInt(f.bits(result), sign));
}

/// `fast`, unless any element of x is too large for it: then the library's results for all of them.
static Value unlessLarge(Formula &f, Value x, Value fast, StringRef name) {
  Value isLarge = f.less(f.constant(kLargest), f.absolute(x));
  Value anyLarge =
      vector::ReductionOp::create(f.builder, f.location, vector::CombiningKind::OR, isLarge);
  auto choice = scf::IfOp::create(f.builder, f.location, f.floatType, anyLarge,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToStart(choice.thenBlock());
  scf::YieldOp::create(f.builder, f.location, emitOutlinedCalls(f, name, x));
  f.builder.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(f.builder, f.location, fast);
  return choice.getResult(0);
}

Value tw::emitSin(Formula &f, Value x) {
  if (!isa<VectorType>(f.floatType))
    return emitLibraryCall(f, MathMachine(), "sin", x);
  // The polynomial loses the sign of -0.
  Value fast = f.select(f.equal(x, f.constant(0.0)), x, sinShifted(f, x, 0));
  return unlessLarge(f, x, fast, "sin");
}

Value tw::emitCos(Formula &f, Value x) {
  if (!isa<VectorType>(f.floatType))
    return emitLibraryCall(f, MathMachine(), "cos", x);
  return unlessLarge(f, x, sinShifted(f, x, 1), "cos");
}
