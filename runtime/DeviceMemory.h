// Memory that belongs to a device and that the host reaches by copies only.
#ifndef RUNTIME_DEVICEMEMORY_H
#define RUNTIME_DEVICEMEMORY_H
#include "runtime/Device.h"

namespace tw {

/// Freed with the object. Copies wait for what was launched on the device's default stream.
class DeviceMemory {
public:
  virtual ~DeviceMemory() = default;
  virtual uint64_t address() const = 0;
  virtual uint64_t bytes() const = 0;
  /// Copies all of it; `host` has as many bytes.
  virtual std::optional<RuntimeError> copyFrom(const void *host) = 0;
  virtual std::optional<RuntimeError> copyTo(void *host) const = 0;
};

} // namespace tw
#endif
