// Runs compiled kernels on the cores of this machine.
#ifndef BACKEND_CPU_CPUDEVICE_H
#define BACKEND_CPU_CPUDEVICE_H
#include "runtime/Device.h"

namespace tw {

/// 0 threads: one for each core that the process may use. Before a launch of a kernel with
/// `Artifact::promises`, `promises` runs them; where it reports something, nothing is launched.
std::shared_ptr<Device> makeCpuDevice(int numThreads = 0,
                                      std::shared_ptr<Device> promises = nullptr);

} // namespace tw
#endif
