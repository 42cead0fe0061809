// The logarithms on float32: log, log2, log1p; and 1 / sqrt. Tables come from coefficients.py.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/simd/ExpandMath.h"
#include <limits>

using namespace mlir;
using namespace tw;

// log(1 + f) = f + f^2 p(f) and log2(1 + f) = f p(f) for 1 + f in [sqrt(1/2), sqrt(2)].
static constexpr float kLog[] = {-0x1.fffff8p-2f, 0x1.555550p-2f,  -0x1.000438p-2f,
                                 0x1.99a428p-3f,  -0x1.542422p-3f, 0x1.226b34p-3f,
                                 -0x1.0f4ca8p-3f, 0x1.087cc8p-3f,  -0x1.384d2ap-4f};
static constexpr float kLog2[] = {0x1.715476p+0f, -0x1.715476p-1f, 0x1.ec7208p-2f, -0x1.7156cap-2f,
                                  0x1.2739bap-2f, -0x1.eb1674p-3f, 0x1.abb1bcp-3f, -0x1.8bda42p-3f,
                                  0x1.4f1f2ap-3f, -0x1.480e5ep-4f};
// ln 2 in two parts of float32.
static constexpr float kLn2High = 0x1.62e430p-1f, kLn2Low = -0x1.05c610p-29f;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

namespace {
/// x = 2^exponent * (1 + fraction), 1 + fraction in [sqrt(1/2), sqrt(2)).
struct Decomposed {
  Value exponent, fraction;
  Value exponentBits; // exponent << 23
};
} // namespace

/// For positive normal x.
static Decomposed decompose(Formula &f, Value x) {
  Value bits = f.bits(x);
  Value aboveSqrtHalf = f.subInt(bits, f.integer(0x3f3504f3)); // bits of sqrt(1/2)
  Value exponentBits = f.andInt(aboveSqrtHalf, f.integer(0xff800000));
  Value mantissa = f.fromBits(f.subInt(bits, exponentBits));
  Value exponent = f.shiftRightSigned(aboveSqrtHalf, 23);
  Value exponentFloat = arith::SIToFPOp::create(f.builder, f.location, f.floatType, exponent);
  return {exponentFloat, f.sub(mantissa, f.constant(1.0)), exponentBits};
}

/// For any positive x: subnormal numbers are scaled up first.
static Decomposed decomposeAny(Formula &f, Value x) {
  Value isSubnormal = f.less(x, f.constant(std::numeric_limits<float>::min()));
  Value scaled = f.select(isSubnormal, f.mul(x, f.constant(0x1p23)), x);
  Decomposed parts = decompose(f, scaled);
  Value correction = f.select(isSubnormal, f.constant(-23.0), f.constant(0.0));
  parts.exponent = f.add(parts.exponent, correction);
  return parts;
}

/// `result` for positive finite x; else what every logarithm yields: -inf, inf or NaN.
static Value withSpecialCases(Formula &f, Value x, Value result) {
  Value special =
      f.select(f.less(x, f.constant(0.0)), f.constant(std::numeric_limits<double>::quiet_NaN()), x);
  special = f.select(f.equal(x, f.constant(0.0)), f.constant(-kInfinity), special);
  // Bits 1 to 0x7f7fffff are the positive finite numbers: one unsigned comparison finds them.
  Value isOrdinary = f.compareInt(arith::CmpIPredicate::ult, f.subInt(f.bits(x), f.integer(1)),
                                  f.integer(0x7f7fffff));
  return f.select(isOrdinary, result, special);
}

static Value logOf(Formula &f, const Decomposed &parts) {
  Value square = f.mul(parts.fraction, parts.fraction);
  Value low = f.fma(parts.exponent, f.constant(kLn2Low), parts.fraction);
  Value sum = f.fma(square, f.polynomial(kLog, parts.fraction), low);
  return f.fma(parts.exponent, f.constant(kLn2High), sum);
}

Value tw::emitLog(Formula &f, Value x) {
  return withSpecialCases(f, x, logOf(f, decomposeAny(f, x)));
}

Value tw::emitLog2(Formula &f, Value x) {
  Decomposed parts = decomposeAny(f, x);
  Value result = f.fma(parts.fraction, f.polynomial(kLog2, parts.fraction), parts.exponent);
  return withSpecialCases(f, x, result);
}

Value tw::emitLog1p(Formula &f, Value x) {
  Value one = f.constant(1.0);
  Value sum = f.add(one, x);
  Decomposed parts = decompose(f, sum);
  // What rounding 1 + x lost, in units of 2^exponent. For large x nothing that matters is lost, and
  // the unit, which is not representable there, becomes 0.
  Value lost = f.sub(x, f.sub(sum, one));
  Value unit = f.subInt(f.integer(0x3f800000), parts.exponentBits);
  Value isLarge = f.compareInt(arith::CmpIPredicate::slt, unit, f.integer(0));
  unit = f.fromBits(f.select(isLarge, f.integer(0), unit));
  parts.fraction = f.fma(lost, unit, parts.fraction);
  return f.copySign(withSpecialCases(f, sum, logOf(f, parts)), x);
}

Value tw::emitRsqrt(Formula &f, Value x) {
  return f.div(f.constant(1.0), math::SqrtOp::create(f.builder, f.location, x));
}
