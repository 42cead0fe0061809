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

/// Reads what follows the prefix in the name of a device that a driver numbers; nothing, and why,
/// where that is not one.
std::optional<int> readNumber(const std::string &prefix, const std::string &number,
                              RuntimeError &error);
/// Why a driver has no device of a number, or nothing.
std::optional<RuntimeError> checkIndex(const Driver &driver, int index);
/// Why there is no device of a number where there are so many, or nothing. `visibleDevices` says
/// what hides devices.
std::optional<RuntimeError> checkNumber(const std::string &prefix, int number, int numDevices,
                                        const std::string &visibleDevices);

/// The first value of a setting; "" where it has none.
std::string firstSetting(const TargetSettings &settings, const char *name);

} // namespace tw::gpu
#endif
