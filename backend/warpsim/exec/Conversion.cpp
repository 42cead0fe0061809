// cvt: the frequent pairs of types as vector loops, all others value by value through a double.
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/exec/MissingBytes.h"
#include "backend/warpsim/exec/NumericConversion.h"

using namespace tw::warpsim;

/// A result narrower than its register fills it by its sign (PTX ISA, "Operand Size Exceeding
/// Instruction-Type Size").
template <typename To>
using Filled = std::conditional_t<sizeof(To) == 8, To,
                                  std::conditional_t<std::is_signed_v<To>, int32_t, uint32_t>>;

template <typename To, typename From> static Filled<To> truncate(From value) {
  return static_cast<To>(value);
}
template <typename To, typename From> static To toNearestFloat(From value) {
  return static_cast<To>(value);
}

template <Rounding rounding> [[gnu::always_inline]] static inline double roundIntegral(double x) {
  switch (rounding) {
  case Rounding::Rzi:
    return std::trunc(x);
  case Rounding::Rmi:
    return std::floor(x);
  case Rounding::Rpi:
    return std::ceil(x);
  default:
    return std::nearbyint(x);
  }
}
/// A NaN becomes 0, out of range the nearest end of the range.
template <typename To, Rounding rounding> static To toInteger32(float value) {
  constexpr double least = std::is_signed_v<To> ? -0x1p31 : 0;
  constexpr double greatest = std::is_signed_v<To> ? 0x1p31 - 1 : 0x1p32 - 1;
  double rounded = roundIntegral<rounding>(value);
  rounded = rounded > least ? rounded : least; // a NaN too
  rounded = rounded < greatest ? rounded : greatest;
  To result = static_cast<To>(static_cast<int64_t>(rounded));
  return value != value ? To(0) : result;
}

static Half toHalf(float value) { return {halfFromFloat(value)}; }
static Brain toBrain(float value) { return {brainFromFloat(value)}; }
static float fromHalf(Half code) { return canonical(floatFromHalf(code.bits)); }
static float fromBrain(Brain code) { return canonical(floatFromBrain(code.bits)); }
static uint32_t toHalfPair(float high, float low) {
  return (uint32_t(halfFromFloat(high)) << 16) | halfFromFloat(low);
}
static uint32_t toBrainPair(float high, float low) {
  return (uint32_t(brainFromFloat(high)) << 16) | brainFromFloat(low);
}
static double toDouble(float value) { return static_cast<double>(value); }
static float toSingle(double value) { return canonical(static_cast<float>(value)); }

template <typename Out, typename In>
static Out convertGeneral(const Instruction &instruction, In a) {
  return static_cast<Out>(convertValue(instruction, a));
}
static uint32_t convertPairOf(const Instruction &instruction, uint32_t high, uint32_t low) {
  return convertPair(instruction, high, low);
}
static uint32_t convertPairByBits(const Instruction &instruction, uint32_t high, uint32_t low,
                                  uint32_t random) {
  return convertPairAtRandom(instruction, high, low, random);
}
static uint32_t convertPacked(const Instruction &instruction, uint32_t a) {
  return convertWithinPair(instruction, a);
}

template <typename In> static Handler findGeneralFrom(const Instruction &instruction) {
  if (bytesOf(instruction.type) == 8)
    return lanes<convertGeneral<uint64_t, In>, Cost::Heavy>(instruction);
  return isSigned(instruction.type) ? lanes<convertGeneral<int32_t, In>, Cost::Heavy>(instruction)
                                    : lanes<convertGeneral<uint32_t, In>, Cost::Heavy>(instruction);
}

template <typename Select> static Handler forConvertible(Type type, Select select) {
  if (type == Type::U8)
    return select.template operator()<uint8_t>();
  if (type == Type::S8)
    return select.template operator()<int8_t>();
  return forInteger(type, select);
}

static Handler findTruncation(const Instruction &instruction) {
  return forConvertible(instruction.type, [&]<typename To>() {
    return forConvertible(instruction.sourceType, [&]<typename From>() -> Handler {
      if constexpr (sizeof(From) >= 4 && sizeof(To) < sizeof(From))
        return bytewiseLanes<truncate<To, From>, missingOfTruncated>(instruction);
      return lanes<truncate<To, From>>(instruction);
    });
  });
}

static Handler findIntegerToFloat(const Instruction &instruction) {
  return forConvertible(instruction.sourceType, [&]<typename From>() -> Handler {
    return instruction.type == Type::F32 ? lanes<toNearestFloat<float, From>>(instruction)
                                         : lanes<toNearestFloat<double, From>>(instruction);
  });
}

template <typename To> static Handler findSingleToInteger(const Instruction &instruction) {
  switch (instruction.rounding) {
  case Rounding::Rni:
    return lanes<toInteger32<To, Rounding::Rni>>(instruction);
  case Rounding::Rzi:
    return lanes<toInteger32<To, Rounding::Rzi>>(instruction);
  case Rounding::Rmi:
    return lanes<toInteger32<To, Rounding::Rmi>>(instruction);
  case Rounding::Rpi:
    return lanes<toInteger32<To, Rounding::Rpi>>(instruction);
  default:
    return nullptr;
  }
}

static Handler findFrequentFloat(const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  bool isToNearest = instruction.rounding == Rounding::Rn;
  if (from == Type::F32 && isToNearest) {
    if (to == Type::F16)
      return lanes<toHalf>(instruction);
    if (to == Type::BF16)
      return lanes<toBrain>(instruction);
    if (to == Type::F16x2 && instruction.sources.size() == 2)
      return lanes<toHalfPair>(instruction);
    if (to == Type::BF16x2 && instruction.sources.size() == 2)
      return lanes<toBrainPair>(instruction);
  }
  if (to == Type::F32 && from == Type::F64 && isToNearest)
    return lanes<toSingle>(instruction);
  if (instruction.rounding != Rounding::None)
    return nullptr;
  if (to == Type::F32 && from == Type::F16)
    return lanes<fromHalf>(instruction);
  if (to == Type::F32 && from == Type::BF16)
    return lanes<fromBrain>(instruction);
  return to == Type::F64 && from == Type::F32 ? lanes<toDouble>(instruction) : nullptr;
}

/// Conversions without modifiers that compiled kernels are full of.
static Handler findFrequent(const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  if (instruction.isSaturating || instruction.isSatFinite || instruction.isFtz ||
      instruction.isRelu)
    return nullptr;
  if (isInteger(to) && isInteger(from))
    return findTruncation(instruction);
  if (isFloat(to) && isInteger(from) && instruction.rounding == Rounding::Rn)
    return findIntegerToFloat(instruction);
  if (from == Type::F32 && to == Type::S32)
    return findSingleToInteger<int32_t>(instruction);
  if (from == Type::F32 && to == Type::U32)
    return findSingleToInteger<uint32_t>(instruction);
  return findFrequentFloat(instruction);
}

static uint32_t packSaturated(const Instruction &instruction, uint32_t a, uint32_t b) {
  return packIntegers(instruction.type, a, b);
}
static uint32_t packSaturatedOnto(const Instruction &instruction, uint32_t a, uint32_t b,
                                  uint32_t c) {
  return packIntegers(instruction.type, a, b) | (c << 16);
}

/// cvt.pack.sat of two s32 to 16 bits each, or to 8 bits each below 16 bits of c.
static Handler findPack(const Instruction &instruction) {
  if (!instruction.isSaturating || instruction.sourceType != Type::S32)
    return nullptr;
  switch (instruction.type) {
  case Type::U16:
  case Type::S16:
    return lanes<packSaturated>(instruction);
  case Type::U8:
  case Type::S8:
    return lanes<packSaturatedOnto>(instruction);
  default:
    return nullptr;
  }
}

Handler tw::warpsim::findConversion(const Instruction &instruction) {
  if (instruction.op == Op::CvtPack)
    return findPack(instruction);
  if (!isConvertible(instruction))
    return nullptr;
  if (Handler handler = findFrequent(instruction))
    return handler;
  if (instruction.sources.size() == 2)
    return lanes<convertPairOf, Cost::Heavy>(instruction);
  if (instruction.sources.size() == 3)
    return lanes<convertPairByBits, Cost::Heavy>(instruction);
  if (isPairOfFloats(instruction.sourceType))
    return lanes<convertPacked, Cost::Heavy>(instruction);
  return bytesOf(instruction.sourceType) == 8 ? findGeneralFrom<uint64_t>(instruction)
                                              : findGeneralFrom<uint32_t>(instruction);
}
