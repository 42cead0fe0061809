// The GPUs of this machine as targets whose variants are numbers: what the makers share of them.
#ifndef BACKEND_GPU_INSTALLEDGPUS_H
#define BACKEND_GPU_INSTALLEDGPUS_H
#include "backend/TargetKind.h"
#include "backend/gpu/device/Driver.h"

namespace tw::gpu {

/// The parts that differ between makers.
struct InstalledGpus {
  const DriverKind *driver;
  const char *librarySetting; // the path of the driver's library, as a process may set it
  /// Makes the target and device of a GPU that the driver has; nothing, and why, where no code is
  /// made for it.
  std::function<std::optional<TargetEntry>(std::shared_ptr<const Driver> driver, int index,
                                           const TargetSettings &settings, RuntimeError &error)>
      open;
};

/// Gives a kind its functions `make` and `countDevices`: "cuda:0", "cuda:1", ... The driver is
/// opened when the first of them is made, or when a count asks for that.
void addInstalledGpus(TargetKind &kind, InstalledGpus gpus);

/// The first value of a setting; "" where it has none.
std::string firstSetting(const TargetSettings &settings, const char *name);

} // namespace tw::gpu
#endif
