// Runs Tile IR text on the reference device over buffers, for the tests of its meaning.
#ifndef TEST_UNIT_REFERENCE_REFERENCEHARNESS_H
#define TEST_UNIT_REFERENCE_REFERENCEHARNESS_H
#include "backend/reference/ReferenceDevice.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace tw::test {

/// A kernel argument over a whole vector.
template <typename T> LaunchArgument bufferOf(std::vector<T> &data) {
  uint64_t address = std::bit_cast<uint64_t>(data.data());
  return {address, address, data.size() * sizeof(T), false};
}
template <typename T> LaunchArgument scalarOf(T value) {
  LaunchArgument argument;
  std::memcpy(&argument.bits, &value, sizeof value);
  return argument;
}

/// Loads the function @kernel of the text and runs it; empty when it succeeded.
std::optional<RuntimeError> runText(const std::string &text,
                                    const std::vector<LaunchArgument> &arguments,
                                    LaunchGrid grid = {});
/// As above; a failure fails the test.
void runExpectingSuccess(const std::string &text, const std::vector<LaunchArgument> &arguments,
                         LaunchGrid grid = {});
/// As above; the run must fail with the code and mention all the fragments.
void runExpectingError(const std::string &text, const std::vector<LaunchArgument> &arguments,
                       Code code, const std::vector<std::string> &fragments, LaunchGrid grid = {});

/// `PTR = pointer + arange(0, COUNT)` for loads and stores of a whole buffer: lines that define
/// %NAME.
std::string pointersText(const std::string &name, const std::string &pointer,
                         const std::string &type, size_t count);
/// `@kernel(%out, %a, %b, ...)`: loads each input whole, computes %r by `operation`, stores it.
/// The operation is written over %a, %b, %c of type tensor<COUNTxTYPE>.
std::string elementwiseText(const std::string &operation,
                            const std::vector<std::string> &inputTypes,
                            const std::string &resultType, size_t count);

/// "tensor<8xf32>".
inline std::string tileType(size_t count, const std::string &type) {
  return "tensor<" + std::to_string(count) + "x" + type + ">";
}

/// Runs `operation` on vectors of equal length and returns the results.
template <typename Result, typename... Inputs>
std::vector<Result>
runElementwiseText(const std::string &operation, const std::vector<std::string> &inputTypes,
                   const std::string &resultType, std::vector<Inputs> &...inputs) {
  size_t count = std::max({inputs.size()...});
  std::vector<Result> result(count);
  std::memset(static_cast<void *>(result.data()), 0xCB, count * sizeof(Result)); // poison
  runExpectingSuccess(elementwiseText(operation, inputTypes, resultType, count),
                      {bufferOf(result), bufferOf(inputs)...});
  return result;
}

/// Random numbers from a seed that is printed when the test fails.
class Random {
public:
  Random();
  template <typename T> T bits() { return std::bit_cast<T>(unsignedBits<sizeof(T)>()); }
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  }
  int64_t integer(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(engine);
  }

private:
  template <size_t bytes> auto unsignedBits() {
    if constexpr (bytes == 1)
      return uint8_t(engine());
    else if constexpr (bytes == 2)
      return uint16_t(engine());
    else if constexpr (bytes == 4)
      return uint32_t(engine());
    else
      return uint64_t(engine());
  }
  uint64_t seed;
  testing::ScopedTrace trace;
  std::mt19937_64 engine;
};

/// All pairs of edge values and `numRandom` random ones, as two vectors.
template <typename T>
void makePairs(Random &random, const std::vector<T> &edges, size_t numRandom, std::vector<T> &lhs,
               std::vector<T> &rhs) {
  for (T a : edges)
    for (T b : edges) {
      lhs.push_back(a);
      rhs.push_back(b);
    }
  for (size_t i = 0; i < numRandom; ++i) {
    lhs.push_back(random.bits<T>());
    rhs.push_back(random.bits<T>());
  }
}
template <typename T> std::vector<T> integerEdges() {
  using Limits = std::numeric_limits<T>;
  return {T(0), T(1), T(2), T(7), T(-1), T(-2), Limits::min(), T(Limits::min() + 1), Limits::max()};
}
template <typename T> std::vector<T> floatEdges() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> edges = {T(0),          T(1),
                          T(0.5),        T(1.5),
                          T(2.5),        T(3),
                          Limits::min(), Limits::denorm_min(),
                          Limits::max(), Limits::infinity()};
  for (size_t i = 0, count = edges.size(); i < count; ++i)
    edges.push_back(-edges[i]);
  edges.push_back(Limits::quiet_NaN());
  return edges;
}

/// Equal bits, or both NaN.
template <typename T> void expectSame(T actual, T expected, const std::string &what) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(actual) && std::isnan(expected))
      return;
  EXPECT_EQ(std::memcmp(&actual, &expected, sizeof(T)), 0)
      << what << ": " << +actual << " instead of " << +expected;
}

} // namespace tw::test
#endif
