// The CPU device runs every program once, with the right arguments, and refuses what it must.
#include "backend/cpu/CpuDevice.h"
#include "runtime/codes/Codes.h"
#include "test/unit/backend/LlvmDialectKernel.h"
#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tw;

/// x[x + nx * (y + ny * z)] += 1 for the program (x, y, z); x is argument 0.
static const char *const kCountPrograms = R"(
  %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
  %id0 = llvm.load %program : !llvm.ptr -> i32
  %p1 = llvm.getelementptr %program[4] : (!llvm.ptr) -> !llvm.ptr, i8
  %id1 = llvm.load %p1 : !llvm.ptr -> i32
  %p2 = llvm.getelementptr %program[8] : (!llvm.ptr) -> !llvm.ptr, i8
  %id2 = llvm.load %p2 : !llvm.ptr -> i32
  %p3 = llvm.getelementptr %program[12] : (!llvm.ptr) -> !llvm.ptr, i8
  %n0 = llvm.load %p3 : !llvm.ptr -> i32
  %p4 = llvm.getelementptr %program[16] : (!llvm.ptr) -> !llvm.ptr, i8
  %n1 = llvm.load %p4 : !llvm.ptr -> i32
  %a = llvm.mul %n1, %id2 : i32
  %b = llvm.add %a, %id1 : i32
  %c = llvm.mul %b, %n0 : i32
  %i = llvm.add %c, %id0 : i32
  %p = llvm.getelementptr %x[%i] : (!llvm.ptr, i32) -> !llvm.ptr, i32
  %old = llvm.load %p : !llvm.ptr -> i32
  %one = llvm.mlir.constant(1 : i32) : i32
  %new = llvm.add %old, %one : i32
  llvm.store %new, %p : i32, !llvm.ptr)";

namespace {
struct CpuDeviceTest : testing::Test {
  std::shared_ptr<LoadedKernel> load(const std::string &body,
                                     const std::string &declarations = "") {
    std::string error;
    if (!compileLlvmKernel(body, artifact, error, declarations)) {
      ADD_FAILURE() << error;
      return nullptr;
    }
    std::shared_ptr<LoadedKernel> kernel = device->load(artifact, loadError);
    return kernel;
  }
  static LaunchArgument pointer(void *address, bool isReadOnly = false) {
    return {reinterpret_cast<uint64_t>(address), 0, 0, isReadOnly};
  }
  CpuDeviceTest() { artifact.parameters = {{"x", "*i32", true, true, 0}}; }
  Artifact artifact;
  RuntimeError loadError;
  std::shared_ptr<Device> device = makeCpuDevice(3);
};
} // namespace

TEST_F(CpuDeviceTest, SaysWhereItsFunctionsLie) {
  auto first = load(kCountPrograms), second = load(kCountPrograms);
  ASSERT_TRUE(first && second) << loadError.message;
  ASSERT_EQ(first->codeRanges().size(), 1u);
  ASSERT_EQ(second->codeRanges().size(), 1u);
  const CodeRange &one = first->codeRanges()[0], &other = second->codeRanges()[0];
  EXPECT_EQ(one.name, artifact.symbol);
  EXPECT_GT(one.bytes, 0u);
  EXPECT_TRUE(one.address + one.bytes <= other.address ||
              other.address + other.bytes <= one.address);
}

TEST_F(CpuDeviceTest, RunsEveryProgramOnce) {
  auto kernel = load(kCountPrograms);
  ASSERT_TRUE(kernel) << loadError.message;
  for (LaunchGrid grid : {LaunchGrid{{1, 1, 1}}, LaunchGrid{{7, 5, 3}}, LaunchGrid{{1, 1, 1000}},
                          LaunchGrid{{1000, 3, 1}}}) {
    size_t count = size_t(grid.programs[0]) * grid.programs[1] * grid.programs[2];
    std::vector<int32_t> counts(count, 0);
    std::vector<LaunchArgument> arguments = {pointer(counts.data())};
    EXPECT_FALSE(device->launch(*kernel, grid, arguments));
    EXPECT_EQ(counts, std::vector<int32_t>(count, 1));
  }
}

TEST_F(CpuDeviceTest, ZeroProgramsAreNothing) {
  auto kernel = load(kCountPrograms);
  ASSERT_TRUE(kernel);
  std::vector<LaunchArgument> arguments = {pointer(nullptr)};
  for (LaunchGrid grid : {LaunchGrid{{0, 1, 1}}, LaunchGrid{{4, 0, 1}}, LaunchGrid{{4, 4, 0}}})
    EXPECT_FALSE(device->launch(*kernel, grid, arguments));
}

TEST_F(CpuDeviceTest, RefusesBadLaunches) {
  auto kernel = load(kCountPrograms);
  ASSERT_TRUE(kernel);
  int32_t cell = 0;
  std::vector<LaunchArgument> arguments = {pointer(&cell)};
  EXPECT_EQ(device->launch(*kernel, {{4, -1, 1}}, arguments)->code, Code::BadGrid);
  EXPECT_EQ(device->launch(*kernel, {{INT32_MAX, INT32_MAX, INT32_MAX}}, arguments)->code,
            Code::BadGrid);
  EXPECT_EQ(device->launch(*kernel, {}, {})->code, Code::LaunchArguments);
  std::vector<LaunchArgument> readOnly = {pointer(&cell, true)};
  std::optional<RuntimeError> error = device->launch(*kernel, {}, readOnly);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Code::ReadOnlyArgument);
  EXPECT_NE(error->message.find("`x`"), std::string::npos);
  EXPECT_EQ(cell, 0);
}

TEST_F(CpuDeviceTest, MathLibrariesAreFound) {
  const char *body = R"(
    %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %v = llvm.load %x : !llvm.ptr -> f32
    %w = llvm.call @erff(%v) : (f32) -> f32
    llvm.store %w, %x : f32, !llvm.ptr)";
  auto kernel = load(body, "llvm.func @erff(f32) -> f32");
  ASSERT_TRUE(kernel) << loadError.message;
  float value = 0.5f;
  std::vector<LaunchArgument> arguments = {pointer(&value)};
  EXPECT_FALSE(device->launch(*kernel, {}, arguments));
  EXPECT_FLOAT_EQ(value, erff(0.5f));
}

TEST_F(CpuDeviceTest, NothingElseOfTheProcessIsFound) {
  EXPECT_FALSE(
      load("llvm.call @system(%args) : (!llvm.ptr) -> ()", "llvm.func @system(!llvm.ptr)"));
  EXPECT_EQ(loadError.code, Code::UnloadableKernel);
  EXPECT_NE(loadError.message.find("system"), std::string::npos) << loadError.message;
}

TEST_F(CpuDeviceTest, DamagedObjectsAreErrors) {
  ASSERT_TRUE(load(kCountPrograms));
  std::string original = artifact.binary;
  for (const std::string &bytes :
       {std::string(), std::string("not an object"), original.substr(0, original.size() / 2)}) {
    artifact.binary = bytes;
    EXPECT_FALSE(device->load(artifact, loadError));
    EXPECT_EQ(loadError.code, Code::UnloadableKernel);
  }
  artifact.binary = original;
  artifact.symbol = "another";
  EXPECT_FALSE(device->load(artifact, loadError));
}

TEST_F(CpuDeviceTest, FirstFailedAssertionIsReported) {
  const char *body = R"(
    %m = llvm.mlir.addressof @message : !llvm.ptr
    %w = llvm.mlir.addressof @where : !llvm.ptr
    %s = llvm.mlir.addressof @shape : !llvm.ptr
    %i = llvm.mlir.constant(13 : i64) : i64
    llvm.call @tw_device_assert(%program, %m, %w, %s, %i)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ())";
  auto kernel = load(body, R"(
    llvm.mlir.global internal constant @message("n is positive\00")
    llvm.mlir.global internal constant @where("k.py:12\00")
    llvm.mlir.global internal constant @shape("4x8\00")
    llvm.func @tw_device_assert(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64))");
  ASSERT_TRUE(kernel) << loadError.message;
  std::vector<LaunchArgument> arguments = {pointer(nullptr)};
  for (int i = 0; i < 10; ++i) {
    std::optional<RuntimeError> error = device->launch(*kernel, {{40, 2, 1}}, arguments);
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code, Code::DeviceAssert);
    EXPECT_EQ(error->message,
              "device-side assert failed at k.py:12: n is positive (pid (0, 0, 0) idx (1, 5))");
  }
}

TEST_F(CpuDeviceTest, PrintsOneLineForEachValue) {
  const char *body = R"(
    %m = llvm.mlir.addressof @prefix : !llvm.ptr
    %t = llvm.mlir.constant(105 : i8) : i8
    %h = llvm.mlir.constant(0 : i32) : i32
    %s = llvm.mlir.addressof @shape : !llvm.ptr
    %i = llvm.mlir.constant(0 : i64) : i64
    %v = llvm.mlir.constant(-7 : i64) : i64
    llvm.call @tw_device_print(%program, %m, %s, %t, %h, %i, %v)
      : (!llvm.ptr, !llvm.ptr, !llvm.ptr, i8, i32, i64, i64) -> ())";
  auto kernel = load(body, R"(
    llvm.mlir.global internal constant @prefix(" n: \00")
    llvm.mlir.global internal constant @shape("\00")
    llvm.func @tw_device_print(!llvm.ptr, !llvm.ptr, !llvm.ptr, i8, i32, i64, i64))");
  ASSERT_TRUE(kernel) << loadError.message;
  std::vector<LaunchArgument> arguments = {pointer(nullptr)};
  testing::internal::CaptureStdout();
  EXPECT_FALSE(device->launch(*kernel, {{1, 2, 1}}, arguments));
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("pid (0, 0, 0) idx () n: -7\n"), std::string::npos) << text;
  EXPECT_NE(text.find("pid (0, 1, 0) idx () n: -7\n"), std::string::npos) << text;
}

TEST_F(CpuDeviceTest, ScratchIsAlignedAndPrivate) {
  const char *body = R"(
    %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %id = llvm.load %program : !llvm.ptr -> i32
    %ps = llvm.getelementptr %program[24] : (!llvm.ptr) -> !llvm.ptr, i8
    %s = llvm.load %ps : !llvm.ptr -> !llvm.ptr
    %last = llvm.getelementptr %s[99996] : (!llvm.ptr) -> !llvm.ptr, i8
    llvm.store volatile %id, %last : i32, !llvm.ptr
    %back = llvm.load volatile %last : !llvm.ptr -> i32
    %q = llvm.ptrtoint %s : !llvm.ptr to i64
    %m = llvm.mlir.constant(63 : i64) : i64
    %r = llvm.and %q, %m : i64
    %t = llvm.trunc %r : i64 to i32
    %v = llvm.add %back, %t : i32
    %p = llvm.getelementptr %x[%id] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    llvm.store %v, %p : i32, !llvm.ptr)";
  artifact.scratchBytes = 100'000;
  auto kernel = load(body);
  ASSERT_TRUE(kernel) << loadError.message;
  std::vector<int32_t> ids(20'000, -1), expected(ids.size());
  for (size_t i = 0; i < ids.size(); ++i)
    expected[i] = int32_t(i);
  std::vector<LaunchArgument> arguments = {pointer(ids.data())};
  EXPECT_FALSE(device->launch(*kernel, {{int32_t(ids.size()), 1, 1}}, arguments));
  EXPECT_EQ(ids, expected);
}

TEST_F(CpuDeviceTest, TooMuchScratchIsAnError) {
  artifact.scratchBytes = uint64_t(1) << 60;
  auto kernel = load(kCountPrograms);
  ASSERT_TRUE(kernel);
  artifact.scratchBytes = 0;
  int32_t cell = 0;
  std::vector<LaunchArgument> arguments = {pointer(&cell)};
  EXPECT_EQ(device->launch(*kernel, {}, arguments)->code, Code::NoTemporaryMemory);
}

#if defined(__x86_64__)
TEST_F(CpuDeviceTest, CallersFlushToZeroDoesNotReachKernels) {
  const char *body = R"(
    %x = llvm.load %args : !llvm.ptr -> !llvm.ptr
    %v = llvm.load %x : !llvm.ptr -> f32
    %h = llvm.mlir.constant(0.5 : f32) : f32
    %w = llvm.fmul %v, %h : f32
    llvm.store %w, %x : f32, !llvm.ptr)";
  auto kernel = load(body);
  ASSERT_TRUE(kernel);
  float value = 1.17549435e-38f; // the least normal number: its half is a denormal
  std::vector<LaunchArgument> arguments = {pointer(&value)};
  unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  EXPECT_FALSE(device->launch(*kernel, {}, arguments));
  EXPECT_EQ(_mm_getcsr(), saved | 0x8040);
  _mm_setcsr(saved);
  EXPECT_GT(value, 0.0f);
}
#endif

TEST_F(CpuDeviceTest, ThousandsOfKernelsComeAndGo) {
  ASSERT_TRUE(load(kCountPrograms));
  int32_t cell = 0;
  std::vector<LaunchArgument> arguments = {pointer(&cell)};
  for (int i = 0; i < 2000; ++i) {
    auto kernel = device->load(artifact, loadError);
    ASSERT_TRUE(kernel) << loadError.message;
    ASSERT_FALSE(device->launch(*kernel, {}, arguments));
  }
  EXPECT_EQ(cell, 2000);
}

TEST_F(CpuDeviceTest, ThreadCountCanChange) {
  auto kernel = load(kCountPrograms);
  ASSERT_TRUE(kernel);
  for (int threads : {1, 5, 2}) {
    device->setNumThreads(threads);
    EXPECT_EQ(device->numThreads(), threads);
    std::vector<int32_t> counts(100, 0);
    std::vector<LaunchArgument> arguments = {pointer(counts.data())};
    EXPECT_FALSE(device->launch(*kernel, {{100, 1, 1}}, arguments));
    EXPECT_EQ(counts, std::vector<int32_t>(100, 1));
  }
}
