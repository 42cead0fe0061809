// Integer division, shifts and conversions: the meaning of arith on tiles, in all special cases.
#include "VectorJit.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

using namespace tw::test;

namespace {

constexpr unsigned kLanes = 16;

template <typename T> std::string integerName() { return llvm::formatv("i{0}", sizeof(T) * 8); }

/// Operands with every pair of special values, then random ones of all magnitudes.
template <typename T> void fillOperands(std::vector<T> &a, std::vector<T> &b) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {0,
                            1,
                            2,
                            3,
                            7,
                            T(-1),
                            T(-2),
                            T(-3),
                            Limits::max(),
                            Limits::min(),
                            T(Limits::max() - 1),
                            T(Limits::min() + 1),
                            T(Limits::max() / 2),
                            T(sizeof(T) * 8),
                            T(sizeof(T) * 8 - 1)};
  for (T x : special)
    for (T y : special) {
      a.push_back(x);
      b.push_back(y);
    }
  std::mt19937_64 random(20240229);
  while (a.size() < 1 << 16) {
    uint64_t x = random(), y = random(), shifts = random();
    a.push_back(static_cast<T>(static_cast<T>(x) >> shifts % (sizeof(T) * 8)));
    b.push_back(static_cast<T>(static_cast<T>(y) >> (shifts >> 32) % (sizeof(T) * 8)));
  }
}

template <typename T> T divided(T a, T b) {
  if (b == 0)
    return 0;
  if (std::is_signed_v<T> && b == T(-1))
    return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
  return a / b;
}
template <typename T> T remainder(T a, T b) {
  return b == 0 || (std::is_signed_v<T> && b == T(-1)) ? 0 : a % b;
}
template <typename T> T shiftedLeft(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  return static_cast<Unsigned>(b) >= sizeof(T) * 8 ? 0 : static_cast<T>(Unsigned(a) << Unsigned(b));
}
template <typename T> T shiftedRight(T a, T b) {
  unsigned long long amount = static_cast<std::make_unsigned_t<T>>(b);
  if (amount >= sizeof(T) * 8)
    return std::is_signed_v<T> && a < 0 ? T(-1) : T(0);
  return static_cast<T>(a >> amount);
}

template <typename T>
void check(const std::string &op, T (*reference)(T, T), const std::string &body, bool isUniform) {
  std::string element = integerName<T>();
  VectorFunction function{element, element, kLanes, llvm::formatv(body.c_str(), op, element)};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
  ASSERT_NE(jit, nullptr) << function.body;
  std::vector<T> a, b;
  fillOperands(a, b);
  std::vector<T> out(a.size(), 42);
  jit->run(a.data(), b.data(), out.data(), a.size() / kLanes);
  for (size_t i = 0; i < a.size(); ++i) {
    T right = b[isUniform ? i / kLanes * kLanes : i];
    ASSERT_EQ(out[i], reference(a[i], right))
        << op << " " << element << ": " << +a[i] << ", " << +right;
  }
}

const char *const kVectors = "%r = {0} %a, %b : vector<16x{1}>";
const char *const kUniform = R"(
      %s = vector.extract %b[0] : {1} from vector<16x{1}>
      %v = vector.broadcast %s : {1} to vector<16x{1}>
      %r = {0} %a, %v : vector<16x{1}>)";
/// Every lane by scalar operations would be long: lane 0 of each vector is computed and spread.
const char *const kScalars = R"(
      %x = vector.extract %a[0] : {1} from vector<16x{1}>
      %y = vector.extract %b[0] : {1} from vector<16x{1}>
      %z = {0} %x, %y : {1}
      %r = vector.broadcast %z : {1} to vector<16x{1}>)";

template <typename T> void checkScalars(const std::string &op, T (*reference)(T, T)) {
  std::string element = integerName<T>();
  VectorFunction function{element, element, kLanes, llvm::formatv(kScalars, op, element)};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
  ASSERT_NE(jit, nullptr);
  std::vector<T> a, b, spreadA, spreadB;
  fillOperands(a, b);
  a.resize(1024);
  b.resize(1024);
  for (size_t i = 0; i < a.size(); ++i) {
    spreadA.insert(spreadA.end(), kLanes, a[i]);
    spreadB.insert(spreadB.end(), kLanes, b[i]);
  }
  std::vector<T> out(spreadA.size(), 42);
  jit->run(spreadA.data(), spreadB.data(), out.data(), a.size());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i * kLanes], reference(a[i], b[i])) << op << ": " << +a[i] << ", " << +b[i];
}

template <typename T> class IntegerMeaning : public testing::Test {};
using Integers =
    testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t>;
TYPED_TEST_SUITE(IntegerMeaning, Integers);

TYPED_TEST(IntegerMeaning, DivisionByZeroIsZeroAndNeverTraps) {
  std::string suffix = std::is_signed_v<TypeParam> ? "si" : "ui";
  for (const char *body : {kVectors, kUniform}) {
    check<TypeParam>("arith.div" + suffix, divided, body, body == kUniform);
    check<TypeParam>("arith.rem" + suffix, remainder, body, body == kUniform);
  }
  checkScalars<TypeParam>("arith.div" + suffix, divided);
  checkScalars<TypeParam>("arith.rem" + suffix, remainder);
}

TYPED_TEST(IntegerMeaning, DivisionByEveryConstantIsDefined) {
  std::string suffix = std::is_signed_v<TypeParam> ? "si" : "ui";
  for (int divisor : {0, 1, -1, 3, -7}) {
    if (divisor < 0 && !std::is_signed_v<TypeParam>)
      continue;
    std::string body = llvm::formatv("%c = arith.constant dense<{0}> : vector<16x{1}>\n"
                                     "%r = arith.div{2} %a, %c : vector<16x{1}>",
                                     divisor, integerName<TypeParam>(), suffix);
    VectorFunction function{integerName<TypeParam>(), integerName<TypeParam>(), kLanes, body};
    std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
    ASSERT_NE(jit, nullptr);
    std::vector<TypeParam> a, b;
    fillOperands(a, b);
    std::vector<TypeParam> out(a.size(), 42);
    jit->run(a.data(), b.data(), out.data(), a.size() / kLanes);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(out[i], divided(a[i], static_cast<TypeParam>(divisor))) << +a[i] << ", " << divisor;
  }
}

TYPED_TEST(IntegerMeaning, ShiftsByTheWidthOrMoreAreDefined) {
  std::string right = std::is_signed_v<TypeParam> ? "arith.shrsi" : "arith.shrui";
  for (const char *body : {kVectors, kUniform}) {
    check<TypeParam>("arith.shli", shiftedLeft, body, body == kUniform);
    check<TypeParam>(right, shiftedRight, body, body == kUniform);
  }
  checkScalars<TypeParam>("arith.shli", shiftedLeft);
  checkScalars<TypeParam>(right, shiftedRight);
}

/// Values around the ends of every integer type, NaN, infinities, and random magnitudes.
template <typename F> std::vector<F> floatOperands() {
  std::vector<F> values = {0, std::numeric_limits<F>::infinity(),
                           std::numeric_limits<F>::quiet_NaN(), std::numeric_limits<F>::max()};
  for (int power : {0, 7, 8, 15, 16, 31, 32, 63, 64}) {
    F end = std::ldexp(F(1), power);
    for (F value : {end, std::nextafter(end, F(0)), std::nextafter(end, 2 * end), end - F(0.5),
                    end - 1, end + F(0.5)})
      values.insert(values.end(), {value, -value});
  }
  for (int i = 0; i < 4096; ++i)
    values.push_back(std::ldexp(F(1) + F(i % 97) / 97, i % 75 - 5) * (i & 1 ? -1 : 1));
  values.resize((values.size() + kLanes - 1) / kLanes * kLanes, F(1));
  return values;
}

template <typename F, typename T> T saturated(F value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value))
    return 0;
  F beyond = std::ldexp(F(1), Limits::digits);
  if (value >= beyond)
    return Limits::max();
  if (value <= static_cast<F>(Limits::min()))
    return Limits::min();
  return static_cast<T>(value);
}

template <typename F, typename T> void checkSaturation(const char *name) {
  const char *op = std::is_signed_v<T> ? "arith.fptosi" : "arith.fptoui";
  VectorFunction function{
      name, integerName<T>(), kLanes,
      llvm::formatv("%r = {0} %a : vector<16x{1}> to vector<16x{2}>", op, name, integerName<T>())};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
  ASSERT_NE(jit, nullptr);
  std::vector<F> x = floatOperands<F>();
  std::vector<T> out(x.size(), 42);
  jit->run(x.data(), x.data(), out.data(), x.size() / kLanes);
  for (size_t i = 0; i < x.size(); ++i)
    ASSERT_EQ(out[i], (saturated<F, T>(x[i]))) << op << " " << name << " of " << x[i];
}

TYPED_TEST(IntegerMeaning, FloatsSaturateAndNanBecomesZero) {
  checkSaturation<float, TypeParam>("f32");
  checkSaturation<double, TypeParam>("f64");
}

/// Rounds to nearest even with `mantissaBits` and the smallest normal exponent `lowest`.
double roundedTo(double value, int mantissaBits, int lowest, double overflow) {
  if (std::isnan(value) || std::isinf(value) || value == 0)
    return value;
  double unit = std::ldexp(1.0, std::max(std::ilogb(value), lowest) - mantissaBits);
  double rounded = std::nearbyint(value / unit) * unit;
  return std::fabs(rounded) >= overflow ? std::copysign(INFINITY, value) : rounded;
}

template <typename F>
void checkRounding(const char *from, const char *to, int mantissaBits, int lowest,
                   double overflow) {
  VectorFunction function{from, "f32", kLanes,
                          llvm::formatv(R"(
      %narrow = arith.truncf %a : vector<16x{0}> to vector<16x{1}>
      %r = arith.extf %narrow : vector<16x{1}> to vector<16xf32>)",
                                        from, to)};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
  ASSERT_NE(jit, nullptr);
  std::vector<F> x = floatOperands<F>();
  for (int i = 0; i < 1 << 20; ++i) { // near ties of all exponents, subnormals included
    F tie = std::ldexp(F(1) + F(2 * (i % 2048) + 1) / 4096, i % 300 - 155);
    x.push_back(i % 3 == 0 ? tie : std::nextafter(tie, i % 3 == 1 ? F(0) : F(1e38)));
  }
  std::vector<float> out(x.size(), 42);
  jit->run(x.data(), x.data(), out.data(), x.size() / kLanes);
  for (size_t i = 0; i < x.size(); ++i) {
    double expected = roundedTo(x[i], mantissaBits, lowest, overflow);
    if (std::isnan(expected))
      ASSERT_TRUE(std::isnan(out[i]));
    else
      ASSERT_EQ(out[i], expected) << from << " to " << to << " of "
                                  << llvm::formatv("{0}", x[i]).str();
  }
}

TEST(ExpandConversions, NarrowFloatsAreRoundedToNearestEvenOnce) {
  checkRounding<float>("f32", "bf16", 7, -126, 0x1p128);
  checkRounding<double>("f64", "bf16", 7, -126, 0x1p128);
  checkRounding<float>("f32", "f16", 10, -14, 65536.0);
  checkRounding<double>("f64", "f16", 10, -14, 65536.0);
}

TEST(ExpandArith, Bf16ArithmeticRoundsOnceAndNeedsNoLibrary) {
  VectorFunction function{"f32", "f32", kLanes, R"(
      %x = arith.truncf %a : vector<16xf32> to vector<16xbf16>
      %y = arith.truncf %b : vector<16xf32> to vector<16xbf16>
      %z = arith.mulf %x, %y : vector<16xbf16>
      %r = arith.extf %z : vector<16xbf16> to vector<16xf32>)"};
  std::unique_ptr<VectorJit> jit = VectorJit::compile(function, hostVectorBytes());
  ASSERT_NE(jit, nullptr);
  std::vector<float> a, b;
  for (int i = 0; i < 4096; ++i) {
    a.push_back(roundedTo(std::ldexp(1.0 + i % 128 / 128.0, i % 60 - 100), 7, -126, 0x1p128));
    b.push_back(roundedTo(1.0 + i / 4096.0, 7, -126, 0x1p128) * 0x1p-30);
  }
  std::vector<float> out(a.size());
  jit->run(a.data(), b.data(), out.data(), a.size() / kLanes);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(out[i], roundedTo(double(a[i]) * b[i], 7, -126, 0x1p128)) << a[i] << " * " << b[i];
}

} // namespace
