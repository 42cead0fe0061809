// The exponential family on float32: exp, exp2, expm1, tanh, erf. Tables come from coefficients.py.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/simd/ExpandMath.h"

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

static constexpr double kLog2E = 1.44269504088896340736;
// ln 2 in two parts of float32.
static constexpr float kLn2High = 0x1.62e430p-1f, kLn2Low = -0x1.05c610p-29f;

// Adding 1.5 * 2^23 to a float below 2^22 leaves its nearest integer in the low bits of the sum;
// adding `bias` as well leaves that integer plus the bias, ready to become an exponent.
static constexpr double kRoundingShift = 12582912.0;

namespace {
/// An integral float n, and the float that carries n + bias in its low bits.
struct Rounded {
  Value integral, shifted;
};
} // namespace

/// The integer nearest to x * factor.
static Rounded roundProduct(Formula &f, Value x, double factor, int bias) {
  Value shift = f.constant(kRoundingShift + bias);
  Value shifted = f.fma(x, f.constant(factor), shift);
  return {f.sub(shifted, shift), shifted};
}

/// The integer nearest to x.
static Rounded roundValue(Formula &f, Value x, int bias) {
  Value shift = f.constant(kRoundingShift + bias);
  Value shifted = f.add(x, shift);
  return {f.sub(shifted, shift), shifted};
}

/// 2^n of an n that was rounded with a bias of 127. All other bits of the sum leave by the shift.
static Value powerOfTwo(Formula &f, const Rounded &n) {
  return f.fromBits(f.shiftLeft(f.bits(n.shifted), 23));
}

static constexpr int kScaleBias = 254;

/// p * 2^n, overflowing to infinity and underflowing gradually, of an n in [-152, 128] that was
/// rounded with kScaleBias. The portable form multiplies by 2^(n/2) twice: the first product is
/// exact.
static Value scale(Formula &f, Value p, const Rounded &n) {
  Value biased = f.bits(n.shifted);
  if (f.hasScale) {
    int32_t shift = llvm::bit_cast<int32_t>(static_cast<float>(kRoundingShift + kScaleBias));
    Value exponent = f.subInt(biased, f.integer(shift));
    auto ldexp = f.builder.getStringAttr("llvm.ldexp");
    return LLVM::CallIntrinsicOp::create(f.builder, f.location, f.floatType, ldexp,
                                         ValueRange{p, exponent})
        .getResults();
  }
  Value half = f.shiftRight(biased, 1);
  Value rest = f.subInt(biased, half);
  Value product = f.mul(p, f.fromBits(f.shiftLeft(half, 23)));
  return f.mul(product, f.fromBits(f.shiftLeft(rest, 23)));
}

/// x - n * ln 2 * factor, for a factor that is a power of two.
static Value reduceByLn2(Formula &f, Value x, Value n, double factor) {
  Value rest = f.fma(n, f.constant(-kLn2High * factor), x);
  return f.fma(n, f.constant(-kLn2Low * factor), rest);
}

Value tw::emitExp(Formula &f, Value x) {
  // Outside, the result is infinity or rounds to 0; the bounds keep n in the range of `scale`.
  Value bounded = f.atLeast(f.atMost(x, 89.0), -104.0);
  Rounded n = roundProduct(f, bounded, kLog2E, kScaleBias);
  Value r = reduceByLn2(f, bounded, n.integral, 1.0);
  return scale(f, f.polynomial(kExp, r), n);
}

Value tw::emitExp2(Formula &f, Value x) {
  Value bounded = f.atLeast(f.atMost(x, 128.0), -151.0);
  Rounded n = roundValue(f, bounded, kScaleBias);
  Value r = f.sub(bounded, n.integral);
  return scale(f, f.polynomial(kExp2, r), n);
}

Value tw::emitExpm1(Formula &f, Value x) {
  Value bounded = f.atLeast(f.atMost(x, 89.0), -25.0);
  // Half of 2^n is representable even for n = 128, where the result may still be finite.
  Rounded n = roundProduct(f, bounded, kLog2E, 126);
  Value r = reduceByLn2(f, bounded, n.integral, 1.0);
  Value p = f.fma(f.mul(r, r), f.polynomial(kExpm1, r), r);
  Value half = powerOfTwo(f, n);
  Value result = f.fma(half, p, f.sub(half, f.constant(0.5)));
  return f.copySign(f.add(result, result), x);
}

Value tw::emitTanh(Formula &f, Value x) {
  // tanh|x| = e / (e + 2) with e = expm1(2|x|); from 9.02 on it rounds to 1.
  Value magnitude = f.atMost(f.absolute(x), 9.02);
  Rounded n = roundProduct(f, magnitude, 2 * kLog2E, 127);
  Value r = reduceByLn2(f, magnitude, n.integral, 0.5);
  Value p = f.fma(f.mul(r, r), f.polynomial(kTanh, r), f.add(r, r));
  Value power = powerOfTwo(f, n);
  Value e = f.fma(power, p, f.sub(power, f.constant(1.0)));
  return f.copySign(f.div(e, f.add(e, f.constant(2.0))), x);
}

Value tw::emitErf(Formula &f, Value x) {
  // One formula for all x: u = -log2(1 - erf|x|) is smooth, and erf|x| = 1 - 2^-u keeps its
  // relative accuracy near 0 when 2^-u - 1 is computed whole. From 3.93 on erf rounds to 1.
  Value magnitude = f.atMost(f.absolute(x), 3.93);
  Value u = f.negate(f.mul(magnitude, f.polynomial(kErf, magnitude)));
  Rounded n = roundValue(f, u, 127);
  Value r = f.sub(u, n.integral);
  Value p = f.mul(r, f.polynomial(kExp2m1, r));
  Value power = powerOfTwo(f, n);
  Value result = f.fma(power, p, f.sub(power, f.constant(1.0)));
  return f.copySign(result, x);
}
