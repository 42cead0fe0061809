// The exponential family: exp, exp2, expm1, tanh on float32 and float64, erf on float32. Tables
// come from coefficients.py.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/math/ExpandMath.h"

using namespace mlir;
using namespace tw;

// exp(r) and 2^r on half a binade; expm1(r) = r + r^2 p(r); expm1(2r) = 2r + r^2 p(r).
static constexpr float kExp[] = {1.0f,           1.0f,           0x1.fffffcp-2f, 0x1.555492p-3f,
                                 0x1.5558b0p-5f, 0x1.12398ep-7f, 0x1.6a4d60p-10f};
static constexpr float kExp2[] = {1.0f,           0x1.62e430p-1f,  0x1.ebfbdcp-3f, 0x1.c6af7ap-5f,
                                  0x1.3b2dd6p-7f, 0x1.5f0964p-10f, 0x1.4176aap-13f};
static constexpr float kExpm1[] = {0x1.000000p-1f, 0x1.555554p-3f,  0x1.5554f8p-5f,
                                   0x1.1112d8p-7f, 0x1.6d3a4ap-10f, 0x1.9e7320p-13f};
static constexpr float kTanh[] = {0x1.000000p+1f, 0x1.555554p+0f, 0x1.5554f8p-1f,
                                  0x1.1112d8p-2f, 0x1.6d3a4ap-4f, 0x1.9e7320p-6f};
// erf(x) = 1 - 2^(-x p(x)) on [0, 3.93]; 2^r - 1 = r p(r).
static constexpr float kErf[] = {0x1.a0be84p+0f,   0x1.d63ebep-1f,   0x1.2fad66p-3f,
                                 -0x1.c4f35ap-6f,  -0x1.a3595cp-13f, 0x1.3658cap-9f,
                                 -0x1.d24962p-11f, 0x1.541894p-13f,  -0x1.a029dep-17f};
static constexpr float kExp2m1[] = {0x1.62e430p-1f, 0x1.ebfbe0p-3f,  0x1.c6b044p-5f,
                                    0x1.3b2a66p-7f, 0x1.5de948p-10f, 0x1.4400f8p-13f,
                                    0x1.7fb99cp-17f};

static constexpr double kExpOf64[] = {1.0,
                                      1.0,
                                      0x1.p-1,
                                      0x1.5555555555555p-3,
                                      0x1.5555555555557p-5,
                                      0x1.1111111111111p-7,
                                      0x1.6c16c16c15a5ap-10,
                                      0x1.a01a01a0196a5p-13,
                                      0x1.a01a01a9ef9afp-16,
                                      0x1.71de3a5aaaf36p-19,
                                      0x1.27e4d409424fcp-22,
                                      0x1.ae642c71ac0f2p-26,
                                      0x1.1f7f455025eadp-29,
                                      0x1.61bfc9f783648p-33};
static constexpr double kExp2Of64[] = {1.0,
                                       0x1.62e42fefa39efp-1,
                                       0x1.ebfbdff82c58fp-3,
                                       0x1.c6b08d704a0c0p-5,
                                       0x1.3b2ab6fba4e77p-7,
                                       0x1.5d87fe78a6734p-10,
                                       0x1.430912f86c788p-13,
                                       0x1.ffcbfc588902bp-17,
                                       0x1.62c0223a5bcd8p-20,
                                       0x1.b5253d44ffd4ap-24,
                                       0x1.e4cf5160c857fp-28,
                                       0x1.e8ca831184194p-32,
                                       0x1.c3bd35d6750bap-36,
                                       0x1.82277fb75e99ap-40,
                                       0x1.31d291fc086abp-44};
static constexpr double kExpm1Of64[] = {0x1.p-1,
                                        0x1.5555555555555p-3,
                                        0x1.5555555555557p-5,
                                        0x1.1111111111111p-7,
                                        0x1.6c16c16c15a5ap-10,
                                        0x1.a01a01a0196a5p-13,
                                        0x1.a01a01a9ef9afp-16,
                                        0x1.71de3a5aaaf36p-19,
                                        0x1.27e4d409424fcp-22,
                                        0x1.ae642c71ac0f2p-26,
                                        0x1.1f7f455025eadp-29,
                                        0x1.61bfc9f783648p-33};
static constexpr double kTanhOf64[] = {0x1.p+1,
                                       0x1.5555555555555p+0,
                                       0x1.5555555555557p-1,
                                       0x1.1111111111111p-2,
                                       0x1.6c16c16c15a5ap-4,
                                       0x1.a01a01a0196a5p-6,
                                       0x1.a01a01a9ef9afp-8,
                                       0x1.71de3a5aaaf36p-10,
                                       0x1.27e4d409424fcp-12,
                                       0x1.ae642c71ac0f2p-15,
                                       0x1.1f7f455025eadp-17,
                                       0x1.61bfc9f783648p-20};

// ln 2 in two parts of float64.
static constexpr double kLn2HighOf64 = 0x1.62e42fefa39efp-1, kLn2LowOf64 = 0x1.abc9e3b39803fp-56;

// Adding 1.5 * 2^23 to a float32 below 2^22 leaves its nearest integer in the low bits of the sum;
// adding `bias` as well leaves that integer plus the bias, ready to become an exponent. So does 1.5
// * 2^52 with float64.
static double roundingShift(Formula &f) { return f.pick(0x1.8p23, 0x1.8p52); }

/// The integer nearest to x * factor.
static RoundedExponent roundProduct(Formula &f, Value x, double factor, int bias) {
  Value shift = f.constant(roundingShift(f) + bias);
  Value shifted = f.fma(x, f.constant(factor), shift);
  return {f.sub(shifted, shift), shifted};
}

/// The integer nearest to x.
static RoundedExponent roundValue(Formula &f, Value x, int bias) {
  Value shift = f.constant(roundingShift(f) + bias);
  Value shifted = f.add(x, shift);
  return {f.sub(shifted, shift), shifted};
}

/// 2^n of an n that was rounded with the exponent's bias. All other bits of the sum leave by the
/// shift.
static Value powerOfTwo(Formula &f, const RoundedExponent &n) {
  return f.fromBits(f.shiftLeft(f.bits(n.shifted), f.mantissaBits()));
}

static int scaleBias(Formula &f) { return 2 * f.exponentBias(); }

RoundedExponent tw::roundExponent(Formula &f, Value x) { return roundValue(f, x, scaleBias(f)); }

/// The portable form multiplies by 2^(n/2) twice: the first product is exact.
Value tw::scaleByPower(Formula &f, Value p, const RoundedExponent &n) {
  Value biased = f.bits(n.shifted);
  if (f.hasScale) {
    int32_t shift = llvm::bit_cast<int32_t>(static_cast<float>(roundingShift(f) + scaleBias(f)));
    Value exponent = f.subInt(biased, f.integer(shift));
    auto ldexp = f.builder.getStringAttr("llvm.ldexp");
    return LLVM::CallIntrinsicOp::create(f.builder, f.location, f.floatType, ldexp,
                                         ValueRange{p, exponent})
        .getResults();
  }
  Value half = f.shiftRight(biased, 1);
  Value rest = f.subInt(biased, half);
  Value product = f.mul(p, f.fromBits(f.shiftLeft(half, f.mantissaBits())));
  return f.mul(product, f.fromBits(f.shiftLeft(rest, f.mantissaBits())));
}

/// x - n * ln 2 * factor, for a factor that is a power of two.
static Value reduceByLn2(Formula &f, Value x, Value n, double factor) {
  Value rest = f.fma(n, f.constant(-f.pick(kLn2High, kLn2HighOf64) * factor), x);
  return f.fma(n, f.constant(-f.pick(kLn2Low, kLn2LowOf64) * factor), rest);
}

Value tw::emitExpNearZero(Formula &f, Value x) { return f.polynomial(kExp, kExpOf64, x); }
Value tw::emitExp2NearZero(Formula &f, Value x) { return f.polynomial(kExp2, kExp2Of64, x); }

Value tw::emitExp(Formula &f, Value x) {
  // Outside, the result is infinity or rounds to 0; the bounds keep n in the range of `scale`.
  Value bounded = f.atLeast(f.atMost(x, f.pick(89, 710)), f.pick(-104, -746));
  RoundedExponent n = roundProduct(f, bounded, kLog2E, scaleBias(f));
  Value r = reduceByLn2(f, bounded, n.integral, 1.0);
  return scaleByPower(f, emitExpNearZero(f, r), n);
}

Value tw::emitExp2(Formula &f, Value x) {
  Value bounded = f.atLeast(f.atMost(x, f.pick(128, 1024)), f.pick(-151, -1076));
  RoundedExponent n = roundExponent(f, bounded);
  Value r = f.sub(bounded, n.integral);
  return scaleByPower(f, emitExp2NearZero(f, r), n);
}

Value tw::emitExpm1(Formula &f, Value x) {
  Value bounded = f.atLeast(f.atMost(x, f.pick(89, 710)), f.pick(-25, -40));
  // Half of 2^n is representable even for the largest n, where the result may still be finite.
  RoundedExponent n = roundProduct(f, bounded, kLog2E, f.exponentBias() - 1);
  Value r = reduceByLn2(f, bounded, n.integral, 1.0);
  Value p = f.fma(f.mul(r, r), f.polynomial(kExpm1, kExpm1Of64, r), r);
  Value half = powerOfTwo(f, n);
  Value result = f.fma(half, p, f.sub(half, f.constant(0.5)));
  return f.copySign(f.add(result, result), x);
}

Value tw::emitTanh(Formula &f, Value x) {
  // tanh|x| = e / (e + 2) with e = expm1(2|x|); from 9.02 (float64: 19.1) on it rounds to 1.
  Value magnitude = f.atMost(f.absolute(x), f.pick(9.02, 19.1));
  RoundedExponent n = roundProduct(f, magnitude, 2 * kLog2E, f.exponentBias());
  Value r = reduceByLn2(f, magnitude, n.integral, 0.5);
  Value p = f.fma(f.mul(r, r), f.polynomial(kTanh, kTanhOf64, r), f.add(r, r));
  Value power = powerOfTwo(f, n);
  Value e = f.fma(power, p, f.sub(power, f.constant(1.0)));
  return f.copySign(f.div(e, f.add(e, f.constant(2.0))), x);
}

Value tw::emitErf(Formula &f, Value x) {
  // One formula for all x: u = -log2(1 - erf|x|) is smooth, and erf|x| = 1 - 2^-u keeps its
  // relative accuracy near 0 when 2^-u - 1 is computed whole. From 3.93 on erf rounds to 1.
  Value magnitude = f.atMost(f.absolute(x), 3.93);
  Value u = f.negate(f.mul(magnitude, f.polynomial(kErf, magnitude)));
  RoundedExponent n = roundValue(f, u, 127);
  Value r = f.sub(u, n.integral);
  Value p = f.mul(r, f.polynomial(kExp2m1, r));
  Value power = powerOfTwo(f, n);
  Value result = f.fma(power, p, f.sub(power, f.constant(1.0)));
  return f.copySign(result, x);
}
