// Runs compiled GPU kernels on the simulator, on the caller's arrays in host memory.
#ifndef BACKEND_WARPSIM_DEVICE_WARPSIMDEVICE_H
#define BACKEND_WARPSIM_DEVICE_WARPSIMDEVICE_H
#include "backend/warpsim/Program.h"
#include "runtime/Simulation.h"
#include <functional>
#include <optional>

namespace tw {

/// Decodes the binary of an artifact; nothing, and why, where that cannot be executed.
using ProgramReader =
    std::function<std::optional<warpsim::Program>(const Artifact &artifact, RuntimeError &error)>;
std::optional<warpsim::Program> readPtx(const Artifact &artifact, RuntimeError &error);
/// Returns a reader of LLVM IR that was made for a target, "amd:gfx942".
ProgramReader irReader(const std::string &target);

/// The device "sim:<arch>". Before a launch of a kernel with promises, `promises` runs what decides
/// them (`Artifact::promises`); where it reports something, nothing is simulated.
std::shared_ptr<SimulatedDevice> makeWarpsimDevice(const std::string &arch,
                                                   ProgramReader reader = readPtx,
                                                   std::shared_ptr<Device> promises = nullptr);

} // namespace tw
#endif
