// Loops, branches and calls of the reference device.
#include "runtime/codes/Codes.h"
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw;
using namespace tw::test;

namespace {
/// Sums the induction variable of one scf.for and counts its iterations, for the counter's type.
template <typename T>
std::array<int64_t, 2> runLoop(const std::string &type, T lower, T upper, T step,
                               const std::string &prefix = "") {
  std::vector<int64_t> out = {-1, -1};
  std::string text =
      "func.func @kernel(%out: !tile.ptr<i64>, %lo: " + type + ", %hi: " + type +
      ", %step: " + type + R"() {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %s:2 = scf.for )" +
      prefix + R"(%i = %lo to %hi step %step iter_args(%sum = %c0, %n = %c0) -> (i64, i64) : )" +
      type + R"( {
    %w = )" +
      (type == "i64" ? "arith.addi %i, %c0 : i64" : "arith.extsi %i : " + type + " to i64") +
      R"(
    %next = arith.addi %sum, %w : i64
    %m = arith.addi %n, %c1 : i64
    scf.yield %next, %m : i64, i64
  }
  tile.store %out, %s#0 : !tile.ptr<i64>, i64
  %p = tile.addptr %out, %c1 : !tile.ptr<i64>, i64
  tile.store %p, %s#1 : !tile.ptr<i64>, i64
  return
})";
  runExpectingSuccess(text, {bufferOf(out), scalarOf(lower), scalarOf(upper), scalarOf(step)});
  return {out[0], out[1]};
}
using Sums = std::array<int64_t, 2>;
} // namespace

TEST(ForTest, CountsLikeAHostLoop) {
  EXPECT_EQ(runLoop<int32_t>("i32", -3, 8, 4), (Sums{-3 + 1 + 5, 3}));
  EXPECT_EQ(runLoop<int32_t>("i32", 5, 5, 1), (Sums{0, 0}));
  EXPECT_EQ(runLoop<int32_t>("i32", 9, 5, 1), (Sums{0, 0}));
  EXPECT_EQ(runLoop<int64_t>("i64", int64_t(1) << 40, (int64_t(1) << 40) + 2, 1),
            (Sums{(int64_t(1) << 41) + 1, 2}));
  EXPECT_EQ(runLoop<int8_t>("i8", 100, 127, 20), (Sums{220, 2})) << "the counter must not wrap";
}

TEST(ForTest, UnsignedComparison) {
  EXPECT_EQ(runLoop<int32_t>("i32", -2, 5, 1, "unsigned "), (Sums{0, 0}));
  EXPECT_EQ(runLoop<int32_t>("i32", 3, -1, 1 << 30, "unsigned ")[1], 4);
}

TEST(ForTest, IndexCountersAndManyIterations) {
  std::vector<int32_t> out = {-1};
  runExpectingSuccess(R"(
func.func @kernel(%out: !tile.ptr<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 200000 : index
  %z = arith.constant 0 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (i32) {
    %w = arith.index_cast %i : index to i32
    %y = arith.xori %x, %w : i32
    scf.yield %y : i32
  }
  tile.store %out, %r : !tile.ptr<i32>, i32
  return
})",
                      {bufferOf(out)});
  int32_t expected = 0;
  for (int i = 0; i < 200000; ++i)
    expected ^= i;
  EXPECT_EQ(out[0], expected);
}

TEST(ForTest, AStepThatIsNotPositiveIsAnError) {
  std::string text = "func.func @kernel(%step: i32) {\n  %c = arith.constant 4 : i32\n"
                     "  scf.for %i = %c to %c step %step : i32 {\n  }\n  return\n}";
  runExpectingError(text, {scalarOf(int32_t(0))}, Code::LoopStep, {"loop step 0"});
  runExpectingError(text, {scalarOf(int32_t(-1))}, Code::LoopStep, {"loop step -1"});
}

TEST(WhileTest, CarriesValuesThroughBothRegions) {
  std::vector<int64_t> out = {-1};
  std::string text = R"(
func.func @kernel(%out: !tile.ptr<i64>, %start: i64) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %c2 = arith.constant 2 : i64
  %c3 = arith.constant 3 : i64
  %r:2 = scf.while (%x = %start, %n = %c0) : (i64, i64) -> (i64, i64) {
    %go = arith.cmpi ne, %x, %c1 : i64
    scf.condition(%go) %n, %x : i64, i64
  } do {
  ^bb0(%n: i64, %x: i64):
    %odd = arith.remui %x, %c2 : i64
    %isOdd = arith.cmpi eq, %odd, %c1 : i64
    %y = scf.if %isOdd -> (i64) {
      %t = arith.muli %x, %c3 : i64
      %u = arith.addi %t, %c1 : i64
      scf.yield %u : i64
    } else {
      %h = arith.divui %x, %c2 : i64
      scf.yield %h : i64
    }
    %m = arith.addi %n, %c1 : i64
    scf.yield %y, %m : i64, i64
  }
  tile.store %out, %r#0 : !tile.ptr<i64>, i64
  return
})";
  runExpectingSuccess(text, {bufferOf(out), scalarOf(int64_t(27))});
  EXPECT_EQ(out[0], 111); // length of the Collatz sequence from 27
}

TEST(BranchTest, IfWithoutElseAndSwitch) {
  std::vector<int32_t> out = {-1};
  std::string text = R"(
func.func @kernel(%out: !tile.ptr<i32>, %n: i32) {
  %index = arith.index_cast %n : i32 to index
  %c0 = arith.constant 0 : i32
  %v = scf.index_switch %index -> i32
  case 2 {
    %x = arith.constant 20 : i32
    scf.yield %x : i32
  }
  case 5 {
    %x = arith.constant 50 : i32
    scf.yield %x : i32
  }
  default {
    %x = arith.constant 99 : i32
    scf.yield %x : i32
  }
  %positive = arith.cmpi sgt, %n, %c0 : i32
  scf.if %positive {
    tile.store %out, %v : !tile.ptr<i32>, i32
  }
  return
})";
  for (auto [n, expected] : {std::pair{2, 20}, {5, 50}, {7, 99}, {-3, -1}}) {
    out[0] = -1;
    runExpectingSuccess(text, {bufferOf(out), scalarOf(int32_t(n))});
    EXPECT_EQ(out[0], expected) << n;
  }
}

TEST(CallTest, CalleesHaveTheirOwnValues) {
  std::vector<int32_t> out = {-1};
  runExpectingSuccess(R"(
func.func private @double(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  return %y : i32
}
func.func @kernel(%out: !tile.ptr<i32>) {
  %c = arith.constant 5 : i32
  %a = func.call @double(%c) : (i32) -> i32
  %b = func.call @double(%a) : (i32) -> i32
  %s = scf.execute_region -> i32 {
    %t = arith.addi %a, %b : i32
    scf.yield %t : i32
  }
  tile.store %out, %s : !tile.ptr<i32>, i32
  return
})",
                      {bufferOf(out)});
  EXPECT_EQ(out[0], 30);
}

TEST(CallTest, EndlessRecursionIsAnErrorNotACrash) {
  runExpectingError("func.func @kernel() {\n  func.call @kernel() : () -> ()\n  return\n}", {},
                    Code::UnknownMeaning, {"recursion"});
}
