// Integer addition, division, extrema and absolute values, alone and in pairs of 16 bits.
#include "backend/warpsim/exec/Handlers.h"
#include <limits>

using namespace tw::warpsim;

/// The unsigned type to compute in: wraps, and is not promoted to int.
template <typename T> using Modular = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
template <typename T> using Bits = std::make_unsigned_t<T>;

template <typename T> static T add(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
}
template <typename T> static T subtract(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) - static_cast<Modular<T>>(b));
}

static int32_t saturate(int64_t value) {
  constexpr int64_t least = std::numeric_limits<int32_t>::min();
  constexpr int64_t greatest = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(value < least ? least : value > greatest ? greatest : value);
}
static int32_t addSaturating(int32_t a, int32_t b) { return saturate(int64_t(a) + b); }
static int32_t subtractSaturating(int32_t a, int32_t b) { return saturate(int64_t(a) - b); }

template <typename T> static T negate(T a) { return subtract<T>(0, a); }
template <typename T> static T absolute(T a) { return a < 0 ? negate(a) : a; }
template <typename T> static T minimum(T a, T b) { return a < b ? a : b; }
template <typename T> static T maximum(T a, T b) { return a > b ? a : b; }
template <typename T> static T minimumRelu(T a, T b) { return maximum<T>(minimum(a, b), 0); }
template <typename T> static T maximumRelu(T a, T b) { return maximum<T>(maximum(a, b), 0); }

template <typename T> static T sumOfDifferences(T a, T b, T c) {
  return add(c, a < b ? subtract(b, a) : subtract(a, b));
}

/// PTX leaves division by zero open; GPUs answer with all ones. The most negative value divided by
/// -1 wraps.
template <typename T> static T divide(T a, T b) {
  if (b == 0)
    return static_cast<T>(~Bits<T>(0));
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return negate(a);
  return static_cast<T>(a / b);
}
/// The remainder of a division by zero is the dividend, as on GPUs.
template <typename T> static T remainder(T a, T b) {
  if (b == 0)
    return a;
  if (std::is_signed_v<T> && b == static_cast<T>(-1))
    return 0;
  return static_cast<T>(a % b);
}

/// Applies a function of 16-bit values to both halves.
template <auto function, typename T>
[[gnu::always_inline]] static inline uint32_t onHalves(uint32_t a, uint32_t b) {
  uint32_t low = static_cast<uint16_t>(function(static_cast<T>(a), static_cast<T>(b)));
  uint32_t high = static_cast<uint16_t>(function(static_cast<T>(a >> 16), static_cast<T>(b >> 16)));
  return low | (high << 16);
}

template <typename T> static Handler findPacked(const Instruction &instruction) {
  if (instruction.isSaturating || (instruction.isRelu && std::is_unsigned_v<T>))
    return nullptr;
  switch (instruction.op) {
  case Op::Add:
    return instruction.isRelu ? nullptr : lanes<onHalves<add<T>, T>>(instruction);
  case Op::Min:
    return instruction.isRelu ? lanes<onHalves<minimumRelu<T>, T>>(instruction)
                              : lanes<onHalves<minimum<T>, T>>(instruction);
  case Op::Max:
    return instruction.isRelu ? lanes<onHalves<maximumRelu<T>, T>>(instruction)
                              : lanes<onHalves<maximum<T>, T>>(instruction);
  default:
    return nullptr;
  }
}

template <typename T> static Handler findExtremum(const Instruction &instruction) {
  bool isMin = instruction.op == Op::Min;
  if (!instruction.isRelu)
    return isMin ? lanes<minimum<T>>(instruction) : lanes<maximum<T>>(instruction);
  if constexpr (std::is_same_v<T, int32_t>)
    return isMin ? lanes<minimumRelu<T>>(instruction) : lanes<maximumRelu<T>>(instruction);
  return nullptr;
}

static Handler findSaturating(const Instruction &instruction) {
  if (instruction.type != Type::S32 || instruction.isRelu)
    return nullptr;
  if (instruction.op == Op::Add)
    return lanes<addSaturating>(instruction);
  return instruction.op == Op::Sub ? lanes<subtractSaturating>(instruction) : nullptr;
}

template <typename T> static Handler findSignedOnly(const Instruction &instruction) {
  if constexpr (std::is_signed_v<T>)
    return instruction.op == Op::Abs ? lanes<absolute<T>>(instruction)
                                     : lanes<negate<T>>(instruction);
  return nullptr;
}

template <typename T> static Handler findFor(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Add:
    return lanes<add<T>>(instruction);
  case Op::Sub:
    return lanes<subtract<T>>(instruction);
  case Op::Sad:
    return lanes<sumOfDifferences<T>>(instruction);
  case Op::Div:
    return lanes<divide<T>, Cost::Heavy>(instruction);
  case Op::Rem:
    return lanes<remainder<T>, Cost::Heavy>(instruction);
  case Op::Min:
  case Op::Max:
    return findExtremum<T>(instruction);
  case Op::Abs:
  case Op::Neg:
    return findSignedOnly<T>(instruction);
  default:
    return nullptr;
  }
}

Handler tw::warpsim::findIntegerArithmetic(const Instruction &instruction) {
  if (instruction.type == Type::U16x2)
    return findPacked<uint16_t>(instruction);
  if (instruction.type == Type::S16x2)
    return findPacked<int16_t>(instruction);
  if (instruction.isSaturating)
    return findSaturating(instruction);
  if (instruction.isRelu && instruction.op != Op::Min && instruction.op != Op::Max)
    return nullptr;
  return forInteger(instruction.type,
                    [&]<typename T>() -> Handler { return findFor<T>(instruction); });
}
