// What the accuracy tests of math functions measure against.
#ifndef TEST_UNIT_PASSES_MATHREFERENCE_H
#define TEST_UNIT_PASSES_MATHREFERENCE_H
#include "ir/tile/HostFunctions.h"
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tw::test {

/// The functions of the elementwise table with this many operands. In double, the host's own error
/// does not show in units of float32; in long double, not in units of double.
inline std::vector<tile::HostFunction> functionsOf(unsigned numOperands) {
  std::vector<tile::HostFunction> functions;
  for (const tile::HostFunction &function : tile::HostFunctionTable)
    if (function.NumOperands == numOperands)
      functions.push_back(function);
  return functions;
}

/// Distance from the true value in units of the last place of a float32 near it.
inline double ulpError(float actual, double expected) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual) ? 0.0 : 1e9;
  float rounded = static_cast<float>(expected);
  if (actual == rounded && std::signbit(actual) != std::signbit(rounded))
    return 1e9; // a zero of the wrong sign
  if (actual == rounded && (std::isinf(actual) || actual == expected))
    return 0.0;
  if (std::isinf(rounded) || std::isinf(actual)) // next to the end of the range
    expected = std::clamp(expected, -0x1p128, 0x1p128);
  double value = std::isinf(actual) ? std::copysign(0x1p128, actual) : actual;
  int exponent = std::max(std::ilogb(expected), -126);
  return std::fabs(value - expected) / std::ldexp(1.0, std::min(exponent, 127) - 23);
}

inline float floatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

} // namespace tw::test
#endif
