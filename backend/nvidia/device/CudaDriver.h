// The CUDA driver, as one of the drivers that GPUs have.
#ifndef BACKEND_NVIDIA_CUDADRIVER_H
#define BACKEND_NVIDIA_CUDADRIVER_H
#include "backend/gpu/device/Driver.h"

namespace tw::nvidia {

/// Values of CUdevice_attribute: a compute capability's parts.
enum CapabilityAttribute : int { kCapabilityMajor = 75, kCapabilityMinor = 76 };

const gpu::DriverKind &cudaDriver();

} // namespace tw::nvidia
#endif
