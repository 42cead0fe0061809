// The inverse trigonometric functions of one lane. Tables come from passes/math/coefficients.py.
#include "passes/simt/math/ExpandSimtMath.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

// atan(x) = x + x s p(s) on [0, tan(pi/8)] and asin(x) = x + x s p(s) on [0, 1/2], with s = x^2.
static constexpr float kAtan[] = {-0x1.55554ap-2f, 0x1.9991e2p-3f, -0x1.23b99ep-3f, 0x1.b223d4p-4f,
                                  -0x1.f2e1b0p-5f};
static constexpr double kAtanOf64[] = {
    -0x1.5555555555555p-2, 0x1.9999999999999p-3, -0x1.2492492492460p-3, 0x1.c71c71c718cb8p-4,
    -0x1.745d1744b3d1ap-4, 0x1.3b13b106a6ab0p-4, -0x1.11110ad0d46f3p-4, 0x1.e1e0dde8cebd8p-5,
    -0x1.af19a0b57b4a1p-5, 0x1.857f60759aaf0p-5, -0x1.5fc7e2091982dp-5, 0x1.3100c337369e5p-5,
    -0x1.bec8674bd4304p-6, 0x1.87ba45ecde75ap-7};
static constexpr float kAsin[] = {0x1.55554cp-3f, 0x1.3338acp-4f, 0x1.6ca750p-5f,
                                  0x1.04d372p-5f, 0x1.d50feep-7f, 0x1.34d142p-5f};
static constexpr double kAsinOf64[] = {
    0x1.5555555555555p-3,  0x1.3333333333388p-4, 0x1.6db6db6dac1e0p-5, 0x1.f1c71c7a52ba3p-6,
    0x1.6e8ba123e494cp-6,  0x1.1c4efce23019fp-6, 0x1.c990ad3d8fdcap-7, 0x1.7b027ee1dd585p-7,
    0x1.3b49de7121487p-7,  0x1.31622469ce5adp-7, 0x1.8f193743418ffp-9, 0x1.406192d124629p-6,
    -0x1.3b416bb7d9257p-6, 0x1.e529c6fce9bb4p-6};
static constexpr double kTanEighthPi = 0.414213562373095048802;

namespace {
/// A constant in two parts, so that adding it loses nothing.
struct SplitConstant {
  double high, low, highOf64, lowOf64;
};
} // namespace
static constexpr SplitConstant kSplitHalfPi = {0x1.921fb6p0, -0x1.777a5cp-25, 0x1.921fb54442d18p0,
                                               0x1.1a62633145c07p-54};
static constexpr SplitConstant kSplitPi = {0x1.921fb6p1, -0x1.777a5cp-24, 0x1.921fb54442d18p1,
                                           0x1.1a62633145c07p-53};
static constexpr SplitConstant kSplitQuarterPi = {0x1.921fb6p-1, -0x1.777a5cp-26,
                                                  0x1.921fb54442d18p-1, 0x1.1a62633145c07p-55};

/// constant - x.
static Value subtractFrom(LaneFormula &f, const SplitConstant &constant, Value x) {
  Value low = f.constant(f.pick(constant.low, constant.lowOf64));
  Value high = f.constant(f.pick(constant.high, constant.highOf64));
  return f.sub(high, f.sub(x, low));
}

/// The angle of the point (a, b) for 0 <= b <= a: atan(b / a), from pi/8 on pi/4 - atan((a - b) /
/// (a + b)).
static Value angleInEighth(LaneFormula &f, Value b, Value a) {
  Value isSteep = f.less(f.mul(a, f.constant(kTanEighthPi)), b);
  Value numerator = f.select(isSteep, f.sub(b, a), b);
  Value denominator = f.select(isSteep, f.add(a, b), a);
  Value z = f.divide(numerator, denominator);
  Value square = f.mul(z, z);
  Value tail = f.mul(f.mul(z, square), f.polynomial(kAtan, kAtanOf64, square));
  Value none = f.constant(0.0);
  Value low = f.constant(f.pick(kSplitQuarterPi.low, kSplitQuarterPi.lowOf64));
  Value high = f.constant(f.pick(kSplitQuarterPi.high, kSplitQuarterPi.highOf64));
  Value angle = f.add(z, f.add(tail, f.select(isSteep, low, none)));
  return f.add(angle, f.select(isSteep, high, none));
}

Value tw::simt::emitLaneAtan(LaneFormula &f, ArrayRef<Value> x) {
  Value a = f.absolute(x[0]), one = f.constant(1.0);
  // atan(a) is pi/2 - atan(1 / a), and beyond the bound the difference is below half a unit.
  Value bounded = f.atMost(a, f.pick(0x1p60, 0x1p500));
  Value isAbove = f.less(one, bounded);
  Value angle = angleInEighth(f, f.select(isAbove, one, bounded), f.select(isAbove, bounded, one));
  return f.copySign(f.select(isAbove, subtractFrom(f, kSplitHalfPi, angle), angle), x[0]);
}

Value tw::simt::emitLaneAtan2(LaneFormula &f, ArrayRef<Value> yx) {
  Value y = f.absolute(yx[0]), x = f.absolute(yx[1]);
  Value isAbove = f.less(x, y);
  Value larger = f.select(isAbove, y, x), smaller = f.select(isAbove, x, y);
  // The sum of both must not overflow; the point (inf, inf) lies on the diagonal, (0, 0) on the
  // axis.
  Value isHuge = f.less(f.constant(f.pick(0x1p100, 0x1p1000)), larger);
  Value scale = f.select(isHuge, f.constant(f.pick(0x1p-30, 0x1p-60)), f.constant(1.0));
  Value one = f.constant(1.0), zero = f.constant(0.0);
  Value infinity = f.constant(std::numeric_limits<double>::infinity());
  Value a = f.mul(larger, scale), b = f.mul(smaller, scale);
  Value isInfinite = f.equal(larger, infinity);
  b = f.select(isInfinite, f.select(f.equal(smaller, infinity), one, zero), b);
  a = f.select(isInfinite, one, f.select(f.equal(larger, zero), one, a));
  Value angle = angleInEighth(f, b, a);
  angle = f.select(isAbove, subtractFrom(f, kSplitHalfPi, angle), angle);
  Value isLeft = f.compareInt(arith::CmpIPredicate::slt, f.bits(yx[1]), f.integer(0));
  angle = f.select(isLeft, subtractFrom(f, kSplitPi, angle), angle);
  Value result = f.copySign(angle, yx[0]);
  return f.select(f.isUnordered(yx[0], yx[1]), f.add(yx[0], yx[1]), result);
}

namespace {
/// asin(a) of 0 <= a <= 1 is `angle`, or from 1/2 on pi/2 - 2 angle.
struct HalfAngle {
  Value isLarge, angle;
};
} // namespace

static HalfAngle halfAngleOf(LaneFormula &f, Value a) {
  Value half = f.constant(0.5);
  Value isLarge = f.less(half, a);
  Value folded = f.fma(a, f.constant(-0.5), half); // (1 - a) / 2
  Value z = f.select(isLarge, f.root(folded), a);
  Value square = f.select(isLarge, folded, f.mul(a, a));
  return {isLarge, f.fma(f.mul(z, square), f.polynomial(kAsin, kAsinOf64, square), z)};
}

Value tw::simt::emitLaneAsin(LaneFormula &f, ArrayRef<Value> x) {
  HalfAngle half = halfAngleOf(f, f.absolute(x[0]));
  Value large = subtractFrom(f, kSplitHalfPi, f.add(half.angle, half.angle));
  return f.copySign(f.select(half.isLarge, large, half.angle), x[0]);
}

Value tw::simt::emitLaneAcos(LaneFormula &f, ArrayRef<Value> x) {
  HalfAngle half = halfAngleOf(f, f.absolute(x[0]));
  Value isNegative = f.less(x[0], f.constant(0.0));
  Value twice = f.add(half.angle, half.angle);
  Value large = f.select(isNegative, subtractFrom(f, kSplitPi, twice), twice);
  Value small = subtractFrom(f, kSplitHalfPi, f.copySign(half.angle, x[0]));
  return f.select(half.isLarge, large, small);
}
