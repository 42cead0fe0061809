// The functions of OpenCL that devices call, as its specification has them, without its headers.
#ifndef BACKEND_SPIRV_OPENCLFUNCTIONS_H
#define BACKEND_SPIRV_OPENCLFUNCTIONS_H
#include "backend/gpu/device/DriverFunctions.h"

namespace tw::spirv {

/// A platform, device, context, queue, program, kernel or event.
using ClHandle = void *;

/// Asks an object for a fact: its number, the bytes there is room for, where to, and the bytes that
/// it has.
using ClFact = gpu::DriverCall<ClHandle, uint32_t, size_t, void *, size_t *>;
/// The same of an object on a device.
using ClFactOn = gpu::DriverCall<ClHandle, ClHandle, uint32_t, size_t, void *, size_t *>;

/// One member for each function that is called. Those that make an object leave a result in their
/// last argument.
struct OpenClFunctions {
  gpu::DriverCall<uint32_t, ClHandle *, uint32_t *> platforms;
  ClFact platformFact, deviceFact, programFact, eventFact, eventTime;
  ClFactOn buildFact, kernelFact;
  gpu::DriverCall<ClHandle, uint64_t, uint32_t, ClHandle *, uint32_t *> devices;
  void *(*findExtension)(ClHandle platform, const char *name) = nullptr;
  ClHandle (*createContext)(const intptr_t *properties, uint32_t numDevices,
                            const ClHandle *devices, void *notify, void *data,
                            int *result) = nullptr;
  ClHandle (*createQueue)(ClHandle context, ClHandle device, const uint64_t *properties,
                          int *result) = nullptr;
  ClHandle (*createProgram)(ClHandle context, const void *spirv, size_t bytes,
                            int *result) = nullptr;
  ClHandle (*createProgramOfBinary)(ClHandle context, uint32_t numDevices, const ClHandle *devices,
                                    const size_t *bytes, const unsigned char **binaries,
                                    int *resultOfEach, int *result) = nullptr;
  ClHandle (*createKernel)(ClHandle program, const char *name, int *result) = nullptr;
  gpu::DriverCall<ClHandle, uint32_t, const ClHandle *, const char *, void *, void *> build;
  gpu::DriverCall<ClHandle, uint32_t, size_t, const void *> setArgument;
  gpu::DriverCall<ClHandle, uint32_t, const void *> setSvmPointer;
  gpu::DriverCall<ClHandle, ClHandle, uint32_t, const size_t *, const size_t *, const size_t *,
                  uint32_t, const ClHandle *, ClHandle *>
      launch;
  gpu::DriverCall<uint32_t, const ClHandle *> waitForEvents;
  gpu::DriverCall<ClHandle> releaseEvent, releaseKernel, releaseProgram, releaseQueue,
      releaseContext;
  void *(*allocateSvm)(ClHandle context, uint64_t flags, size_t bytes,
                       uint32_t alignment) = nullptr;
  void (*freeSvm)(ClHandle context, void *memory) = nullptr;
  /// Copies on a queue, and waits for it where the second argument is 1.
  gpu::DriverCall<ClHandle, uint32_t, void *, const void *, size_t, uint32_t, const ClHandle *,
                  ClHandle *>
      copySvm;
  /// Buffers, which kernels get as handles. A part begins where the device aligns it.
  ClHandle (*createBuffer)(ClHandle context, uint64_t flags, size_t bytes, void *initial,
                           int *result) = nullptr;
  ClHandle (*createPart)(ClHandle buffer, uint64_t flags, uint32_t kind, const void *region,
                         int *result) = nullptr;
  gpu::DriverCall<ClHandle> releaseBuffer;
  /// Copy between a buffer, from an offset on, and the host.
  gpu::DriverCall<ClHandle, ClHandle, uint32_t, size_t, size_t, void *, uint32_t, const ClHandle *,
                  ClHandle *>
      readBuffer;
  gpu::DriverCall<ClHandle, ClHandle, uint32_t, size_t, size_t, const void *, uint32_t,
                  const ClHandle *, ClHandle *>
      writeBuffer;
};

/// Those of the extension cl_intel_unified_shared_memory, which each platform has of its own; null
/// where it has none.
struct UsmFunctions {
  void *(*allocate)(ClHandle context, ClHandle device, const uint64_t *properties, size_t bytes,
                    uint32_t alignment, int *result) = nullptr;
  gpu::DriverCall<ClHandle, void *> release;
  decltype(OpenClFunctions::copySvm) copy;
  decltype(OpenClFunctions::setSvmPointer) setPointer;
};

/// Numbers of facts, and bits of their values (the headers CL/cl.h and CL/cl_ext.h).
namespace fact {
inline constexpr uint32_t kPlatformName = 0x0902, kDeviceType = 0x1000, kComputeUnits = 0x1002,
                          kMaxThreads = 0x1004, kAddressBits = 0x100D, kBaseBits = 0x1019,
                          kLocalBytes = 0x1023, kDeviceName = 0x102B, kDriverVersion = 0x102D,
                          kDeviceVersion = 0x102F, kExtensions = 0x1030, kSvm = 0x1053,
                          kSpirvVersions = 0x105B, kSubgroupSizes = 0x4108, kSystemUsm = 0x4194,
                          kDeviceUsm = 0x4191, kSingleAtomics = 0x4231, kDoubleAtomics = 0x4232,
                          kHalfAtomics = 0x4233, kIpVersion = 0x4250;
inline constexpr uint32_t kBinarySizes = 0x1165, kBinaries = 0x1166, kBuildLog = 0x1183;
inline constexpr uint32_t kKernelThreads = 0x11B0, kExecutionStatus = 0x11D3;
inline constexpr uint32_t kStart = 0x1282, kEnd = 0x1283; // of OpenClFunctions::eventTime
} // namespace fact
inline constexpr uint64_t kAllDeviceTypes = 0xFFFFFFFF, kGpuType = 1 << 2, kCpuType = 1 << 1;
inline constexpr uint64_t kSvmCoarse = 1 << 0, kSvmSystem = 1 << 2; // of fact::kSvm
inline constexpr uint64_t kReadWrite = 1 << 0;                      // flag of memory
inline constexpr uint32_t kRegionPart = 0x1220;                     // of a buffer
/// Has a queue note when its operations run.
inline constexpr uint64_t kTimedQueue[] = {/*CL_QUEUE_PROPERTIES=*/0x1093,
                                           /*CL_QUEUE_PROFILING_ENABLE=*/1 << 1, 0};

} // namespace tw::spirv
#endif
