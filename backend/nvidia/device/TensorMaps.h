// Tensor maps in the form that the CUDA driver gives them.
#ifndef BACKEND_NVIDIA_DEVICE_TENSORMAPS_H
#define BACKEND_NVIDIA_DEVICE_TENSORMAPS_H
#include "backend/gpu/device/GpuContext.h"

namespace tw::nvidia {

/// Writes a map to `bytes`, which are aligned for it. The driver needs no GPU for that.
std::optional<RuntimeError> encodeTensorMap(gpu::GpuContext &context, const TensorMapRecipe &recipe,
                                            const TensorMapNumbers &numbers, void *bytes);

} // namespace tw::nvidia
#endif
