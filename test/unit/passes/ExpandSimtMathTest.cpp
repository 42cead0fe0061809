// The largest error of every lane's math function against its row of the elementwise table, on a
// machine whose approximations are as wrong as they are documented to be; and the meaning of arith.
#include "MathReference.h"
#include "VectorJit.h"
#include "ir/simt/Simt.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"
#include <limits>
#include <random>
#include <vector>

using namespace tw::test;
using tw::simt::ApproxKind;

namespace {

/// How the stand-in errs: not at all, by its bound up or down, or by random parts of it.
enum class Error { None, Up, Down, Random };

struct Stand {
  Error error = Error::None;
  std::mt19937_64 random{20260229};
};
Stand &stand() {
  static Stand theOne;
  return theOne;
}

/// A float32 that differs from the true value by at most `bound` (if there is one so near).
float erring(double truth, double bound) {
  bool isOrdinary =
      std::fabs(truth) >= 0x1p-126 && std::fabs(truth) <= std::numeric_limits<float>::max();
  if (!isOrdinary)
    return static_cast<float>(truth);
  double part = 0;
  if (stand().error == Error::Random)
    part = std::uniform_real_distribution<double>(-1, 1)(stand().random);
  else if (stand().error != Error::None)
    part = stand().error == Error::Up ? 1 : -1;
  float value = static_cast<float>(truth + part * bound);
  if (std::fabs(value - truth) > bound) // rounding left the bound
    value = std::nextafterf(value, static_cast<float>(truth));
  return value;
}

double unitOf(double x) { return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23); }

/// The bounds of ApproxOp. That of exp2 is at most 2 units as well (CUDA C++ Programming Guide,
/// maximum errors of exp2f, which is this instruction).
float approximate(uint32_t kind, float x) {
  double wide = x;
  auto within = [](double truth, double relative) {
    return erring(truth, relative * std::fabs(truth));
  };
  switch (static_cast<ApproxKind>(kind)) {
  case ApproxKind::Exp2: {
    double truth = std::exp2(wide);
    return erring(truth, std::min(std::exp2(-22.5) * truth, 2 * unitOf(truth)));
  }
  case ApproxKind::Exp2Flushed: {
    double truth = std::exp2(wide);
    if (truth < 0x1p-126)
      return 0.0f;
    return erring(truth, std::min(std::exp2(-22.5) * truth, 2 * unitOf(truth)));
  }
  case ApproxKind::Log2:
    return erring(std::log2(wide), std::exp2(-22.6));
  case ApproxKind::Reciprocal:
    return erring(1 / wide, unitOf(1 / wide));
  case ApproxKind::ReciprocalFlushed: {
    double flushed = std::fabs(wide) < 0x1p-126 ? std::copysign(0.0, wide) : wide;
    double truth = 1 / flushed;
    return std::fabs(truth) < 0x1p-126 ? float(std::copysign(0.0, truth))
                                       : erring(truth, unitOf(truth));
  }
  case ApproxKind::Sqrt:
    return erring(std::sqrt(wide), unitOf(std::sqrt(wide)));
  case ApproxKind::Rsqrt:
    return within(1 / std::sqrt(wide), std::exp2(-22.9));
  case ApproxKind::Sin:
    return erring(std::sin(wide), std::exp2(-20.5));
  case ApproxKind::Cos:
    return erring(std::cos(wide), std::exp2(-20.5));
  case ApproxKind::Tanh:
    return within(std::tanh(wide), std::exp2(-11));
  }
  return std::numeric_limits<float>::quiet_NaN();
}

float divide(float a, float b) {
  double truth = static_cast<double>(a) / b;
  return erring(truth, 2 * unitOf(truth));
}

std::unique_ptr<VectorJit> compileLane(const std::string &in, const std::string &out,
                                       const std::string &body) {
  std::unique_ptr<VectorJit> jit =
      VectorJit::compile(LaneFunction{in, out, body}, LaneMachine{approximate, divide});
  EXPECT_NE(jit, nullptr) << body;
  return jit;
}

const float kInfinity = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> singles(uint64_t stride) {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < uint64_t(1) << 32; bits += stride)
    values.push_back(floatOf(static_cast<uint32_t>(bits)));
  for (float special : {0.0f,        1.0f,       0.5f,       0.25f,           0.6f,
                        0x1p-149f,   0x1p-126f,  0x1p127f,   0x1.fffffep127f, 8388607.5f,
                        88.72284f,   88.72283f,  88.73f,     88.9f,           89.41599f,
                        127.99999f,  128.0f,     103.97208f, 105.0f,          150.0f,
                        131072.0f,   131072.02f, 1e30f,      3.1415927f,      1.5707964f,
                        0.99999994f, 1.0000001f, 10.054f,    kInfinity,       kNan})
    values.insert(values.end(), {special, -special});
  return values;
}

/// exp yields 0 instead of subnormal numbers (passes/simt/math/README.md).
bool isFlushed(llvm::StringRef name, float actual, double expected) {
  return (name == "exp" || name == "exp2") && actual == 0 && !std::signbit(actual) &&
         expected < 0x1p-126;
}

void checkSingle(const tw::tile::HostFunction &row, const std::vector<float> &x) {
  std::unique_ptr<VectorJit> jit =
      compileLane("f32", "f32", llvm::formatv("%r = {0} %a : f32", row.Operation));
  ASSERT_NE(jit, nullptr);
  std::vector<double> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    expected[i] = row.OfDouble(x[i], 0, 0);
  double largest = 0;
  for (Error error : {Error::None, Error::Up, Error::Down, Error::Random}) {
    stand().error = error;
    std::vector<float> y(x.size(), -123.0f);
    jit->run(x.data(), x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      if (isFlushed(row.Name, y[i], expected[i]))
        continue;
      double ulps = ulpError(y[i], expected[i]);
      largest = std::max(largest, ulps);
      // Half a unit more: the table's errors count from the correctly rounded result.
      ASSERT_LE(ulps, row.UlpF32 + 0.5)
          << row.Name << " at " << x[i] << ", errors of kind " << static_cast<int>(error);
    }
  }
  testing::Test::RecordProperty(row.Name, llvm::formatv("{0:f3}", largest).str());
}

TEST(ExpandSimtMath, Float32StaysWithinTheTable) {
  std::vector<float> x = singles(4001);
  for (const tw::tile::HostFunction &row : functionsOf(1))
    checkSingle(row, x);
}

/// Distance from the true value in units of the last place of a float64 near it.
double ulpErrorOfDouble(double actual, long double expected) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) && std::isnan(actual) ? 0.0 : 1e9;
  double rounded = static_cast<double>(expected);
  if (actual == rounded && std::signbit(actual) != std::signbit(rounded))
    return 1e9;
  if (actual == rounded)
    return 0.0; // to the half unit that rounding may be off
  if (std::isinf(rounded) || std::isinf(actual))
    expected = std::clamp(expected, -0x1p1024L, 0x1p1024L);
  long double value = std::isinf(actual) ? std::copysign(0x1p1024L, (long double)actual) : actual;
  int exponent = std::clamp(static_cast<int>(std::ilogb(expected)), -1022, 1023);
  return static_cast<double>(std::fabs(value - expected) / std::ldexp(1.0L, exponent - 52));
}

std::vector<double> doubles(size_t count) {
  std::mt19937_64 random(20260301);
  std::vector<double> values;
  for (size_t i = 0; i < count; ++i) {
    double fraction = std::ldexp(static_cast<double>(random() >> 12), -52);
    int exponent = static_cast<int>(random() % (i % 3 == 0 ? 2098 : 44));
    exponent -= i % 3 == 0 ? 1074 : 32;
    values.push_back(std::ldexp(i & 1 ? -1 - fraction : 1 + fraction, exponent));
  }
  for (double special :
       {0.0, 1.0, 0.5, 0x1p-1074, 0x1p-1022, 0x1.fffffffffffffp1023, 709.78, 709.79, 710.4, 710.5,
        745.13, 745.2, 26.5, 27.2, 1048576.0, 1048576.5, 0x1p1000, double(kInfinity), double(kNan)})
    values.insert(values.end(), {special, -special});
  return values;
}

TEST(ExpandSimtMath, Float64StaysWithinFourUnits) {
  std::vector<double> x = doubles(60000);
  stand().error = Error::Random;
  for (const tw::tile::HostFunction &row : functionsOf(1)) {
    std::unique_ptr<VectorJit> jit =
        compileLane("f64", "f64", llvm::formatv("%r = {0} %a : f64", row.Operation));
    ASSERT_NE(jit, nullptr);
    std::vector<double> y(x.size(), -123.0);
    jit->run(x.data(), x.data(), y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(ulpErrorOfDouble(y[i], row.OfLongDouble(x[i], 0, 0)), 4.5)
          << row.Name << " at " << llvm::formatv("{0}", x[i]).str();
  }
}

/// Pairs of special values, then random ones: for powers, such that many results are in range.
template <typename T> void fillPairs(bool arePowers, std::vector<T> &a, std::vector<T> &b) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {0,
                            1,
                            2,
                            3,
                            T(0.5),
                            T(1.5),
                            T(0x1p24),
                            T(0x1p25),
                            T(0x1p53),
                            T(1e30),
                            Limits::denorm_min(),
                            Limits::max(),
                            Limits::infinity(),
                            Limits::quiet_NaN(),
                            std::nextafter(T(1), T(0)),
                            std::nextafter(T(1), T(2))};
  for (T x : special)
    for (T y : special)
      for (int signs = 0; signs < 4; ++signs) {
        a.push_back(signs & 1 ? -x : x);
        b.push_back(signs & 2 ? -y : y);
      }
  std::mt19937_64 random(20260302);
  auto uniform = [&] { return std::ldexp(static_cast<double>(random() >> 12), -52); };
  for (int i = 0; i < 200000; ++i) {
    int range = i & 1 ? 8 : 2 * Limits::max_exponent - 10;
    int exponent = static_cast<int>(random() % range) - range / 2;
    T x = std::ldexp(T(1 + uniform()), exponent);
    double exponentOf = (2 * uniform() - 1) * (Limits::max_exponent + 20) / std::log2(x);
    double y = arePowers && i % 4 == 0 ? exponentOf
               : arePowers             ? (2 * uniform() - 1) * 16
                                       : x * std::ldexp(1 + uniform(), int(random() % 12) - 6);
    a.push_back(!arePowers && i & 2 ? -x : x);
    b.push_back(i & 4 ? T(-y) : T(y));
  }
}

bool arePowers(const tw::tile::HostFunction &row) { return llvm::StringRef(row.Name) == "pow"; }

TEST(ExpandSimtMath, FunctionsOfTwoOperandsStayWithinTheTable) {
  for (const tw::tile::HostFunction &row : functionsOf(2)) {
    std::vector<float> a, b;
    fillPairs(arePowers(row), a, b);
    auto jit = compileLane("f32", "f32", llvm::formatv("%r = {0} %a, %b : f32", row.Operation));
    ASSERT_NE(jit, nullptr);
    for (Error error : {Error::None, Error::Up, Error::Down, Error::Random}) {
      stand().error = error;
      std::vector<float> y(a.size(), -123.0f);
      jit->run(a.data(), b.data(), y.data(), a.size());
      for (size_t i = 0; i < a.size(); ++i) {
        double expected = static_cast<double>(row.OfLongDouble(a[i], b[i], 0));
        ASSERT_LE(ulpError(y[i], expected), row.UlpF32 + 0.5)
            << row.Name << " of " << a[i] << ", " << b[i];
      }
    }
  }
}

TEST(ExpandSimtMath, FunctionsOfTwoFloat64StayWithinFourUnits) {
  for (const tw::tile::HostFunction &row : functionsOf(2)) {
    std::vector<double> a, b;
    fillPairs(arePowers(row), a, b);
    auto jit = compileLane("f64", "f64", llvm::formatv("%r = {0} %a, %b : f64", row.Operation));
    ASSERT_NE(jit, nullptr);
    std::vector<double> y(a.size(), -123.0);
    jit->run(a.data(), b.data(), y.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      long double expected = row.OfLongDouble(a[i], b[i], 0);
      ASSERT_LE(ulpErrorOfDouble(y[i], expected), 4.5)
          << row.Name << " of " << a[i] << ", " << b[i];
    }
  }
}

TEST(ExpandSimtMath, DivisionIsExactUnlessAReciprocalIsAllowed) {
  stand().error = Error::Up;
  std::vector<float> a, b;
  fillPairs(false, a, b);
  auto exact = compileLane("f32", "f32", "%r = arith.divf %a, %b : f32");
  auto near = compileLane("f32", "f32", "%r = arith.divf %a, %b fastmath<arcp> : f32");
  std::vector<float> y(a.size()), z(a.size());
  exact->run(a.data(), b.data(), y.data(), a.size());
  near->run(a.data(), b.data(), z.data(), a.size());
  size_t differing = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double expected = static_cast<double>(a[i]) / b[i];
    ASSERT_LE(ulpError(y[i], expected), 0.5) << a[i] << " / " << b[i];
    ASSERT_LE(ulpError(z[i], expected), 2.5) << a[i] << " / " << b[i];
    differing += y[i] != z[i] && !std::isnan(y[i]);
  }
  EXPECT_GT(differing, a.size() / 2);
}

TEST(ExpandSimtMath, OneDivisorOfManyIsAReciprocalOnce) {
  std::vector<float> a, b;
  fillPairs(false, a, b);
  auto shared = compileLane("f32", "f32",
                            "%u = arith.divf %b, %b fastmath<arcp> : f32\n"
                            "%v = arith.divf %a, %b fastmath<arcp> : f32\n"
                            "%c = arith.cmpf ord, %u, %u : f32\n"
                            "%r = arith.select %c, %v, %v : f32");
  auto third = compileLane("f32", "f32",
                           "%c = arith.constant 3.0 : f32\n"
                           "%r = arith.divf %a, %c fastmath<arcp> : f32");
  std::vector<float> y(a.size()), z(a.size());
  for (Error error : {Error::None, Error::Up, Error::Down, Error::Random}) {
    stand().error = error;
    shared->run(a.data(), b.data(), y.data(), a.size());
    third->run(a.data(), b.data(), z.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_LE(ulpError(z[i], static_cast<double>(a[i]) / 3), 2.5) << a[i] << " / 3";
      double size = std::fabs(static_cast<double>(b[i]));
      if (size <= 0x1p126 && size >= 0x1p-124) {
        ASSERT_LE(ulpError(y[i], static_cast<double>(a[i]) / b[i]), 2.5) << a[i] << " / " << b[i];
      }
    }
  }
}

template <typename T> void checkRemainder(const char *type) {
  std::vector<T> a, b;
  fillPairs(false, a, b);
  auto jit = compileLane(type, type, llvm::formatv("%r = arith.remf %a, %b : {0}", type));
  ASSERT_NE(jit, nullptr);
  for (int shuffled = 0; shuffled < 2; ++shuffled) {
    std::vector<T> y(a.size(), T(-123));
    jit->run(a.data(), b.data(), y.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      T expected = std::fmod(a[i], b[i]);
      if (std::isnan(expected))
        ASSERT_TRUE(std::isnan(y[i])) << a[i] << " % " << b[i];
      else
        ASSERT_TRUE(y[i] == expected && std::signbit(y[i]) == std::signbit(expected))
            << a[i] << " % " << b[i] << " is not " << y[i];
    }
    std::rotate(b.begin(), b.begin() + 17, b.end()); // distant exponents
  }
}

TEST(ExpandSimtMath, RemaindersAreExactAtAnyDistance) {
  checkRemainder<float>("f32");
  checkRemainder<double>("f64");
}

template <typename F, typename T> void checkSaturation(const char *from, const char *to) {
  using Limits = std::numeric_limits<T>;
  const char *op = std::is_signed_v<T> ? "arith.fptosi" : "arith.fptoui";
  auto jit = compileLane(from, to, llvm::formatv("%r = {0} %a : {1} to {2}", op, from, to));
  ASSERT_NE(jit, nullptr);
  std::vector<F> x = {0, F(kInfinity), F(kNan), std::numeric_limits<F>::max()};
  for (int power : {0, 7, 8, 15, 16, 31, 32, 63, 64}) {
    F end = std::ldexp(F(1), power);
    for (F value : {end, std::nextafter(end, F(0)), std::nextafter(end, 2 * end), end - F(0.5)})
      x.insert(x.end(), {value, -value});
  }
  x.push_back(-F(kInfinity));
  std::vector<T> y(x.size(), 42);
  jit->run(x.data(), x.data(), y.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    F beyond = std::ldexp(F(1), Limits::digits);
    T expected = std::isnan(x[i])                        ? T(0)
                 : x[i] >= beyond                        ? Limits::max()
                 : x[i] <= static_cast<F>(Limits::min()) ? Limits::min()
                                                         : static_cast<T>(x[i]);
    ASSERT_EQ(y[i], expected) << op << " " << from << " to " << to << " of " << x[i];
  }
}

TEST(ExpandSimtMath, FloatsSaturateAndNanBecomesZero) {
  checkSaturation<float, int8_t>("f32", "i8");
  checkSaturation<float, int32_t>("f32", "i32");
  checkSaturation<float, uint32_t>("f32", "i32");
  checkSaturation<float, int64_t>("f32", "i64");
  checkSaturation<double, uint16_t>("f64", "i16");
  checkSaturation<double, int32_t>("f64", "i32");
  checkSaturation<double, uint64_t>("f64", "i64");
}

TEST(ExpandSimtMath, IntegersDivideAndShiftWithoutUndefinedCases) {
  std::vector<int32_t> a, b;
  for (int32_t x : {0, 1, 7, -1, -7, 31, 32, 33, INT32_MAX, INT32_MIN, 123456789})
    for (int32_t y : {0, 1, 7, -1, -7, 31, 32, 33, INT32_MAX, INT32_MIN, 1000}) {
      a.push_back(x);
      b.push_back(y);
    }
  auto check = [&](const char *op, auto reference) {
    auto jit = compileLane("i32", "i32", llvm::formatv("%r = arith.{0} %a, %b : i32", op));
    ASSERT_NE(jit, nullptr);
    std::vector<int32_t> y(a.size(), 42);
    jit->run(a.data(), b.data(), y.data(), a.size());
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_EQ(y[i], int32_t(reference(int64_t(a[i]), int64_t(b[i]))))
          << op << " " << a[i] << ", " << b[i];
  };
  auto amount = [](int64_t y) { return std::min<uint64_t>(uint32_t(y), 63); };
  check("divsi", [](int64_t x, int64_t y) { return y ? x / y : 0; });
  check("remsi", [](int64_t x, int64_t y) { return y ? x % y : 0; });
  check("divui", [](int64_t x, int64_t y) { return y ? uint32_t(x) / uint32_t(y) : 0; });
  check("shli", [&](int64_t x, int64_t y) { return uint64_t(uint32_t(x)) << amount(y); });
  check("shrui", [&](int64_t x, int64_t y) { return uint64_t(uint32_t(x)) >> amount(y); });
  check("shrsi", [&](int64_t x, int64_t y) { return x >> amount(y); });
}

} // namespace
