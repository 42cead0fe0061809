// sin and cos. The tables come from coefficients.py.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/math/ExpandMath.h"

using namespace mlir;
using namespace tw;

// sin(r) = r + r s p(s) and cos(r) = 1 + s p(s) with s = r^2, on [-pi/4, pi/4] and a little beyond.
static constexpr float kSin[] = {-0x1.555556p-3f, 0x1.111170p-7f, -0x1.a053f2p-13f,
                                 0x1.7a86b2p-19f};
static constexpr float kCos[] = {-0x1.000000p-1f, 0x1.555548p-5f, -0x1.6c0af4p-10f,
                                 0x1.99911cp-16f};
static constexpr double kSinOf64[] = {
    -0x1.5555555555555p-3,  0x1.1111111111111p-7,  -0x1.a01a01a01a018p-13, 0x1.71de3a556c1d1p-19,
    -0x1.ae64567e4c895p-26, 0x1.61245f83fb19ap-33, -0x1.ae7c16676a785p-41, 0x1.9224b7db77003p-49};
static constexpr double kCosOf64[] = {-0x1.p-1,
                                      0x1.5555555555555p-5,
                                      -0x1.6c16c16c16c13p-10,
                                      0x1.a01a01a019352p-16,
                                      -0x1.27e4fb7650ec4p-22,
                                      0x1.1eed8cf71355fp-29,
                                      -0x1.93938b7a8eafbp-37,
                                      0x1.aae665728b55fp-45};
// pi/2 in three parts (Cody and Waite), each cut off, not rounded. The first product with a
// multiple n is exact in the fused multiply-add, because the difference is a multiple of 2^-24 (of
// float64: 2^-52) below 1.
static constexpr float kHalfPi[] = {0x1.921fb4p+0f, 0x1.4442d0p-24f, 0x1.846988p-48f};
static constexpr double kHalfPiOf64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c06p-54,
                                         0x1.c1cd129024e08p-107};
static constexpr double kTwoOverPi = 0.636619772367581343076;

double tw::largestReducibleAngle(Formula &f) { return f.pick(131072.0, 1048576.0); }

ReducedAngle tw::reduceAngle(Formula &f, Value x) {
  Value shift = f.constant(f.pick(0x1.8p23, 0x1.8p52)); // see ExpandMathExp.cpp
  Value shifted = f.fma(x, f.constant(kTwoOverPi), shift);
  Value n = f.sub(shifted, shift), r = x;
  for (auto [single, twice] : llvm::zip_equal(kHalfPi, kHalfPiOf64))
    r = f.fma(n, f.constant(-f.pick(single, twice)), r);
  return {r, f.bits(shifted)};
}

/// Which of the two polynomials a lane needs is blended into its coefficients.
Value tw::emitSinOf(Formula &f, const ReducedAngle &angle, int quarters) {
  Value r = angle.rest;
  Value quadrant = f.addInt(angle.quadrant, f.integer(quarters));
  Value isCos =
      f.compareInt(arith::CmpIPredicate::ne, f.andInt(quadrant, f.integer(1)), f.integer(0));
  Value square = f.mul(r, r);
  Value base = f.select(isCos, f.constant(1.0), r);
  Value sum;
  auto blend = [&](double sine, double cosine) {
    Value coefficient = f.select(isCos, f.constant(cosine), f.constant(sine));
    sum = sum ? f.fma(sum, square, coefficient) : coefficient;
  };
  if (f.isDouble())
    for (auto [sine, cosine] : llvm::reverse(llvm::zip_equal(kSinOf64, kCosOf64)))
      blend(sine, cosine);
  else
    for (auto [sine, cosine] : llvm::reverse(llvm::zip_equal(kSin, kCos)))
      blend(sine, cosine);
  Value result = f.fma(f.mul(base, square), sum, base);
  Value sign = f.shiftLeft(f.andInt(quadrant, f.integer(2)), f.isDouble() ? 62 : 30);
  return f.fromBits(f.xorInt(f.bits(result), sign));
}

Value tw::emitShortSin(Formula &f, Value r) {
  Value square = f.mul(r, r);
  return f.fma(f.mul(r, square), f.polynomial(kSin, kSinOf64, square), r);
}

Value tw::emitShortCos(Formula &f, Value r) {
  Value square = f.mul(r, r);
  return f.fma(square, f.polynomial(kCos, kCosOf64, square), f.constant(1.0));
}

/// `fast`, unless any element of x is too large for it: then the library's results for all of them.
static Value unlessLarge(Formula &f, Value x, Value fast, StringRef name) {
  Value isLarge = f.less(f.constant(largestReducibleAngle(f)), f.absolute(x));
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
  Value fast = f.select(f.equal(x, f.constant(0.0)), x, emitSinOf(f, reduceAngle(f, x), 0));
  return unlessLarge(f, x, fast, "sin");
}

Value tw::emitCos(Formula &f, Value x) {
  if (!isa<VectorType>(f.floatType))
    return emitLibraryCall(f, MathMachine(), "cos", x);
  return unlessLarge(f, x, emitSinOf(f, reduceAngle(f, x), 1), "cos");
}
