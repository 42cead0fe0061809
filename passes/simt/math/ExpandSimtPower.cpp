// Powers and roots of one lane. Tables come from passes/math/coefficients.py.
#include "passes/simt/math/ExpandSimtMath.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

// log((1 + s) / (1 - s)) = 2s + s z p(z), z = s^2, for |s| <= 0.172.
static constexpr float kLogRatio[] = {0x1.555554p-1f, 0x1.999c26p-2f, 0x1.23d3fep-2f,
                                      0x1.f1308cp-3f};
static constexpr double kLogRatioOf64[] = {
    0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492485p-2, 0x1.c71c71c71f411p-3,
    0x1.745d174369b76p-3, 0x1.3b13b2697fb9fp-3, 0x1.1110b6c91dfe0p-3, 0x1.e20327545ae15p-4,
    0x1.ab78fada448c0p-4, 0x1.bf31e56818d01p-4};
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// An unevaluated sum, of which `low` is at most about half a unit of `high`.
struct TwoPart {
  Value high, low;
};
} // namespace

static TwoPart multiply(LaneFormula &f, TwoPart a, TwoPart b) {
  Value high = f.mul(a.high, b.high);
  Value low = f.fma(a.high, b.high, f.negate(high));
  return {high, f.fma(a.high, b.low, f.fma(a.low, b.high, low))};
}

/// For |a| >= |b|, or a = 0.
static TwoPart add(LaneFormula &f, TwoPart a, TwoPart b) {
  Value high = f.add(a.high, b.high);
  Value low = f.add(f.sub(a.high, high), b.high);
  return {high, f.add(low, f.add(a.low, b.low))};
}

/// s = (m - 1) / (m + 1) of m = 1 + fraction.
static TwoPart ratioOf(LaneFormula &f, Value fraction) {
  Value two = f.constant(2.0), sum = f.add(fraction, two);
  Value lost = f.sub(fraction, f.sub(sum, two));
  Value inverse =
      f.isDouble() ? f.div(f.constant(1.0), sum) : f.approximate(ApproxKind::Reciprocal, sum);
  Value quotient = f.mul(fraction, inverse);
  auto residualOf = [&](Value q) {
    Value minus = f.negate(q);
    return f.fma(minus, lost, f.fma(minus, sum, fraction));
  };
  quotient = f.fma(residualOf(quotient), inverse, quotient);
  return {quotient, f.mul(residualOf(quotient), inverse)};
}

/// log(1 + fraction). A power multiplies its error by up to 2^7 (float64: 2^10), so it needs that
/// many bits more than the type has.
static TwoPart logOf(LaneFormula &f, Value fraction) {
  TwoPart s = ratioOf(f, fraction);
  Value two = f.constant(2.0);
  TwoPart twice = {f.mul(s.high, two), f.mul(s.low, two)};
  Value square = f.mul(s.high, s.high);
  if (!f.isDouble()) {
    Value tail = f.mul(f.mul(s.high, square), f.polynomial(kLogRatio, square));
    return add(f, twice, {tail, f.constant(0.0)});
  }
  // The first coefficient, 2/3, counts in two parts too.
  TwoPart z = multiply(f, s, s);
  ArrayRef<double> rest = ArrayRef(kLogRatioOf64).drop_front();
  TwoPart p = add(f, {f.constant(kLogRatioOf64[0]), f.constant(0x1.5555555555555p-55)},
                  {f.mul(z.high, f.polynomial(rest, z.high)), f.constant(0.0)});
  return add(f, twice, multiply(f, multiply(f, s, z), p));
}

/// log2 of a positive finite number.
static TwoPart log2Of(LaneFormula &f, Value x) {
  DecomposedFloat parts = decomposePositive(f, x);
  TwoPart log2e = {f.constant(f.pick(0x1.715476p0, 0x1.71547652b82fep0)),
                   f.constant(f.pick(0x1.4ae0bep-26, 0x1.777d0ffda0d24p-56))};
  TwoPart fraction = multiply(f, logOf(f, parts.fraction), log2e);
  return add(f, {parts.exponent, f.constant(0.0)}, fraction);
}

/// 2^(x.high + x.low).
static Value exp2Of(LaneFormula &f, TwoPart x) {
  Value bounded = f.atLeast(f.atMost(x.high, f.pick(128, 1024)), f.pick(-151, -1076));
  Value low = f.select(f.equal(bounded, x.high), x.low, f.constant(0.0));
  RoundedExponent n = roundExponent(f, bounded);
  Value rest = f.add(f.sub(bounded, n.integral), low);
  Value power = f.isDouble() ? emitExp2NearZero(f, rest) : f.approximate(ApproxKind::Exp2, rest);
  return scaleByPower(f, power, n);
}

static Value isIntegral(LaneFormula &f, Value x) { return f.equal(f.truncate(x), x); }

/// Applies C's rules for pow of an infinite, zero or negative x, given `result`, |x|^y for ordinary
/// x.
static Value withSpecialBases(LaneFormula &f, Value x, Value y, Value result) {
  Value a = f.absolute(x), zero = f.constant(0.0), infinity = f.constant(kInfinity);
  Value isZero = f.equal(a, zero), isInfinite = f.equal(a, infinity);
  Value growsWithY = f.select(f.less(y, zero), isZero, isInfinite);
  Value extreme = f.select(growsWithY, infinity, zero);
  result = f.select(f.orInt(isZero, isInfinite), extreme, result);
  Value isNegative = f.compareInt(arith::CmpIPredicate::slt, f.bits(x), f.integer(0));
  Value isWhole = isIntegral(f, y);
  Value isHalfWhole = isIntegral(f, f.mul(y, f.constant(0.5)));
  Value flipped = f.select(isHalfWhole, result, f.negate(result));
  Value nan = f.constant(std::numeric_limits<double>::quiet_NaN());
  Value fractional = f.select(f.orInt(isZero, isInfinite), result, nan);
  return f.select(isNegative, f.select(isWhole, flipped, fractional), result);
}

Value tw::simt::emitLanePow(LaneFormula &f, ArrayRef<Value> xy) {
  Value x = xy[0], y = xy[1];
  TwoPart log = log2Of(f, f.absolute(x));
  // Beyond the bound the power of any number but 1 is 0 or infinite, and nothing overflows below
  // it.
  double bound = f.pick(0x1p40, 0x1p80);
  Value exponent = f.atLeast(f.atMost(y, bound), -bound);
  Value high = f.mul(exponent, log.high);
  Value low = f.fma(exponent, log.low, f.fma(exponent, log.high, f.negate(high)));
  Value result = withSpecialBases(f, x, y, exp2Of(f, {high, low}));
  Value one = f.constant(1.0);
  result = f.select(f.isUnordered(x, y), f.add(x, y), result);
  return f.select(f.orInt(f.equal(y, f.constant(0.0)), f.equal(x, one)), one, result);
}

/// The cube root of a positive float32, good to about 20 bits.
static Value roughCubeRoot(LaneFormula &f, Value a) {
  Value log = f.approximate(ApproxKind::Log2, a);
  return f.approximate(ApproxKind::Exp2, f.mul(log, f.constant(1.0 / 3)));
}

/// Newton's step for y^3 = a, given about 1 / (3 y^2).
static Value improveCubeRoot(LaneFormula &f, Value y, Value a, Value inverseSlope) {
  Value excess = f.fma(f.mul(y, y), y, f.negate(a));
  return f.fma(f.negate(excess), inverseSlope, y);
}

static Value inverseSlopeOf(LaneFormula &f, Value y) {
  return f.approximate(ApproxKind::Reciprocal, f.mul(f.mul(y, y), f.constant(3.0)));
}

static Value cubeRootOfSingle(LaneFormula &f, Value a) {
  Value isSmall = f.less(a, f.constant(0x1p-100));
  Value scaled = f.select(isSmall, f.mul(a, f.constant(0x1p60)), a);
  Value y = roughCubeRoot(f, scaled);
  y = improveCubeRoot(f, y, scaled, inverseSlopeOf(f, y));
  return f.mul(y, f.select(isSmall, f.constant(0x1p-20), f.constant(1.0)));
}

static Value cubeRootOfDouble(LaneFormula &f, Value a) {
  Value isSmall = f.less(a, f.constant(0x1p-1000));
  Value bits = f.bits(f.select(isSmall, f.mul(a, f.constant(0x1p60)), a));
  // a = m 2^(3 (third - 341)), the bias being 3 * 341, with m in [1, 8).
  Value biased = f.shiftRight(bits, 52);
  Value third = f.divideInt(biased, 3);
  Value thrice = f.subInt(f.addInt(f.shiftLeft(third, 1), third), f.integer(1023));
  Value m = f.fromBits(f.subInt(bits, f.shiftLeft(thrice, 52)));
  LaneFormula narrow = f.ofSingle();
  Value rough = roughCubeRoot(narrow, narrow.toOtherWidth(m));
  Value slope = f.toOtherWidth(inverseSlopeOf(narrow, rough));
  Value y = improveCubeRoot(f, f.toOtherWidth(rough), m, slope);
  y = improveCubeRoot(f, y, m, slope);
  Value power = f.fromBits(f.shiftLeft(f.addInt(third, f.integer(1023 - 341)), 52));
  return f.mul(f.mul(y, power), f.select(isSmall, f.constant(0x1p-20), f.constant(1.0)));
}

Value tw::simt::emitLaneCbrt(LaneFormula &f, ArrayRef<Value> x) {
  Value a = f.absolute(x[0]);
  Value result = f.isDouble() ? cubeRootOfDouble(f, a) : cubeRootOfSingle(f, a);
  Value isOrdinary = f.andInt(f.less(f.constant(0.0), a), f.less(a, f.constant(kInfinity)));
  return f.select(isOrdinary, f.copySign(result, x[0]), x[0]);
}

Value tw::simt::emitLaneRsqrt(LaneFormula &f, ArrayRef<Value> x) {
  return f.isDouble() ? emitRsqrt(f, x[0]) : f.approximate(ApproxKind::Rsqrt, x[0]);
}
