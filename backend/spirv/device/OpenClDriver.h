// OpenCL's libraries on this machine, opened at the first use and never linked, and the devices
// that take SPIR-V.
#ifndef BACKEND_SPIRV_OPENCLDRIVER_H
#define BACKEND_SPIRV_OPENCLDRIVER_H
#include "backend/spirv/device/OpenClFunctions.h"
#include "runtime/Device.h"
#include <array>
#include <memory>
#include <vector>

namespace tw::spirv {

/// How kernels reach the arrays of a launch.
enum class ArrayAccess {
  Direct,      // where they lie, by OpenCL's shared virtual memory
  DirectUsm,   // the same, by unified shared memory
  CopyUsm,     // in copies in unified shared memory of the device
  CopySvm,     // in copies in coarse-grained shared virtual memory
  CopyBuffers, // in copies in buffers, which any device has
};

inline constexpr const char *kOpenClPrefix = "opencl:";

/// A device of one of the libraries, and what it says of itself.
struct OpenClEntry {
  const OpenClFunctions *call = nullptr;
  UsmFunctions usm;
  ClHandle platform = nullptr, id = nullptr;
  std::string name, platformName, driverVersion, spirvVersions, extensions;
  ArrayAccess access = ArrayAccess::CopyBuffers;
  std::vector<size_t> subgroupSizes;
  uint64_t maxThreads = 0, localBytes = 0, addressBits = 64;
  std::array<uint64_t, 3> atomics = {}; // of floats of 16, 32 and 64 bits
  uint32_t bufferAlignment = 1;         // bytes, of parts of buffers
  uint32_t ipVersion = 0;               // of Intel's GPUs
  bool isGpu = false;

  /// Returns true if the device has an extension of OpenCL.
  bool has(const std::string &extension) const;
  bool copiesArrays() const {
    return access != ArrayAccess::Direct && access != ArrayAccess::DirectUsm;
  }
  /// The name of the device with that of its driver and its version: "AMD EPYC, Intel(R) OpenCL
  /// 2026.22". So an artifact names the driver whose machine code it has (`Artifact::assembler`).
  std::string describe() const { return name + ", " + platformName + " " + driverVersion; }
};

/// The settings of a process.
struct OpenClSettings {
  std::vector<std::string> libraries; // empty: the loader that the system has
  std::string access; // for tests: copies by "usm", "svm" or "buffers"; "": the best
};

struct OpenClDriver {
  std::vector<std::unique_ptr<OpenClFunctions>> libraries;
  std::vector<OpenClEntry> devices; // GPUs first
};

/// Opens the libraries; null with a reason in `error` where none opens or no device takes SPIR-V.
/// They stay open until the process ends.
std::shared_ptr<const OpenClDriver> openOpenCl(const OpenClSettings &settings, RuntimeError &error);

} // namespace tw::spirv
#endif
