// The largest error of every math function against its row of the elementwise table.
#include "MathReference.h"
#include "VectorJit.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <limits>
#include <vector>

using namespace tw::test;

namespace {

/// Special values, and floats of every exponent and both signs; a whole number of vectors.
std::vector<float> samples() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += 1999)
    values.push_back(floatOf(static_cast<uint32_t>(bits)));
  float infinity = std::numeric_limits<float>::infinity();
  for (float special : {0.0f,
                        1.0f,
                        0.5f,
                        1.5f,
                        2.5f,
                        0x1p-149f,
                        0x1p-126f,
                        0x1.fffffep127f,
                        0x1.fffffep-127f,
                        8388607.5f,
                        0.49999997f,
                        88.72284f,
                        88.72283f,
                        128.0f,
                        103.97208f,
                        150.0f,
                        131072.0f,
                        131072.02f,
                        1e30f,
                        3.1415927f,
                        infinity,
                        std::numeric_limits<float>::quiet_NaN()})
    values.insert(values.end(), {special, -special});
  values.resize((values.size() + 63) / 64 * 64, 1.0f);
  return values;
}

double largestError(const VectorFunction &function, unsigned vectorBytes,
                    const tw::tile::HostFunction &reference, float &worst) {
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, vectorBytes);
  EXPECT_NE(jit, nullptr) << function.body;
  if (!jit)
    return 1e9;
  std::vector<float> x = samples(), y(x.size(), -123.0f);
  jit->run(x.data(), x.data(), y.data(), x.size() / function.lanes);
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double error = ulpError(y[i], reference.OfDouble(x[i], 0, 0));
    if (error > largest) {
      largest = error;
      worst = x[i];
    }
  }
  return largest;
}

class FloatAccuracy : public testing::TestWithParam<unsigned> {};

TEST_P(FloatAccuracy, StaysWithinTheTable) {
  unsigned vectorBytes = GetParam();
  if (vectorBytes > hostVectorBytes())
    GTEST_SKIP() << "this machine has no vectors of " << vectorBytes << " bytes";
  for (const tw::tile::HostFunction &row : functionsOf(1)) {
    VectorFunction function{
        "f32", "f32", vectorBytes / 4,
        llvm::formatv("%r = {0} %a : vector<{1}xf32>", row.Operation, vectorBytes / 4)};
    float worst = 0;
    double error = largestError(function, vectorBytes, row, worst);
    RecordProperty(row.Name, llvm::formatv("{0:f3}", error).str());
    // Half a unit more: the table's errors count from the correctly rounded result.
    EXPECT_LE(error, row.UlpF32 + 0.5) << row.Name << " at " << worst;
  }
}

/// Both operands over values with special cases in each, and over ordinary ones.
std::vector<std::pair<float, float>> pairs() {
  float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> special = {0.0f,
                                1.0f,
                                2.0f,
                                3.0f,
                                0.5f,
                                0x1p-149f,
                                1e-40f,
                                1e-38f,
                                1.5f,
                                8388609.0f,
                                0x1.fffffep127f,
                                1e10f,
                                0.9999999f,
                                0x1p24f,
                                infinity,
                                std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::pair<float, float>> result;
  for (float a : special)
    for (float b : special)
      result.insert(result.end(), {{a, b}, {-a, b}, {a, -b}, {-a, -b}});
  for (int i = 0; i < 1 << 16; ++i)
    result.push_back({std::exp2f(i % 509 * 0.1f - 25.0f), (i % 977) * 0.05f - 24.0f});
  result.resize((result.size() + 63) / 64 * 64, {1.0f, 1.0f});
  return result;
}

void checkBinary(const tw::tile::HostFunction &row, unsigned vectorBytes) {
  VectorFunction function{
      "f32", "f32", vectorBytes / 4,
      llvm::formatv("%r = {0} %a, %b : vector<{1}xf32>", row.Operation, vectorBytes / 4)};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, vectorBytes);
  ASSERT_NE(jit, nullptr);
  std::vector<float> a, b;
  for (auto [x, y] : pairs()) {
    a.push_back(x);
    b.push_back(y);
  }
  std::vector<float> out(a.size(), -123.0f);
  jit->run(a.data(), b.data(), out.data(), a.size() / function.lanes);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_LE(ulpError(out[i], row.OfDouble(a[i], b[i], 0)), row.UlpF32 + 0.5)
        << row.Name << "(" << a[i] << ", " << b[i] << ") gave " << out[i];
}

TEST_P(FloatAccuracy, FunctionsOfTwoOperandsFollowCInAllSpecialCases) {
  if (GetParam() > hostVectorBytes())
    GTEST_SKIP() << "this machine has no vectors of " << GetParam() << " bytes";
  for (const tw::tile::HostFunction &row : functionsOf(2))
    checkBinary(row, GetParam());
}

/// Float64 functions of the vector library against x87's 64-bit mantissa.
TEST_P(FloatAccuracy, Float64StaysWithinFourUnits) {
  if (GetParam() > hostVectorBytes())
    GTEST_SKIP() << "this machine has no vectors of " << GetParam() << " bytes";
  std::vector<double> x;
  for (int i = 0; i < 1 << 16; ++i)
    x.push_back(std::ldexp(1.0 + i % 251 / 251.0, i % 60 - 52) * (i & 1 ? -1 : 1));
  for (const tw::tile::HostFunction &row : functionsOf(1)) {
    unsigned lanes = GetParam() / 8;
    VectorFunction function{"f64", "f64", lanes,
                            llvm::formatv("%r = {0} %a : vector<{1}xf64>", row.Operation, lanes)};
    std::unique_ptr<VectorJit> jit = VectorJit::compile(function, GetParam());
    ASSERT_NE(jit, nullptr) << row.Name;
    std::vector<double> y(x.size(), -123.0);
    jit->run(x.data(), x.data(), y.data(), x.size() / lanes);
    for (size_t i = 0; i < x.size(); ++i) {
      long double expected = row.OfLongDouble(x[i], 0, 0);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(y[i])) << row.Name << " at " << x[i];
        continue;
      }
      if (static_cast<double>(expected) == y[i])
        continue;
      long double unit = std::ldexp(1.0L, std::max(std::ilogb(expected), -1022) - 52);
      ASSERT_LE(std::fabs(y[i] - expected), 4.5L * unit) << row.Name << " at " << x[i];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(VectorBytes, FloatAccuracy, testing::Values(16u, 32u, 64u));

TEST(ExpandMath, AnyNumberOfLanesGivesTheSameValues) {
  std::vector<float> x(1680);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = std::ldexp(1.0f + i * 0.0005f, static_cast<int>(i % 40) - 20) * (i & 1 ? -1 : 1);
  for (const tw::tile::HostFunction &row : functionsOf(1))
    for (unsigned lanes : {1u, 2u, 3u, 4u, 5u, 8u, 12u, 16u, 20u, 24u, 28u, 48u}) {
      VectorFunction function{"f32", "f32", lanes,
                              llvm::formatv("%r = {0} %a : vector<{1}xf32>", row.Operation, lanes)};
      std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
      ASSERT_NE(jit, nullptr) << function.body;
      std::vector<float> y(x.size(), -123.0f);
      jit->run(x.data(), x.data(), y.data(), x.size() / lanes);
      for (size_t i = 0; i < x.size() / lanes * lanes; ++i)
        ASSERT_LE(ulpError(y[i], row.OfDouble(x[i], 0, 0)), row.UlpF32 + 0.5)
            << function.body << " at " << x[i];
    }
}

TEST(ExpandMath, ScalarsAndMatricesAreExpandedToo) {
  VectorFunction scalar{"f32", "f32", 1, R"(
      %s = vector.extract %a[0] : f32 from vector<1xf32>
      %e = math.exp %s : f32
      %t = math.tan %e : f32
      %c = math.cos %t : f32
      %r = vector.broadcast %c : f32 to vector<1xf32>)"};
  VectorFunction matrix{"f32", "f32", 8, R"(
      %m = vector.shape_cast %a : vector<8xf32> to vector<2x4xf32>
      %e = math.exp %m : vector<2x4xf32>
      %t = math.tan %e : vector<2x4xf32>
      %c = math.cos %t : vector<2x4xf32>
      %r = vector.shape_cast %c : vector<2x4xf32> to vector<8xf32>)"};
  for (const VectorFunction &function : {scalar, matrix}) {
    std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
    ASSERT_NE(jit, nullptr);
    std::vector<float> x = {-1.0f, -0.5f, 0.0f, 0.25f, 0.3f, 0.4f, -2.0f, -3.0f}, y(8);
    jit->run(x.data(), x.data(), y.data(), 8 / function.lanes);
    for (size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(y[i], std::cos(std::tan(std::exp(x[i]))), 2e-5) << x[i];
  }
}

TEST(ExpandMath, HalfPrecisionIsComputedInFloat32AndRoundedOnce) {
  VectorFunction function{"f32", "f32", 16, R"(
      %h = arith.truncf %a : vector<16xf32> to vector<16xbf16>
      %e = math.exp %h : vector<16xbf16>
      %r = arith.extf %e : vector<16xbf16> to vector<16xf32>)"};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
  ASSERT_NE(jit, nullptr);
  std::vector<float> x(256), y(256);
  for (size_t i = 0; i < x.size(); ++i) // representable in bf16
    x[i] = (static_cast<int>(i) - 128) * 0.5f;
  jit->run(x.data(), x.data(), y.data(), x.size() / 16);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], std::exp(x[i]), std::exp(x[i]) * 0x1.01p-8) << x[i];
}

} // namespace
