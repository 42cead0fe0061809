// Drives the double of libcuda (test/unit/cuda_double) in tests of what uses the CUDA driver.
#ifndef TEST_UNIT_BACKEND_CUDADOUBLE_H
#define TEST_UNIT_BACKEND_CUDADOUBLE_H
#include "backend/gpu/device/GpuDevice.h"
#include "backend/nvidia/device/CudaDriver.h"
#include "backend/nvidia/device/CudaGpu.h"
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace tw::test {

/// The build puts the doubles beside the test program.
inline std::string cudaDoublePath(const std::string &name = "libcuda_double.so") {
  return (std::filesystem::canonical("/proc/self/exe").parent_path() / name).string();
}

/// A kernel of a pointer, an i32 and a half, as the NVIDIA target writes one.
inline Artifact cudaArtifact(int64_t numWarps = 4, int64_t sharedBytes = 0) {
  Artifact artifact;
  artifact.symbol = "scale";
  artifact.binary = ".version 8.0\n.target sm_80\n.address_size 64\n"
                    ".visible .entry scale(\n"
                    "\t.param .u64 .ptr .global .align 16 scale_param_0,\n"
                    "\t.param .u32 scale_param_1,\n"
                    "\t.param .align 2 .b8 scale_param_2[2]\n)\n{ ret; }\n";
  artifact.parameters = {{"out", "*fp32", true, false, 0},
                         {"n", "i32", false, false, 1},
                         {"s", "fp16", false, false, 2}};
  artifact.resources = {
      {"num_warps", numWarps}, {"threads", 32 * numWarps}, {"shared_bytes", sharedBytes}};
  return artifact;
}

/// The arguments that the double writes down as 8877665544332211, 07000000 and 003c.
inline std::vector<LaunchArgument> cudaArguments() {
  std::vector<LaunchArgument> arguments(3);
  arguments[0].bits = 0x1122334455667788;
  arguments[1].bits = 0xFFFFFFFF00000007; // the high half is not the parameter's
  arguments[2].bits = 0x3C00;
  return arguments;
}

class CudaTest : public testing::Test {
protected:
  void SetUp() override {
    void *library = dlopen(cudaDoublePath().c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    configureDouble =
        reinterpret_cast<void (*)(const char *)>(dlsym(library, "cudaDoubleConfigure"));
    readRecord = reinterpret_cast<const char *(*)()>(dlsym(library, "cudaDoubleRecord"));
    countLive = reinterpret_cast<int (*)()>(dlsym(library, "cudaDoubleLiveObjects"));
    pushContext = reinterpret_cast<int (*)(void *)>(dlsym(library, "cuCtxPushCurrent_v2"));
    popContext = reinterpret_cast<int (*)(void **)>(dlsym(library, "cuCtxPopCurrent_v2"));
    ASSERT_TRUE(configureDouble && readRecord && countLive && pushContext && popContext);
    configure("");
    numLiveBefore = countLive();
  }

  void configure(const std::string &words) { configureDouble(words.c_str()); }
  std::string record() { return readRecord(); }
  /// Objects of the driver that were made since the test began and are still there.
  int numLive() { return countLive() - numLiveBefore; }
  bool hasCalled(const std::string &text) { return record().find(text) != std::string::npos; }

  /// The GPU with a number, or null with `error`.
  std::optional<CudaGpu> openGpu(int index = 0) {
    auto driver = gpu::openDriver(nvidia::cudaDriver(), cudaDoublePath(), error);
    return driver ? findCudaGpu(driver, index, error) : std::nullopt;
  }
  std::shared_ptr<Device> openDevice(int index = 0) {
    std::optional<CudaGpu> gpu = openGpu(index);
    return gpu ? gpu::makeGpuDevice(gpu->context) : nullptr;
  }
  /// Loads and launches the kernel of `cudaArtifact`; the failure of either.
  std::optional<RuntimeError> runOnce(Device &device, const LaunchGrid &grid = {{4, 2, 1}, 0x77}) {
    std::shared_ptr<LoadedKernel> kernel = device.load(cudaArtifact(), error);
    if (!kernel)
      return error;
    return device.launch(*kernel, grid, cudaArguments());
  }

  RuntimeError error;
  int (*pushContext)(void *) = nullptr;
  int (*popContext)(void **) = nullptr;

private:
  void (*configureDouble)(const char *) = nullptr;
  const char *(*readRecord)() = nullptr;
  int (*countLive)() = nullptr;
  int numLiveBefore = 0;
};

} // namespace tw::test
#endif
