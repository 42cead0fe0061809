// Exact float arithmetic on long integers, for comparison with the simulator.
#include "test/unit/warpsim/execute/ExactFloat.h"
#include <algorithm>
#include <bit>
#include <cmath>

using namespace tw::warpsim;
using namespace tw::warpsim::test;

using Wide = unsigned __int128;
static constexpr int kUnitExponent = -2300;

static uint64_t signBit(Layout layout) {
  return uint64_t(1) << (layout.exponentBits + layout.mantissaBits);
}
static uint64_t infinityOf(Layout layout) {
  return ((uint64_t(1) << layout.exponentBits) - 1) << layout.mantissaBits;
}
static uint64_t magnitude(Layout layout, uint64_t bits) { return bits & (signBit(layout) - 1); }
static int biasOf(Layout layout) { return (1 << (layout.exponentBits - 1)) - 1; }

bool tw::warpsim::test::isNan(Layout layout, uint64_t bits) {
  return magnitude(layout, bits) > infinityOf(layout);
}
bool tw::warpsim::test::isInfinite(Layout layout, uint64_t bits) {
  return magnitude(layout, bits) == infinityOf(layout);
}
bool tw::warpsim::test::isNegative(Layout layout, uint64_t bits) { return bits & signBit(layout); }
uint64_t tw::warpsim::test::nanOf(Layout layout) { return signBit(layout) - 1; }
uint64_t tw::warpsim::test::flush(Layout layout, uint64_t bits) {
  return bits & infinityOf(layout) ? bits : bits & signBit(layout);
}

namespace {
struct Parts {
  uint64_t significand;
  int exponent; // of the last bit
};
} // namespace

static Parts partsOf(Layout layout, uint64_t bits) {
  uint64_t field = magnitude(layout, bits) >> layout.mantissaBits;
  uint64_t mantissa = bits & ((uint64_t(1) << layout.mantissaBits) - 1);
  int unit = 1 - biasOf(layout) - static_cast<int>(layout.mantissaBits);
  if (field == 0)
    return {mantissa, unit};
  return {mantissa | (uint64_t(1) << layout.mantissaBits), unit + static_cast<int>(field) - 1};
}

double tw::warpsim::test::toDouble(Layout layout, uint64_t bits) {
  double sign = isNegative(layout, bits) ? -1 : 1;
  if (isNan(layout, bits))
    return NAN;
  if (isInfinite(layout, bits))
    return sign * HUGE_VAL;
  Parts parts = partsOf(layout, bits);
  return sign * std::ldexp(static_cast<double>(parts.significand), parts.exponent);
}

bool Exact::isZero() const {
  for (uint64_t limb : limbs)
    if (limb)
      return false;
  return true;
}

Exact tw::warpsim::test::exactOf(Wide significand, int exponent, bool isNegative) {
  Exact result;
  result.isNegative = isNegative;
  unsigned position = static_cast<unsigned>(exponent - kUnitExponent);
  for (unsigned bit = 0; bit < 128; ++bit)
    if ((significand >> bit) & 1)
      result.limbs[(position + bit) / 64] |= uint64_t(1) << ((position + bit) % 64);
  return result;
}

Exact tw::warpsim::test::exactOf(Layout layout, uint64_t bits) {
  Parts parts = partsOf(layout, bits);
  return exactOf(parts.significand, parts.exponent, isNegative(layout, bits));
}

static int compareMagnitudes(const Exact &a, const Exact &b) {
  for (size_t limb = a.limbs.size(); limb-- > 0;)
    if (a.limbs[limb] != b.limbs[limb])
      return a.limbs[limb] < b.limbs[limb] ? -1 : 1;
  return 0;
}

Exact tw::warpsim::test::sum(const Exact &a, const Exact &b) {
  Exact result;
  if (a.isNegative == b.isNegative) {
    result.isNegative = a.isNegative;
    Wide carry = 0;
    for (size_t limb = 0; limb < a.limbs.size(); ++limb) {
      carry += Wide(a.limbs[limb]) + b.limbs[limb];
      result.limbs[limb] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    return result;
  }
  bool isSwapped = compareMagnitudes(a, b) < 0;
  const Exact &large = isSwapped ? b : a, &small = isSwapped ? a : b;
  result.isNegative = large.isNegative;
  uint64_t borrow = 0;
  for (size_t limb = 0; limb < a.limbs.size(); ++limb) {
    Wide take = Wide(small.limbs[limb]) + borrow;
    borrow = take > large.limbs[limb];
    result.limbs[limb] = static_cast<uint64_t>(large.limbs[limb] - take);
  }
  return result;
}

static bool bitOf(const Exact &value, int position) {
  return position >= 0 && ((value.limbs[size_t(position) / 64] >> (position % 64)) & 1);
}
static int highestBit(const Exact &value) {
  for (size_t limb = value.limbs.size(); limb-- > 0;)
    if (value.limbs[limb])
      return static_cast<int>(limb * 64) + 63 - std::countl_zero(value.limbs[limb]);
  return -1;
}
static bool anyBelow(const Exact &value, int position) {
  for (int limb = 0; limb < position / 64; ++limb)
    if (value.limbs[size_t(limb)])
      return true;
  uint64_t last = position % 64 ? value.limbs[size_t(position) / 64] << (64 - position % 64) : 0;
  return last != 0;
}

uint64_t tw::warpsim::test::roundExact(const Exact &value, Layout layout, Rounding rounding) {
  uint64_t sign = value.isNegative ? signBit(layout) : 0;
  int top = highestBit(value);
  if (top < 0)
    return sign;
  int mantissaBits = static_cast<int>(layout.mantissaBits);
  int leastUnit = 1 - biasOf(layout) - mantissaBits - kUnitExponent;
  int unit = std::max(top - mantissaBits, leastUnit);
  uint64_t kept = 0;
  for (int position = top; position >= unit; --position)
    kept = kept * 2 + bitOf(value, position);
  bool half = bitOf(value, unit - 1), rest = anyBelow(value, unit - 1);
  bool isInexact = half || rest;
  bool goesUp = rounding == Rounding::Rn    ? half && (rest || (kept & 1))
                : rounding == Rounding::Rna ? half
                : rounding == Rounding::Rm  ? isInexact && value.isNegative
                : rounding == Rounding::Rp  ? isInexact && !value.isNegative
                                            : false;
  kept += goesUp;
  if (kept >> (mantissaBits + 1)) {
    kept >>= 1;
    ++unit;
  }
  uint64_t field = kept >> mantissaBits ? static_cast<uint64_t>(unit - leastUnit + 1) : 0;
  uint64_t infinity = infinityOf(layout);
  if (field >= infinity >> mantissaBits) {
    bool isCut = rounding == Rounding::Rz || (rounding == Rounding::Rm && !value.isNegative) ||
                 (rounding == Rounding::Rp && value.isNegative);
    return sign | (infinity - isCut);
  }
  uint64_t mantissa = kept & ((uint64_t(1) << mantissaBits) - 1);
  return sign | (field << mantissaBits) | mantissa;
}

static uint64_t one(Layout layout) { return uint64_t(biasOf(layout)) << layout.mantissaBits; }

/// What the modifiers do to a result.
static uint64_t finish(Layout layout, Modifiers modifiers, uint64_t bits) {
  if (modifiers.isFtz)
    bits = flush(layout, bits);
  if (isNan(layout, bits))
    return modifiers.isSat ? 0 : nanOf(layout);
  if ((modifiers.isSat || modifiers.isRelu) && isNegative(layout, bits))
    return 0;
  return modifiers.isSat && bits > one(layout) ? one(layout) : bits;
}

/// The nearest thing to a result where an operand is not finite: host arithmetic, which agrees on
/// those.
static uint64_t fromSpecial(Layout layout, Modifiers modifiers, double value) {
  uint64_t bits = std::isnan(value)   ? nanOf(layout)
                  : std::isinf(value) ? infinityOf(layout) | (value < 0 ? signBit(layout) : 0)
                                      : (std::signbit(value) ? signBit(layout) : 0); // a zero
  return finish(layout, modifiers, bits);
}
static bool isFinite(Layout layout, uint64_t bits) {
  return magnitude(layout, bits) < infinityOf(layout);
}

static Exact exactProduct(Layout layout, uint64_t a, uint64_t b) {
  Parts left = partsOf(layout, a), right = partsOf(layout, b);
  return exactOf(Wide(left.significand) * right.significand, left.exponent + right.exponent,
                 isNegative(layout, a) != isNegative(layout, b));
}

static uint64_t roundSum(Layout layout, Modifiers modifiers, const Exact &a, const Exact &b) {
  Exact total = sum(a, b);
  if (total.isZero())
    total.isNegative =
        a.isNegative == b.isNegative ? a.isNegative : modifiers.rounding == Rounding::Rm;
  return finish(layout, modifiers, roundExact(total, layout, modifiers.rounding));
}

uint64_t tw::warpsim::test::expectedProductSum(Layout layout, Modifiers modifiers, uint64_t a,
                                               uint64_t b, uint64_t c) {
  if (modifiers.isFtz) {
    a = flush(layout, a);
    b = flush(layout, b);
    c = flush(layout, c);
  }
  if (!isFinite(layout, a) || !isFinite(layout, b)) {
    double product = toDouble(layout, a) * toDouble(layout, b);
    return fromSpecial(layout, modifiers, product + toDouble(layout, c));
  }
  if (!isFinite(layout, c))
    return fromSpecial(layout, modifiers, toDouble(layout, c));
  return roundSum(layout, modifiers, exactProduct(layout, a, b), exactOf(layout, c));
}

uint64_t tw::warpsim::test::expectedSum(Layout layout, Modifiers modifiers, uint64_t a,
                                        uint64_t b) {
  if (modifiers.isFtz) {
    a = flush(layout, a);
    b = flush(layout, b);
  }
  if (!isFinite(layout, a) || !isFinite(layout, b))
    return fromSpecial(layout, modifiers, toDouble(layout, a) + toDouble(layout, b));
  return roundSum(layout, modifiers, exactOf(layout, a), exactOf(layout, b));
}

uint64_t tw::warpsim::test::expectedProduct(Layout layout, Modifiers modifiers, uint64_t a,
                                            uint64_t b) {
  if (modifiers.isFtz) {
    a = flush(layout, a);
    b = flush(layout, b);
  }
  if (!isFinite(layout, a) || !isFinite(layout, b))
    return fromSpecial(layout, modifiers, toDouble(layout, a) * toDouble(layout, b));
  return finish(layout, modifiers,
                roundExact(exactProduct(layout, a, b), layout, modifiers.rounding));
}

uint64_t tw::warpsim::test::expectedQuotient(Layout layout, Modifiers modifiers, uint64_t a,
                                             uint64_t b) {
  if (modifiers.isFtz) {
    a = flush(layout, a);
    b = flush(layout, b);
  }
  bool isDefined = isFinite(layout, a) && isFinite(layout, b) && magnitude(layout, a) != 0 &&
                   magnitude(layout, b) != 0;
  if (!isDefined)
    return fromSpecial(layout, modifiers, toDouble(layout, a) / toDouble(layout, b));
  // Long division to 64 bits at least; the last bit says whether anything is left.
  Parts left = partsOf(layout, a), right = partsOf(layout, b);
  int shift = std::countl_zero(left.significand) + 62;
  Wide dividend = Wide(left.significand) << shift;
  Wide quotient = dividend / right.significand;
  bool rest = dividend % right.significand != 0;
  Exact exact = exactOf(quotient * 2 + rest, left.exponent - right.exponent - shift - 1,
                        isNegative(layout, a) != isNegative(layout, b));
  return finish(layout, modifiers, roundExact(exact, layout, modifiers.rounding));
}

uint64_t tw::warpsim::test::expectedRoot(Layout layout, Modifiers modifiers, uint64_t a) {
  if (modifiers.isFtz)
    a = flush(layout, a);
  if (!isFinite(layout, a) || isNegative(layout, a) || a == 0)
    return fromSpecial(layout, modifiers, std::sqrt(toDouble(layout, a)));
  Parts parts = partsOf(layout, a);
  int shift = std::countl_zero(parts.significand) + 62;
  shift -= (parts.exponent - shift) & 1; // the exponent becomes even
  Wide square = Wide(parts.significand) << shift, root = 0;
  for (Wide bit = Wide(1) << 63; bit; bit >>= 1)
    if ((root | bit) * (root | bit) <= square)
      root |= bit;
  bool rest = root * root != square;
  Exact exact = exactOf(root * 2 + rest, (parts.exponent - shift) / 2 - 1, false);
  return finish(layout, modifiers, roundExact(exact, layout, modifiers.rounding));
}

uint64_t tw::warpsim::test::expectedNarrowing(Layout from, Layout to, Modifiers modifiers,
                                              uint64_t a) {
  if (!isFinite(from, a))
    return fromSpecial(to, modifiers, toDouble(from, a));
  return finish(to, modifiers, roundExact(exactOf(from, a), to, modifiers.rounding));
}

uint64_t tw::warpsim::test::expectedFromInteger(Layout to, Rounding rounding, __int128 value) {
  Wide magnitude = value < 0 ? -Wide(value) : Wide(value);
  return roundExact(exactOf(magnitude, 0, value < 0), to, rounding);
}
