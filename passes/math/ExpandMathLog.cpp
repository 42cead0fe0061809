// The logarithms log, log2, log1p and 1 / sqrt, on float32 and float64. Tables come from
// coefficients.py.
#include "mlir/Dialect/Math/IR/Math.h"
#include "passes/math/ExpandMath.h"
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
static constexpr double kLogOf64[] = {-0x1.p-1,
                                      0x1.5555555555556p-2,
                                      -0x1.0000000000023p-2,
                                      0x1.99999999995adp-3,
                                      -0x1.555555554f5a7p-3,
                                      0x1.24924924bbc60p-3,
                                      -0x1.000000032d7a9p-3,
                                      0x1.c71c71b0be466p-4,
                                      -0x1.999997dead0fep-4,
                                      0x1.745d19c6501e1p-4,
                                      -0x1.55559a8fb012ap-4,
                                      0x1.3b13afc37658ep-4,
                                      -0x1.248bcae06e06ep-4,
                                      0x1.110a2e34ed9eap-4,
                                      -0x1.005ca531f0dbep-4,
                                      0x1.e35688f310513p-5,
                                      -0x1.c18869ff153bdp-5,
                                      0x1.9d79c7d388dbcp-5,
                                      -0x1.a823d84fbff2fp-5,
                                      0x1.eaf7e256d54aap-5,
                                      -0x1.b84923f476f91p-5,
                                      0x1.71d6cb59b30c8p-6};
static constexpr double kLog2Of64[] = {
    0x1.71547652b82fep+0, -0x1.71547652b82fep-1, 0x1.ec709dc3a03fcp-2, -0x1.71547652b8325p-2,
    0x1.2776c50ef9e02p-2, -0x1.ec709dc39c17dp-3, 0x1.a61762a782b1fp-3, -0x1.715476544b2b7p-3,
    0x1.484b13e6d996dp-3, -0x1.2776c4c01bf40p-3, 0x1.0c9a81815e9eep-3, -0x1.ec70ae078e0a1p-4,
    0x1.c6901fcdf8752p-4, -0x1.a616b2a0df88bp-4, 0x1.89e390ea39666p-4, -0x1.714e1558cbc01p-4,
    0x1.5c66a4a8d65f2p-4, -0x1.496d818dba820p-4, 0x1.3160a62b0aa28p-4, -0x1.194c53c768996p-4,
    0x1.286fc9ec87e2fp-4, -0x1.5a8da8eedb7aap-4, 0x1.2d1559b075c54p-4, -0x1.e1a9b680f7b7ap-6};
// ln 2 in two parts of float64, whose products with an exponent are exact.
static constexpr double kShortLn2Of64 = 0x1.62e42fefa3800p-1,
                        kRestOfLn2Of64 = 0x1.ef35793c76730p-45;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// For positive normal x.
static DecomposedFloat decompose(Formula &f, Value x) {
  Value bits = f.bits(x);
  // The constant has the bits of sqrt(1/2).
  Value aboveSqrtHalf = f.subInt(bits, f.integer(f.isDouble() ? 0x3fe6a09e667f3bcd : 0x3f3504f3));
  Value exponentBits = f.andInt(aboveSqrtHalf, f.integer(int64_t(~0ull << f.mantissaBits())));
  Value mantissa = f.fromBits(f.subInt(bits, exponentBits));
  Value exponent = f.shiftRightSigned(aboveSqrtHalf, f.mantissaBits());
  Value exponentFloat = f.fromSigned(exponent);
  return {exponentFloat, f.sub(mantissa, f.constant(1.0)), exponentBits};
}

DecomposedFloat tw::decomposePositive(Formula &f, Value x) {
  Value isSubnormal = f.less(x, f.constant(f.pick(0x1p-126, 0x1p-1022)));
  Value scaled = f.select(isSubnormal, f.mul(x, f.constant(f.pick(0x1p23, 0x1p52))), x);
  DecomposedFloat parts = decompose(f, scaled);
  Value correction = f.select(isSubnormal, f.constant(-f.pick(23, 52)), f.constant(0.0));
  parts.exponent = f.add(parts.exponent, correction);
  return parts;
}

/// `result` for positive finite x; else what every logarithm yields: -inf, inf or NaN.
static Value withSpecialCases(Formula &f, Value x, Value result) {
  Value special =
      f.select(f.less(x, f.constant(0.0)), f.constant(std::numeric_limits<double>::quiet_NaN()), x);
  special = f.select(f.equal(x, f.constant(0.0)), f.constant(-kInfinity), special);
  // Bits 1 to `largest` are the positive finite numbers: one unsigned comparison finds them.
  Value largest = f.integer(f.isDouble() ? 0x7fefffffffffffff : 0x7f7fffff);
  Value isOrdinary =
      f.compareInt(arith::CmpIPredicate::ult, f.subInt(f.bits(x), f.integer(1)), largest);
  return f.select(isOrdinary, result, special);
}

static Value logOf(Formula &f, const DecomposedFloat &parts) {
  Value square = f.mul(parts.fraction, parts.fraction);
  Value low = f.fma(parts.exponent, f.constant(f.pick(kLn2Low, kRestOfLn2Of64)), parts.fraction);
  Value sum = f.fma(square, f.polynomial(kLog, kLogOf64, parts.fraction), low);
  return f.fma(parts.exponent, f.constant(f.pick(kLn2High, kShortLn2Of64)), sum);
}

Value tw::emitLog(Formula &f, Value x) {
  return withSpecialCases(f, x, logOf(f, decomposePositive(f, x)));
}

Value tw::emitLog2(Formula &f, Value x) {
  DecomposedFloat parts = decomposePositive(f, x);
  Value result =
      f.fma(parts.fraction, f.polynomial(kLog2, kLog2Of64, parts.fraction), parts.exponent);
  return withSpecialCases(f, x, result);
}

Value tw::emitLog1p(Formula &f, Value x) {
  Value one = f.constant(1.0);
  Value sum = f.add(one, x);
  DecomposedFloat parts = decompose(f, sum);
  // What rounding 1 + x lost, in units of 2^exponent. For large x nothing that matters is lost, and
  // the unit, which is not representable there, becomes 0.
  Value lost = f.sub(x, f.sub(sum, one));
  Value unit =
      f.subInt(f.integer(f.isDouble() ? 0x3ff0000000000000 : 0x3f800000), parts.exponentBits);
  Value isLarge = f.compareInt(arith::CmpIPredicate::slt, unit, f.integer(0));
  unit = f.fromBits(f.select(isLarge, f.integer(0), unit));
  parts.fraction = f.fma(lost, unit, parts.fraction);
  return f.copySign(withSpecialCases(f, sum, logOf(f, parts)), x);
}

Value tw::emitRsqrt(Formula &f, Value x) {
  return f.div(f.constant(1.0), math::SqrtOp::create(f.builder, f.location, x));
}
