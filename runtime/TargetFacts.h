// What callers of the compiler have to know of a target or device, by its name alone.
#ifndef RUNTIME_TARGETFACTS_H
#define RUNTIME_TARGETFACTS_H
#include <cstdint>
#include <string>
#include <vector>

namespace tw {

/// When a device checks what a kernel does or promises, such as its accesses, for which launches
/// then describe the memory behind their pointers.
enum class AccessChecks { Never, DebugBuilds, Always };

/// How frameworks name the memory that a kind of devices has for itself.
struct DeviceMemoryNames {
  std::string torchType;  // the type of torch's devices
  std::string torchBuild; // what `torch.version` has a version of where torch was built for it
  std::vector<int> dlpackTypes; // values of DLDeviceType
};

struct TargetFacts {
  std::string kind;         // what stands before the colon of the name, or all of it
  int index = 0;            // of devices that are numbered
  bool isSimulated = false; // executes another machine's code and reports on it
  unsigned warpSize = 1;    // lanes; 1 where a program is one thread
  AccessChecks checksAccesses = AccessChecks::Never;
  /// Arrays lie in memory of the device, and launches go to one of its streams.
  bool hasMemory = false;
  /// Offsets of 32 bits count bytes there, not elements: memory that they do not reach is large.
  bool countsBytes = false;
  DeviceMemoryNames memory;
  /// How kernels and their callers ask for the maker and the machine: ("cpu", "x86-64-v3").
  std::string backend, arch;
  uint64_t sharedBytes = 0; // that one program may have; 0 where there is no such memory
  /// Extents m, n and k of the instructions that multiply scaled floats of 8 and 4 bits.
  std::vector<std::array<unsigned, 3>> scaledProducts;
  uint64_t processorRegisters = 0; // that programs share at a time; 0: nobody says
  /// The words of `CompileOptions::extra` that not all targets heed.
  std::vector<std::string> options;
};

} // namespace tw
#endif
