// Atomics of the reference device: new contents of memory and old values returned.
#include "runtime/codes/Codes.h"
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw;
using namespace tw::test;

namespace {
/// Applies one atomic to each element of `memory` in turn; returns the old values.
template <typename T>
std::vector<T> runAtomic(const std::string &kind, const std::string &type, std::vector<T> &memory,
                         std::vector<T> &operand) {
  std::string n = std::to_string(memory.size());
  std::string pointers = "tensor<" + n + "x!tile.ptr<" + type + ">>";
  std::string tile = "tensor<" + n + "x" + type + ">";
  std::string text =
      "func.func @kernel(%old: !tile.ptr<" + type + ">, %m: !tile.ptr<" + type +
      ">, %v: !tile.ptr<" + type + ">) {\n" + pointersText("po", "%old", type, memory.size()) +
      pointersText("pm", "%m", type, memory.size()) +
      pointersText("pv", "%v", type, memory.size()) + "  %x = tile.load %pv : " + pointers +
      " -> " + tile + "\n  %r = tile.atomic_rmw " + kind + ", %pm, %x : " + pointers + ", " + tile +
      " -> " + tile + "\n  tile.store %po, %r : " + pointers + ", " + tile + "\n  return\n}";
  std::vector<T> old(memory.size(), T(77));
  runExpectingSuccess(text, {bufferOf(old), bufferOf(memory), bufferOf(operand)});
  return old;
}
} // namespace

TEST(AtomicTest, IntegerKinds) {
  struct Kind {
    const char *name;
    int32_t (*formula)(int32_t, int32_t);
  };
  const Kind kinds[] = {
      {"add", [](int32_t a, int32_t b) { return int32_t(uint32_t(a) + uint32_t(b)); }},
      {"max", [](int32_t a, int32_t b) { return a > b ? a : b; }},
      {"min", [](int32_t a, int32_t b) { return a < b ? a : b; }},
      {"umax", [](int32_t a, int32_t b) { return uint32_t(a) > uint32_t(b) ? a : b; }},
      {"umin", [](int32_t a, int32_t b) { return uint32_t(a) < uint32_t(b) ? a : b; }},
      {"and", [](int32_t a, int32_t b) { return a & b; }},
      {"or", [](int32_t a, int32_t b) { return a | b; }},
      {"xor", [](int32_t a, int32_t b) { return a ^ b; }},
      {"xchg", [](int32_t, int32_t b) { return b; }},
  };
  for (const Kind &kind : kinds) {
    Random random;
    std::vector<int32_t> lhs, rhs;
    makePairs(random, integerEdges<int32_t>(), 20, lhs, rhs);
    std::vector<int32_t> memory = lhs;
    EXPECT_EQ(runAtomic(kind.name, "i32", memory, rhs), lhs);
    for (size_t i = 0; i < lhs.size(); ++i)
      EXPECT_EQ(memory[i], kind.formula(lhs[i], rhs[i])) << kind.name;
  }
}

TEST(AtomicTest, FloatKindsIgnoreNan) {
  std::vector<float> start = {1, -2, NAN, 4, 0.1f}, operand = {2, -3, 5, NAN, 0.2f};
  std::vector<float> memory = start;
  std::vector<float> old = runAtomic("fadd", "f32", memory, operand);
  EXPECT_EQ(memory[0], 3);
  EXPECT_EQ(memory[4], 0.1f + 0.2f);
  EXPECT_EQ(old[1], -2);
  memory = start;
  runAtomic("fmax", "f32", memory, operand);
  EXPECT_EQ(memory, (std::vector<float>{2, -2, 5, 4, 0.2f}));
  memory = start;
  runAtomic("fmin", "f32", memory, operand);
  EXPECT_EQ(memory, (std::vector<float>{1, -3, 5, 4, 0.1f}));
}

TEST(AtomicTest, ElementsOfOneTileAtOneAddressFollowEachOther) {
  std::vector<int64_t> counter = {100}, old(4, -1);
  std::string text = R"(
func.func @kernel(%old: !tile.ptr<i64>, %counter: !tile.ptr<i64>) {
  %one = arith.constant dense<1> : tensor<4xi64>
  %mask = arith.constant dense<[true, true, false, true]> : tensor<4xi1>
  %p = tile.splat %counter : !tile.ptr<i64> -> tensor<4x!tile.ptr<i64>>
  %r = tile.atomic_rmw add, %p, %one mask %mask : tensor<4xi1>
      : tensor<4x!tile.ptr<i64>>, tensor<4xi64> -> tensor<4xi64>
)" + pointersText("po", "%old", "i64", 4) +
                     R"(
  tile.store %po, %r : tensor<4x!tile.ptr<i64>>, tensor<4xi64>
  return
})";
  runExpectingSuccess(text, {bufferOf(old), bufferOf(counter)});
  EXPECT_EQ(old, (std::vector<int64_t>{100, 101, 0, 102})) << "masked off yields 0";
  EXPECT_EQ(counter[0], 103);
}

TEST(AtomicTest, CompareAndSwapReplacesOnlyWhatMatches) {
  std::vector<int32_t> memory = {5}, out = {-1, -1};
  std::string text = R"(
func.func @kernel(%m: !tile.ptr<i32>, %out: !tile.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %c5 = arith.constant 5 : i32
  %c9 = arith.constant 9 : i32
  %first = tile.atomic_cas %m, %c5, %c9 : !tile.ptr<i32>, i32
  %second = tile.atomic_cas %m, %c5, %c1 : !tile.ptr<i32>, i32
  tile.store %out, %first : !tile.ptr<i32>, i32
  %next = tile.addptr %out, %c1 : !tile.ptr<i32>, i32
  tile.store %next, %second : !tile.ptr<i32>, i32
  return
})";
  runExpectingSuccess(text, {bufferOf(memory), bufferOf(out)});
  EXPECT_EQ(memory[0], 9);
  EXPECT_EQ(out, (std::vector<int32_t>{5, 9}));
}

TEST(AtomicTest, AKindForAnotherTypeHasNoMeaning) {
  std::vector<float> memory = {1};
  runExpectingError("func.func @kernel(%m: !tile.ptr<f32>) {\n  %c = arith.constant 1.0 : f32\n"
                    "  %r = tile.atomic_rmw xor, %m, %c : !tile.ptr<f32>, f32 -> f32\n  return\n}",
                    {bufferOf(memory)}, Code::MalformedArtifact, {"no xor of 'f32'"});
}
