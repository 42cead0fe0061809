// What OpenCL's error numbers mean to users, and what they can do.
#ifndef BACKEND_SPIRV_OPENCLERRORS_H
#define BACKEND_SPIRV_OPENCLERRORS_H
#include "backend/gpu/device/DriverFailures.h"

namespace tw::spirv {

extern const gpu::FailureTable kOpenClFailures;

/// "CL_OUT_OF_RESOURCES", or the number where OpenCL has no name for it.
std::string nameOfError(int result);

} // namespace tw::spirv
#endif
