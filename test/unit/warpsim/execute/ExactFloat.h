// An independent reference for float arithmetic: exact sums, products, quotients and roots as long
// integers, rounded to any format bit by bit.
#ifndef TEST_UNIT_WARPSIM_EXACTFLOAT_H
#define TEST_UNIT_WARPSIM_EXACTFLOAT_H
#include "backend/warpsim/Program.h"
#include <array>
#include <cstdint>

namespace tw::warpsim::test {

struct Layout {
  unsigned exponentBits, mantissaBits;
};
constexpr Layout kF16{5, 10}, kBf16{8, 7}, kF32{8, 23}, kF64{11, 52}, kTf32Layout{8, 10},
    kE5m2Layout{5, 2};

struct Modifiers {
  Rounding rounding = Rounding::Rn;
  bool isFtz = false, isSat = false, isRelu = false;
};

bool isNan(Layout layout, uint64_t bits);
bool isInfinite(Layout layout, uint64_t bits);
bool isNegative(Layout layout, uint64_t bits);
uint64_t nanOf(Layout layout);
uint64_t flush(Layout layout, uint64_t bits);
double toDouble(Layout layout, uint64_t bits); // of formats up to f64: exact

/// A number with 2^-2300 as its unit.
struct Exact {
  bool isNegative = false;
  std::array<uint64_t, 74> limbs = {};
  bool isZero() const;
};
Exact exactOf(unsigned __int128 significand, int exponent, bool isNegative);
Exact exactOf(Layout layout, uint64_t bits); // finite
Exact sum(const Exact &a, const Exact &b);
uint64_t roundExact(const Exact &value, Layout layout, Rounding rounding);

uint64_t expectedProductSum(Layout layout, Modifiers modifiers, uint64_t a, uint64_t b, uint64_t c);
uint64_t expectedSum(Layout layout, Modifiers modifiers, uint64_t a, uint64_t b);
uint64_t expectedProduct(Layout layout, Modifiers modifiers, uint64_t a, uint64_t b);
uint64_t expectedQuotient(Layout layout, Modifiers modifiers, uint64_t a, uint64_t b);
uint64_t expectedRoot(Layout layout, Modifiers modifiers, uint64_t a);

/// One format to another, or an integer to a format.
uint64_t expectedNarrowing(Layout from, Layout to, Modifiers modifiers, uint64_t a);
uint64_t expectedFromInteger(Layout to, Rounding rounding, __int128 value);

} // namespace tw::warpsim::test
#endif
