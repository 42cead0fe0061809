// Runs compiled kernels on NVIDIA GPUs by the CUDA driver.
#ifndef BACKEND_NVIDIA_CUDADEVICE_H
#define BACKEND_NVIDIA_CUDADEVICE_H
#include "backend/nvidia/NvidiaArch.h"
#include "backend/nvidia/device/CudaContext.h"
#include "runtime/DeviceMemory.h"

namespace tw {

/// The architecture to compile for on a GPU.
struct CudaArchChoice {
  const NvidiaArch *arch = nullptr; // null: the GPU is older than all of them
  bool isExact = false;             // else its machine code does not run, only its PTX
};

/// For a compute capability times ten (86): the GPU's own architecture, else the newest older one
/// whose PTX is forward compatible, which those with a suffix ("sm_90a") are not (PTX ISA,
/// "Target").
CudaArchChoice chooseCudaArch(int capability);

/// A GPU that the driver has, asked for by number. Its context is made when it is first needed.
struct CudaGpu {
  CudaArchChoice choice;
  std::shared_ptr<nvidia::CudaContext> context;
};
std::optional<CudaGpu> findCudaGpu(std::shared_ptr<const nvidia::CudaDriver> driver, int index,
                                   RuntimeError &error);

/// The device "cuda:<index>". Launches are asynchronous, on the stream of the launch.
std::shared_ptr<Device> makeCudaDevice(const CudaGpu &gpu);

/// Memory of the GPU behind a device that `makeCudaDevice` made.
std::shared_ptr<DeviceMemory> allocateCudaMemory(Device &device, uint64_t bytes,
                                                 RuntimeError &error);

} // namespace tw
#endif
