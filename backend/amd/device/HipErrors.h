// What the HIP runtime's error numbers mean to users, and what they can do.
#ifndef BACKEND_AMD_HIPERRORS_H
#define BACKEND_AMD_HIPERRORS_H
#include "backend/gpu/device/DriverFailures.h"

namespace tw::amd {

extern const gpu::FailureTable kHipFailures;
/// Where the runtime shows no GPU: the file of the kernel's driver is missing, or it or those of
/// all GPUs may not be opened.
extern const gpu::FailureRow kNoDeviceFile, kNoPermission, kNoPermissionForGpus;

} // namespace tw::amd
#endif
