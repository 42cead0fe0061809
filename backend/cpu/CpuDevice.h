// Runs compiled kernels on the cores of this machine.
#ifndef BACKEND_CPU_CPUDEVICE_H
#define BACKEND_CPU_CPUDEVICE_H
#include "runtime/Device.h"

namespace tw {

/// 0 threads: one for each core that the process may use.
std::shared_ptr<Device> makeCpuDevice(int numThreads = 0);

/// The number of threads of a device that `makeCpuDevice` made. Setting it waits for a running
/// grid; false, and nothing changes, when that is a grid of this very thread or the wait is
/// interrupted.
int cpuThreads(Device &device);
bool setCpuThreads(Device &device, int numThreads);

} // namespace tw
#endif
