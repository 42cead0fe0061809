// Floating-point formats of GPU instructions: exact conversion with every rounding, on plain bits.
#ifndef BACKEND_WARPSIM_EXEC_FLOAT_H
#define BACKEND_WARPSIM_EXEC_FLOAT_H
#include "backend/warpsim/Program.h"
#include <bit>
#include <cmath>

namespace tw::warpsim {

/// A binary format: sign, exponent and mantissa from the top bit down. In a format without
/// infinities all codes above `maxFinite` are NaN.
struct FloatFormat {
  unsigned exponentBits, mantissaBits;
  int bias;
  uint32_t maxFinite, infinity, nan; // magnitudes; `infinity` is 0 where there is none
};
constexpr FloatFormat kHalf{5, 10, 15, 0x7bff, 0x7c00, 0x7fff};
constexpr FloatFormat kBrain{8, 7, 127, 0x7f7f, 0x7f80, 0x7fff};
constexpr FloatFormat kTf32{8, 10, 127, 0x3fbff, 0x3fc00, 0x3ffff}; // the upper 19 bits of an f32
constexpr FloatFormat kSingle{8, 23, 127, 0x7f7fffff, 0x7f800000, 0x7fffffff};
constexpr FloatFormat kE4m3{4, 3, 7, 0x7e, 0, 0x7f};
constexpr FloatFormat kE5m2{5, 2, 15, 0x7b, 0x7c, 0x7f};
// Neither infinities nor NaN: a NaN becomes the largest value (PTX ISA, cvt, `.satfinite`).
constexpr FloatFormat kE2m1{2, 1, 1, 0x7, 0, 0x7};
constexpr FloatFormat kE2m3{2, 3, 1, 0x1f, 0, 0x1f};
constexpr FloatFormat kE3m2{3, 2, 3, 0x1f, 0, 0x1f};

/// The code of `value` in `format`. Rounding::None means Rn. A value beyond the format becomes the
/// largest finite one if `isSatFinite`; else infinity or the largest, as the rounding says.
/// Rounding::Rs adds the low bits of `random` to what is cut off.
uint32_t roundToFormat(double value, const FloatFormat &format, Rounding rounding,
                       bool isSatFinite = false, uint32_t random = 0);

/// The value of a code.
double valueOfCode(uint32_t code, const FloatFormat &format);

/// A rounded sum, and how far the exact one is from it.
template <typename T> struct SumWithError {
  T sum, error;
};

/// Knuth's TwoSum: `sum + error` is exactly `a + b` unless the sum overflows.
template <typename T> [[gnu::always_inline]] inline SumWithError<T> addExactly(T a, T b) {
  T sum = a + b, bRounded = sum - a;
  return {sum, (a - (sum - bRounded)) + (b - bRounded)};
}

/// Rounds `nearest + error` to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded
/// sums: proved algorithms using rounding to odd"): a later rounding to a format that is at least
/// two bits narrower then gives what one rounding of the exact value gives. `nearest` is the exact
/// value rounded to nearest; only the sign of `error` matters, NaN counts as zero.
template <typename T> [[gnu::always_inline]] inline T roundToOdd(T nearest, T error) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Bits bits = std::bit_cast<Bits>(nearest);
  bool isInexactEven = (error > 0 || error < 0) && (bits & 1) == 0;
  bool isTooSmall = (error < 0) == ((bits >> (sizeof(T) * 8 - 1)) != 0);
  Bits step = isTooSmall ? Bits(1) : ~Bits(0);
  return std::bit_cast<T>(isInexactEven ? Bits(bits + step) : bits);
}

/// A double as an f32 rounded to odd: safe to round again to f16 or bf16.
[[gnu::always_inline]] inline float narrowToOdd(double value) {
  float nearest = static_cast<float>(value);
  double error = value - static_cast<double>(nearest);
  return roundToOdd<float>(nearest, static_cast<float>(error > 0) - static_cast<float>(error < 0));
}

/// A double, exact or rounded to odd, as an f32 in the direction asked for.
template <Rounding rounding> [[gnu::always_inline]] inline float narrow(double value) {
  float nearest = static_cast<float>(value);
  if constexpr (rounding == Rounding::Rz || rounding == Rounding::Rm || rounding == Rounding::Rp) {
    double back = static_cast<double>(nearest);
    uint32_t bits = std::bit_cast<uint32_t>(nearest);
    bool isNegative = bits >> 31;
    bool isAbove =
        rounding != Rounding::Rp && back > value && !(rounding == Rounding::Rz && isNegative);
    bool isBelow =
        rounding != Rounding::Rm && back < value && !(rounding == Rounding::Rz && !isNegative);
    uint32_t step = isAbove == isNegative ? 1u : ~0u; // away from zero, or toward it
    return std::bit_cast<float>(isAbove || isBelow ? bits + step : bits);
  }
  return nearest;
}

[[gnu::always_inline]] inline float floatFromHalf(uint16_t code) {
  uint32_t exponent = code & 0x7c00, mantissa = code & 0x3ff, sign = uint32_t(code & 0x8000) << 16;
  uint32_t normal = (uint32_t(code & 0x7fff) << 13) + (112u << 23);
  uint32_t special = (mantissa << 13) | 0x7f800000;
  float subnormal = static_cast<float>(static_cast<int32_t>(mantissa)) * 0x1p-24f;
  uint32_t magnitude = exponent == 0        ? std::bit_cast<uint32_t>(subnormal)
                       : exponent == 0x7c00 ? special
                                            : normal;
  return std::bit_cast<float>(magnitude | sign);
}

/// To nearest even; NaN becomes the canonical 0x7fff.
[[gnu::always_inline]] inline uint16_t halfFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value), magnitude = bits & 0x7fffffff;
  uint32_t normal = ((magnitude + 0xfff + ((magnitude >> 13) & 1)) >> 13) - (112u << 10);
  normal = normal > 0x7c00 ? 0x7c00 : normal;
  // The unit in the last place of [0.5, 1) is that of subnormal halves.
  float shifted = std::bit_cast<float>(magnitude) + 0.5f;
  uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
  uint32_t result = (magnitude < 0x38800000 ? subnormal : normal) | ((bits >> 16) & 0x8000);
  return static_cast<uint16_t>(magnitude > 0x7f800000 ? 0x7fff : result);
}

[[gnu::always_inline]] inline float floatFromBrain(uint16_t code) {
  return std::bit_cast<float>(uint32_t(code) << 16);
}

/// To nearest even; NaN becomes the canonical 0x7fff.
[[gnu::always_inline]] inline uint16_t brainFromFloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
}

} // namespace tw::warpsim
#endif
