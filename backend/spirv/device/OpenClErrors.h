// What OpenCL's error numbers mean to users, and what they can do.
#ifndef BACKEND_SPIRV_OPENCLERRORS_H
#define BACKEND_SPIRV_OPENCLERRORS_H
#include "backend/gpu/device/DriverFailures.h"

namespace tw::spirv {

extern const gpu::FailureTable kOpenClFailures;
inline constexpr char kInstallDriver[] =
    "install a driver: pip install intel-opencl-rt intel-cmplr-lib-rt for processors, "
    "intel-opencl-icd of the distribution for Intel's GPUs; clinfo lists what there is";

/// "CL_OUT_OF_RESOURCES", or the number where OpenCL has no name for it.
std::string nameOfError(int result);

} // namespace tw::spirv
#endif
