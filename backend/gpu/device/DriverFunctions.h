// The functions of a GPU's driver that devices call, in the form that CUDA's driver gave them and
// HIP's has, too: numbers for results, pointers for objects.
#ifndef BACKEND_GPU_DRIVERFUNCTIONS_H
#define BACKEND_GPU_DRIVERFUNCTIONS_H
#include <cstddef>
#include <cstdint>

namespace tw::gpu {

using DriverResult = int;
using DeviceOrdinal = int;
using DeviceAddress = uint64_t;
using DriverHandle = void *; // of a context, module, function, stream or event

inline constexpr DriverResult kSuccess = 0, kNotInitialized = 3, kNoDevice = 100;

/// A function of the driver with the name that reports give it. Some keep a thread's last failure
/// until somebody asks for it: it is asked for here, so that nobody else in the process, as torch
/// after its own launches, takes a failure that is reported here for one of theirs.
template <typename... Arguments> struct DriverCall {
  DriverResult (*function)(Arguments...) = nullptr;
  const char *name = "";
  DriverResult (*lastFailure)() = nullptr;
  DriverResult operator()(Arguments... arguments) const {
    DriverResult result = function(arguments...);
    if (result != kSuccess && lastFailure)
      (void)lastFailure();
    return result;
  }
};

/// A function that returns a text and cannot fail.
struct DriverText {
  const char *(*function)(DriverResult) = nullptr;
};

/// One member for each function that is called. Of `launch` the numbers are the programs and the
/// threads of one along three axes, and the bytes of its shared memory; of `loadModule` what its
/// options need is the maker's. A driver gives errors their names and texts in one of two ways, and
/// has either contexts, of which the one pushed last is current, or a current device.
struct DriverFunctions {
  DriverCall<unsigned> init;
  DriverCall<int *> driverVersion;
  DriverCall<DriverResult, const char **> errorName;
  DriverCall<DriverResult, const char **> errorText;
  DriverText nameOfError, textOfError;
  DriverCall<int *> deviceCount;
  DriverCall<DeviceOrdinal *, int> device;
  DriverCall<char *, int, DeviceOrdinal> deviceName;
  DriverCall<int *, int, DeviceOrdinal> deviceAttribute;
  DriverCall<void *, DeviceOrdinal> deviceProperties; // a structure of the maker's
  DriverCall<DriverHandle *, DeviceOrdinal> retainContext;
  DriverCall<DeviceOrdinal> releaseContext;
  DriverCall<DriverHandle> pushContext;
  DriverCall<DriverHandle *> popContext;
  DriverCall<int *> currentDevice;
  DriverCall<int> chooseDevice;
  DriverCall<> synchronizeContext;
  DriverCall<DriverHandle *, const void *, unsigned, int *, void **> loadModule;
  DriverCall<DriverHandle> unloadModule;
  /// Null where there is none: sets how strictly captures of graphs forbid calls in this thread.
  DriverCall<int *> exchangeCaptureMode;
  DriverCall<DriverHandle *, DriverHandle, const char *> findFunction;
  DriverCall<int *, int, DriverHandle> functionAttribute;
  DriverCall<DriverHandle, int, int> setFunctionAttribute;
  DriverCall<DriverHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
             DriverHandle, void **, void **>
      launch;
  /// Null in drivers that are older than the two.
  DriverCall<DriverHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
             DriverHandle, void **>
      launchCooperative;
  /// Null where there is none: a launch as a structure of the maker's, with attributes.
  DriverCall<const void *, DriverHandle, void **, void **> launchByConfiguration;
  DriverCall<int *, DriverHandle, int, size_t> programsPerProcessor;
  /// Null where there are no tensor maps: the map, the elements' type, the rank, the base, extents,
  /// strides, box and element strides, and how to interleave, swizzle, fetch and fill.
  DriverCall<void *, int, unsigned, void *, const uint64_t *, const uint64_t *, const uint32_t *,
             const uint32_t *, int, int, int, int>
      encodeTensorMap;
  DriverCall<DeviceAddress *, size_t> allocate;
  DriverCall<DeviceAddress> release;
  DriverCall<DeviceAddress, const void *, size_t> copyToDevice;
  DriverCall<void *, DeviceAddress, size_t> copyToHost;
  DriverCall<DriverHandle *, unsigned> createEvent;
  DriverCall<DriverHandle, DriverHandle> recordEvent;
  DriverCall<DriverHandle> synchronizeEvent;
  DriverCall<float *, DriverHandle, DriverHandle> elapsedTime;
  DriverCall<DriverHandle> destroyEvent;
};

} // namespace tw::gpu
#endif
