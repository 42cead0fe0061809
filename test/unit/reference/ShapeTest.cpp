// Operations that make tiles and move elements, against index formulas.
#include "runtime/codes/Codes.h"
#include "test/unit/reference/ReferenceHarness.h"
#include <numeric>

using namespace tw;
using namespace tw::test;

namespace {
/// Loads 24 numbers as a tile %t of shape 2x3x4, runs `operation` and stores its result %r.
std::vector<int32_t> runOnCube(const std::string &operation, size_t resultCount,
                               const std::string &resultType) {
  std::vector<int32_t> input(24), result(resultCount, -1);
  std::iota(input.begin(), input.end(), 100);
  std::string count = std::to_string(resultCount);
  std::string text = "func.func @kernel(%out: !tile.ptr<i32>, %in: !tile.ptr<i32>) {\n" +
                     pointersText("pin", "%in", "i32", 24) +
                     "  %flat = tile.load %pin : tensor<24x!tile.ptr<i32>> -> tensor<24xi32>\n"
                     "  %t = tile.reshape %flat : tensor<24xi32> -> tensor<2x3x4xi32>\n  " +
                     operation + "\n  %line = tile.reshape %r : " + resultType + " -> tensor<" +
                     count + "xi32>\n" + pointersText("pout", "%out", "i32", resultCount) +
                     "  tile.store %pout, %line : " + "tensor<" + count +
                     "x!tile.ptr<i32>>, tensor<" + count + "xi32>\n  return\n}\n";
  runExpectingSuccess(text, {bufferOf(result), bufferOf(input)});
  return result;
}
int32_t cubeAt(int i, int j, int k) { return 100 + (i * 3 + j) * 4 + k; }
} // namespace

TEST(ShapeTest, ReshapeKeepsRowMajorOrder) {
  std::vector<int32_t> result = runOnCube(
      "%r = tile.reshape %t : tensor<2x3x4xi32> -> tensor<6x4xi32>", 24, "tensor<6x4xi32>");
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(result[i], 100 + i);
}

TEST(ShapeTest, TransPermutesDimensions) {
  std::vector<int32_t> result =
      runOnCube("%r = tile.trans %t [2, 0, 1] : tensor<2x3x4xi32> -> tensor<4x2x3xi32>", 24,
                "tensor<4x2x3xi32>");
  for (int k = 0; k < 4; ++k)
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_EQ(result[(k * 2 + i) * 3 + j], cubeAt(i, j, k));
}

TEST(ShapeTest, ExpandAndBroadcastRepeatElements) {
  std::vector<int32_t> result =
      runOnCube("%e = tile.expand_dims %t axis 1 : tensor<2x3x4xi32> -> tensor<2x1x3x4xi32>\n"
                "  %r = tile.broadcast %e : tensor<2x1x3x4xi32> -> tensor<2x5x3x4xi32>",
                120, "tensor<2x5x3x4xi32>");
  for (int i = 0; i < 2; ++i)
    for (int repeat = 0; repeat < 5; ++repeat)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k)
          EXPECT_EQ(result[((i * 5 + repeat) * 3 + j) * 4 + k], cubeAt(i, j, k));
}

TEST(ShapeTest, JoinInterleavesAndSplitUndoesIt) {
  std::string join = "%c = arith.constant dense<-5> : tensor<2x3x4xi32>\n"
                     "  %j = tile.join %t, %c : tensor<2x3x4xi32> -> tensor<2x3x4x2xi32>\n  ";
  std::vector<int32_t> joined = runOnCube(
      join + "%r = tile.reshape %j : tensor<2x3x4x2xi32> -> tensor<48xi32>", 48, "tensor<48xi32>");
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(joined[2 * i], 100 + i);
    EXPECT_EQ(joined[2 * i + 1], -5);
  }
  std::string split = "tile.split %j : tensor<2x3x4x2xi32> -> tensor<2x3x4xi32>";
  std::vector<int32_t> left = runOnCube(join + "%r, %o = " + split, 24, "tensor<2x3x4xi32>");
  std::vector<int32_t> right = runOnCube(join + "%o, %r = " + split, 24, "tensor<2x3x4xi32>");
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(left[i], 100 + i);
    EXPECT_EQ(right[i], -5);
  }
}

TEST(ShapeTest, GatherReadsAlongTheAxis) {
  std::vector<int32_t> result = runOnCube(
      "%i = arith.constant dense<[[[2, 0, 1, 1], [0, 0, 0, 0]], [[1, 2, 2, 0], [2, 1, 0, 2]]]> : "
      "tensor<2x2x4xi32>\n  %r = tile.gather %t[%i] axis 1 : tensor<2x3x4xi32>, tensor<2x2x4xi32> "
      "-> tensor<2x2x4xi32>",
      16, "tensor<2x2x4xi32>");
  int indices[2][2][4] = {{{2, 0, 1, 1}, {0, 0, 0, 0}}, {{1, 2, 2, 0}, {2, 1, 0, 2}}};
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 4; ++k)
        EXPECT_EQ(result[(i * 2 + j) * 4 + k], cubeAt(i, indices[i][j][k], k));
}

TEST(ShapeTest, GatherOutsideTheAxisIsAnError) {
  for (const char *index : {"3", "-1"})
    runExpectingError("func.func @kernel() {\n"
                      "  %t = arith.constant dense<[7, 8, 9]> : tensor<3xi32>\n"
                      "  %i = arith.constant dense<[0, " +
                          std::string(index) +
                          "]> : tensor<2xi8>\n"
                          "  %r = tile.gather %t[%i] axis 0 : tensor<3xi32>, tensor<2xi8> -> "
                          "tensor<2xi32>\n  return\n}",
                      {}, Code::GatherIndex,
                      {std::string("gather index ") + index, "tile index (1)"});
}

TEST(ShapeTest, ArangeSplatAndHint) {
  std::vector<int32_t> result =
      runOnCube("%i = tile.arange -3 to 3 : tensor<6xi32>\n  %c = arith.constant 40 : i32\n"
                "  %s = tile.splat %c : i32 -> tensor<6xi32>\n"
                "  %h = tile.hint %s {divisibility = array<i64: 8>} : tensor<6xi32>\n"
                "  %r = arith.addi %i, %h : tensor<6xi32>",
                6, "tensor<6xi32>");
  EXPECT_EQ(result, (std::vector<int32_t>{37, 38, 39, 40, 41, 42}));
}

TEST(ShapeTest, SelectByTileAndByScalar) {
  std::vector<uint8_t> condition = {1, 0, 0, 1};
  std::vector<float> a = {1, 2, 3, NAN}, b = {-1, -2, -3, -4};
  std::vector<float> byTile =
      runElementwiseText<float>("%r = arith.select %a, %b, %c : tensor<4xi1>, tensor<4xf32>",
                                {"i1", "f32", "f32"}, "f32", condition, a, b);
  EXPECT_EQ(std::vector<float>(byTile.begin(), byTile.begin() + 3),
            (std::vector<float>{1, -2, -3}));
  EXPECT_TRUE(std::isnan(byTile[3]));
  std::vector<float> byScalar = runElementwiseText<float>(
      "%no = arith.constant false\n  %r = arith.select %no, %a, %b : tensor<4xf32>", {"f32", "f32"},
      "f32", a, b);
  EXPECT_EQ(byScalar, b);
}

TEST(GridTest, EveryProgramRunsOnceAndKnowsItsPlace) {
  std::vector<int32_t> count(2 * 3 * 4, 0);
  std::string text = R"(
func.func @kernel(%out: !tile.ptr<i32>) {
  %x = tile.program_id 0
  %y = tile.program_id 1
  %z = tile.program_id 2
  %nx = tile.num_programs 0
  %ny = tile.num_programs 1
  %nz = tile.num_programs 2
  %zy = arith.muli %z, %ny : i32
  %row = arith.addi %zy, %y : i32
  %base = arith.muli %row, %nx : i32
  %i = arith.addi %base, %x : i32
  %p = tile.addptr %out, %i : !tile.ptr<i32>, i32
  %one = arith.addi %nz, %nz : i32
  %old = tile.atomic_rmw add, %p, %one : !tile.ptr<i32>, i32 -> i32
  return
})";
  runExpectingSuccess(text, {bufferOf(count)}, {{2, 3, 4}});
  EXPECT_EQ(count, std::vector<int32_t>(24, 8));
  runExpectingSuccess(text, {bufferOf(count)}, {{2, 0, 4}});
  EXPECT_EQ(count, std::vector<int32_t>(24, 8)) << "a grid of no programs does nothing";
}
