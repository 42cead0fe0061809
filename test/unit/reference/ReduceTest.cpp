// Reductions, scans and matrix products of the reference device against loops.
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw;
using namespace tw::test;

namespace {
constexpr int kShape[3] = {3, 5, 2};
int cubeIndex(int i, int j, int k) { return (i * kShape[1] + j) * kShape[2] + k; }

/// Loads 30 i32 as a 3x5x2 tile %t and runs `operation`, which defines %r.
std::vector<int32_t> runOnCube(const std::string &operation, std::vector<int32_t> &input,
                               size_t resultCount, const std::string &resultType) {
  std::vector<int32_t> result(resultCount, -12345);
  std::string n = std::to_string(resultCount);
  std::string text = "func.func @kernel(%out: !tile.ptr<i32>, %in: !tile.ptr<i32>) {\n" +
                     pointersText("pin", "%in", "i32", 30) +
                     "  %flat = tile.load %pin : tensor<30x!tile.ptr<i32>> -> tensor<30xi32>\n"
                     "  %t = tile.reshape %flat : tensor<30xi32> -> tensor<3x5x2xi32>\n  " +
                     operation + "\n  %line = tile.reshape %r : " + resultType + " -> tensor<" + n +
                     "xi32>\n" + pointersText("pout", "%out", "i32", resultCount) +
                     "  tile.store %pout, %line : tensor<" + n + "x!tile.ptr<i32>>, tensor<" + n +
                     "xi32>\n  return\n}\n";
  runExpectingSuccess(text, {bufferOf(result), bufferOf(input)});
  return result;
}

std::vector<int32_t> randomCube(Random &random) {
  std::vector<int32_t> cube(30);
  for (int32_t &x : cube)
    x = int32_t(random.integer(-1000, 1000));
  return cube;
}

// Keeps the right operand's parity: associative, and not commutative, so that the order shows.
const char *const kRightmostNonzero = R"({
  ^bb0(%l: i32, %rr: i32):
    %zero = arith.constant 0 : i32
    %c = arith.cmpi ne, %rr, %zero : i32
    %v = arith.select %c, %rr, %l : i32
    tile.yield %v : i32
  })";
const char *const kSum = R"({
  ^bb0(%l: i32, %rr: i32):
    %v = arith.addi %l, %rr : i32
    tile.yield %v : i32
  })";
} // namespace

TEST(ReduceTest, SumsAlongEachAxis) {
  Random random;
  std::vector<int32_t> cube = randomCube(random);
  const char *shapes[] = {"tensor<5x2xi32>", "tensor<3x2xi32>", "tensor<3x5xi32>"};
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<int32_t> expected(30 / kShape[axis], 0);
    for (int i = 0; i < kShape[0]; ++i)
      for (int j = 0; j < kShape[1]; ++j)
        for (int k = 0; k < kShape[2]; ++k) {
          int line = axis == 0 ? j * 2 + k : axis == 1 ? i * 2 + k : i * 5 + j;
          expected[line] += cube[cubeIndex(i, j, k)];
        }
    std::string operation = "%r = tile.reduce(%t) axis " + std::to_string(axis) + " " + kSum +
                            " : (tensor<3x5x2xi32>) -> " + shapes[axis];
    EXPECT_EQ(runOnCube(operation, cube, expected.size(), shapes[axis]), expected);
  }
}

TEST(ReduceTest, FoldsFromLeftToRight) {
  std::vector<int32_t> cube(30, 0);
  cube[cubeIndex(0, 1, 0)] = 4;
  cube[cubeIndex(0, 3, 0)] = 9;
  cube[cubeIndex(2, 0, 1)] = 6;
  std::vector<int32_t> expected = {9, 0, 0, 0, 0, 6};
  EXPECT_EQ(runOnCube(std::string("%r = tile.reduce(%t) axis 1 ") + kRightmostNonzero +
                          " : (tensor<3x5x2xi32>) -> tensor<3x2xi32>",
                      cube, 6, "tensor<3x2xi32>"),
            expected);
}

TEST(ReduceTest, SeveralSourcesAndARankOneSourceYieldScalars) {
  std::vector<float> values = {3, 8, -1, 8, 2};
  std::vector<int32_t> index = {-1};
  std::vector<float> largest = {0};
  std::string text = "func.func @kernel(%in: !tile.ptr<f32>, %v: !tile.ptr<f32>, "
                     "%i: !tile.ptr<i32>) {\n" +
                     pointersText("p", "%in", "f32", 5) + R"(
  %x = tile.load %p : tensor<5x!tile.ptr<f32>> -> tensor<5xf32>
  %m:2 = tile.reduce(%x, %i_p) axis 0 {
  ^bb0(%lv: f32, %li: i32, %rv: f32, %ri: i32):
    %greater = arith.cmpf ogt, %rv, %lv : f32
    %w:2 = scf.if %greater -> (f32, i32) {
      scf.yield %rv, %ri : f32, i32
    } else {
      scf.yield %lv, %li : f32, i32
    }
    tile.yield %w#0, %w#1 : f32, i32
  } : (tensor<5xf32>, tensor<5xi32>) -> (f32, i32)
  tile.store %v, %m#0 : !tile.ptr<f32>, f32
  tile.store %i, %m#1 : !tile.ptr<i32>, i32
  return
})";
  runExpectingSuccess(text, {bufferOf(values), bufferOf(largest), bufferOf(index)});
  EXPECT_EQ(largest[0], 8);
  EXPECT_EQ(index[0], 1);
}

TEST(ScanTest, SumsAlongEachAxisFromBothEnds) {
  Random random;
  std::vector<int32_t> cube = randomCube(random);
  int strides[] = {10, 2, 1};
  for (int axis = 0; axis < 3; ++axis)
    for (bool isReverse : {false, true}) {
      std::vector<int32_t> expected = cube;
      for (int step = 0; step < 30; ++step) {
        int at = isReverse ? 29 - step : step;
        int coordinate = at / strides[axis] % kShape[axis];
        int previous = isReverse ? at + strides[axis] : at - strides[axis];
        if (coordinate != (isReverse ? kShape[axis] - 1 : 0))
          expected[at] += expected[previous];
      }
      std::string operation = "%r = tile.scan(%t) axis " + std::to_string(axis) +
                              (isReverse ? " reverse " : " ") + kSum +
                              " : (tensor<3x5x2xi32>) -> tensor<3x5x2xi32>";
      EXPECT_EQ(runOnCube(operation, cube, 30, "tensor<3x5x2xi32>"), expected)
          << "axis " << axis << (isReverse ? " reverse" : "");
    }
}

TEST(ScanTest, TheAccumulatedValueIsTheLeftOperandInBothDirections) {
  std::vector<int32_t> cube(30, 0);
  for (int j = 0; j < 5; ++j)
    cube[cubeIndex(1, j, 0)] = j % 2 ? 0 : j + 1; // 1 0 3 0 5
  for (bool isReverse : {false, true}) {
    std::vector<int32_t> result =
        runOnCube(std::string("%r = tile.scan(%t) axis 1 ") + (isReverse ? "reverse " : "") +
                      kRightmostNonzero + " : (tensor<3x5x2xi32>) -> tensor<3x5x2xi32>",
                  cube, 30, "tensor<3x5x2xi32>");
    std::vector<int32_t> line;
    for (int j = 0; j < 5; ++j)
      line.push_back(result[cubeIndex(1, j, 0)]);
    EXPECT_EQ(line, isReverse ? (std::vector<int32_t>{1, 3, 3, 5, 5})
                              : (std::vector<int32_t>{1, 1, 3, 3, 5}));
  }
}

namespace {
/// acc + a * b for shapes [batches] x m x k and [batches] x k x n, batches 0 for rank 2.
template <typename Operand, typename Acc>
std::vector<Acc> runDot(int batches, int m, int k, int n, const std::string &operandType,
                        const std::string &accType, std::vector<Operand> &a,
                        std::vector<Operand> &b, std::vector<Acc> &acc) {
  std::string batch = batches ? std::to_string(batches) + "x" : "";
  auto shape = [&](int rows, int columns, const std::string &type) {
    return "tensor<" + batch + std::to_string(rows) + "x" + std::to_string(columns) + "x" + type +
           ">";
  };
  std::string aType = shape(m, k, operandType), bType = shape(k, n, operandType),
              cType = shape(m, n, accType);
  auto flat = [](size_t count, const std::string &type) {
    return "tensor<" + std::to_string(count) + "x" + type + ">";
  };
  auto load = [&](const std::string &name, size_t count, const std::string &type,
                  const std::string &shaped) {
    return pointersText("p" + name, "%in_" + name, type, count) + "  %f" + name +
           " = tile.load %p" + name + " : " + flat(count, "!tile.ptr<" + type + ">") + " -> " +
           flat(count, type) + "\n  %" + name + " = tile.reshape %f" + name + " : " +
           flat(count, type) + " -> " + shaped + "\n";
  };
  std::string text =
      "func.func @kernel(%in_a: !tile.ptr<" + operandType + ">, %in_b: !tile.ptr<" + operandType +
      ">, %in_c: !tile.ptr<" + accType + ">) {\n" + load("a", a.size(), operandType, aType) +
      load("b", b.size(), operandType, bType) + load("c", acc.size(), accType, cType) +
      "  %d = tile.dot %a, %b, %c : " + aType + ", " + bType + " -> " + cType +
      "\n  %r = tile.reshape %d : " + cType + " -> " + flat(acc.size(), accType) +
      "\n  tile.store %pc, %r : " + flat(acc.size(), "!tile.ptr<" + accType + ">") + ", " +
      flat(acc.size(), accType) + "\n  return\n}";
  std::vector<Acc> result = acc;
  runExpectingSuccess(text, {bufferOf(a), bufferOf(b), bufferOf(result)});
  return result;
}
} // namespace

TEST(DotTest, FloatsAccumulateWideAndRoundOnce) {
  Random random;
  for (auto [batches, m, k, n] : {std::array{0, 3, 7, 5}, std::array{2, 4, 3, 2}}) {
    int count = std::max(batches, 1);
    std::vector<float> a(count * m * k), b(count * k * n), acc(count * m * n);
    for (auto *data : {&a, &b, &acc})
      for (float &x : *data)
        x = float(random.uniform(-2, 2));
    std::vector<float> result = runDot(batches, m, k, n, "f32", "f32", a, b, acc);
    for (int batch = 0; batch < count; ++batch)
      for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j) {
          int at = (batch * m + i) * n + j;
          long double sum = acc[at];
          for (int l = 0; l < k; ++l)
            sum +=
                static_cast<long double>(a[(batch * m + i) * k + l]) * b[(batch * k + l) * n + j];
          EXPECT_EQ(result[at], float(sum));
        }
  }
}

TEST(DotTest, HalvesIntoFloat) {
  std::vector<_Float16> a = {_Float16(2048), _Float16(1)}, b = {_Float16(1), _Float16(1)};
  std::vector<float> acc = {0.5f};
  EXPECT_EQ(runDot(0, 1, 2, 1, "f16", "f32", a, b, acc), std::vector<float>{2049.5f});
}

TEST(DotTest, BytesAreSignedAndSumsWrap) {
  std::vector<int8_t> a = {-128, 127}, b = {-128, -2};
  std::vector<int32_t> acc = {std::numeric_limits<int32_t>::max()};
  int32_t expected = int32_t(uint32_t(acc[0]) + 16384u - 254u);
  EXPECT_EQ(runDot(0, 1, 2, 1, "i8", "i32", a, b, acc), std::vector<int32_t>{expected});
}
