// The functions of the libamdhip64 double, with the names and signatures of the HIP runtime's ABI.
#include "backend/warpsim/device/WarpsimDevice.h"
#include "backend/warpsim/llvmir/Import.h"
#include "test/unit/hip_double/CodeObjects.h"
#include <cstdio>
#include <cstring>

using namespace tw;
using namespace tw::driver_double;

/// The double's program of an artifact, whose binary is LLVM IR.
static std::shared_ptr<Device> makeSimulator(const std::string &arch) {
  auto read = [arch](const Artifact &artifact, RuntimeError &error) {
    warpsim::ImportError refusal;
    auto program = warpsim::importAmdgcn(artifact.binary, arch, refusal);
    if (!program)
      error.message = refusal.message;
    return program;
  };
  return makeWarpsimDevice(arch, read);
}

const Platform &driver_double::platform() {
  static const Platform platform = {
      .environment = "HIP_DOUBLE",
      .settings = {.driverVersion = 60443484, .sharedLimit = 64 * 1024, .arch = "gfx942"},
      .hasContext = [] { return true; },
      .makeSimulator = makeSimulator,
      .warpSize = warpsim::waveSizeOf,
      .maxThreadsAlongX = 0xFFFFFFFF};
  return platform;
}

extern "C" void hipDoubleConfigure(const char *words) { configure(words); }

extern "C" const char *hipDoubleRecord() { return readRecord(); }

extern "C" int hipDoubleLiveObjects() { return countObjects(); }

namespace {
struct ErrorName {
  int result;
  const char *name;
};
} // namespace

/// Enough of hipError_t for reports to be compared with the documented names.
static constexpr ErrorName kErrorNames[] = {
    {2, "hipErrorOutOfMemory"},      {100, "hipErrorNoDevice"},
    {101, "hipErrorInvalidDevice"},  {209, "hipErrorNoBinaryForGpu"},
    {700, "hipErrorIllegalAddress"}, {701, "hipErrorLaunchOutOfResources"},
    {719, "hipErrorLaunchFailure"},  {900, "hipErrorStreamCaptureUnsupported"},
};

extern "C" const char *hipGetErrorName(int result) {
  for (const ErrorName &row : kErrorNames)
    if (row.result == result)
      return row.name;
  return "hipErrorUnknown";
}

extern "C" const char *hipGetErrorString(int) { return "the runtime's own words"; }

extern "C" int hipGetLastError() { return takeLastFailure(); }

extern "C" int hipRuntimeGetVersion(int *version) {
  Call call("hipRuntimeGetVersion");
  *version = state().settings.driverVersion;
  return call.failure;
}

extern "C" int hipInit(unsigned flags) {
  Call call("hipInit");
  return call.failure ? call.failure : flags == 0 ? kSuccess : kInvalidValue;
}

extern "C" int hipGetDeviceCount(int *count) {
  Call call("hipGetDeviceCount");
  *count = state().settings.numDevices;
  return call.failure ? call.failure : *count == 0 ? 100 : kSuccess;
}

static bool isDevice(int device) { return device >= 0 && device < state().settings.numDevices; }

extern "C" int hipDeviceGet(int *device, int index) {
  Call call("hipDeviceGet");
  *device = index;
  return call.failure ? call.failure : isDevice(index) ? kSuccess : kInvalidDevice;
}

extern "C" int hipDeviceGetName(char *name, int bytes, int device) {
  Call call("hipDeviceGetName");
  snprintf(name, size_t(bytes), "Double %d", device);
  return call.failure;
}

extern "C" int hipDeviceGetAttribute(int *value, int attribute, int device) {
  Call call("hipDeviceGetAttribute");
  const Settings &settings = state().settings;
  constexpr int cooperative = 10, maxThreads = 56, processors = 63, sharedBytes = 74;
  const std::map<int, int> values = {{cooperative, settings.numProcessors > 0},
                                     {maxThreads, 1024},
                                     {processors, settings.numProcessors},
                                     {sharedBytes, settings.sharedLimit}};
  auto found = values.find(attribute);
  if (found == values.end())
    return kInvalidValue;
  *value = found->second;
  return call.failure;
}

/// Of the structure, hipDeviceProp_tR0600, the name of the architecture only.
extern "C" int hipGetDevicePropertiesR0600(void *properties, int device) {
  Call call("hipGetDevicePropertiesR0600");
  constexpr size_t bytes = 1472, namePlace = 1160;
  memset(properties, 0, bytes);
  std::string name = state().settings.arch + ":sramecc+:xnack-";
  memcpy(static_cast<char *>(properties) + namePlace, name.c_str(), name.size() + 1);
  return call.failure ? call.failure : isDevice(device) ? kSuccess : kInvalidDevice;
}

extern "C" int hipThreadExchangeStreamCaptureMode(int *mode) {
  Call call("hipThreadExchangeStreamCaptureMode", " " + std::to_string(*mode));
  *mode = 0;
  return call.failure;
}

static thread_local int currentDevice = 0;

extern "C" int hipGetDevice(int *device) {
  Call call("hipGetDevice");
  *device = currentDevice;
  return call.failure;
}

extern "C" int hipSetDevice(int device) {
  Call call("hipSetDevice", " " + std::to_string(device));
  if (call.failure)
    return call.failure;
  if (!isDevice(device))
    return kInvalidDevice;
  currentDevice = device;
  return kSuccess;
}

extern "C" int hipDeviceSynchronize() {
  return ContextCall("hipDeviceSynchronize", " " + std::to_string(currentDevice)).failure;
}

extern "C" int hipModuleLoadDataEx(void **module, const void *image, unsigned, int *, void **) {
  ContextCall call("hipModuleLoadDataEx");
  if (call.failure)
    return call.failure;
  hip_double::CodeObject object = hip_double::readCodeObject(image);
  const Settings &settings = state().settings;
  if (object.arch.empty() || (object.ir.empty() && !settings.simulator.empty()))
    return kInvalidImage;
  if (object.arch != settings.arch)
    return kNoBinaryForGpu;
  auto made = std::make_unique<Module>();
  made->functions = std::move(object.kernels);
  keepModule(std::move(made), module);
  return kSuccess;
}

extern "C" int hipModuleUnload(void *module) { return unloadModule("hipModuleUnload", module); }

extern "C" int hipModuleGetFunction(void **function, void *module, const char *name) {
  return findFunction("hipModuleGetFunction", function, module, name);
}

extern "C" int hipFuncGetAttribute(int *value, int attribute, void *function) {
  return readFunctionAttribute("hipFuncGetAttribute", value, attribute, function);
}

extern "C" int hipModuleLaunchKernel(void *handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                                     unsigned threadsX, unsigned threadsY, unsigned threadsZ,
                                     unsigned sharedBytes, void *stream, void **parameters,
                                     void **) {
  return launchKernel("hipModuleLaunchKernel", *static_cast<Function *>(handle),
                      {{gridX, gridY, gridZ}, {threadsX, threadsY, threadsZ}, sharedBytes, stream},
                      parameters);
}

extern "C" int hipModuleLaunchCooperativeKernel(void *handle, unsigned gridX, unsigned gridY,
                                                unsigned gridZ, unsigned threadsX,
                                                unsigned threadsY, unsigned threadsZ,
                                                unsigned sharedBytes, void *stream,
                                                void **parameters) {
  LaunchShape shape = {
      {gridX, gridY, gridZ}, {threadsX, threadsY, threadsZ}, sharedBytes, stream, true};
  return launchKernel("hipModuleLaunchCooperativeKernel", *static_cast<Function *>(handle), shape,
                      parameters);
}

extern "C" int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void *,
                                                                  int numThreads, size_t) {
  return countPerProcessor("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", count, numThreads);
}

extern "C" int hipMalloc(uint64_t *address, size_t bytes) {
  return allocate("hipMalloc", address, bytes);
}

extern "C" int hipFree(uint64_t address) { return release("hipFree", address); }

extern "C" int hipMemcpyHtoD(uint64_t target, const void *source, size_t bytes) {
  return copyToDevice("hipMemcpyHtoD", target, source, bytes);
}

extern "C" int hipMemcpyDtoH(void *target, uint64_t source, size_t bytes) {
  return copyToHost("hipMemcpyDtoH", target, source, bytes);
}

extern "C" int hipEventCreateWithFlags(void **event, unsigned) {
  return createEvent("hipEventCreateWithFlags", event);
}

extern "C" int hipEventRecord(void *event, void *) { return recordEvent("hipEventRecord", event); }

extern "C" int hipEventSynchronize(void *) { return ContextCall("hipEventSynchronize").failure; }

extern "C" int hipEventElapsedTime(float *milliseconds, void *, void *) {
  return elapsedTime("hipEventElapsedTime", milliseconds);
}

extern "C" int hipEventDestroy(void *event) { return destroyEvent("hipEventDestroy", event); }
