// Any conversion of cvt, one value at a time. A float source is exact in a double; an integer of 64
// bits is rounded to odd there first, so that the rounding to the result's type is the only one.
#include "backend/warpsim/exec/NumericConversion.h"
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"

using namespace tw::warpsim;

using Integer = __int128;

namespace {
struct IntegerRange {
  Integer least, greatest;
};
} // namespace

static IntegerRange rangeOf(Type type) {
  unsigned bits = bytesOf(type) * 8;
  if (isSigned(type))
    return {-(Integer(1) << (bits - 1)), (Integer(1) << (bits - 1)) - 1};
  return {0, (Integer(1) << bits) - 1};
}

static Integer clampTo(IntegerRange range, Integer value) {
  return value < range.least ? range.least : value > range.greatest ? range.greatest : value;
}

static Integer integerValue(Type type, uint64_t bits) {
  unsigned unused = 64 - bytesOf(type) * 8;
  if (isSigned(type))
    return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<uint64_t>(bits << unused) >> unused;
}

/// The bits of an integer result, by its sign extended to 64.
static uint64_t integerBits(Type type, Integer value) {
  return static_cast<uint64_t>(integerValue(type, static_cast<uint64_t>(value)));
}

static const FloatFormat &formatOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return kHalf;
  case Type::BF16:
  case Type::BF16x2:
    return kBrain;
  case Type::TF32:
    return kTf32;
  case Type::E4M3x2:
    return kE4m3;
  case Type::E5M2x2:
    return kE5m2;
  case Type::E2M1x2:
    return kE2m1;
  case Type::E2M3x2:
    return kE2m3;
  case Type::E3M2x2:
    return kE3m2;
  default:
    return kSingle;
  }
}

static double floatValue(Type type, uint64_t bits, bool isFtz) {
  if (type == Type::F64)
    return std::bit_cast<double>(bits);
  if (type == Type::F32) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    return isFtz ? flushSubnormal(value) : value;
  }
  return valueOfCode(static_cast<uint32_t>(bits), formatOf(type));
}

static double roundIntegral(double value, Rounding rounding) {
  switch (rounding) {
  case Rounding::Rni:
    return std::nearbyint(value);
  case Rounding::Rzi:
    return std::trunc(value);
  case Rounding::Rmi:
    return std::floor(value);
  case Rounding::Rpi:
    return std::ceil(value);
  default:
    return value;
  }
}

/// NaN becomes 0, but the top bit alone if one of the types has 64 bits (PTX ISA, cvt, notes).
static uint64_t floatToInteger(const Instruction &instruction, double value) {
  Type type = instruction.type;
  unsigned bits = bytesOf(type) * 8;
  if (std::isnan(value)) {
    bool isWide = bits == 64 || instruction.sourceType == Type::F64;
    return isWide ? integerBits(type, Integer(1) << (bits - 1)) : 0;
  }
  double rounded = roundIntegral(value, instruction.rounding);
  IntegerRange range = rangeOf(type);
  if (rounded >= 0x1p64)
    return integerBits(type, range.greatest);
  if (rounded <= -0x1p64)
    return integerBits(type, range.least);
  return integerBits(type, clampTo(range, static_cast<Integer>(rounded)));
}

/// The scale of a magnitude: its exponent, with a bias of 127 (OCP Microscaling
/// Formats 1.0, 5.4.1); 0xff is NaN. Signs do not count, as in CUDA's own conversion where there is
/// no instruction.
static uint32_t encodeScale(const Instruction &instruction, double value) {
  constexpr uint32_t kGreatest = 0xfe, kNan = 0xff;
  double magnitude = std::fabs(value);
  if (!std::isfinite(magnitude))
    return std::isinf(magnitude) && instruction.isSatFinite ? kGreatest : kNan;
  if (magnitude <= 0x1p-127)
    return 0;
  int exponent = 0;
  double fraction = std::frexp(magnitude, &exponent); // from 1/2 to 1
  bool isUp = instruction.rounding == Rounding::Rp && fraction != 0.5;
  uint32_t code = static_cast<uint32_t>(exponent - 1 + 127 + isUp);
  return code > kGreatest && instruction.isSatFinite ? kGreatest : code;
}

static double valueOfScale(uint32_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : std::ldexp(1.0, static_cast<int>(code) - 127);
}

/// A value in the format of `type`: clamped and without negatives if asked, then rounded.
static uint32_t encodeNarrow(const Instruction &instruction, Type type, double value,
                             bool isSatFinite, uint32_t random = 0) {
  if (type == Type::UE8M0x2)
    return encodeScale(instruction, value);
  if (instruction.isRelu && value < 0)
    value = 0;
  uint32_t code = roundToFormat(value, formatOf(type), instruction.rounding, isSatFinite, random);
  if (instruction.isRelu && value == 0)
    code = 0;
  if (type == Type::TF32)
    return value != value ? 0x7fffffff : code << 13;
  if (type == Type::F32 && instruction.isFtz)
    return std::bit_cast<uint32_t>(flushSubnormal(std::bit_cast<float>(code)));
  return code;
}

static uint64_t floatToFloat(const Instruction &instruction, double value) {
  value = roundIntegral(value, instruction.rounding);
  value = instruction.isSaturating ? saturateToUnit(value) : value;
  if (instruction.type == Type::F64)
    return std::bit_cast<uint64_t>(value);
  return encodeNarrow(instruction, instruction.type, value, instruction.isSatFinite);
}

static uint64_t integerToFloat(const Instruction &instruction, Integer value) {
  double nearest = static_cast<double>(value);
  double error = static_cast<double>(value - static_cast<Integer>(nearest));
  bool isClamped = instruction.isSaturating;
  if (instruction.type != Type::F64) {
    double odd = roundToOdd(nearest, error);
    return encodeNarrow(instruction, instruction.type, isClamped ? saturateToUnit(odd) : odd,
                        false);
  }
  Rounding rounding = instruction.rounding;
  double directed = nearest;
  bool isDown = rounding == Rounding::Rm || (rounding == Rounding::Rz && value > 0);
  bool isUp = rounding == Rounding::Rp || (rounding == Rounding::Rz && value < 0);
  if (isDown && error < 0)
    directed = std::nextafter(nearest, -HUGE_VAL);
  if (isUp && error > 0)
    directed = std::nextafter(nearest, HUGE_VAL);
  return std::bit_cast<uint64_t>(isClamped ? saturateToUnit(directed) : directed);
}

uint64_t tw::warpsim::convertValue(const Instruction &instruction, uint64_t bits) {
  Type to = instruction.type, from = instruction.sourceType;
  if (isInteger(from)) {
    Integer value = integerValue(from, bits);
    if (!isInteger(to))
      return integerToFloat(instruction, value);
    return integerBits(to, instruction.isSaturating ? clampTo(rangeOf(to), value) : value);
  }
  double value = floatValue(from, bits, instruction.isFtz);
  return isInteger(to) ? floatToInteger(instruction, value) : floatToFloat(instruction, value);
}

static unsigned bitsOfHalf(Type pair) { return bytesOf(pair) * 4; }

uint32_t tw::warpsim::convertPair(const Instruction &instruction, uint32_t high, uint32_t low) {
  Type type = instruction.type;
  auto half = [&](uint32_t bits) {
    double value = floatValue(Type::F32, bits, instruction.isFtz);
    return encodeNarrow(instruction, type, value, instruction.isSatFinite);
  };
  return (half(high) << bitsOfHalf(type)) | half(low);
}

uint32_t tw::warpsim::convertPairAtRandom(const Instruction &instruction, uint32_t high,
                                          uint32_t low, uint32_t random) {
  auto half = [&](uint32_t bits, uint32_t added) {
    double value = floatValue(Type::F32, bits, instruction.isFtz);
    return encodeNarrow(instruction, instruction.type, value, instruction.isSatFinite, added);
  };
  return (half(high, random >> 16) << 16) | half(low, random);
}

uint32_t tw::warpsim::convertWithinPair(const Instruction &instruction, uint32_t bits) {
  Type to = instruction.type, from = instruction.sourceType;
  unsigned fromBits = bitsOfHalf(from), toBits = bitsOfHalf(to);
  auto half = [&](uint32_t code) {
    code &= (1u << fromBits) - 1;
    double value = from == Type::UE8M0x2 ? valueOfScale(code) : valueOfCode(code, formatOf(from));
    return encodeNarrow(instruction, to, value, instruction.isSatFinite);
  };
  return (half(bits >> fromBits) << toBits) | half(bits);
}

uint32_t tw::warpsim::packIntegers(Type type, uint32_t high, uint32_t low) {
  unsigned bits = bytesOf(type) * 8;
  auto clamped = [&](uint32_t value) {
    Integer result = clampTo(rangeOf(type), static_cast<int32_t>(value));
    return static_cast<uint32_t>(result) & ((1u << bits) - 1);
  };
  return (clamped(high) << bits) | clamped(low);
}

static bool isFp8Pair(Type type) { return type == Type::E4M3x2 || type == Type::E5M2x2; }

static bool isFp6OrFp4Pair(Type type) {
  return type == Type::E2M1x2 || type == Type::E2M3x2 || type == Type::E3M2x2;
}

bool tw::warpsim::isPairOfFloats(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2 || isFp8Pair(type) || isFp6OrFp4Pair(type) ||
         type == Type::UE8M0x2;
}

static bool isScalarFloat(Type type) {
  return type == Type::F16 || type == Type::BF16 || type == Type::F32 || type == Type::F64;
}

static bool isDirected(Rounding rounding) {
  return rounding == Rounding::Rn || rounding == Rounding::Rz || rounding == Rounding::Rm ||
         rounding == Rounding::Rp;
}

static bool isIntegral(Rounding rounding) {
  return rounding >= Rounding::Rni && rounding <= Rounding::Rpi;
}

/// .ftz is about f32 only; with f16 it is accepted and changes nothing (PTX ISA, cvt, "Subnormal
/// Numbers").
static bool mayFlush(Type to, Type from) {
  auto isSmall = [](Type type) { return type == Type::F32 || type == Type::F16; };
  return isSmall(to) || isSmall(from);
}

/// Scales: from two f32 or two bf16, towards zero or up, and to two bf16.
static bool isConvertibleScale(const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  if (instruction.isRelu)
    return false;
  if (from == Type::UE8M0x2)
    return to == Type::BF16x2 && instruction.rounding == Rounding::Rn &&
           instruction.sources.size() == 1 && !instruction.isSatFinite;
  bool isFromSingles = from == Type::F32 && instruction.sources.size() == 2;
  bool isFromPair = from == Type::BF16x2 && instruction.sources.size() == 1;
  return (instruction.rounding == Rounding::Rz || instruction.rounding == Rounding::Rp) &&
         (isFromSingles || isFromPair);
}

/// Pairs: from two f32, and smaller floats to f16x2, fp8 from it too. They always saturate in PTX.
static bool isConvertiblePair(const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  bool isRn = instruction.rounding == Rounding::Rn;
  if (instruction.isFtz)
    return false;
  if (to == Type::UE8M0x2 || from == Type::UE8M0x2)
    return isConvertibleScale(instruction);
  if (isFp8Pair(from) || isFp6OrFp4Pair(from))
    return to == Type::F16x2 && isRn && instruction.sources.size() == 1 && !instruction.isSatFinite;
  bool isFromSingles = from == Type::F32 && instruction.sources.size() == 2;
  bool isFromHalves = from == Type::F16x2 && instruction.sources.size() == 1;
  if (instruction.rounding == Rounding::Rs)
    return !isFp8Pair(to) && !isFp6OrFp4Pair(to) && from == Type::F32 &&
           instruction.sources.size() == 3;
  if (isFp6OrFp4Pair(to))
    return isRn && instruction.isSatFinite && isFromSingles;
  if (isFp8Pair(to))
    return isRn && instruction.isSatFinite && (isFromSingles || isFromHalves);
  return from == Type::F32 && instruction.sources.size() == 2 &&
         (isRn || instruction.rounding == Rounding::Rz);
}

static bool isConvertibleFloat(const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  Rounding rounding = instruction.rounding;
  bool hasGreatest = isHalf(to) || to == Type::TF32;
  if (instruction.isSatFinite && (!hasGreatest || from != Type::F32 || instruction.isSaturating))
    return false;
  if (to == Type::TF32)
    return from == Type::F32 && !instruction.isFtz &&
           (rounding == Rounding::Rna || rounding == Rounding::Rn || rounding == Rounding::Rz);
  if (!isScalarFloat(to) || !isScalarFloat(from))
    return false;
  unsigned toBytes = bytesOf(to), fromBytes = bytesOf(from);
  bool isAcross = toBytes == 2 && fromBytes == 2 && to != from; // f16 and bf16
  if (to == from)
    return rounding == Rounding::None || isIntegral(rounding);
  if (toBytes < fromBytes || isAcross)
    return isDirected(rounding);
  return rounding == Rounding::None || rounding == Rounding::Rn;
}

bool tw::warpsim::isConvertible(const Instruction &instruction) {
  Type to = instruction.type, from = instruction.sourceType;
  Rounding rounding = instruction.rounding;
  bool canRelu = isHalf(to) || to == Type::TF32 || isPairOfFloats(to);
  if (instruction.isRelu && !canRelu)
    return false;
  if (isPairOfFloats(to) || isPairOfFloats(from))
    return isConvertiblePair(instruction);
  if (instruction.sources.size() != 1)
    return false;
  if (instruction.isFtz && !mayFlush(to, from))
    return false;
  if (instruction.isSatFinite && (isInteger(to) || isInteger(from)))
    return false;
  if (isInteger(to) && isInteger(from))
    return rounding == Rounding::None;
  if (isInteger(from))
    return isScalarFloat(to) && isDirected(rounding);
  if (isInteger(to))
    return isScalarFloat(from) && isIntegral(rounding);
  return isConvertibleFloat(instruction);
}
