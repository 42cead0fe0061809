// Loads, stores, pointers and their checks on the reference device.
#include "runtime/codes/Codes.h"
#include "test/unit/reference/ReferenceHarness.h"
#include <numeric>

using namespace tw;
using namespace tw::test;

namespace {
const char *const kCopyMasked = R"(
func.func @kernel(%out: !tile.ptr<f32> {tile.name = "out"}, %in: !tile.ptr<f32> {tile.name = "in"},
                  %n: i32) {
  %i = tile.arange 0 to 8 : tensor<8xi32>
  %bound = tile.splat %n : i32 -> tensor<8xi32>
  %mask = arith.cmpi slt, %i, %bound : tensor<8xi32>
  %other = arith.constant dense<-1.0> : tensor<8xf32>
  %si = tile.splat %in : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %pi = tile.addptr %si, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  %v = tile.load %pi mask %mask : tensor<8xi1> other %other : tensor<8xf32>
      : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %z = tile.load %pi mask %mask : tensor<8xi1> : tensor<8x!tile.ptr<f32>> -> tensor<8xf32>
  %d = arith.subf %v, %z : tensor<8xf32>
  %so = tile.splat %out : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>>
  %po = tile.addptr %so, %i : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  tile.store %po, %v : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  %c8 = arith.constant dense<8> : tensor<8xi32>
  %po2 = tile.addptr %po, %c8 : tensor<8x!tile.ptr<f32>>, tensor<8xi32>
  tile.store %po2, %d mask %mask : tensor<8xi1> : tensor<8x!tile.ptr<f32>>, tensor<8xf32>
  return
})";

/// One access of a scalar i32 at %p + %offset, at a known source line.
std::string accessText(const std::string &access) {
  return "func.func @kernel(%p: !tile.ptr<i32> {tile.name = \"x\"}, %offset: i32) {\n"
         "  %v = arith.constant 7 : i32\n"
         "  %q = tile.addptr %p, %offset : !tile.ptr<i32>, i32\n  " +
         access + " loc(\"user.py\":12:9 to :20)\n  return\n}";
}
const char *const kLoad = "%r = tile.load %q : !tile.ptr<i32> -> i32";
const char *const kStore = "tile.store %q, %v : !tile.ptr<i32>, i32";
const char *const kAtomic = "%r = tile.atomic_rmw add, %q, %v : !tile.ptr<i32>, i32 -> i32";
const char *const kCas = "%r = tile.atomic_cas %q, %v, %v : !tile.ptr<i32>, i32";
} // namespace

TEST(MemoryTest, MaskedElementsReadOtherOrZeroAndAreNotWritten) {
  std::vector<float> in = {1, 2, 3, 4, 5}, out(16, 99);
  runExpectingSuccess(kCopyMasked, {bufferOf(out), bufferOf(in), scalarOf(int32_t(5))});
  EXPECT_EQ(out, (std::vector<float>{1, 2, 3, 4, 5, -1, -1, -1, //
                                     0, 0, 0, 0, 0, 99, 99, 99}));
}

TEST(MemoryTest, OutOfBoundsNamesArgumentIndexAndPlace) {
  std::vector<float> in(5), out(16);
  runExpectingError(kCopyMasked, {bufferOf(out), bufferOf(in), scalarOf(int32_t(6))},
                    Code::OutOfBounds,
                    {"out-of-bounds load", "element 5 of argument 'in'", "elements 0 to 4",
                     "tile index (5)", "program (0, 0, 0)"});
  out.resize(7);
  runExpectingError(kCopyMasked, {bufferOf(out), bufferOf(in), scalarOf(int32_t(5))},
                    Code::OutOfBounds, {"out-of-bounds store", "element 7 of argument 'out'"});
}

TEST(MemoryTest, EveryKindOfAccessIsChecked) {
  std::vector<int32_t> data(10);
  LaunchArgument middle = bufferOf(data); // a view that starts at element 4
  middle.bits += 16;
  for (const char *access : {kLoad, kStore, kAtomic, kCas}) {
    for (int32_t offset : {-4, 0, 5})
      runExpectingSuccess(accessText(access), {middle, scalarOf(offset)});
    for (int32_t offset : {-5, 6, 1 << 30, std::numeric_limits<int32_t>::min()})
      runExpectingError(accessText(access), {middle, scalarOf(offset)}, Code::OutOfBounds,
                        {"element " + std::to_string(offset) + " of argument 'x'",
                         "elements -4 to 5", "user.py:12:9"});
  }
}

TEST(MemoryTest, AnAllocationThatEndsInsideAnElementIsTooSmall) {
  std::vector<int32_t> data(2);
  LaunchArgument argument = bufferOf(data);
  argument.bytes = 7;
  runExpectingError(accessText(kLoad), {argument, scalarOf(int32_t(1))}, Code::OutOfBounds,
                    {"element 1"});
}

TEST(MemoryTest, StoresToReadOnlyMemoryAreErrors) {
  std::vector<int32_t> data(2, 3);
  LaunchArgument argument = bufferOf(data);
  argument.isReadOnly = true;
  runExpectingSuccess(accessText(kLoad), {argument, scalarOf(int32_t(1))});
  for (const char *access : {kStore, kAtomic, kCas})
    runExpectingError(accessText(access), {argument, scalarOf(int32_t(1))}, Code::ReadOnlyStore,
                      {"read-only", "argument 'x'"});
  EXPECT_EQ(data, (std::vector<int32_t>{3, 3}));
}

TEST(MemoryTest, MisalignedAndNullAddressesAreErrors) {
  std::vector<int32_t> data(4);
  LaunchArgument argument = bufferOf(data);
  argument.bits += 2;
  runExpectingError(accessText(kLoad), {argument, scalarOf(int32_t(1))}, Code::MisalignedAccess,
                    {"misaligned"});
  LaunchArgument null;
  runExpectingError(accessText(kStore), {null, scalarOf(int32_t(3))}, Code::OutOfBounds,
                    {"null pointer"});
}

TEST(MemoryTest, AnAddressInsideAnElementBelongsToIt) {
  std::vector<int32_t> data(4);
  LaunchArgument second = bufferOf(data);
  second.bits += 8;
  std::string text = "func.func @kernel(%p: !tile.ptr<i32> {tile.name = \"x\"}, %bytes: i32) {\n"
                     "  %b = tile.ptr_cast %p : !tile.ptr<i32> -> !tile.ptr<i8>\n"
                     "  %m = tile.addptr %b, %bytes : !tile.ptr<i8>, i32\n"
                     "  %q = tile.ptr_cast %m : !tile.ptr<i8> -> !tile.ptr<i32>\n"
                     "  %r = tile.load %q : !tile.ptr<i32> -> i32\n  return\n}";
  for (auto [bytes, element] :
       {std::pair{-2, "element -1 "}, {-6, "element -2 "}, {3, "element 0 "}})
    runExpectingError(text, {second, scalarOf(int32_t(bytes))}, Code::MisalignedAccess, {element});
}

TEST(MemoryTest, UnknownAllocationsAreNotChecked) {
  std::vector<int32_t> data(4, 1);
  LaunchArgument argument = bufferOf(data);
  argument.bytes = argument.allocationBase = 0;
  runExpectingSuccess(accessText(kStore), {argument, scalarOf(int32_t(3))});
  EXPECT_EQ(data[3], 7);
}

TEST(MemoryTest, ErrorsShowTheCallsAroundTheLine) {
  std::vector<int32_t> data(1);
  std::string text = "func.func @kernel(%p: !tile.ptr<i32>) {\n"
                     "  %c = arith.constant 1 : i32\n"
                     "  %q = tile.addptr %p, %c : !tile.ptr<i32>, i32\n"
                     "  %r = tile.load %q : !tile.ptr<i32> -> i32 "
                     "loc(callsite(\"helper.py\":3:5 at \"user.py\":40:7))\n  return\n}";
  runExpectingError(text, {bufferOf(data)}, Code::OutOfBounds,
                    {"at helper.py:3:5", "called from user.py:40:7", "argument '#0'"});
}

// The second argument's memory is right behind the first's: an address alone would seem valid.
TEST(ProvenanceTest, SurvivesEverythingThatMovesPointers) {
  std::vector<int32_t> memory(8);
  LaunchArgument first = bufferOf(memory), second = first;
  first.bytes = 16;
  second.bits = second.allocationBase = first.bits + 16;
  second.bytes = 16;
  std::string text = R"(
func.func @kernel(%a: !tile.ptr<i32> {tile.name = "a"}, %b: !tile.ptr<i32> {tile.name = "b"}) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c3 = arith.constant 3 : i32
  %true = arith.constant true
  %s = arith.select %true, %a, %b : !tile.ptr<i32>
  %byte = tile.ptr_cast %s : !tile.ptr<i32> -> !tile.ptr<i8>
  %word = tile.ptr_cast %byte : !tile.ptr<i8> -> !tile.ptr<i32>
  %moved = scf.for %i = %c0 to %c3 step %c1 iter_args(%p = %word) -> (!tile.ptr<i32>) : i32 {
    %n = tile.addptr %p, %c1 : !tile.ptr<i32>, i32
    scf.yield %n : !tile.ptr<i32>
  }
  %t = tile.splat %moved : !tile.ptr<i32> -> tensor<2x!tile.ptr<i32>>
  %j = tile.arange 0 to 2 : tensor<2xi32>
  %q = tile.addptr %t, %j : tensor<2x!tile.ptr<i32>>, tensor<2xi32>
  %e = tile.expand_dims %q axis 0 : tensor<2x!tile.ptr<i32>> -> tensor<1x2x!tile.ptr<i32>>
  %v = tile.load %e : tensor<1x2x!tile.ptr<i32>> -> tensor<1x2xi32>
  return
})";
  runExpectingError(text, {first, second}, Code::OutOfBounds,
                    {"element 4 of argument 'a'", "tile index (0, 1)"});
}

TEST(ProvenanceTest, IntegersFindTheirArgumentByAddress) {
  std::vector<int32_t> memory = {1, 2, 3, 4};
  std::string text = R"(
func.func @kernel(%a: !tile.ptr<i32> {tile.name = "a"}, %bytes: i64) {
  %i = tile.ptr_to_int %a : !tile.ptr<i32> -> i64
  %j = arith.addi %i, %bytes : i64
  %p = tile.int_to_ptr %j : i64 -> !tile.ptr<i32>
  %c = arith.constant 2 : i32
  %q = tile.addptr %p, %c : !tile.ptr<i32>, i32
  tile.store %q, %c : !tile.ptr<i32>, i32
  return
})";
  runExpectingSuccess(text, {bufferOf(memory), scalarOf(int64_t(4))});
  EXPECT_EQ(memory, (std::vector<int32_t>{1, 2, 3, 2}));
  runExpectingError(text, {bufferOf(memory), scalarOf(int64_t(8))}, Code::OutOfBounds,
                    {"element 4 of argument 'a'"});
}

TEST(ProvenanceTest, PointersInMemoryFindTheirArgument) {
  std::vector<int32_t> data = {10, 20, 30};
  std::vector<int32_t *> table = {data.data() + 1};
  std::string text = R"(
func.func @kernel(%table: !tile.ptr<!tile.ptr<i32>>, %data: !tile.ptr<i32> {tile.name = "data"},
                  %n: i32) {
  %p = tile.load %table : !tile.ptr<!tile.ptr<i32>> -> !tile.ptr<i32>
  %q = tile.addptr %p, %n : !tile.ptr<i32>, i32
  %v = tile.load %q : !tile.ptr<i32> -> i32
  tile.store %data, %v : !tile.ptr<i32>, i32
  return
})";
  runExpectingSuccess(text, {bufferOf(table), bufferOf(data), scalarOf(int32_t(1))});
  EXPECT_EQ(data[0], 30);
  runExpectingError(text, {bufferOf(table), bufferOf(data), scalarOf(int32_t(2))},
                    Code::OutOfBounds, {"element 3 of argument 'data'"});
}

TEST(MemoryTest, NegativeAndWideOffsets) {
  std::vector<int16_t> in(6), out(6, -1);
  std::iota(in.begin(), in.end(), 0);
  LaunchArgument last = bufferOf(in);
  last.bits += 10;
  std::string text = "func.func @kernel(%out: !tile.ptr<i16>, %last: !tile.ptr<i16>) {\n" +
                     pointersText("po", "%out", "i16", 6) +
                     "  %s = tile.splat %last : !tile.ptr<i16> -> tensor<6x!tile.ptr<i16>>\n"
                     "  %w = arith.extsi %i_po : tensor<6xi32> to tensor<6xi64>\n"
                     "  %c = arith.constant dense<-1> : tensor<6xi64>\n"
                     "  %o = arith.muli %w, %c : tensor<6xi64>\n"
                     "  %p = tile.addptr %s, %o : tensor<6x!tile.ptr<i16>>, tensor<6xi64>\n"
                     "  %v = tile.load %p : tensor<6x!tile.ptr<i16>> -> tensor<6xi16>\n"
                     "  tile.store %po, %v : tensor<6x!tile.ptr<i16>>, tensor<6xi16>\n  return\n}";
  runExpectingSuccess(text, {bufferOf(out), last});
  EXPECT_EQ(out, (std::vector<int16_t>{5, 4, 3, 2, 1, 0}));
}

TEST(MemoryTest, TruthValuesAreBytes) {
  std::vector<uint8_t> in = {0, 1, 255, 2};
  std::vector<uint8_t> result =
      runElementwiseText<uint8_t>("%r = arith.andi %a, %a : tensor<4xi1>", {"i1"}, "i1", in);
  EXPECT_EQ(result, (std::vector<uint8_t>{0, 1, 1, 1}));
}
