// The HIP runtime: the functions of its library, as its documented ABI has them, and how it loads
// code.
#include "backend/amd/device/HipDriver.h"
#include "backend/amd/device/HipErrors.h"
#include "backend/gpu/device/GpuContext.h"
#include "llvm/Object/ELFObjectFile.h"
#include <limits>

using namespace tw;
using namespace tw::gpu;

/// The first that runs code objects of version 5.
static constexpr int kNeededVersion = 50000000;

/// The value of hipError_t for code of another architecture.
static constexpr DriverResult kNoBinaryForGpu = 209;

static constexpr const char *kProperties = "hipGetDevicePropertiesR0600",
                            *kOldProperties = "hipGetDeviceProperties";

/// Newest first; the last is the name that frameworks give the one that they bring.
static constexpr const char *kLibraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                             "libamdhip64.so.5", "libamdhip64.so"};

static void bindVersion(SymbolLookup &lookup, DriverFunctions &call) {
  DriverCall<> lastFailure;
  lookup.bind("hipGetLastError", lastFailure);
  lookup.lastFailure = lastFailure.function;
  lookup.bind("hipRuntimeGetVersion", call.driverVersion);
}

static void bindDevices(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("hipInit", call.init);
  lookup.bind("hipGetErrorName", call.nameOfError);
  lookup.bind("hipGetErrorString", call.textOfError);
  lookup.bind("hipGetDeviceCount", call.deviceCount);
  lookup.bind("hipDeviceGet", call.device);
  lookup.bind("hipDeviceGetName", call.deviceName);
  lookup.bind("hipDeviceGetAttribute", call.deviceAttribute);
  lookup.bind(lookup.has(kProperties) ? kProperties : kOldProperties, call.deviceProperties);
  lookup.bind("hipGetDevice", call.currentDevice);
  lookup.bind("hipSetDevice", call.chooseDevice);
  lookup.bind("hipDeviceSynchronize", call.synchronizeContext);
}

static void bindKernels(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("hipModuleLoadDataEx", call.loadModule);
  lookup.bind("hipModuleUnload", call.unloadModule);
  lookup.bindIfAny("hipThreadExchangeStreamCaptureMode", call.exchangeCaptureMode);
  lookup.bind("hipModuleGetFunction", call.findFunction);
  lookup.bind("hipFuncGetAttribute", call.functionAttribute);
  lookup.bind("hipModuleLaunchKernel", call.launch);
  lookup.bindIfAny("hipModuleLaunchCooperativeKernel", call.launchCooperative);
  lookup.bindIfAny("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", call.programsPerProcessor);
}

static void bindMemory(SymbolLookup &lookup, DriverFunctions &call) {
  lookup.bind("hipMalloc", call.allocate);
  lookup.bind("hipFree", call.release);
  lookup.bind("hipMemcpyHtoD", call.copyToDevice);
  lookup.bind("hipMemcpyDtoH", call.copyToHost);
  lookup.bind("hipEventCreateWithFlags", call.createEvent);
  lookup.bind("hipEventRecord", call.recordEvent);
  lookup.bind("hipEventSynchronize", call.synchronizeEvent);
  lookup.bind("hipEventElapsedTime", call.elapsedTime);
  lookup.bind("hipEventDestroy", call.destroyEvent);
}

static void bindAll(SymbolLookup &lookup, DriverFunctions &call) {
  bindDevices(lookup, call);
  bindKernels(lookup, call);
  bindMemory(lookup, call);
}

/// "6.4" of 60443484.
static std::string versionText(int version) {
  return std::to_string(version / 10000000) + "." + std::to_string(version % 10000000 / 100000);
}

/// "gfx942" of a code object.
static std::string archOfCode(llvm::StringRef code) {
  auto file = llvm::object::ELF64LEObjectFile::create(llvm::MemoryBufferRef(code, ""));
  if (file)
    return file->tryGetCPUName().value_or("an unknown GPU").str();
  llvm::consumeError(file.takeError());
  return "an unknown GPU";
}

static std::optional<RuntimeError> loadModule(GpuContext &context, const Artifact &artifact,
                                              DriverHandle &module) {
  const DriverFunctions &call = context.call();
  DriverResult result =
      call.loadModule(&module, artifact.assembled.c_str(), 0, /*options=*/nullptr, nullptr);
  if (result == kSuccess)
    return std::nullopt;
  module = nullptr;
  RuntimeError error =
      context.failureOf(result, call.loadModule.name, "loading kernel " + artifact.symbol);
  if (result == kNoBinaryForGpu)
    error.message += "; the code is for " + archOfCode(artifact.assembled) + ", and " +
                     context.name() + " is " + amd::archNameOf(call, context.number());
  return error;
}

/// The structure has the name at one of two places (hip_runtime_api.h, hipDeviceProp_tR0600 and the
/// structure of HIP 5).
std::string amd::archNameOf(const DriverFunctions &call, DeviceOrdinal device) {
  constexpr size_t nameBytes = 256, place = 1160, oldPlace = 396;
  char properties[4096] = {};
  if (call.deviceProperties(properties, device) != kSuccess)
    return "";
  bool isNew = call.deviceProperties.name == kProperties;
  const char *name = properties + (isNew ? place : oldPlace);
  return std::string(name, strnlen(name, nameBytes));
}

const DriverKind &amd::hipDriver() {
  static const DriverKind kind = {
      .platform = "HIP",
      .devicePrefix = "hip:",
      .libraries = kLibraries,
      .installHint = "install ROCm's HIP runtime (libamdhip64); without a GPU, run on the cpu or "
                     "on sim:gfx942",
      .visibleDevices = "HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES",
      .neededVersion = kNeededVersion,
      .oldestVersion = kNeededVersion, // HIP 4 numbers the facts of devices in another way
      .versionText = versionText,
      .bindVersion = bindVersion,
      .bind = bindAll,
      .failures = kHipFailures,
      // Values of hipDeviceAttribute_t and hipFunction_attribute; the last can be set for no
      // function of a module.
      .attributes = {.maxThreads = 56,
                     .maxSharedBytes = 74,
                     .numProcessors = 63,
                     .launchesCooperatively = 10,
                     .functionMaxThreads = 0,
                     .functionRegisters = 4,
                     .functionSharedBytes = -1},
      .sharedBytesWithoutRequest = std::numeric_limits<int64_t>::max(),
      .maxLaterPrograms = 65535,
      // A dispatch counts threads in 32 bits (HSA Runtime Specification, "Kernel dispatch packet").
      .maxThreadsAlongX = std::numeric_limits<uint32_t>::max(),
      // The bits above are those of the stride in a buffer resource (the instruction sets' "Buffer
      // Resource Descriptor").
      .addressBits = 48,
      .loadModule = loadModule,
      .deviceFile = "/dev/kfd",
      .withoutFile = &kNoDeviceFile,
      .withoutPermission = &kNoPermission,
      .filesOfGpus = "/dev/dri/renderD*",
      .withoutFilesOfGpus = &kNoPermissionForGpus};
  return kind;
}
