// Floating-point operations of the reference device against the host's own types and long double.
#include "ir/tile/HostFunctions.h"
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw;
using namespace tw::test;

namespace {
template <typename T> const char *irTypeOf() {
  if (sizeof(T) == 2)
    return "f16";
  return sizeof(T) == 4 ? "f32" : "f64";
}

/// Random magnitudes over the whole range of the type, not only near its largest numbers.
template <typename Case> class FloatTest : public testing::Test {
protected:
  using T = typename Case::Type;
  Random random;
  std::vector<T> lhs, rhs;
  std::string type = irTypeOf<T>();
  void SetUp() override {
    for (T a : edges())
      for (T b : edges()) {
        lhs.push_back(a);
        rhs.push_back(b);
      }
    for (int i = 0; i < 100; ++i) {
      lhs.push_back(random.bits<T>());
      rhs.push_back(i % 2 ? random.bits<T>() : T(random.uniform(-4, 4)));
    }
  }
  static std::vector<T> edges() {
    std::vector<T> edges;
    for (float edge : floatEdges<float>())
      edges.push_back(T(edge));
    T smallest = std::bit_cast<T>(
        std::conditional_t<sizeof(T) == 2, uint16_t,
                           std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(1));
    edges.push_back(smallest);
    edges.push_back(T(-smallest));
    return edges;
  }
  std::vector<T> runBinary(const std::string &name) {
    return runElementwiseText<T>("%r = " + name + " %a, %b : " + tileType(lhs.size(), type),
                                 {type, type}, type, lhs, rhs);
  }
  std::vector<T> runUnary(const std::string &name) {
    return runElementwiseText<T>("%r = " + name + " %a : " + tileType(lhs.size(), type), {type},
                                 type, lhs);
  }
};
// _Float16 has no type info, which the names of typed tests are made of.
struct Half {
  using Type = _Float16;
};
struct Single {
  using Type = float;
};
struct Double {
  using Type = double;
};
using FloatTypes = testing::Types<Half, Single, Double>;
TYPED_TEST_SUITE(FloatTest, FloatTypes);

template <typename T> bool isNan(T x) { return x != x; }
template <typename T> bool hasSign(T x) { return std::signbit(double(x)); }
template <typename T> void expectFloat(T actual, T expected, const std::string &what) {
  if (isNan(actual) && isNan(expected))
    return;
  EXPECT_EQ(std::memcmp(&actual, &expected, sizeof(T)), 0)
      << what << ": " << double(actual) << " instead of " << double(expected);
}
} // namespace

TYPED_TEST(FloatTest, ArithmeticRoundsOnceToTheType) {
  using T = typename TypeParam::Type;
  std::vector<T> sum = this->runBinary("arith.addf"), difference = this->runBinary("arith.subf"),
                 product = this->runBinary("arith.mulf"), quotient = this->runBinary("arith.divf");
  for (size_t i = 0; i < sum.size(); ++i) {
    T a = this->lhs[i], b = this->rhs[i];
    std::string what = std::to_string(double(a)) + ", " + std::to_string(double(b));
    expectFloat<T>(sum[i], a + b, "addf " + what);
    expectFloat<T>(difference[i], a - b, "subf " + what);
    expectFloat<T>(product[i], a * b, "mulf " + what);
    expectFloat<T>(quotient[i], a / b, "divf " + what);
  }
}

TYPED_TEST(FloatTest, RemainderHasTheSignOfTheDividend) {
  using T = typename TypeParam::Type;
  std::vector<T> result = this->runBinary("arith.remf");
  for (size_t i = 0; i < result.size(); ++i)
    expectFloat<T>(result[i], T(fmodl(this->lhs[i], this->rhs[i])), "remf");
}

TYPED_TEST(FloatTest, MaximaAndMinima) {
  using T = typename TypeParam::Type;
  std::vector<T> maximum = this->runBinary("arith.maximumf"),
                 maxnum = this->runBinary("arith.maxnumf"),
                 minimum = this->runBinary("arith.minimumf"),
                 minnum = this->runBinary("arith.minnumf");
  T nan = std::numeric_limits<float>::quiet_NaN();
  for (size_t i = 0; i < maximum.size(); ++i) {
    T a = this->lhs[i], b = this->rhs[i];
    bool aIsLess = a < b || (a == b && hasSign(a));
    T larger = isNan(a) || (!isNan(b) && aIsLess) ? b : a;
    T smaller = isNan(a) || (!isNan(b) && !aIsLess) ? b : a;
    bool anyNan = isNan(a) || isNan(b);
    expectFloat<T>(maxnum[i], larger, "maxnumf");
    expectFloat<T>(minnum[i], smaller, "minnumf");
    expectFloat<T>(maximum[i], anyNan ? nan : larger, "maximumf");
    expectFloat<T>(minimum[i], anyNan ? nan : smaller, "minimumf");
  }
}

TYPED_TEST(FloatTest, SignOperationsActOnBits) {
  using T = typename TypeParam::Type;
  std::vector<T> negated = this->runUnary("arith.negf"), absolute = this->runUnary("math.absf"),
                 copied = this->runBinary("math.copysign");
  for (size_t i = 0; i < negated.size(); ++i) {
    EXPECT_NE(hasSign(negated[i]), hasSign(this->lhs[i]));
    EXPECT_FALSE(hasSign(absolute[i]));
    EXPECT_EQ(hasSign(copied[i]), hasSign(this->rhs[i]));
    if (!isNan(this->lhs[i]))
      EXPECT_EQ(absolute[i], std::abs(double(this->lhs[i])));
  }
}

TYPED_TEST(FloatTest, Comparisons) {
  using T = typename TypeParam::Type;
  struct Comparison {
    const char *name;
    bool onUnordered;
    bool (*formula)(T, T);
  };
  const Comparison comparisons[] = {
      {"false", false, [](T, T) { return false; }},
      {"oeq", false, [](T a, T b) { return a == b; }},
      {"ogt", false, [](T a, T b) { return a > b; }},
      {"oge", false, [](T a, T b) { return a >= b; }},
      {"olt", false, [](T a, T b) { return a < b; }},
      {"ole", false, [](T a, T b) { return a <= b; }},
      {"one", false, [](T a, T b) { return a != b; }},
      {"ord", false, [](T, T) { return true; }},
      {"ueq", true, [](T a, T b) { return a == b; }},
      {"ugt", true, [](T a, T b) { return a > b; }},
      {"uge", true, [](T a, T b) { return a >= b; }},
      {"ult", true, [](T a, T b) { return a < b; }},
      {"ule", true, [](T a, T b) { return a <= b; }},
      {"une", true, [](T a, T b) { return a != b; }},
      {"uno", true, [](T, T) { return false; }},
      {"true", true, [](T, T) { return true; }},
  };
  for (const Comparison &comparison : comparisons) {
    std::vector<uint8_t> result =
        runElementwiseText<uint8_t>(std::string("%r = arith.cmpf ") + comparison.name +
                                        ", %a, %b : " + tileType(this->lhs.size(), this->type),
                                    {this->type, this->type}, "i1", this->lhs, this->rhs);
    for (size_t i = 0; i < result.size(); ++i) {
      T a = this->lhs[i], b = this->rhs[i];
      bool expected = isNan(a) || isNan(b) ? comparison.onUnordered : comparison.formula(a, b);
      EXPECT_EQ(result[i], expected) << comparison.name;
    }
  }
}

TYPED_TEST(FloatTest, ClassesOfNumbers) {
  auto run = [&](const std::string &name) {
    return runElementwiseText<uint8_t>("%r = " + name +
                                           " %a : " + tileType(this->lhs.size(), this->type),
                                       {this->type}, "i1", this->lhs);
  };
  std::vector<uint8_t> nan = run("math.isnan"), inf = run("math.isinf"),
                       finite = run("math.isfinite");
  for (size_t i = 0; i < nan.size(); ++i) {
    double x = this->lhs[i];
    EXPECT_EQ(nan[i], std::isnan(x));
    EXPECT_EQ(inf[i], std::isinf(x));
    EXPECT_EQ(finite[i], std::isfinite(x));
  }
}

TEST(FusedMultiplyAddTest, RoundsOnce) {
  Random random;
  std::vector<float> a, b, c;
  for (int i = 0; i < 300; ++i) {
    a.push_back(random.bits<float>());
    b.push_back(i % 3 ? random.bits<float>() : 1 / a.back());
    c.push_back(i % 2 ? random.bits<float>() : -a.back() * b.back()); // cancels the product
  }
  std::vector<float> result = runElementwiseText<float>(
      "%r = math.fma %a, %b, %c : tensor<300xf32>", {"f32", "f32", "f32"}, "f32", a, b, c);
  for (size_t i = 0; i < a.size(); ++i)
    expectFloat(result[i], std::fma(a[i], b[i], c[i]), "fma");
}

// 3 * 87 = 261 lies between the bf16 numbers 260 and 262; the 2^-60 added to it decides for 262,
// but is lost in a double, whose tie would go to 260.
TEST(FusedMultiplyAddTest, Bfloat16IsNotRoundedThroughDouble) {
  std::vector<uint16_t> a = {0x4040}, b = {0x42AE}, c = {0x2180};
  std::vector<uint16_t> result = runElementwiseText<uint16_t>(
      "%r = math.fma %a, %b, %c : tensor<1xbf16>", {"bf16", "bf16", "bf16"}, "bf16", a, b, c);
  EXPECT_EQ(result[0], 0x4383);
}

TEST(Bfloat16Test, ArithmeticRoundsToNearestEven) {
  Random random;
  auto toFloat = [](uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); };
  std::vector<uint16_t> a, b;
  for (int i = 0; i < 400; ++i) {
    a.push_back(random.bits<uint16_t>());
    b.push_back(i % 2 ? random.bits<uint16_t>() : a.back() ^ random.integer(0, 0xff));
  }
  std::vector<uint16_t> sum = runElementwiseText<uint16_t>(
      "%r = arith.addf %a, %b : tensor<400xbf16>", {"bf16", "bf16"}, "bf16", a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    float exact = toFloat(a[i]) + toFloat(b[i]);
    uint32_t bits = std::bit_cast<uint32_t>(exact);
    bits += 0x7fff + (bits >> 16 & 1);
    if (std::isnan(exact))
      EXPECT_TRUE(std::isnan(toFloat(sum[i])));
    else
      EXPECT_EQ(sum[i], bits >> 16) << toFloat(a[i]) << " + " << toFloat(b[i]);
  }
}

namespace {
/// The distance in units in the last place of float.
int64_t ulpsBetween(float a, float b) {
  auto order = [](float x) {
    int32_t bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? int64_t(std::numeric_limits<int32_t>::min()) - bits : int64_t(bits);
  };
  return std::abs(order(a) - order(b));
}
} // namespace

TEST(MathFunctionTest, EveryUnaryRowIsCorrectlyRoundedInFloat) {
  Random random;
  std::vector<float> x = floatEdges<float>();
  for (int i = 0; i < 150; ++i) {
    x.push_back(random.bits<float>());
    x.push_back(random.uniform(-4, 4));
  }
  for (const tile::HostFunction &row : tile::HostFunctionTable) {
    if (row.NumOperands != 1)
      continue;
    std::vector<float> result = runElementwiseText<float>(std::string("%r = ") + row.Operation +
                                                              " %a : " + tileType(x.size(), "f32"),
                                                          {"f32"}, "f32", x);
    for (size_t i = 0; i < x.size(); ++i)
      expectFloat<float>(result[i], row.OfLongDouble(x[i], 0, 0),
                         std::string(row.Name) + " " + std::to_string(x[i]));
  }
}

TEST(MathFunctionTest, BinaryRowsFollowTheHostLibrary) {
  Random random;
  std::vector<float> a = floatEdges<float>(), b(a.rbegin(), a.rend());
  for (int i = 0; i < 200; ++i) {
    a.push_back(random.uniform(0, 8));
    b.push_back(random.uniform(-8, 8));
  }
  for (const tile::HostFunction &row : tile::HostFunctionTable) {
    if (row.NumOperands != 2)
      continue;
    std::vector<float> result = runElementwiseText<float>(
        std::string("%r = ") + row.Operation + " %a, %b : " + tileType(a.size(), "f32"),
        {"f32", "f32"}, "f32", a, b);
    for (size_t i = 0; i < a.size(); ++i)
      expectFloat<float>(result[i], row.OfLongDouble(a[i], b[i], 0), row.Name);
  }
}

TEST(MathFunctionTest, FunctionsOfHalfAndDouble) {
  std::vector<_Float16> half = {_Float16(1), _Float16(-2.5f), _Float16(11), _Float16(12)};
  std::vector<_Float16> halfResult =
      runElementwiseText<_Float16>("%r = math.exp %a : tensor<4xf16>", {"f16"}, "f16", half);
  for (size_t i = 0; i < half.size(); ++i)
    expectFloat(halfResult[i], _Float16(std::exp(double(half[i]))), "exp of f16");
  std::vector<double> wide = {0.1, 3.0, -700.5};
  std::vector<double> wideResult =
      runElementwiseText<double>("%r = math.sin %a : tensor<3xf64>", {"f64"}, "f64", wide);
  for (size_t i = 0; i < wide.size(); ++i)
    EXPECT_NEAR(wideResult[i], double(sinl(wide[i])), 1.2e-16);
}

TEST(MathFunctionTest, SeveralOperandsAndResults) {
  std::vector<float> x = {-3, 0.25f, 7, 2}, lower = {-1, -1, -1, -1}, upper = {1, 1, 1, 1};
  EXPECT_EQ(runElementwiseText<float>("%r = math.clampf %a to [%b, %c] : tensor<4xf32>",
                                      {"f32", "f32", "f32"}, "f32", x, lower, upper),
            (std::vector<float>{-1, 0.25f, 1, 1}));
  std::vector<int32_t> n = {3, -2, 0, 10};
  EXPECT_EQ(runElementwiseText<float>("%r = math.fpowi %a, %b : tensor<4xf32>, tensor<4xi32>",
                                      {"f32", "i32"}, "f32", x, n),
            (std::vector<float>{-27, 16, 1, 1024}));
  std::vector<float> cosine =
      runElementwiseText<float>("%sine, %r = math.sincos %a : tensor<4xf32>", {"f32"}, "f32", x);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_LE(ulpsBetween(cosine[i], std::cos(x[i])), 1);
}
