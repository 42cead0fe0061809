// The CUDA driver: the functions of its library, as its documented ABI has them, and how it loads
// code.
#include "backend/nvidia/device/CudaDriver.h"
#include "backend/gpu/device/GpuContext.h"
#include "backend/nvidia/device/CudaErrors.h"
#include "backend/nvidia/device/TensorMaps.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using namespace tw::gpu;

/// All functions are in the drivers of CUDA 11.0 and later; PTX 8.0, the oldest that is emitted,
/// needs CUDA 12.0.
static constexpr int kNeededVersion = 12000;

/// The values of CUresult that decide which form of the code is loaded.
enum : DriverResult { kInvalidImage = 200, kNoBinaryForGpu = 209, kUnsupportedPtxVersion = 222 };

/// Values of CUjit_option.
enum : int { kErrorLog = 5, kErrorLogBytes = 6 };

static void bindVersion(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("cuDriverGetVersion", call.driverVersion);
}

static void bindDevices(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("cuInit", call.init);
  lookup.bind("cuGetErrorName", call.errorName);
  lookup.bind("cuGetErrorString", call.errorText);
  lookup.bind("cuDeviceGetCount", call.deviceCount);
  lookup.bind("cuDeviceGet", call.device);
  lookup.bind("cuDeviceGetName", call.deviceName);
  lookup.bind("cuDeviceGetAttribute", call.deviceAttribute);
  lookup.bind("cuDevicePrimaryCtxRetain", call.retainContext);
  lookup.bind("cuDevicePrimaryCtxRelease", call.releaseContext, "_v2");
  lookup.bind("cuCtxPushCurrent", call.pushContext, "_v2");
  lookup.bind("cuCtxPopCurrent", call.popContext, "_v2");
  lookup.bind("cuCtxSynchronize", call.synchronizeContext);
}

static void bindKernels(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("cuModuleLoadDataEx", call.loadModule);
  lookup.bind("cuModuleUnload", call.unloadModule);
  lookup.bindIfAny("cuThreadExchangeStreamCaptureMode", call.exchangeCaptureMode);
  lookup.bind("cuModuleGetFunction", call.findFunction);
  lookup.bind("cuFuncGetAttribute", call.functionAttribute);
  lookup.bind("cuFuncSetAttribute", call.setFunctionAttribute);
  lookup.bind("cuLaunchKernel", call.launch);
  lookup.bindIfAny("cuLaunchCooperativeKernel", call.launchCooperative);
  lookup.bindIfAny("cuLaunchKernelEx", call.launchByConfiguration);
  lookup.bindIfAny("cuOccupancyMaxActiveBlocksPerMultiprocessor", call.programsPerProcessor);
  lookup.bindIfAny("cuTensorMapEncodeTiled", call.encodeTensorMap);
}

static void bindMemory(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("cuMemAlloc", call.allocate, "_v2");
  lookup.bind("cuMemFree", call.release, "_v2");
  lookup.bind("cuMemcpyHtoD", call.copyToDevice, "_v2");
  lookup.bind("cuMemcpyDtoH", call.copyToHost, "_v2");
  lookup.bind("cuEventCreate", call.createEvent);
  lookup.bind("cuEventRecord", call.recordEvent);
  lookup.bind("cuEventSynchronize", call.synchronizeEvent);
  lookup.bind("cuEventElapsedTime", call.elapsedTime);
  lookup.bind("cuEventDestroy", call.destroyEvent, "_v2");
}

static void bindAll(SymbolLookup &lookup, DriverFunctions &call) {
  bindDevices(lookup, call);
  bindKernels(lookup, call);
  bindMemory(lookup, call);
}

/// "12.4" of 12040.
static std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

namespace {
/// The messages of the driver's assembler about PTX that it refuses.
struct JitLog {
  char text[8192] = {};
};
} // namespace

/// "8.0" of PTX text; the report of a driver that is too old names it.
static llvm::StringRef ptxVersionOf(llvm::StringRef ptx) {
  return ptx.split(".version").second.ltrim().take_while([](char character) {
    return llvm::isDigit(character) || character == '.';
  });
}

static DriverResult loadImage(const DriverFunctions &call, const std::string &image, JitLog &log,
                              DriverHandle &module) {
  int options[] = {kErrorLog, kErrorLogBytes};
  void *values[] = {log.text, reinterpret_cast<void *>(sizeof(log.text) - 1)};
  return call.loadModule(&module, image.c_str(), 2, options, values);
}

/// Loads the machine code, or the PTX where there is none or where the driver is too old for the
/// assembler that made it.
static std::optional<RuntimeError> loadModule(GpuContext &context, const Artifact &artifact,
                                              DriverHandle &module) {
  JitLog log;
  DriverResult result = kNoBinaryForGpu;
  if (!artifact.assembled.empty())
    result = loadImage(context.call(), artifact.assembled, log, module);
  bool isRefused =
      result == kNoBinaryForGpu || result == kInvalidImage || result == kUnsupportedPtxVersion;
  if (isRefused)
    result = loadImage(context.call(), artifact.binary, log, module);
  if (result == kSuccess)
    return std::nullopt;
  module = nullptr;
  RuntimeError error = context.failureOf(result, context.call().loadModule.name,
                                         "loading kernel " + artifact.symbol);
  if (result == kUnsupportedPtxVersion)
    error.message += "; the code is PTX " + ptxVersionOf(artifact.binary).str();
  if (llvm::StringRef text = llvm::StringRef(log.text).trim(); !text.empty())
    error.message += "\n" + text.str();
  return error;
}

namespace {
/// CUlaunchAttribute and CUlaunchConfig.
struct LaunchAttribute {
  int id;
  char padding[4];
  alignas(8) union {
    int number;
    char bytes[64];
  } value;
};
struct LaunchConfiguration {
  unsigned grid[3], block[3], sharedBytes;
  DriverHandle stream;
  LaunchAttribute *attributes;
  unsigned numAttributes;
};
} // namespace

/// Lets the launch begin where the launches before it in the stream permit that, or end.
static DriverResult launchEarly(const DriverFunctions &call, const DriverLaunch &launch) {
  constexpr int serializesByProgram = 6; // CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
  LaunchAttribute attribute = {serializesByProgram, {}, {1}};
  LaunchConfiguration configuration = {{launch.grid[0], launch.grid[1], launch.grid[2]},
                                       {launch.numThreads, 1, 1},
                                       launch.sharedBytes,
                                       launch.stream,
                                       &attribute,
                                       1};
  return call.launchByConfiguration(&configuration, launch.function, launch.parameters, nullptr);
}

static constexpr const char *kLibraries[] = {"libcuda.so.1"};

const DriverKind &nvidia::cudaDriver() {
  static const DriverKind kind = {
      .platform = "CUDA",
      .devicePrefix = "cuda:",
      .libraries = kLibraries,
      .installHint = "install NVIDIA's driver (containers need --gpus all); without a GPU, run on "
                     "the cpu or on sim:sm_80",
      .visibleDevices = "CUDA_VISIBLE_DEVICES",
      .neededVersion = kNeededVersion,
      .oldestVersion = 0,
      .versionText = versionText,
      .bindVersion = bindVersion,
      .bind = bindAll,
      .failures = kCudaFailures,
      // Values of CUdevice_attribute (shared memory with the opt-in) and CUfunction_attribute.
      .attributes = {.maxThreads = 1,
                     .maxSharedBytes = 97,
                     .numProcessors = 16,
                     .launchesCooperatively = 95,
                     .functionMaxThreads = 0,
                     .functionRegisters = 4,
                     .functionSharedBytes = 8},
      // CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
      .sharedBytesWithoutRequest = 48 * 1024,
      .maxLaterPrograms = 65535,
      .loadModule = loadModule,
      .encodeTensorMap = encodeTensorMap,
      .launchEarly = launchEarly};
  return kind;
}
