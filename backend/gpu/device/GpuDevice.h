// Runs compiled kernels on GPUs by their driver.
#ifndef BACKEND_GPU_GPUDEVICE_H
#define BACKEND_GPU_GPUDEVICE_H
#include "backend/gpu/device/GpuContext.h"

namespace tw::gpu {

/// The device of a context. Launches are asynchronous, on the stream of the launch.
std::shared_ptr<Device> makeGpuDevice(std::shared_ptr<GpuContext> context);

} // namespace tw::gpu
#endif
