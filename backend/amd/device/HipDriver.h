// The HIP runtime, as one of the drivers that GPUs have.
#ifndef BACKEND_AMD_HIPDRIVER_H
#define BACKEND_AMD_HIPDRIVER_H
#include "backend/gpu/device/Driver.h"

namespace tw::amd {

const gpu::DriverKind &hipDriver();

/// The architecture of a GPU as the runtime names it, "gfx942:sramecc+:xnack-"; "" where it does
/// not.
std::string archNameOf(const gpu::DriverFunctions &call, gpu::DeviceOrdinal device);

} // namespace tw::amd
#endif
