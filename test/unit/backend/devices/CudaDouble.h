// Drives the double of libcuda (test/unit/cuda_double) in tests of what uses the CUDA driver.
#ifndef TEST_UNIT_BACKEND_CUDADOUBLE_H
#define TEST_UNIT_BACKEND_CUDADOUBLE_H
#include "backend/gpu/device/GpuDevice.h"
#include "backend/nvidia/device/CudaDriver.h"
#include "backend/nvidia/device/CudaGpu.h"
#include "test/unit/backend/devices/DriverDouble.h"

namespace tw::test {

inline std::string cudaDoublePath() { return doublePath("libcuda_double.so"); }

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

class CudaTest : public DriverTest {
protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(openDouble(cudaDoublePath(), "cuda"));
    pushContext = find<int(void *)>("cuCtxPushCurrent_v2");
    popContext = find<int(void **)>("cuCtxPopCurrent_v2");
    ASSERT_TRUE(pushContext && popContext);
  }

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
    return launchOnce(device, cudaArtifact(), grid);
  }

  int (*pushContext)(void *) = nullptr;
  int (*popContext)(void **) = nullptr;
};

} // namespace tw::test
#endif
