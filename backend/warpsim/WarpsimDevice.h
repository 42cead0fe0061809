// Runs compiled GPU kernels on the simulator, on the caller's arrays in host memory.
#ifndef BACKEND_WARPSIM_WARPSIMDEVICE_H
#define BACKEND_WARPSIM_WARPSIMDEVICE_H
#include "runtime/Simulation.h"

namespace tw {

/// The device "sim:<arch>".
std::shared_ptr<SimulatedDevice> makeWarpsimDevice(const std::string &arch);

} // namespace tw
#endif
