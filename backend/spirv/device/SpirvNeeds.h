// Checks that a device has what a module of SPIR-V needs, by the module's capabilities.
#ifndef BACKEND_SPIRV_SPIRVNEEDS_H
#define BACKEND_SPIRV_SPIRVNEEDS_H
#include "backend/spirv/device/OpenClDriver.h"
#include <string_view>

namespace tw::spirv {

/// Refuses a kernel whose module uses what the device lacks, and says what that is. `lanes`: of its
/// subgroups.
std::optional<RuntimeError> checkNeeds(const OpenClEntry &entry, const std::string &device,
                                       const std::string &kernel, std::string_view module,
                                       uint64_t lanes);

} // namespace tw::spirv
#endif
