// The GPUs that the CUDA driver shows, and what to compile for on each.
#ifndef BACKEND_NVIDIA_CUDAGPU_H
#define BACKEND_NVIDIA_CUDAGPU_H
#include "backend/gpu/device/GpuContext.h"
#include "backend/nvidia/machine/NvidiaArch.h"

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
  std::shared_ptr<gpu::GpuContext> context;
};
std::optional<CudaGpu> findCudaGpu(std::shared_ptr<const gpu::Driver> driver, int index,
                                   RuntimeError &error);

} // namespace tw
#endif
