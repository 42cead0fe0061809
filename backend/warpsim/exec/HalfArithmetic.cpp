// Arithmetic of f16 and bf16, alone and in pairs. Sums and products are computed in f32 or f64,
// which is wide enough for one correct rounding, or rounded to odd on the way.
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/exec/MissingBytes.h"

using namespace tw::warpsim;

/// How one 16-bit format is widened, and a result rounded back.
struct HalfFormat {
  [[gnu::always_inline]] static float widen(uint16_t code) { return floatFromHalf(code); }
  [[gnu::always_inline]] static uint16_t round(float value) { return halfFromFloat(value); }
  static constexpr uint32_t exponentMask = 0x7c00;
};
struct BrainFormat {
  [[gnu::always_inline]] static float widen(uint16_t code) { return floatFromBrain(code); }
  [[gnu::always_inline]] static uint16_t round(float value) { return brainFromFloat(value); }
  static constexpr uint32_t exponentMask = 0x7f80;
};

template <typename Format> [[gnu::always_inline]] static inline uint16_t flushCode(uint16_t code) {
  return code & Format::exponentMask ? code : code & 0x8000;
}

[[gnu::always_inline]] static inline float add(float a, float b, float) { return a + b; }
[[gnu::always_inline]] static inline float subtract(float a, float b, float) { return a - b; }
/// Exact in f32, but for products of bf16 below half of the least bf16, which round to zero anyway.
[[gnu::always_inline]] static inline float multiply(float a, float b, float) { return a * b; }
template <typename Format>
[[gnu::always_inline]] static inline float multiplyAdd(float a, float b, float c) {
  if constexpr (std::is_same_v<Format, HalfFormat>) {
    SumWithError<float> exact = addExactly<float>(a * b, c);
    return roundToOdd(exact.sum, exact.error);
  }
  SumWithError<double> exact = addExactly<double>(double(a) * double(b), c);
  return narrowToOdd(roundToOdd(exact.sum, exact.error));
}
template <bool isMin, bool nanWins>
[[gnu::always_inline]] static inline float select(float a, float b, float) {
  return extremum<isMin, nanWins>(a, b);
}
template <bool isMin, bool nanWins>
[[gnu::always_inline]] static inline float selectMagnitude(float a, float b, float) {
  float best = extremum<isMin, nanWins>(std::fabs(a), std::fabs(b));
  return std::signbit(a) != std::signbit(b) && best == best ? -best : best;
}

struct HalfModifiers {
  bool isFtz, isSat, isRelu;
};

/// One 16-bit result of `compute`, rounded to nearest even, with the modifiers applied.
template <typename Format, auto compute>
[[gnu::always_inline]] static inline uint16_t computeCode(HalfModifiers modifiers, uint16_t a,
                                                          uint16_t b, uint16_t c) {
  if (modifiers.isFtz) {
    a = flushCode<Format>(a);
    b = flushCode<Format>(b);
    c = flushCode<Format>(c);
  }
  float value = compute(Format::widen(a), Format::widen(b), Format::widen(c));
  value = modifiers.isSat ? saturateToUnit(value) : value;
  value = modifiers.isRelu && value < 0 ? 0.0f : value;
  uint16_t code = Format::round(value);
  code = modifiers.isRelu && code == 0x8000 ? 0 : code;
  return modifiers.isFtz ? flushCode<Format>(code) : code;
}

template <typename Format, auto compute>
[[gnu::always_inline]] static inline uint32_t computePair(HalfModifiers modifiers, uint32_t a,
                                                          uint32_t b, uint32_t c) {
  uint32_t low = computeCode<Format, compute>(modifiers, static_cast<uint16_t>(a),
                                              static_cast<uint16_t>(b), static_cast<uint16_t>(c));
  uint32_t high =
      computeCode<Format, compute>(modifiers, static_cast<uint16_t>(a >> 16),
                                   static_cast<uint16_t>(b >> 16), static_cast<uint16_t>(c >> 16));
  return low | (high << 16);
}

/// Known at compile time where there are none, which lets the loop over the lanes become vectors.
template <bool isPlain> static HalfModifiers modifiersOf(const Instruction &instruction) {
  if constexpr (isPlain)
    return {false, false, false};
  return {instruction.isFtz, instruction.isSaturating, instruction.isRelu};
}

template <typename Format, auto compute, bool isPlain>
[[gnu::always_inline]] static inline Half one2(const Instruction &instruction, Half a, Half b) {
  return {computeCode<Format, compute>(modifiersOf<isPlain>(instruction), a.bits, b.bits, 0)};
}
template <typename Format, auto compute, bool isPlain>
[[gnu::always_inline]] static inline Half one3(const Instruction &instruction, Half a, Half b,
                                               Half c) {
  return {computeCode<Format, compute>(modifiersOf<isPlain>(instruction), a.bits, b.bits, c.bits)};
}
template <typename Format, auto compute, bool isPlain>
[[gnu::always_inline]] static inline uint32_t pair2(const Instruction &instruction, uint32_t a,
                                                    uint32_t b) {
  return computePair<Format, compute>(modifiersOf<isPlain>(instruction), a, b, 0);
}
template <typename Format, auto compute, bool isPlain>
[[gnu::always_inline]] static inline uint32_t pair3(const Instruction &instruction, uint32_t a,
                                                    uint32_t b, uint32_t c) {
  return computePair<Format, compute>(modifiersOf<isPlain>(instruction), a, b, c);
}

static bool isPair(const Instruction &instruction) {
  return instruction.type == Type::F16x2 || instruction.type == Type::BF16x2;
}

static bool isPlain(const Instruction &instruction) {
  return !instruction.isFtz && !instruction.isSaturating && !instruction.isRelu;
}

template <typename Format, auto compute> static Handler findBinary(const Instruction &instruction) {
  return forFlag(isPlain(instruction), [&]<bool isPlain>() -> Handler {
    return isPair(instruction)
               ? bytewiseLanes<pair2<Format, compute, isPlain>, missingOfPairs>(instruction)
               : lanes<one2<Format, compute, isPlain>>(instruction);
  });
}
template <typename Format, auto compute>
static Handler findTernary(const Instruction &instruction) {
  return forFlag(isPlain(instruction), [&]<bool isPlain>() -> Handler {
    return isPair(instruction)
               ? bytewiseLanes<pair3<Format, compute, isPlain>, missingOfPairs>(instruction)
               : lanes<one3<Format, compute, isPlain>>(instruction);
  });
}

/// abs and neg change the sign bit, of NaN too.
template <typename Format> static uint32_t changeSign(const Instruction &instruction, uint32_t a) {
  if (instruction.isFtz) {
    uint32_t high = flushCode<Format>(static_cast<uint16_t>(a >> 16));
    a = flushCode<Format>(static_cast<uint16_t>(a)) | (high << 16);
  }
  uint32_t signs = isPair(instruction) ? 0x80008000 : 0x8000;
  a = isPair(instruction) ? a : a & 0xffff;
  return instruction.op == Op::Abs ? a & ~signs : a ^ signs;
}

template <typename Format, bool isMin> static Handler findExtremum(const Instruction &instruction) {
  return forFlag(instruction.isNanMode, [&]<bool nanWins>() {
    return instruction.isXorsignAbs
               ? findBinary<Format, selectMagnitude<isMin, nanWins>>(instruction)
               : findBinary<Format, select<isMin, nanWins>>(instruction);
  });
}

template <typename Format> static Handler findFor(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Add:
    return findBinary<Format, add>(instruction);
  case Op::Sub:
    return findBinary<Format, subtract>(instruction);
  case Op::Mul:
    return findBinary<Format, multiply>(instruction);
  case Op::Fma:
    return findTernary<Format, multiplyAdd<Format>>(instruction);
  case Op::Min:
    return findExtremum<Format, true>(instruction);
  case Op::Max:
    return findExtremum<Format, false>(instruction);
  case Op::Abs:
  case Op::Neg:
    return lanes<changeSign<Format>>(instruction);
  default:
    return nullptr;
  }
}

/// Which modifiers PTX has for which operation.
static bool isLegal(const Instruction &instruction) {
  Op op = instruction.op;
  bool isSum = op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::Fma;
  bool isExtremum = op == Op::Min || op == Op::Max;
  bool isToNearest =
      instruction.rounding == Rounding::None || (instruction.rounding == Rounding::Rn && isSum);
  return isToNearest && (!instruction.isSaturating || isSum) &&
         (!instruction.isRelu || op == Op::Fma) &&
         (isExtremum || (!instruction.isNanMode && !instruction.isXorsignAbs)) &&
         !instruction.writesCarry && !instruction.readsCarry;
}

Handler tw::warpsim::findHalfArithmetic(const Instruction &instruction) {
  if (!isLegal(instruction))
    return nullptr;
  bool isF16 = instruction.type == Type::F16 || instruction.type == Type::F16x2;
  if (!isF16 && (instruction.isFtz || instruction.isSaturating))
    return nullptr;
  return isF16 ? findFor<HalfFormat>(instruction) : findFor<BrainFormat>(instruction);
}
