// The GPUs that the HIP runtime shows, and what to compile for on each.
#ifndef BACKEND_AMD_HIPGPU_H
#define BACKEND_AMD_HIPGPU_H
#include "backend/amd/machine/AmdArch.h"
#include "backend/gpu/device/GpuContext.h"

namespace tw {

/// A GPU that the runtime has, asked for by number. Nothing is done on it before it is needed.
struct HipGpu {
  const AmdArch *arch;
  std::shared_ptr<gpu::GpuContext> context;
};
std::optional<HipGpu> findHipGpu(std::shared_ptr<const gpu::Driver> driver, int index,
                                 RuntimeError &error);

} // namespace tw
#endif
