// Runs compiled kernels on OpenCL devices.
#ifndef BACKEND_SPIRV_OPENCLDEVICE_H
#define BACKEND_SPIRV_OPENCLDEVICE_H
#include "backend/spirv/device/OpenClContext.h"

namespace tw::spirv {

/// The device of a context. Arrays are the host's, so a launch has ended when it returns.
std::shared_ptr<Device> makeOpenClDevice(std::shared_ptr<OpenClContext> context);

} // namespace tw::spirv
#endif
