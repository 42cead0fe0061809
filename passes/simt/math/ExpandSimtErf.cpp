// The error functions of one lane. Tables come from passes/math/coefficients.py.
#include "passes/simt/math/ExpandSimtMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

// exp(x^2) erfc(x) (1 + 2x) of t = (x - 4) / (x + 4), and erf(x) = x p(x^2) on [0, 1]. The first
// variable is from M. M. Shepherd and J. G. Laframboise, Math. Comp. 36 (1981), 249-253.
static constexpr float kErfc[] = {0x1.3ba592p+0f,  -0x1.1df1aep-3f, 0x1.f7daf2p-7f,  0x1.16ea72p-4f,
                                  -0x1.9d9b6cp-4f, 0x1.8048b0p-4f,  -0x1.113018p-4f, 0x1.29f1b0p-5f,
                                  -0x1.033508p-6f, 0x1.d42762p-8f,  0x1.e7ac9ap-11f};
static constexpr double kErfcOf64[] = {
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28fp-3,  0x1.f7f5df66fd7e6p-7,   0x1.16ecefcfa5400p-4,
    -0x1.9ddb23c3e924bp-4,  0x1.7fee004e113a0p-4,   -0x1.0fb06dfe46db3p-4,  0x1.3079edf6ae2ebp-5,
    -0x1.09623885955c8p-6,  0x1.49c6727714f22p-8,   -0x1.8d4a996717f16p-11, -0x1.a1df1879570cbp-13,
    0x1.3be033841dfc4p-13,  -0x1.995b13f6b0a3fp-16, -0x1.7882d18e29e35p-17, 0x1.7f3e45c1e5061p-18,
    0x1.3926a52c331a6p-22,  -0x1.bc665b6377870p-21, 0x1.4adcd53cbbc96p-24,  0x1.e689355383b88p-24,
    -0x1.483e5f2f13f5cp-26, -0x1.1d56405fb00c0p-26, 0x1.cfaa94405e761p-30,  0x1.210c970eb46d4p-29,
    0x1.401609bf915e2p-32};
static constexpr double kErfSmallOf64[] = {
    0x1.20dd750429b6dp+0,  -0x1.812746b0379e7p-2,  0x1.ce2f21a042bdep-4,  -0x1.b82ce312889bap-6,
    0x1.565bcd0e6502dp-8,  -0x1.c02db3feeb579p-11, 0x1.f9a326c233146p-14, -0x1.f4d2561aeafd4p-17,
    0x1.b9e6509b9867dp-20, -0x1.5f6d925a0bc7ap-23, 0x1.fc4356498c2d9p-27, -0x1.4e607b41a6416p-30,
    0x1.7f072188e194dp-34, -0x1.29b9f1b3df556p-38};
static constexpr double kLog2EHigh = 0x1.715476p0, kLog2ELow = 0x1.4ae0bep-26; // of float32
static constexpr double kLn2HighOf64 = 0x1.62e42fefa39efp-1, kLn2LowOf64 = 0x1.abc9e3b39803fp-56;

/// 1 / x, within 1 unit.
static Value inverse(LaneFormula &f, Value x) {
  return f.isDouble() ? f.div(f.constant(1.0), x) : f.approximate(ApproxKind::Reciprocal, x);
}

/// erfc(a) exp(a^2), for 0 <= a.
static Value scaledErfc(LaneFormula &f, Value a) {
  Value inverseSum = inverse(f, f.add(a, f.constant(4.0)));
  Value t = f.mul(f.sub(a, f.constant(4.0)), inverseSum);
  // The residual (a - 4) - t (a + 4), without the roundings of the differences.
  Value residual = f.fma(f.negate(a), t, f.fma(f.add(t, f.constant(1.0)), f.constant(-4.0), a));
  t = f.fma(inverseSum, residual, t);
  Value p = f.polynomial(kErfc, kErfcOf64, t);
  Value inverseScale = inverse(f, f.fma(a, f.constant(2.0), f.constant(1.0)));
  Value q = f.mul(p, inverseScale);
  residual = f.fma(f.mul(a, f.constant(-2.0)), q, f.sub(p, q));
  return f.fma(residual, inverseScale, q);
}

/// exp(-a^2) = power * 2^n: the power is near 1 and can be multiplied before the result underflows.
static Value expOfSquare(LaneFormula &f, Value a, RoundedExponent &n) {
  Value square = f.mul(a, a), minus = f.negate(square);
  Value lost = f.fma(a, f.negate(a), square); // minus the part that rounding the square cut off
  n = roundExponent(f, f.mul(minus, f.constant(kLog2E)));
  if (!f.isDouble()) {
    Value r = f.fma(minus, f.constant(kLog2EHigh), f.negate(n.integral));
    r = f.fma(minus, f.constant(kLog2ELow), r);
    // The polynomial is more accurate than the machine's instruction, and the product needs that.
    return emitExp2NearZero(f, f.fma(lost, f.constant(kLog2EHigh), r));
  }
  Value r = f.fma(n.integral, f.constant(-kLn2HighOf64), minus);
  r = f.add(f.fma(n.integral, f.constant(-kLn2LowOf64), r), lost);
  return emitExpNearZero(f, r);
}

/// erfc(a) for a >= 0 (or NaN).
static Value erfcOfPositive(LaneFormula &f, Value a) {
  Value bounded = f.atMost(a, f.pick(10.1, 27.3)); // the result is 0 from there on
  RoundedExponent n;
  Value power = expOfSquare(f, bounded, n);
  return scaleByPower(f, f.mul(power, scaledErfc(f, bounded)), n);
}

Value tw::simt::emitLaneErfc(LaneFormula &f, ArrayRef<Value> x) {
  Value positive = erfcOfPositive(f, f.absolute(x[0]));
  Value isNegative = f.less(x[0], f.constant(0.0));
  return f.select(isNegative, f.sub(f.constant(2.0), positive), positive);
}

Value tw::simt::emitLaneErf(LaneFormula &f, ArrayRef<Value> x) {
  if (!f.isDouble())
    return emitErf(f, x[0]);
  Value a = f.absolute(x[0]), one = f.constant(1.0);
  Value small = f.mul(a, f.polynomial(kErfSmallOf64, f.mul(a, a)));
  Value large = f.sub(one, erfcOfPositive(f, a));
  return f.copySign(f.select(f.less(a, one), small, large), x[0]);
}
