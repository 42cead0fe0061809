// Arithmetic of f32, its pairs and f64 with every rounding, without changing the host's rounding
// mode for f32.
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/exec/MissingBytes.h"
#include <cfenv>

using namespace tw::warpsim;

template <bool isFtz, bool isSat> [[gnu::always_inline]] static inline float finish(float value) {
  value = flushIf<isFtz>(value);
  return isSat ? saturateToUnit(value) : canonical(value);
}

/// A sum that is exactly zero is -0 when rounding down, unless both terms are +0.
template <Rounding rounding>
[[gnu::always_inline]] static inline float narrowSum(SumWithError<double> exact, double a,
                                                     double b) {
  float result = narrow<rounding>(roundToOdd(exact.sum, exact.error));
  if (rounding == Rounding::Rm && exact.sum == 0 && (std::signbit(a) || std::signbit(b)))
    return -0.0f;
  return result;
}

template <Rounding rounding, bool isFtz, bool isSat> static float add(float a, float b) {
  a = flushIf<isFtz>(a);
  b = flushIf<isFtz>(b);
  if constexpr (rounding == Rounding::Rn)
    return finish<isFtz, isSat>(a + b);
  return finish<isFtz, isSat>(narrowSum<rounding>(addExactly<double>(a, b), a, b));
}
template <Rounding rounding, bool isFtz, bool isSat> static float subtract(float a, float b) {
  return add<rounding, isFtz, isSat>(a, -b);
}
template <Rounding rounding, bool isFtz, bool isSat> static float multiply(float a, float b) {
  a = flushIf<isFtz>(a);
  b = flushIf<isFtz>(b);
  if constexpr (rounding == Rounding::Rn)
    return finish<isFtz, isSat>(a * b);
  // The product of two f32 has at most 48 bits and is in range of a double.
  return finish<isFtz, isSat>(narrow<rounding>(double(a) * double(b)));
}
template <Rounding rounding, bool isFtz, bool isSat>
static float multiplyAdd(float a, float b, float c) {
  a = flushIf<isFtz>(a);
  b = flushIf<isFtz>(b);
  c = flushIf<isFtz>(c);
  if constexpr (rounding == Rounding::Rn)
    return finish<isFtz, isSat>(std::fma(a, b, c));
  double product = double(a) * double(b);
  return finish<isFtz, isSat>(narrowSum<rounding>(addExactly<double>(product, c), product, c));
}
/// A quotient of f32 is an f32, or halfway between two, or farther than 2^-49 of itself from both:
/// the rounding to double does not change which. The same holds for square roots.
template <Rounding rounding, bool isFtz> static float divide(float a, float b) {
  a = flushIf<isFtz>(a);
  b = flushIf<isFtz>(b);
  if constexpr (rounding == Rounding::Rn)
    return finish<isFtz, false>(a / b);
  return finish<isFtz, false>(narrow<rounding>(double(a) / double(b)));
}
/// PTX ISA, div.approx.f32: a divisor beyond 2^126 has a reciprocal that is flushed, so that the
/// quotient is 0, and NaN of an infinite dividend. div.full.f32 has the whole range.
template <bool isFtz> static float divideRoughly(float a, float b) {
  float size = std::fabs(b);
  if (size > 0x1p126f && size < std::numeric_limits<float>::infinity())
    return a * std::copysign(0.0f, b);
  return divide<Rounding::Rn, isFtz>(a, b);
}
template <Rounding rounding, bool isFtz> static float reciprocal(float a) {
  return divide<rounding, isFtz>(1.0f, a);
}
template <Rounding rounding, bool isFtz> static float squareRoot(float a) {
  a = flushIf<isFtz>(a);
  if constexpr (rounding == Rounding::Rn)
    return finish<isFtz, false>(std::sqrt(a));
  return finish<isFtz, false>(narrow<rounding>(std::sqrt(double(a))));
}

/// Evaluates an f64 operation in the host's rounding mode `mode`. The operands are volatile so that
/// the operation stays between the two changes of the mode; f64 has no wider type to round from.
template <typename Operation>
static double evaluateRounded(Rounding rounding, double a, double b, double c,
                              Operation operation) {
  if (rounding == Rounding::None || rounding == Rounding::Rn)
    return operation(a, b, c);
  int mode = rounding == Rounding::Rz   ? FE_TOWARDZERO
             : rounding == Rounding::Rm ? FE_DOWNWARD
                                        : FE_UPWARD;
  int previous = std::fegetround();
  volatile double first = a, second = b, third = c;
  std::fesetround(mode);
  volatile double result = operation(first, second, third);
  std::fesetround(previous);
  return result;
}

template <Rounding rounding> static double addDouble(double a, double b) {
  return evaluateRounded(rounding, a, b, 0, [](double x, double y, double) { return x + y; });
}
template <Rounding rounding> static double subtractDouble(double a, double b) {
  return evaluateRounded(rounding, a, b, 0, [](double x, double y, double) { return x - y; });
}
template <Rounding rounding> static double multiplyDouble(double a, double b) {
  return evaluateRounded(rounding, a, b, 0, [](double x, double y, double) { return x * y; });
}
template <Rounding rounding> static double divideDouble(double a, double b) {
  return evaluateRounded(rounding, a, b, 0, [](double x, double y, double) { return x / y; });
}
template <Rounding rounding> static double multiplyAddDouble(double a, double b, double c) {
  return evaluateRounded(rounding, a, b, c,
                         [](double x, double y, double z) { return std::fma(x, y, z); });
}
template <Rounding rounding> static double reciprocalDouble(double a) {
  return divideDouble<rounding>(1.0, a);
}
template <Rounding rounding> static double squareRootDouble(double a) {
  return evaluateRounded(rounding, a, 0, 0, [](double x, double, double) { return std::sqrt(x); });
}

static double absoluteDouble(double a) { return std::fabs(a); }
static double negateDouble(double a) { return -a; }
static double minimumDouble(double a, double b) { return extremum<true, false>(a, b); }
static double maximumDouble(double a, double b) { return extremum<false, false>(a, b); }

template <bool isFtz> static float absolute(float a) { return std::fabs(flushIf<isFtz>(a)); }
template <bool isFtz> static float negate(float a) { return -flushIf<isFtz>(a); }

/// .xorsign.abs: of the magnitudes, with the exclusive or of the signs.
template <bool isMin, bool isFtz, bool nanWins, bool isXorsign>
static float select(float a, float b) {
  a = flushIf<isFtz>(a);
  b = flushIf<isFtz>(b);
  if constexpr (!isXorsign)
    return canonical(extremum<isMin, nanWins>(a, b));
  uint32_t sign = (std::bit_cast<uint32_t>(a) ^ std::bit_cast<uint32_t>(b)) & 0x80000000;
  float magnitude = canonical(extremum<isMin, nanWins>(std::fabs(a), std::fabs(b)));
  return magnitude != magnitude ? magnitude
                                : std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}
template <bool isMin, bool isFtz, bool nanWins> static float select3(float a, float b, float c) {
  return select<isMin, isFtz, nanWins, false>(select<isMin, isFtz, nanWins, false>(a, b), c);
}

template <bool isMin, bool isFtz, bool nanWins>
static Handler findSelect(const Instruction &instruction) {
  if (instruction.sources.size() == 3)
    return instruction.isXorsignAbs ? nullptr : lanes<select3<isMin, isFtz, nanWins>>(instruction);
  return forFlag(instruction.isXorsignAbs, [&]<bool isXorsign>() -> Handler {
    return lanes<select<isMin, isFtz, nanWins, isXorsign>>(instruction);
  });
}

static Handler findExtremum(const Instruction &instruction) {
  return forFlag(instruction.isFtz, [&]<bool isFtz>() {
    return forFlag(instruction.isNanMode, [&]<bool nanWins>() {
      return instruction.op == Op::Min ? findSelect<true, isFtz, nanWins>(instruction)
                                       : findSelect<false, isFtz, nanWins>(instruction);
    });
  });
}

template <Rounding rounding, bool isFtz, bool isSat>
static Handler findRounded(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Add:
    return lanes<add<rounding, isFtz, isSat>>(instruction);
  case Op::Sub:
    return lanes<subtract<rounding, isFtz, isSat>>(instruction);
  case Op::Mul:
    return lanes<multiply<rounding, isFtz, isSat>>(instruction);
  case Op::Mad:
  case Op::Fma:
    return lanes<multiplyAdd<rounding, isFtz, isSat>>(instruction);
  default:
    break;
  }
  if constexpr (!isSat) {
    switch (instruction.op) {
    case Op::Div:
      if (instruction.isApproximate)
        return lanes<divideRoughly<isFtz>>(instruction);
      return lanes<divide<rounding, isFtz>>(instruction);
    case Op::Rcp:
      return lanes<reciprocal<rounding, isFtz>>(instruction);
    case Op::Sqrt:
      return lanes<squareRoot<rounding, isFtz>>(instruction);
    default:
      break;
    }
  }
  return nullptr;
}

static Handler findSingle(const Instruction &instruction) {
  bool isExtremum = instruction.op == Op::Min || instruction.op == Op::Max;
  if (!isExtremum && (instruction.isNanMode || instruction.isXorsignAbs))
    return nullptr;
  if (isExtremum)
    return instruction.isSaturating ? nullptr : findExtremum(instruction);
  if (instruction.op == Op::Abs || instruction.op == Op::Neg) {
    if (instruction.isSaturating)
      return nullptr;
    return forFlag(instruction.isFtz, [&]<bool isFtz>() -> Handler {
      return instruction.op == Op::Abs ? lanes<absolute<isFtz>>(instruction)
                                       : lanes<negate<isFtz>>(instruction);
    });
  }
  return forRounding(instruction.rounding, [&]<Rounding rounding>() {
    return forFlag(instruction.isFtz, [&]<bool isFtz>() {
      return forFlag(instruction.isSaturating, [&]<bool isSat>() {
        return findRounded<rounding, isFtz, isSat>(instruction);
      });
    });
  });
}

/// Applies a function of f32 to the low and the high halves of pairs.
template <auto compute, typename... Pair> static uint64_t onHalves(Pair... pairs) {
  uint32_t low = std::bit_cast<uint32_t>(compute(decode<float>(static_cast<uint32_t>(pairs))...));
  uint32_t high =
      std::bit_cast<uint32_t>(compute(decode<float>(static_cast<uint32_t>(pairs >> 32))...));
  return (uint64_t(high) << 32) | low;
}
template <auto compute> static Handler findBinaryPair(const Instruction &instruction) {
  return bytewiseLanes<onHalves<compute, uint64_t, uint64_t>, missingOfPairs>(instruction);
}
template <auto compute> static Handler findTernaryPair(const Instruction &instruction) {
  return bytewiseLanes<onHalves<compute, uint64_t, uint64_t, uint64_t>, missingOfPairs>(
      instruction);
}

template <Rounding rounding, bool isFtz>
static Handler findRoundedPair(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Add:
    return findBinaryPair<add<rounding, isFtz, false>>(instruction);
  case Op::Sub:
    return findBinaryPair<subtract<rounding, isFtz, false>>(instruction);
  case Op::Mul:
    return findBinaryPair<multiply<rounding, isFtz, false>>(instruction);
  case Op::Fma:
    return findTernaryPair<multiplyAdd<rounding, isFtz, false>>(instruction);
  default:
    return nullptr;
  }
}

static Handler findPair(const Instruction &instruction) {
  if (instruction.isSaturating || instruction.isNanMode || instruction.isXorsignAbs)
    return nullptr;
  return forRounding(instruction.rounding, [&]<Rounding rounding>() {
    return forFlag(instruction.isFtz,
                   [&]<bool isFtz>() { return findRoundedPair<rounding, isFtz>(instruction); });
  });
}

static float widen(Half value) { return floatFromHalf(value.bits); }
static float widen(Brain value) { return floatFromBrain(value.bits); }

template <typename Narrow, Rounding rounding, bool isSat>
static float addWidened(Narrow a, float c) {
  return add<rounding, false, isSat>(widen(a), c);
}
template <typename Narrow, Rounding rounding, bool isSat>
static float subtractWidened(Narrow a, float c) {
  return subtract<rounding, false, isSat>(widen(a), c);
}
template <typename Narrow, Rounding rounding, bool isSat>
static float multiplyAddWidened(Narrow a, Narrow b, float c) {
  return multiplyAdd<rounding, false, isSat>(widen(a), widen(b), c);
}

/// PTX ISA, "Mixed Precision Floating-Point Instructions": all operands but the last are widened.
template <typename Narrow> static Handler findMixed(const Instruction &instruction) {
  return forRounding(instruction.rounding, [&]<Rounding rounding>() {
    return forFlag(instruction.isSaturating, [&]<bool isSat>() -> Handler {
      switch (instruction.op) {
      case Op::Add:
        return lanes<addWidened<Narrow, rounding, isSat>>(instruction);
      case Op::Sub:
        return lanes<subtractWidened<Narrow, rounding, isSat>>(instruction);
      case Op::Fma:
        return lanes<multiplyAddWidened<Narrow, rounding, isSat>>(instruction);
      default:
        return nullptr;
      }
    });
  });
}

template <Rounding rounding> static Handler findRoundedDouble(const Instruction &instruction) {
  constexpr Cost cost = rounding == Rounding::Rn ? Cost::Light : Cost::Heavy;
  switch (instruction.op) {
  case Op::Add:
    return lanes<addDouble<rounding>, cost>(instruction);
  case Op::Sub:
    return lanes<subtractDouble<rounding>, cost>(instruction);
  case Op::Mul:
    return lanes<multiplyDouble<rounding>, cost>(instruction);
  case Op::Mad:
  case Op::Fma:
    return lanes<multiplyAddDouble<rounding>, cost>(instruction);
  case Op::Div:
    return lanes<divideDouble<rounding>, cost>(instruction);
  case Op::Rcp:
    return lanes<reciprocalDouble<rounding>, cost>(instruction);
  case Op::Sqrt:
    return lanes<squareRootDouble<rounding>, cost>(instruction);
  default:
    return nullptr;
  }
}

static Handler findDouble(const Instruction &instruction) {
  if (instruction.isFtz || instruction.isSaturating || instruction.isNanMode ||
      instruction.isXorsignAbs)
    return nullptr;
  switch (instruction.op) {
  case Op::Abs:
    return lanes<absoluteDouble>(instruction);
  case Op::Neg:
    return lanes<negateDouble>(instruction);
  case Op::Min:
    return lanes<minimumDouble>(instruction);
  case Op::Max:
    return lanes<maximumDouble>(instruction);
  default:
    return forRounding(instruction.rounding, [&]<Rounding rounding>() {
      return findRoundedDouble<rounding>(instruction);
    });
  }
}

Handler tw::warpsim::findFloatArithmetic(const Instruction &instruction) {
  if (instruction.isRelu || instruction.writesCarry || instruction.readsCarry)
    return nullptr;
  if (instruction.sourceType == Type::F16)
    return findMixed<Half>(instruction);
  if (instruction.sourceType == Type::BF16)
    return findMixed<Brain>(instruction);
  if (instruction.type == Type::F32x2)
    return findPair(instruction);
  return instruction.type == Type::F32 ? findSingle(instruction) : findDouble(instruction);
}
