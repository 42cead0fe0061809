// Float formats: every code of the narrow ones there and back, and values between codes.
#include "backend/warpsim/exec/Float.h"
#include "test/unit/warpsim/execute/ExactFloat.h"
#include <gtest/gtest.h>

using namespace tw::warpsim;
using namespace tw::warpsim::test;

struct FormatCase {
  const char *name;
  FloatFormat format;
  Layout layout;
  uint32_t numCodes;
};
static const FormatCase kCases[] = {{"f16", kHalf, kF16, 1u << 16},
                                    {"bf16", kBrain, kBf16, 1u << 16},
                                    {"tf32", kTf32, kTf32Layout, 1u << 19},
                                    {"e5m2", kE5m2, kE5m2Layout, 1u << 8}};

TEST(FloatFormat, EveryCodeComesBack) {
  for (const FormatCase &test : kCases) {
    for (uint32_t code = 0; code < test.numCodes; ++code) {
      double value = valueOfCode(code, test.format);
      if (isNan(test.layout, code)) {
        ASSERT_TRUE(std::isnan(value)) << test.name << " " << code;
        ASSERT_EQ(roundToFormat(value, test.format, Rounding::Rn), test.format.nan);
        continue;
      }
      ASSERT_EQ(value, toDouble(test.layout, code)) << test.name << " " << code;
      for (Rounding rounding :
           {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp, Rounding::Rna})
        ASSERT_EQ(roundToFormat(value, test.format, rounding), code) << test.name;
    }
  }
}

TEST(FloatFormat, ValuesBetweenCodesAreRounded) {
  for (const FormatCase &test : kCases) {
    uint32_t step = test.numCodes > 1u << 16 ? 7 : 1;
    for (uint32_t code = 0; code < test.format.maxFinite; code += step) {
      double low = toDouble(test.layout, code), high = toDouble(test.layout, code + 1);
      double middle = low + (high - low) / 2;
      for (double value : {middle, std::nextafter(middle, low), std::nextafter(middle, high),
                           std::nextafter(low, high), -middle, -std::nextafter(middle, high)})
        for (Rounding rounding :
             {Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp, Rounding::Rna})
          ASSERT_EQ(
              roundToFormat(value, test.format, rounding),
              roundExact(exactOf(kF64, std::bit_cast<uint64_t>(value)), test.layout, rounding))
              << test.name << " " << value << " " << static_cast<int>(rounding);
    }
  }
}

TEST(FloatFormat, E4m3HasNoInfinity) {
  EXPECT_EQ(valueOfCode(0x7e, kE4m3), 448.0);
  EXPECT_TRUE(std::isnan(valueOfCode(0x7f, kE4m3)));
  EXPECT_EQ(valueOfCode(0x01, kE4m3), 0x1p-9);
  EXPECT_EQ(valueOfCode(0x88, kE4m3), -0x1p-6);
  EXPECT_EQ(roundToFormat(464.0, kE4m3, Rounding::Rn), 0x7eu); // halfway, to the even code
  EXPECT_EQ(roundToFormat(465.0, kE4m3, Rounding::Rn), 0x7fu);
  EXPECT_EQ(roundToFormat(465.0, kE4m3, Rounding::Rn, true), 0x7eu);
  EXPECT_EQ(roundToFormat(-HUGE_VAL, kE4m3, Rounding::Rn, true), 0xfeu);
  for (uint32_t code = 0; code < 256; ++code)
    if ((code & 0x7f) != 0x7f)
      EXPECT_EQ(roundToFormat(valueOfCode(code, kE4m3), kE4m3, Rounding::Rn), code);
}

TEST(FloatFormat, FastConversionsAgreeWithTheGeneralOnes) {
  for (uint32_t code = 0; code < 1u << 16; ++code) {
    uint16_t half = static_cast<uint16_t>(code);
    if (!isNan(kF16, code))
      ASSERT_EQ(floatFromHalf(half), toDouble(kF16, code)) << code;
    else
      ASSERT_TRUE(std::isnan(floatFromHalf(half)));
    if (!isNan(kBf16, code))
      ASSERT_EQ(floatFromBrain(half), toDouble(kBf16, code)) << code;
  }
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 4093) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(halfFromFloat(value), expectedNarrowing(kF32, kF16, {}, bits)) << bits;
    ASSERT_EQ(brainFromFloat(value), expectedNarrowing(kF32, kBf16, {}, bits)) << bits;
  }
}

TEST(RoundToOdd, RemembersWhatWasCutOff) {
  double one = 1.0, up = std::nextafter(1.0, 2.0), down = std::nextafter(1.0, 0.0);
  EXPECT_EQ(roundToOdd(one, 0.0), one);
  EXPECT_EQ(roundToOdd(one, 1e-30), up);
  EXPECT_EQ(roundToOdd(one, -1e-30), down);
  EXPECT_EQ(roundToOdd(-one, 1e-30), -down);
  EXPECT_EQ(roundToOdd(up, 1e-30), up);
  EXPECT_EQ(roundToOdd(up, -1e-30), up);
  EXPECT_EQ(narrowToOdd(0x1p-200), 0x1p-149f);
  EXPECT_EQ(narrowToOdd(-0x1p200), -0x1.fffffep127f);
  EXPECT_EQ(narrowToOdd(HUGE_VAL), HUGE_VALF);
}
