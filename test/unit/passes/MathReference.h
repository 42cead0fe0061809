// What the accuracy tests of math functions measure against.
#ifndef TEST_UNIT_PASSES_MATHREFERENCE_H
#define TEST_UNIT_PASSES_MATHREFERENCE_H
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>

namespace tw::test {

using Unary = double (*)(double);

/// The functions in float64, whose own error does not show in units of float32.
inline const std::map<std::string, Unary> &references() {
  static const std::map<std::string, Unary> table = {
      {"exp", std::exp},
      {"exp2", std::exp2},
      {"expm1", std::expm1},
      {"log", std::log},
      {"log2", std::log2},
      {"log10", std::log10},
      {"log1p", std::log1p},
      {"sqrt", std::sqrt},
      {"cbrt", std::cbrt},
      {"sin", std::sin},
      {"cos", std::cos},
      {"tan", std::tan},
      {"asin", std::asin},
      {"acos", std::acos},
      {"atan", std::atan},
      {"sinh", std::sinh},
      {"cosh", std::cosh},
      {"tanh", std::tanh},
      {"asinh", std::asinh},
      {"acosh", std::acosh},
      {"atanh", std::atanh},
      {"erf", std::erf},
      {"erfc", std::erfc},
      {"floor", std::floor},
      {"ceil", std::ceil},
      {"trunc", std::trunc},
      {"round", std::round},
      {"abs", std::fabs},
      {"rint", [](double x) { return std::nearbyint(x); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }}};
  return table;
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
