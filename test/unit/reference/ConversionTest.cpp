// Conversions between element types on the reference device against formulas on wide numbers.
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw::test;

template <typename Result, typename Input>
static std::vector<Result> convert(const std::string &operation, const std::string &from,
                                   const std::string &to, std::vector<Input> &input,
                                   const std::string &mode = "") {
  return runElementwiseText<Result>("%r = " + operation + " %a " + mode + " : " +
                                        tileType(input.size(), from) + " to " +
                                        tileType(input.size(), to),
                                    {from}, to, input);
}

template <typename T> static T saturate(double x) {
  if (std::isnan(x))
    return 0;
  x = std::trunc(x);
  if (x <= double(std::numeric_limits<T>::min()))
    return std::numeric_limits<T>::min();
  if (x >= double(std::numeric_limits<T>::max()))
    return std::numeric_limits<T>::max();
  return T(x);
}

namespace {
template <typename T> class FloatToIntegerTest : public testing::Test {};
using Integers =
    testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(FloatToIntegerTest, Integers);
} // namespace

TYPED_TEST(FloatToIntegerTest, SaturatesAndNanGivesZero) {
  Random random;
  std::vector<float> input = floatEdges<float>();
  for (float limit :
       {float(std::numeric_limits<TypeParam>::max()), float(std::numeric_limits<TypeParam>::min())})
    for (float factor : {0.99f, 1.0f, 1.01f})
      input.push_back(limit * factor);
  for (int i = 0; i < 100; ++i)
    input.push_back(random.uniform(-300, 300));
  const char *operation = std::is_signed_v<TypeParam> ? "arith.fptosi" : "arith.fptoui";
  std::string to = "i" + std::to_string(8 * sizeof(TypeParam));
  std::vector<TypeParam> result = convert<TypeParam>(operation, "f32", to, input);
  for (size_t i = 0; i < input.size(); ++i)
    EXPECT_EQ(result[i], saturate<TypeParam>(input[i])) << input[i];
}

TYPED_TEST(FloatToIntegerTest, IntegersBecomeTheNearestFloat) {
  Random random;
  std::vector<TypeParam> input = integerEdges<TypeParam>();
  for (int i = 0; i < 200; ++i)
    input.push_back(random.bits<TypeParam>());
  const char *operation = std::is_signed_v<TypeParam> ? "arith.sitofp" : "arith.uitofp";
  std::string from = "i" + std::to_string(8 * sizeof(TypeParam));
  std::vector<float> single = convert<float>(operation, from, "f32", input);
  std::vector<double> wide = convert<double>(operation, from, "f64", input);
  for (size_t i = 0; i < input.size(); ++i) {
    EXPECT_EQ(single[i], float(input[i])) << +input[i];
    EXPECT_EQ(wide[i], double(input[i])) << +input[i];
  }
}

// 2^24 + 1 + a tail below double's last place: rounding through double would tie down to 2^24.
TEST(IntegerToFloatTest, SixtyFourBitsAreRoundedOnce) {
  std::vector<int64_t> input = {(int64_t(1) << 62) + (int64_t(1) << 38) + 1};
  std::vector<float> result = convert<float>("arith.sitofp", "i64", "f32", input);
  EXPECT_EQ(result[0], 0x1.000002p62f);
}

TEST(IntegerWidthTest, ExtensionsAndTruncation) {
  Random random;
  std::vector<int8_t> narrow = integerEdges<int8_t>();
  std::vector<int32_t> wide = integerEdges<int32_t>();
  for (int i = 0; i < 50; ++i)
    wide.push_back(random.bits<int32_t>());
  std::vector<int64_t> sign = convert<int64_t>("arith.extsi", "i8", "i64", narrow);
  std::vector<int64_t> zero = convert<int64_t>("arith.extui", "i8", "i64", narrow);
  for (size_t i = 0; i < narrow.size(); ++i) {
    EXPECT_EQ(sign[i], int64_t(narrow[i]));
    EXPECT_EQ(zero[i], int64_t(uint8_t(narrow[i])));
  }
  std::vector<int16_t> cut = convert<int16_t>("arith.trunci", "i32", "i16", wide);
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_EQ(cut[i], int16_t(wide[i]));
  std::vector<uint8_t> truth = {0, 1};
  EXPECT_EQ(convert<int32_t>("arith.extui", "i1", "i32", truth), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(convert<int32_t>("arith.extsi", "i1", "i32", truth), (std::vector<int32_t>{0, -1}));
}

TEST(IndexCastTest, KeepsTheSignAndBack) {
  std::vector<int32_t> input = {-5, 7}, result(2, 99);
  std::string text =
      elementwiseText("%x = arith.index_cast %a : tensor<2xi32> to tensor<2xindex>\n"
                      "  %r = arith.index_cast %x : tensor<2xindex> to tensor<2xi32>",
                      {"i32"}, "i32", 2);
  runExpectingSuccess(text, {bufferOf(result), bufferOf(input)});
  EXPECT_EQ(result, input);
  std::vector<int64_t> wide =
      runElementwiseText<int64_t>("%x = arith.index_castui %a : tensor<2xi32> to tensor<2xindex>\n"
                                  "  %r = arith.index_cast %x : tensor<2xindex> to tensor<2xi64>",
                                  {"i32"}, "i64", input);
  EXPECT_EQ(wide, (std::vector<int64_t>{0xFFFFFFFBll, 7}));
}

TEST(FloatWidthTest, HalvesRoundToNearestEven) {
  Random random;
  std::vector<float> input = floatEdges<float>();
  for (int i = 0; i < 300; ++i) {
    input.push_back(random.bits<float>());
    input.push_back(random.uniform(-70000, 70000));
    uint32_t tie = std::bit_cast<uint32_t>(float(_Float16(input.back()))) | 0x1000;
    input.push_back(std::bit_cast<float>(tie));
  }
  std::vector<_Float16> half = convert<_Float16>("arith.truncf", "f32", "f16", input);
  std::vector<uint16_t> bfloat = convert<uint16_t>("arith.truncf", "f32", "bf16", input);
  for (size_t i = 0; i < input.size(); ++i) {
    if (std::isnan(input[i])) {
      EXPECT_TRUE(std::isnan(float(half[i])));
      continue;
    }
    EXPECT_EQ(float(half[i]), float(_Float16(input[i]))) << input[i];
    uint32_t bits = std::bit_cast<uint32_t>(input[i]);
    EXPECT_EQ(bfloat[i], (bits + 0x7fff + (bits >> 16 & 1)) >> 16) << input[i];
  }
  std::vector<double> back = convert<double>("arith.extf", "f16", "f64", half);
  for (size_t i = 0; i < half.size(); ++i)
    expectSame<double>(back[i], double(half[i]), "extf");
}

TEST(FloatWidthTest, RoundingModes) {
  std::vector<float> input = {1.0f + 0x1p-11f, -1.0f - 0x1p-11f, 1.0f + 0x3p-12f};
  float step = 0x1p-10f;
  auto run = [&](const std::string &mode) {
    std::vector<_Float16> result = convert<_Float16>("arith.truncf", "f32", "f16", input, mode);
    return std::vector<float>(result.begin(), result.end());
  };
  EXPECT_EQ(run("to_nearest_even"), (std::vector<float>{1, -1, 1 + step}));
  EXPECT_EQ(run("toward_zero"), (std::vector<float>{1, -1, 1}));
  EXPECT_EQ(run("upward"), (std::vector<float>{1 + step, -1, 1 + step}));
  EXPECT_EQ(run("downward"), (std::vector<float>{1, -1 - step, 1}));
  EXPECT_EQ(run("to_nearest_away"), (std::vector<float>{1 + step, -1 - step, 1 + step}));
}

TEST(FloatWidthTest, EightBitNumbersSaturateEvenWithAnInfinity) {
  std::vector<float> input = {1.0f, 57344.0f, 61440.0f, -INFINITY, 0.3f};
  std::vector<uint8_t> result = convert<uint8_t>("arith.truncf", "f32", "f8E5M2", input);
  EXPECT_EQ(result, (std::vector<uint8_t>{0x3c, 0x7b, 0x7b, 0xfb, 0x35}));
  std::vector<uint8_t> codes = {0x7c, 0xfb, 0x01};
  std::vector<float> back = convert<float>("arith.extf", "f8E5M2", "f32", codes);
  EXPECT_EQ(back, (std::vector<float>{INFINITY, -57344, 0x1p-16f}));
}

TEST(FloatWidthTest, EightBitNumbersSaturateWhereTheyHaveNoInfinity) {
  std::vector<float> input = {1.0f, 448.0f, 1000.0f, -INFINITY, 0.3f};
  std::vector<uint8_t> result = convert<uint8_t>("arith.truncf", "f32", "f8E4M3FN", input);
  EXPECT_EQ(result, (std::vector<uint8_t>{0x38, 0x7e, 0x7e, 0xfe, 0x2a}));
  std::vector<float> back = convert<float>("arith.extf", "f8E4M3FN", "f32", result);
  EXPECT_EQ(back, (std::vector<float>{1, 448, 448, -448, 0.3125f}));
}

TEST(BitcastTest, KeepsBits) {
  Random random;
  std::vector<float> input = {0.0f, -0.0f, 1.5f, NAN, random.bits<float>()};
  std::vector<uint32_t> bits = convert<uint32_t>("arith.bitcast", "f32", "i32", input);
  for (size_t i = 0; i < input.size(); ++i)
    EXPECT_EQ(bits[i], std::bit_cast<uint32_t>(input[i]));
}

TEST(ConstantTest, SplatsListsAndPoison) {
  std::vector<float> unused(3),
      result = runElementwiseText<float>("%r = arith.constant dense<[1.5, -2.0, 0xFF800000]> : "
                                         "tensor<3xf32>",
                                         {"f32"}, "f32", unused);
  EXPECT_EQ(result, (std::vector<float>{1.5f, -2.0f, -INFINITY}));
  std::vector<uint8_t> truth = runElementwiseText<uint8_t>(
      "%r = arith.constant dense<[true, false, true]> : tensor<3xi1>", {"f32"}, "i1", unused);
  EXPECT_EQ(truth, (std::vector<uint8_t>{1, 0, 1}));
  std::vector<int16_t> splat = runElementwiseText<int16_t>(
      "%r = arith.constant dense<-7> : tensor<3xi16>", {"f32"}, "i16", unused);
  EXPECT_EQ(splat, (std::vector<int16_t>{-7, -7, -7}));
  std::vector<int16_t> poison =
      runElementwiseText<int16_t>("%r = ub.poison : tensor<3xi16>", {"f32"}, "i16", unused);
  EXPECT_EQ(poison, (std::vector<int16_t>{0, 0, 0}));
}
