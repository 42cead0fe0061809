// cvt between all types, roundings and modifiers against exact conversions.
#include "test/unit/warpsim/execute/ExactFloat.h"
#include "test/unit/warpsim/execute/ExecuteHarness.h"
#include <cmath>

using namespace tw::warpsim;
using namespace tw::warpsim::test;

using Integer = __int128;

static const Type kIntegers[] = {Type::U8,  Type::S8,  Type::U16, Type::S16,
                                 Type::U32, Type::S32, Type::U64, Type::S64};
static const Type kFloats[] = {Type::F16, Type::BF16, Type::F32, Type::F64};
static const Rounding kDirections[] = {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp};
static const Rounding kIntegral[] = {Rounding::Rni, Rounding::Rzi, Rounding::Rmi, Rounding::Rpi};

static bool isSignedType(Type type) { return type >= Type::S8 && type <= Type::S64; }
static Layout layoutOf(Type type) {
  return type == Type::F16 ? kF16 : type == Type::BF16 ? kBf16 : type == Type::F32 ? kF32 : kF64;
}

static const char *nameOf(Rounding rounding) {
  static const char *const names[] = {"",     ".rn",  ".rz",  ".rm",  ".rp", ".rna",
                                      ".rni", ".rzi", ".rmi", ".rpi", ".rs"};
  return names[static_cast<unsigned>(rounding)];
}

static Row rowOf(Instruction instruction, Formula expected) {
  std::string name = std::string("cvt") + nameOf(instruction.rounding);
  name += instruction.isFtz ? ".ftz" : "";
  name += instruction.isSaturating ? ".sat" : "";
  name += instruction.isRelu ? ".relu" : "";
  name += std::string(".") + suffixOf(instruction.type) + "." + suffixOf(instruction.sourceType);
  return Row{name, instruction, {instruction.sourceType}, instruction.type, expected, 0, false, {}};
}

static Integer valueOf(Type type, uint64_t bits) {
  Integer value = bits & maskOf(type);
  bool isNegative = isSignedType(type) && value > Integer(maskOf(type) / 2);
  return isNegative ? value - Integer(maskOf(type)) - 1 : value;
}

/// An integer result as its register shows it: signed ones fill 32 bits by their sign.
static uint64_t registerBits(Type type, Integer value) {
  value = valueOf(type, static_cast<uint64_t>(value));
  return static_cast<uint64_t>(value) & (bytesOf(type) == 8 ? ~uint64_t(0) : 0xffffffff);
}
static Integer clamp(Type type, Integer value) {
  Integer greatest = isSignedType(type) ? Integer(maskOf(type) / 2) : Integer(maskOf(type));
  Integer least = isSignedType(type) ? -greatest - 1 : 0;
  return value < least ? least : value > greatest ? greatest : value;
}

static std::vector<Row> integerRows() {
  std::vector<Row> rows;
  for (Type to : kIntegers) {
    for (Type from : kIntegers) {
      for (bool isSat : {false, true}) {
        Instruction instruction = makeInstruction(Op::Cvt, to, from);
        instruction.isSaturating = isSat;
        rows.push_back(rowOf(instruction, [=](const uint64_t *v) {
          Integer value = valueOf(from, v[0]);
          return registerBits(to, isSat ? clamp(to, value) : value);
        }));
      }
    }
  }
  return rows;
}

/// The integer nearest to a float in a direction, on the exact fraction of the value.
static Integer roundedInteger(double value, Rounding rounding) {
  if (value >= 0x1p70 || value <= -0x1p70)
    return value > 0 ? Integer(1) << 70 : -(Integer(1) << 70);
  Integer whole = static_cast<Integer>(value);
  double rest = value - static_cast<double>(whole); // exact: the bits below the point
  switch (rounding) {
  case Rounding::Rzi:
    return whole;
  case Rounding::Rmi:
    return rest < 0 ? whole - 1 : whole;
  case Rounding::Rpi:
    return rest > 0 ? whole + 1 : whole;
  default:
    if (rest > 0.5 || (rest == 0.5 && (whole & 1)))
      return whole + 1;
    return rest < -0.5 || (rest == -0.5 && (whole & 1)) ? whole - 1 : whole;
  }
}

static std::vector<uint64_t> valuesNearIntegers(Type type) {
  std::vector<uint64_t> edges;
  for (double value :
       {0.5,     1.5,           2.5,          0.499999,     3.999,   127.0,        127.5,
        128.0,   128.5,         255.5,        256.0,        32767.5, 32768.0,      65535.5,
        65536.0, 0x1p31,        0x1p31 - 0.5, 0x1p31 - 128, 0x1p32,  0x1p32 - 256, 0x1p63,
        0x1p64,  0x1p63 - 1024, 1e-40,        1e-6})
    for (double sign : {1.0, -1.0})
      edges.push_back(
          expectedNarrowing(kF64, layoutOf(type), {}, std::bit_cast<uint64_t>(value * sign)));
  return edges;
}

static std::vector<Row> floatToIntegerRows() {
  std::vector<Row> rows;
  for (Type to : kIntegers) {
    for (Type from : kFloats) {
      for (Rounding rounding : kIntegral) {
        for (bool isFtz : {false, true}) {
          Instruction instruction = makeInstruction(Op::Cvt, to, from);
          instruction.rounding = rounding;
          instruction.isFtz = isFtz;
          if (isFtz && from != Type::F32)
            continue;
          Row row = rowOf(instruction, [=](const uint64_t *v) {
            uint64_t bits = isFtz ? flush(layoutOf(from), v[0]) : v[0];
            if (isNan(layoutOf(from), bits)) {
              bool isWide = from == Type::F64 || bytesOf(to) == 8;
              return registerBits(to, isWide ? Integer(maskOf(to) / 2) + 1 : Integer(0));
            }
            double value = toDouble(layoutOf(from), bits);
            return registerBits(to, clamp(to, roundedInteger(value, rounding)));
          });
          row.extra = valuesNearIntegers(from);
          rows.push_back(row);
        }
      }
    }
  }
  return rows;
}

static uint64_t saturated(Layout layout, uint64_t bits) {
  if (isNan(layout, bits) || isNegative(layout, bits))
    return 0;
  uint64_t one = ((uint64_t(1) << (layout.exponentBits - 1)) - 1) << layout.mantissaBits;
  return std::min(bits, one);
}

static std::vector<Row> integerToFloatRows() {
  std::vector<Row> rows;
  for (Type to : kFloats) {
    for (Type from : kIntegers) {
      for (Rounding rounding : kDirections) {
        for (bool isSat : {false, true}) {
          Instruction instruction = makeInstruction(Op::Cvt, to, from);
          instruction.rounding = rounding;
          instruction.isSaturating = isSat;
          rows.push_back(rowOf(instruction, [=](const uint64_t *v) {
            uint64_t bits = expectedFromInteger(layoutOf(to), rounding, valueOf(from, v[0]));
            return isSat ? saturated(layoutOf(to), bits) : bits;
          }));
        }
      }
    }
  }
  return rows;
}

/// Values of `from` halfway between two of `to`, and their neighbours.
static std::vector<uint64_t> midpoints(Type to, Type from) {
  std::vector<uint64_t> values;
  if (bytesOf(to) >= bytesOf(from))
    return values;
  uint64_t infinity = expectedNarrowing(kF64, layoutOf(to), {}, std::bit_cast<uint64_t>(HUGE_VAL));
  for (unsigned count = 0; count < 60; ++count) {
    uint64_t code = count % 3 ? randomBits()() % (infinity - 1) : count;
    double low = toDouble(layoutOf(to), code), high = toDouble(layoutOf(to), code + 1);
    double middle = (low + high) / 2 * (count % 2 ? 1 : -1);
    uint64_t bits = expectedNarrowing(kF64, layoutOf(from), {}, std::bit_cast<uint64_t>(middle));
    values.insert(values.end(), {bits, bits + 1, bits - 1});
  }
  return values;
}

static std::vector<Row> floatToFloatRows() {
  std::vector<Row> rows;
  for (Type to : kFloats) {
    for (Type from : kFloats) {
      bool isWidening = bytesOf(to) > bytesOf(from);
      for (Rounding rounding : kDirections) {
        for (unsigned flags = 0; flags < 8; ++flags) {
          Instruction instruction = makeInstruction(Op::Cvt, to, from);
          instruction.rounding = isWidening ? Rounding::None : rounding;
          instruction.isFtz = flags & 1;
          instruction.isSaturating = flags & 2;
          instruction.isRelu = flags & 4;
          bool canRelu = from == Type::F32 && bytesOf(to) == 2;
          bool canFtz = to == Type::F32 || from == Type::F32;
          if (to == from || (isWidening && rounding != Rounding::Rn) ||
              (instruction.isFtz && !canFtz) ||
              (instruction.isRelu && (!canRelu || instruction.isSaturating)))
            continue;
          rows.push_back(rowOf(instruction, [=](const uint64_t *v) {
            uint64_t bits = instruction.isFtz && from == Type::F32 ? flush(kF32, v[0]) : v[0];
            Modifiers modifiers{rounding, instruction.isFtz && to == Type::F32,
                                instruction.isSaturating, instruction.isRelu};
            return expectedNarrowing(layoutOf(from), layoutOf(to), modifiers, bits);
          }));
          rows.back().extra = midpoints(to, from);
        }
      }
    }
  }
  return rows;
}

/// cvt.rni.f32.f32 and its like: to an integral value of the same type.
static std::vector<Row> integralRows() {
  std::vector<Row> rows;
  for (Type type : kFloats) {
    for (Rounding rounding : kIntegral) {
      for (bool isFtz : {false, true}) {
        if (isFtz && type != Type::F32)
          continue;
        Instruction instruction = makeInstruction(Op::Cvt, type, type);
        instruction.rounding = rounding;
        instruction.isFtz = isFtz;
        Layout layout = layoutOf(type);
        Row row = rowOf(instruction, [=](const uint64_t *v) {
          uint64_t bits = isFtz ? flush(layout, v[0]) : v[0];
          double value = toDouble(layout, bits);
          if (!(std::fabs(value) < 0x1p60)) // integral already, or not finite
            return bits;
          Integer whole = roundedInteger(value, rounding);
          uint64_t sign = uint64_t(1) << (layout.exponentBits + layout.mantissaBits);
          return expectedFromInteger(layout, Rounding::Rn, whole) | (bits & sign);
        });
        row.extra = valuesNearIntegers(type);
        rows.push_back(row);
      }
    }
  }
  return rows;
}

/// A float of at most 8 bits; `greatest` is the code of the largest finite value.
struct SmallFloat {
  Type pair;
  unsigned bits, mantissaBits, bias;
  uint64_t greatest, nan;
};
constexpr SmallFloat kSmallFloats[] = {
    {Type::E4M3x2, 8, 3, 7, 0x7e, 0x7f}, {Type::E5M2x2, 8, 2, 15, 0x7b, 0x7f},
    {Type::E2M1x2, 4, 1, 1, 0x7, 0x7},   {Type::E2M3x2, 6, 3, 1, 0x1f, 0x1f},
    {Type::E3M2x2, 6, 2, 3, 0x1f, 0x1f},
};

static double valueOf(const SmallFloat &format, uint64_t code) {
  uint64_t field = code >> format.mantissaBits, mantissa = code - (field << format.mantissaBits);
  double significand = double(mantissa) / (1 << format.mantissaBits) + (field ? 1 : 0);
  return std::ldexp(significand, int(field ? field : 1) - int(format.bias));
}

/// What an f32 becomes; all saturate.
static uint64_t expectedSmallFloat(const SmallFloat &format, uint64_t bits, bool isRelu) {
  if (isNan(kF32, bits))
    return format.nan;
  double value = toDouble(kF32, bits);
  if (isRelu && std::signbit(value))
    return 0;
  uint64_t sign = std::signbit(value) ? uint64_t(1) << (format.bits - 1) : 0;
  // Among all codes in order, the nearest; halfway the even one.
  uint64_t best = 0;
  double bestDistance = HUGE_VAL, magnitude = std::fabs(value);
  for (uint64_t code = 0; code <= format.greatest; ++code) {
    double distance = std::fabs(valueOf(format, code) - magnitude);
    if (distance < bestDistance || (distance == bestDistance && code % 2 == 0)) {
      best = code;
      bestDistance = distance;
    }
  }
  // So far away that distances to codes are equal in a double.
  if (magnitude > 0x1p17)
    best = format.greatest;
  return sign | best;
}

static Row pairRow(Type to, Rounding rounding, bool isRelu, unsigned bits,
                   std::function<uint64_t(uint64_t)> half) {
  Instruction instruction = makeInstruction(Op::Cvt, to, Type::F32);
  instruction.rounding = rounding;
  instruction.isRelu = isRelu;
  instruction.isSatFinite = bits <= 8;
  Row row =
      rowOf(instruction, [=](const uint64_t *v) { return (half(v[0]) << bits) | half(v[1]); });
  row.sources = {Type::F32, Type::F32};
  row.result = bits == 4 ? Type::B8 : bits == 8 ? Type::B16 : Type::B32;
  return row;
}

/// A finite value in units of the format at its exponent, of which the part below one, in as many
/// bits as an f32 has beyond the format, is added to the random bits: a carry is one unit more.
static uint64_t expectedAtRandom(Layout layout, uint64_t bits, uint64_t random) {
  double magnitude = std::fabs(toDouble(kF32, bits));
  int numBits = static_cast<int>(23 - layout.mantissaBits),
      bias = layout.exponentBits == 5 ? 15 : 127;
  int exponent = magnitude == 0 ? -1000 : std::ilogb(magnitude);
  int unit = std::max(exponent, 1 - bias) - static_cast<int>(layout.mantissaBits);
  double inUnits = std::ldexp(magnitude, -unit), whole = std::floor(inUnits);
  uint64_t cut = static_cast<uint64_t>(std::ldexp(inUnits - whole, numBits));
  whole += static_cast<double>((cut + (random & ((1u << numBits) - 1))) >> numBits);
  double rounded = std::copysign(std::ldexp(whole, unit), toDouble(kF32, bits));
  return expectedNarrowing(kF64, layout, {}, std::bit_cast<uint64_t>(rounded));
}

/// cvt.rs: the upper half of the random bits is the first operand's.
static Row randomPairRow(Type to, bool isRelu) {
  Instruction instruction = makeInstruction(Op::Cvt, to, Type::F32);
  instruction.rounding = Rounding::Rs;
  instruction.isRelu = isRelu;
  Layout layout = to == Type::F16x2 ? kF16 : kBf16;
  auto half = [=](uint64_t bits, uint64_t random) -> uint64_t {
    if (isNan(kF32, bits))
      return nanOf(layout);
    if (isRelu && isNegative(kF32, bits))
      return 0;
    return isInfinite(kF32, bits) ? expectedNarrowing(kF32, layout, {}, bits)
                                  : expectedAtRandom(layout, bits, random);
  };
  Row row = rowOf(instruction, [=](const uint64_t *v) {
    return (half(v[0], v[2] >> 16) << 16) | half(v[1], v[2]);
  });
  row.sources = {Type::F32, Type::F32, Type::U32};
  row.result = Type::B32;
  return row;
}

static std::vector<Row> pairRows() {
  std::vector<Row> rows;
  for (bool isRelu : {false, true}) {
    for (Type to : {Type::F16x2, Type::BF16x2})
      rows.push_back(randomPairRow(to, isRelu));
    for (Rounding rounding : {Rounding::Rn, Rounding::Rz}) {
      for (Type to : {Type::F16x2, Type::BF16x2}) {
        Layout layout = to == Type::F16x2 ? kF16 : kBf16;
        rows.push_back(pairRow(to, rounding, isRelu, 16, [=](uint64_t bits) {
          return expectedNarrowing(kF32, layout, {rounding, false, false, isRelu}, bits);
        }));
      }
    }
    for (const SmallFloat &format : kSmallFloats) {
      unsigned container = format.bits == 4 ? 4 : 8;
      Row row = pairRow(format.pair, Rounding::Rn, isRelu, container,
                        [=](uint64_t bits) { return expectedSmallFloat(format, bits, isRelu); });
      for (double value : {448.0, 464.0, 480.0, 57344.0, 61440.0, 0x1p-9, 0x1p-10, 0x1p-17})
        row.extra.push_back(std::bit_cast<uint32_t>(static_cast<float>(value)));
      for (uint64_t code = 0; code < format.greatest; ++code) // and halfway to the next
        for (double value :
             {valueOf(format, code), (valueOf(format, code) + valueOf(format, code + 1)) / 2})
          row.extra.push_back(std::bit_cast<uint32_t>(static_cast<float>(value)));
      rows.push_back(row);
    }
    for (Rounding rounding : {Rounding::Rna, Rounding::Rn, Rounding::Rz}) {
      Instruction instruction = makeInstruction(Op::Cvt, Type::TF32, Type::F32);
      instruction.rounding = rounding;
      instruction.isRelu = isRelu;
      Row row = rowOf(instruction, [=](const uint64_t *v) -> uint64_t {
        if (isNan(kF32, v[0]))
          return 0x7fffffff;
        return expectedNarrowing(kF32, kTf32Layout, {rounding, false, false, isRelu}, v[0]) << 13;
      });
      rows.push_back(row);
    }
  }
  return rows;
}

class Conversion : public ScalarInstruction {};
TEST_P(Conversion, IsExactOrRoundedOnce) { checkRow(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Integers, Conversion, testing::ValuesIn(integerRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(ToInteger, Conversion, testing::ValuesIn(floatToIntegerRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(FromInteger, Conversion, testing::ValuesIn(integerToFloatRows()),
                         nameOfRow);
INSTANTIATE_TEST_SUITE_P(Floats, Conversion, testing::ValuesIn(floatToFloatRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Integral, Conversion, testing::ValuesIn(integralRows()), nameOfRow);
INSTANTIATE_TEST_SUITE_P(Pairs, Conversion, testing::ValuesIn(pairRows()), nameOfRow);

/// One lane of a conversion without operands.
static uint64_t convertOnce(Instruction instruction, const std::vector<uint64_t> &sources) {
  WarpRegisters registers({0, 4, 4});
  instruction.results = {registerOperand(Type::B32, 0)};
  for (uint32_t index = 0; index < sources.size(); ++index) {
    instruction.sources.push_back(registerOperand(Type::B32, index + 1));
    writeLane(instruction.sources.back(), registers, 0, sources[index], true);
  }
  executeScalar(instruction, registers, 1);
  return readLane(instruction.results[0], registers, 0);
}

TEST(ConvertFp8, GoesToAndFromPairsOfHalves) {
  Instruction widen = makeInstruction(Op::Cvt, Type::F16x2, Type::E4M3x2);
  widen.rounding = Rounding::Rn;
  EXPECT_EQ(convertOnce(widen, {0x7e38}), 0x5f003c00u); // 448 and 1
  EXPECT_EQ(convertOnce(widen, {0xff01}), 0x7fff1800u); // NaN and 2^-9
  widen.isRelu = true;
  EXPECT_EQ(convertOnce(widen, {0xb838}), 0x00003c00u);
  widen.isRelu = false;
  widen.sourceType = Type::E5M2x2;
  EXPECT_EQ(convertOnce(widen, {0x7c81}), 0x7c008100u); // infinity and -2^-16
  Instruction narrow = makeInstruction(Op::Cvt, Type::E4M3x2, Type::F16x2);
  narrow.rounding = Rounding::Rn;
  narrow.isSatFinite = true;
  EXPECT_EQ(convertOnce(narrow, {0x7c003c00}), 0x7e38u); // infinity saturates
  EXPECT_EQ(convertOnce(narrow, {0xfe00bc00}), 0x7fb8u);
}

TEST(ConvertFp4AndFp6, WidenToPairsOfHalves) {
  Instruction widen = makeInstruction(Op::Cvt, Type::F16x2, Type::E2M1x2);
  widen.rounding = Rounding::Rn;
  EXPECT_EQ(convertOnce(widen, {0x7f}), 0x4600c600u); // 6 and -6
  EXPECT_EQ(convertOnce(widen, {0x12}), 0x38003c00u); // 0.5 and 1
  widen.isRelu = true;
  EXPECT_EQ(convertOnce(widen, {0x7f}), 0x46000000u);
  widen.isRelu = false;
  widen.sourceType = Type::E2M3x2;
  EXPECT_EQ(convertOnce(widen, {0x1f21}), 0x4780b000u); // 7.5 and -0.125
  widen.sourceType = Type::E3M2x2;
  EXPECT_EQ(convertOnce(widen, {0x1f01}), 0x4f002c00u); // 28 and 0.0625
}

TEST(ConvertScales, ArePowersOfTwo) {
  auto bits = [](float value) { return uint64_t(std::bit_cast<uint32_t>(value)); };
  Instruction narrow = makeInstruction(Op::Cvt, Type::UE8M0x2, Type::F32);
  narrow.rounding = Rounding::Rz;
  EXPECT_EQ(convertOnce(narrow, {bits(1.0f), bits(3.0f)}), 0x7f80u);
  EXPECT_EQ(convertOnce(narrow, {bits(-3.0f), bits(0.0f)}), 0x8000u);
  EXPECT_EQ(convertOnce(narrow, {bits(0x1p-126f), bits(0x1.8p-127f)}), 0x0100u);
  EXPECT_EQ(convertOnce(narrow, {bits(INFINITY), bits(NAN)}), 0xffffu);
  narrow.isSatFinite = true;
  EXPECT_EQ(convertOnce(narrow, {bits(INFINITY), bits(NAN)}), 0xfeffu);
  narrow.rounding = Rounding::Rp;
  EXPECT_EQ(convertOnce(narrow, {bits(1.0f), bits(3.0f)}), 0x7f81u);
  EXPECT_EQ(convertOnce(narrow, {bits(0x1p-127f), bits(0x1.8p-127f)}), 0x0001u);
  EXPECT_EQ(convertOnce(narrow, {bits(0x1.8p127f), bits(0x1p-140f)}), 0xfe00u);
  narrow.sourceType = Type::BF16x2;
  EXPECT_EQ(convertOnce(narrow, {0x3f804040}), 0x7f81u); // 1 and 3
  Instruction widen = makeInstruction(Op::Cvt, Type::BF16x2, Type::UE8M0x2);
  widen.rounding = Rounding::Rn;
  EXPECT_EQ(convertOnce(widen, {0x7f80}), 0x3f804000u); // 1 and 2
  EXPECT_EQ(convertOnce(widen, {0xff00}), 0x7fff0040u); // NaN and 2^-127
}

TEST(ConvertAtRandom, OverflowIsInfiniteOrTheGreatest) {
  Instruction narrow = makeInstruction(Op::Cvt, Type::F16x2, Type::F32);
  narrow.rounding = Rounding::Rs;
  uint32_t great = std::bit_cast<uint32_t>(65520.0f), minus = std::bit_cast<uint32_t>(-1e9f);
  EXPECT_EQ(convertOnce(narrow, {great, minus, 0x0fff0000}), 0x7bfffc00u);
  EXPECT_EQ(convertOnce(narrow, {great, minus, 0x10000000}), 0x7c00fc00u);
  narrow.isSatFinite = true;
  EXPECT_EQ(convertOnce(narrow, {great, minus, 0x10000000}), 0x7bfffbffu);
}

TEST(ConvertScalar, SatfiniteKeepsToTheGreatestFiniteValue) {
  struct Case {
    Type type;
    Rounding rounding;
    uint32_t greatest, nan;
  };
  for (auto [type, rounding, greatest, nan] :
       {Case{Type::F16, Rounding::Rn, 0x7bff, 0x7fff},
        Case{Type::BF16, Rounding::Rz, 0x7f7f, 0x7fff},
        Case{Type::TF32, Rounding::Rna, 0x7f7fe000, 0x7fffffff}}) {
    Instruction narrow = makeInstruction(Op::Cvt, type, Type::F32);
    narrow.rounding = rounding;
    narrow.isSatFinite = true;
    uint32_t sign = type == Type::TF32 ? 0x80000000 : 0x8000;
    auto convert = [&](float value) {
      return convertOnce(narrow, {std::bit_cast<uint32_t>(value)});
    };
    EXPECT_EQ(convert(INFINITY), greatest);
    EXPECT_EQ(convert(-INFINITY), sign | greatest);
    EXPECT_EQ(convert(0x1.fffffep127f), greatest);
    EXPECT_EQ(convert(NAN), nan);
    // What fits is what it is without.
    Instruction plain = narrow;
    plain.isSatFinite = false;
    for (float value : {0.0f, -0.0f, 1.5f, -3.14159f, 1e-6f})
      EXPECT_EQ(convert(value), convertOnce(plain, {std::bit_cast<uint32_t>(value)}));
  }
}

TEST(ConvertPack, ClampsBothAndKeepsTheThird) {
  Instruction pack = makeInstruction(Op::CvtPack, Type::S16, Type::S32);
  pack.isSaturating = true;
  EXPECT_EQ(convertOnce(pack, {40000, uint32_t(-40000)}), 0x7fff8000u);
  pack.type = Type::U16;
  EXPECT_EQ(convertOnce(pack, {70000, uint32_t(-5)}), 0xffff0000u);
  pack.type = Type::U8;
  EXPECT_EQ(convertOnce(pack, {300, 7, 0xabcd1234}), 0x1234ff07u);
  pack.type = Type::S8;
  EXPECT_EQ(convertOnce(pack, {uint32_t(-300), 7, 0x5678}), 0x56788007u);
}

TEST(ConvertWidth, FillsAWiderRegisterBySign) {
  WarpRegisters registers({0, 1, 1});
  Instruction instruction = makeInstruction(Op::Cvt, Type::S32, Type::S32);
  instruction.results = {registerOperand(Type::B64, 0)};
  instruction.sources = {registerOperand(Type::B32, 0)};
  writeLane(instruction.sources[0], registers, 0, 0x80000000, true);
  executeScalar(instruction, registers, 1);
  EXPECT_EQ(registers.doubles[0][0], 0xffffffff80000000u);
  instruction.type = Type::U32;
  executeScalar(instruction, registers, 1);
  EXPECT_EQ(registers.doubles[0][0], 0x80000000u);
  instruction.results = {registerOperand(Type::B32, 0)}; // and reads the low part of one
  instruction.sources = {registerOperand(Type::B64, 0)};
  registers.doubles[0][0] = 0x1234567890abcdef;
  executeScalar(instruction, registers, 1);
  EXPECT_EQ(registers.words[0][0], 0x90abcdefu);
}

TEST(ConvertLegality, WhatPtxDoesNotHaveHasNoHandler) {
  auto find = [](Type to, Type from, Rounding rounding, bool isRelu = false, bool isFtz = false) {
    Instruction instruction = makeInstruction(Op::Cvt, to, from);
    instruction.rounding = rounding;
    instruction.isRelu = isRelu;
    instruction.isFtz = isFtz;
    instruction.results = {registerOperand(to, 0)};
    instruction.sources = {registerOperand(from, 1)};
    return findHandler(instruction);
  };
  EXPECT_EQ(find(Type::F32, Type::S32, Rounding::None), nullptr);
  EXPECT_EQ(find(Type::F16, Type::F32, Rounding::None), nullptr);
  EXPECT_EQ(find(Type::S32, Type::F32, Rounding::Rn), nullptr);
  EXPECT_EQ(find(Type::S32, Type::S64, Rounding::Rzi), nullptr);
  EXPECT_EQ(find(Type::F32, Type::F64, Rounding::Rn, true), nullptr);
  EXPECT_EQ(find(Type::TF32, Type::F16, Rounding::Rna), nullptr);
  EXPECT_EQ(find(Type::E4M3x2, Type::F16x2, Rounding::Rn), nullptr); // needs .satfinite
  EXPECT_NE(find(Type::F32, Type::S32, Rounding::Rn), nullptr);
  Instruction finite = makeInstruction(Op::Cvt, Type::F16, Type::F64); // from f32 only
  finite.rounding = Rounding::Rn;
  finite.isSatFinite = true;
  finite.results = {registerOperand(Type::F16, 0)};
  finite.sources = {registerOperand(Type::F64, 1)};
  EXPECT_EQ(findHandler(finite), nullptr);
}
