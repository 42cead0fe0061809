// What the CUDA driver's error numbers mean to users, and what they can do.
#ifndef BACKEND_NVIDIA_CUDAERRORS_H
#define BACKEND_NVIDIA_CUDAERRORS_H
#include "backend/gpu/device/DriverFailures.h"

namespace tw::nvidia {

extern const gpu::FailureTable kCudaFailures;

} // namespace tw::nvidia
#endif
