// Conversion of doubles to and from narrow floating-point formats, one value at a time.
#include "backend/warpsim/exec/Float.h"
#include <algorithm>

using namespace tw::warpsim;

/// Returns true if the magnitude grows by one unit, given what was cut off it.
static bool roundsUp(Rounding rounding, bool isNegative, uint64_t kept, uint64_t rest,
                     uint64_t half) {
  switch (rounding) {
  case Rounding::Rz:
    return false;
  case Rounding::Rm:
    return isNegative && rest != 0;
  case Rounding::Rp:
    return !isNegative && rest != 0;
  case Rounding::Rna:
    return rest >= half;
  default:
    return rest > half || (rest == half && (kept & 1));
  }
}

/// Returns true if the sum of random bits and of as many that were cut off carries: for an f32,
/// those that its mantissa has beyond the format's (PTX ISA, cvt, `.rs`). A subnormal result cuts
/// more off, and its lowest ones do not count.
static bool carries(const FloatFormat &format, uint32_t random, uint64_t rest, int shift) {
  int numBits = static_cast<int>(kSingle.mantissaBits - format.mantissaBits);
  uint64_t mask = (uint64_t(1) << numBits) - 1;
  return ((rest >> std::min(shift - numBits, 63)) + (random & mask)) >> numBits;
}

/// Returns the result for a magnitude beyond the largest finite value.
static uint32_t overflow(const FloatFormat &format, Rounding rounding, bool isNegative,
                         bool isSatFinite) {
  bool staysFinite = isSatFinite || rounding == Rounding::Rz ||
                     (rounding == Rounding::Rm && !isNegative) ||
                     (rounding == Rounding::Rp && isNegative);
  if (staysFinite)
    return format.maxFinite;
  return format.infinity ? format.infinity : format.nan;
}

uint32_t tw::warpsim::roundToFormat(double value, const FloatFormat &format, Rounding rounding,
                                    bool isSatFinite, uint32_t random) {
  if (std::isnan(value))
    return format.nan;
  bool isNegative = std::signbit(value);
  uint32_t sign = isNegative ? 1u << (format.exponentBits + format.mantissaBits) : 0;
  if (std::isinf(value)) {
    uint32_t infinity = format.infinity ? format.infinity : format.nan;
    return sign | (isSatFinite ? format.maxFinite : infinity);
  }
  uint64_t bits = std::bit_cast<uint64_t>(value) & ~(uint64_t(1) << 63);
  if (bits == 0)
    return sign;
  int biased = static_cast<int>(bits >> 52);
  uint64_t significand = bits & ((uint64_t(1) << 52) - 1);
  significand |= biased ? uint64_t(1) << 52 : 0;
  int exponent = std::max(biased, 1) - 1023; // value = significand * 2^(exponent - 52)
  int minExponent = 1 - format.bias, mantissaBits = static_cast<int>(format.mantissaBits);
  int unit = std::max(exponent, minExponent) - mantissaBits;
  int cut = unit - (exponent - 52), shift = std::min(cut, 63);
  uint64_t kept = significand >> shift, half = uint64_t(1) << (shift - 1);
  uint64_t rest = significand & ((uint64_t(1) << shift) - 1);
  kept += rounding == Rounding::Rs ? carries(format, random, rest, cut)
                                   : roundsUp(rounding, isNegative, kept, rest, half);
  // The implicit bit of `kept` and a carry out of its mantissa both add to the exponent field.
  uint64_t code = kept + (uint64_t(unit + mantissaBits - minExponent) << mantissaBits);
  if (code > format.maxFinite)
    code = overflow(format, rounding, isNegative, isSatFinite);
  return sign | static_cast<uint32_t>(code);
}

double tw::warpsim::valueOfCode(uint32_t code, const FloatFormat &format) {
  uint32_t signBit = 1u << (format.exponentBits + format.mantissaBits);
  uint32_t magnitude = code & (signBit - 1);
  double sign = code & signBit ? -1.0 : 1.0;
  if (format.infinity && magnitude == format.infinity)
    return sign * HUGE_VAL;
  if (magnitude > format.maxFinite)
    return std::nan("");
  int biased = static_cast<int>(magnitude >> format.mantissaBits);
  uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
  mantissa |= biased ? 1u << format.mantissaBits : 0;
  int unit = std::max(biased, 1) - format.bias - static_cast<int>(format.mantissaBits);
  return sign * std::ldexp(static_cast<double>(mantissa), unit);
}
