// Runs compiled GPU kernels on the simulator, on the caller's arrays in host memory.
#ifndef BACKEND_WARPSIM_WARPSIMDEVICE_H
#define BACKEND_WARPSIM_WARPSIMDEVICE_H
#include "backend/warpsim/Simulate.h"
#include "runtime/Device.h"

namespace tw {

/// The device "sim:<arch>".
std::shared_ptr<Device> makeWarpsimDevice(const std::string &arch);
/// The report of the last launch on a device that `makeWarpsimDevice` made, as JSON; empty before.
std::string lastReportJson(Device &device);
void setSimulationOptions(Device &device, const warpsim::LaunchOptions &options);

} // namespace tw
#endif
