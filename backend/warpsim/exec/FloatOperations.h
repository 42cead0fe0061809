// Pieces of floating-point instructions that several families share.
#ifndef BACKEND_WARPSIM_EXEC_FLOATOPERATIONS_H
#define BACKEND_WARPSIM_EXEC_FLOATOPERATIONS_H
#include "backend/warpsim/exec/Float.h"

namespace tw::warpsim {

/// .ftz: subnormals become zeros of their sign.
[[gnu::always_inline]] inline float flushSubnormal(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>(bits & 0x7f800000 ? bits : bits & 0x80000000);
}
template <bool isFtz> [[gnu::always_inline]] inline float flushIf(float value) {
  return isFtz ? flushSubnormal(value) : value;
}

/// Operations of f32 return one NaN whatever the operands are (PTX ISA, "Floating-Point
/// Instructions").
[[gnu::always_inline]] inline float canonical(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffffu : bits);
}

/// .sat: into [+0, 1]; NaN becomes +0.
template <typename T> [[gnu::always_inline]] inline T saturateToUnit(T value) {
  T notAbove = value < T(1) ? value : T(1);
  return value > T(0) ? notAbove : T(0);
}

/// a < b for numbers, with -0 below +0.
[[gnu::always_inline]] inline bool isBelow(float a, float b) {
  auto key = [](float value) {
    int32_t bits = std::bit_cast<int32_t>(value);
    return bits ^ ((bits >> 31) & 0x7fffffff);
  };
  return key(a) < key(b);
}
[[gnu::always_inline]] inline bool isBelow(double a, double b) {
  auto key = [](double value) {
    int64_t bits = std::bit_cast<int64_t>(value);
    return bits ^ ((bits >> 63) & 0x7fffffffffffffff);
  };
  return key(a) < key(b);
}

/// The smaller or greater number; a NaN loses to a number, or wins if `nanWins`.
template <bool isMin, bool nanWins, typename T> [[gnu::always_inline]] inline T extremum(T a, T b) {
  T best = isBelow(a, b) == isMin ? a : b;
  if constexpr (nanWins)
    return a != a ? a : b != b ? b : best;
  else
    return a != a ? b : b != b ? a : best;
}

} // namespace tw::warpsim
#endif
