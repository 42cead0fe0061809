// Drives the double of libamdhip64 (test/unit/hip_double) in tests of what uses the HIP runtime.
#ifndef TEST_UNIT_BACKEND_HIPDOUBLE_H
#define TEST_UNIT_BACKEND_HIPDOUBLE_H
#include "backend/amd/AmdTarget.h"
#include "backend/amd/LowerAmd.h"
#include "backend/amd/device/HipDriver.h"
#include "backend/amd/device/HipGpu.h"
#include "backend/compile/Compiler.h"
#include "backend/gpu/device/GpuDevice.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace tw::test {

/// The build puts the doubles beside the test program.
inline std::string hipDoublePath(const std::string &name = "libamdhip64_double.so") {
  return (std::filesystem::canonical("/proc/self/exe").parent_path() / name).string();
}

/// A kernel of a pointer, an i32 and a half, which writes the number of each of its threads.
inline Artifact hipArtifact(const std::string &arch = "gfx942", int64_t numWarps = 4,
                            AmdCode code = AmdCode::Hsaco) {
  std::shared_ptr<mlir::MLIRContext> context = acquireThreadContext();
  std::string text = "module attributes {simt.num_warps = " + std::to_string(numWarps) +
                     " : i32, simt.shared_bytes = 0 : i64} {\n"
                     "llvm.func @number(%p: !llvm.ptr<1>, %n: i32, %s: f16) attributes "
                     "{simt.kernel} {\n%t = simt.thread_id\n"
                     "%q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
                     "%v = llvm.add %t, %n : i32\nllvm.store %v, %q : i32, !llvm.ptr<1>\n"
                     "llvm.return\n}\n}";
  Artifact artifact;
  artifact.symbol = "number";
  artifact.parameters = {{"out", "*i32", true, false, 0},
                         {"n", "i32", false, false, 1},
                         {"s", "fp16", false, false, 2}};
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get(), "k.py");
  const AmdArch *row = findAmdArch(arch);
  EXPECT_TRUE(module && row) << text;
  (*module)->setAttr(kTargetAttribute, describeAmd(*context, *row));
  mlir::PassManager passes(context.get());
  passes.addPass(createLowerAmd(*row));
  passes.addPass(createLowerToLlvm());
  std::string error;
  EXPECT_TRUE(mlir::succeeded(passes.run(*module)));
  EXPECT_TRUE(makeAmdTarget(arch, code)->compile(*module, artifact, error)) << error;
  return artifact;
}

class HipTest : public testing::Test {
protected:
  void SetUp() override {
    void *library = dlopen(hipDoublePath().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    configureDouble =
        reinterpret_cast<void (*)(const char *)>(dlsym(library, "hipDoubleConfigure"));
    readRecord = reinterpret_cast<const char *(*)()>(dlsym(library, "hipDoubleRecord"));
    countLive = reinterpret_cast<int (*)()>(dlsym(library, "hipDoubleLiveObjects"));
    chooseDevice = reinterpret_cast<int (*)(int)>(dlsym(library, "hipSetDevice"));
    currentDevice = reinterpret_cast<int (*)(int *)>(dlsym(library, "hipGetDevice"));
    takeLastFailure = reinterpret_cast<int (*)()>(dlsym(library, "hipGetLastError"));
    ASSERT_TRUE(configureDouble && readRecord && countLive && chooseDevice && currentDevice &&
                takeLastFailure);
    configure("");
    takeLastFailure();
    numLiveBefore = countLive();
  }

  void configure(const std::string &words) { configureDouble(words.c_str()); }
  std::string record() { return readRecord(); }
  int numLive() { return countLive() - numLiveBefore; }
  /// What the calling thread's calls left behind for whoever asks next.
  int (*takeLastFailure)() = nullptr;
  bool hasCalled(const std::string &text) { return record().find(text) != std::string::npos; }

  /// The GPU with a number, or null with `error`.
  std::optional<HipGpu> openGpu(int index = 0) {
    auto driver = gpu::openDriver(amd::hipDriver(), hipDoublePath(), error);
    return driver ? findHipGpu(driver, index, error) : std::nullopt;
  }
  std::shared_ptr<Device> openDevice(int index = 0) {
    std::optional<HipGpu> gpu = openGpu(index);
    return gpu ? gpu::makeGpuDevice(gpu->context) : nullptr;
  }
  static std::vector<LaunchArgument> arguments(uint64_t address = 0x1122334455667788) {
    std::vector<LaunchArgument> list(3);
    list[0].bits = address;
    list[1].bits = 0xFFFFFFFF00000007; // the high half is not the parameter's
    list[2].bits = 0x3C00;
    return list;
  }
  /// Loads and launches a kernel; the failure of either.
  std::optional<RuntimeError> runOnce(Device &device, const Artifact &artifact,
                                      const LaunchGrid &grid = {{4, 2, 1}, 0x77}) {
    std::shared_ptr<LoadedKernel> kernel = device.load(artifact, error);
    if (!kernel)
      return error;
    return device.launch(*kernel, grid, arguments());
  }

  RuntimeError error;
  int (*chooseDevice)(int) = nullptr;
  int (*currentDevice)(int *) = nullptr;

private:
  void (*configureDouble)(const char *) = nullptr;
  const char *(*readRecord)() = nullptr;
  int (*countLive)() = nullptr;
  int numLiveBefore = 0;
};

} // namespace tw::test
#endif
