// What the CUDA driver's error numbers mean to users, and what they can do.
#ifndef BACKEND_NVIDIA_CUDAERRORS_H
#define BACKEND_NVIDIA_CUDAERRORS_H
#include "backend/nvidia/device/CudaDriver.h"

namespace tw::nvidia {

/// A call of the driver that failed.
struct CudaFailure {
  CudaResult result = kCudaSuccess;
  const char *function = ""; // "cuLaunchKernel"
  std::string device;        // "cuda:0"
  std::string action;        // what it was done for: "launching kernel add"
  std::string simulator;     // "sim:sm_80": the device that can find a kernel's fault
  std::string suspects;      // kernels launched before, the last one first: "add, softmax"
};

/// The report of a failure. Failures of kernels that ran earlier say so: the driver returns them
/// from whatever call comes next, and from every call after that.
RuntimeError describeCudaFailure(const CudaDriver &driver, const CudaFailure &failure);

} // namespace tw::nvidia
#endif
