// The CUDA driver's library, opened when it is first needed and never linked.
#ifndef BACKEND_NVIDIA_CUDADRIVER_H
#define BACKEND_NVIDIA_CUDADRIVER_H
#include "backend/nvidia/device/CudaFunctions.h"
#include "runtime/Device.h"
#include <memory>
#include <string>

namespace tw::nvidia {

struct CudaDriverSettings {
  std::string library; // path of the library; empty: libcuda.so.1 where the loader finds it
};

struct CudaDriver {
  CudaFunctions call = {};
  std::string library;
  int version = 0; // of CUDA, 12040 for 12.4
  int numDevices = 0;
};

/// Opens and initializes the driver; null with a reason in `error` when there is none, it is too
/// old or it has no GPU. The library stays open until the process ends.
std::shared_ptr<const CudaDriver> openCudaDriver(const CudaDriverSettings &settings,
                                                 RuntimeError &error);

/// "12.4" of 12040.
std::string cudaVersionText(int version);

} // namespace tw::nvidia
#endif
