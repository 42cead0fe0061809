// The functions of the libcuda double, with the names and signatures of the CUDA driver's ABI.
#include "backend/warpsim/TensorMap.h"
#include "backend/warpsim/device/WarpsimDevice.h"
#include "test/unit/cuda_double/Cuda.h"
#include <algorithm>
#include <cstdio>
#include <cstring>

using namespace tw;
using namespace tw::cuda_double;
using namespace tw::driver_double;

static constexpr int kInvalidPtx = 218;

const Platform &driver_double::platform() {
  static const Platform platform = {
      .environment = "CUDA_DOUBLE",
      .settings = {.driverVersion = 13000, .sharedLimit = 166912},
      .hasContext = [] { return !contextStack().empty(); },
      .makeSimulator = [](const std::string &arch) -> std::shared_ptr<Device> {
        return makeWarpsimDevice(arch);
      },
      .warpSize = [](const std::string &) { return 32u; },
      .maxThreadsAlongX = ~uint64_t(0)};
  return platform;
}

extern "C" void cudaDoubleConfigure(const char *words) { configure(words); }

extern "C" const char *cudaDoubleRecord() { return readRecord(); }

/// Contexts that are current in this thread count, too.
extern "C" int cudaDoubleLiveObjects() { return int(contextStack().size()) + countObjects(); }

namespace {
struct ErrorName {
  int result;
  const char *name;
};
} // namespace

/// Enough of CUresult for reports to be compared with the documented names.
static constexpr ErrorName kErrorNames[] = {
    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
    {3, "CUDA_ERROR_NOT_INITIALIZED"},
    {4, "CUDA_ERROR_DEINITIALIZED"},
    {100, "CUDA_ERROR_NO_DEVICE"},
    {200, "CUDA_ERROR_INVALID_IMAGE"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE"},
    {218, "CUDA_ERROR_INVALID_PTX"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {710, "CUDA_ERROR_ASSERT"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS"},
    {719, "CUDA_ERROR_LAUNCH_FAILED"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
};

extern "C" int cuGetErrorName(int result, const char **name) {
  for (const ErrorName &row : kErrorNames)
    if (row.result == result) {
      *name = row.name;
      return kSuccess;
    }
  *name = nullptr;
  return kInvalidValue;
}

extern "C" int cuGetErrorString(int result, const char **text) {
  *text = "the driver's own words";
  return kSuccess;
}

extern "C" int cuDriverGetVersion(int *version) {
  Call call("cuDriverGetVersion");
  *version = state().settings.driverVersion;
  return call.failure;
}

extern "C" int cuInit(unsigned flags) {
  Call call("cuInit");
  return call.failure ? call.failure : flags == 0 ? kSuccess : kInvalidValue;
}

extern "C" int cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount");
  *count = state().settings.numDevices;
  return call.failure;
}

extern "C" int cuDeviceGet(int *device, int index) {
  Call call("cuDeviceGet");
  *device = index;
  bool exists = index >= 0 && index < state().settings.numDevices;
  return call.failure ? call.failure : exists ? kSuccess : kInvalidDevice;
}

extern "C" int cuDeviceGetName(char *name, int bytes, int device) {
  Call call("cuDeviceGetName");
  snprintf(name, size_t(bytes), "Double %d", device);
  return call.failure;
}

extern "C" int cuDeviceGetAttribute(int *value, int attribute, int device) {
  Call call("cuDeviceGetAttribute");
  const Settings &settings = state().settings;
  constexpr int maxThreads = 1, processors = 16, major = 75, minor = 76, cooperative = 95,
                sharedBytes = 97;
  switch (attribute) {
  case maxThreads:
    *value = 1024;
    break;
  case processors:
    *value = settings.numProcessors;
    break;
  case cooperative:
    *value = settings.numProcessors > 0;
    break;
  case major:
    *value = settings.capability / 10;
    break;
  case minor:
    *value = settings.capability % 10;
    break;
  case sharedBytes:
    *value = settings.sharedLimit;
    break;
  default:
    return kInvalidValue;
  }
  return call.failure;
}

/// The checks that the driver's documentation has; of an unknown interleaving or fetch, none.
extern "C" int cuTensorMapEncodeTiled(void *bytes, int element, unsigned rank, void *base,
                                      const uint64_t *extents, const uint64_t *strides,
                                      const uint32_t *box, const uint32_t *elementStrides,
                                      int interleave, int swizzle, int promotion, int fill) {
  Call call("cuTensorMapEncodeTiled");
  if (call.failure)
    return call.failure;
  constexpr int mostSwizzle = 3, mostPromotion = 3;
  if (uintptr_t(bytes) % 64 != 0 || element < 0 || rank < 1 || rank > 5 || interleave != 0 ||
      swizzle < 0 || swizzle > mostSwizzle || promotion < 0 || promotion > mostPromotion ||
      fill < 0 || fill > 1)
    return kInvalidValue;
  warpsim::TensorMap map;
  map.element = warpsim::TensorElement(element);
  map.rank = uint8_t(rank);
  map.base = uint64_t(base);
  std::copy_n(extents, rank, map.extents.begin());
  std::copy_n(strides, rank - 1, map.strides.begin());
  std::copy_n(box, rank, map.box.begin());
  std::copy_n(elementStrides, rank, map.elementStrides.begin());
  map.swizzleBytes = swizzle ? uint8_t(16 << swizzle) : 0;
  map.fillsWithNan = fill;
  if (!base || !warpsim::validate(map).empty())
    return kInvalidValue;
  std::array<uint8_t, 128> encoded = warpsim::encode(map);
  memcpy(bytes, encoded.data(), encoded.size());
  return kSuccess;
}

static void *contextOf(int device) { return reinterpret_cast<void *>(uintptr_t(device) + 1); }

extern "C" int cuDevicePrimaryCtxRetain(void **context, int device) {
  Call call("cuDevicePrimaryCtxRetain");
  if (call.failure)
    return call.failure;
  state().retained.insert(device);
  *context = contextOf(device);
  return kSuccess;
}

extern "C" int cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease");
  if (call.failure)
    return call.failure;
  auto found = state().retained.find(device);
  if (found == state().retained.end())
    return kInvalidContext;
  state().retained.erase(found);
  return kSuccess;
}

extern "C" int cuCtxPushCurrent_v2(void *context) {
  Call call("cuCtxPushCurrent");
  if (call.failure)
    return call.failure;
  if (!state().retained.count(int(reinterpret_cast<uintptr_t>(context)) - 1))
    return kInvalidContext;
  contextStack().push_back(context);
  return kSuccess;
}

extern "C" int cuCtxPopCurrent_v2(void **context) {
  Call call("cuCtxPopCurrent");
  if (contextStack().empty())
    return kInvalidContext;
  *context = contextStack().back();
  contextStack().pop_back();
  return call.failure;
}

extern "C" int cuCtxSynchronize() {
  ContextCall call("cuCtxSynchronize");
  return call.failure ? call.failure : isForbidden() ? kForbiddenInCapture : kSuccess;
}

/// Writes the settings' log where the caller wants the assembler's errors.
static void writeLog(unsigned numOptions, const int *options, void **values) {
  constexpr int errorLog = 5, errorLogBytes = 6;
  char *log = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < numOptions; ++i) {
    if (options[i] == errorLog)
      log = static_cast<char *>(values[i]);
    if (options[i] == errorLogBytes)
      bytes = reinterpret_cast<size_t>(values[i]);
  }
  if (log && bytes)
    snprintf(log, bytes, "%s", state().settings.log.c_str());
}

extern "C" int cuModuleLoadDataEx(void **module, const void *image, unsigned numOptions,
                                  int *options, void **values) {
  const char *text = static_cast<const char *>(image);
  bool isMachineCode = strncmp(text, "\177ELF", 4) == 0;
  ContextCall call("cuModuleLoadDataEx", isMachineCode ? " machine code" : " PTX");
  if (call.failure) {
    writeLog(numOptions, options, values);
    return call.failure;
  }
  if (isForbidden())
    return kForbiddenInCapture;
  auto made = std::make_unique<Module>();
  made->isMachineCode = isMachineCode;
  const Settings &settings = state().settings;
  if (isMachineCode && (settings.refusesMachineCode || !settings.simulator.empty()))
    return kNoBinaryForGpu;
  if (!isMachineCode) {
    if (*text == '\0')
      return kInvalidImage;
    made->functions = readPtx(text);
    if (made->functions.empty()) {
      writeLog(numOptions, options, values);
      return kInvalidPtx;
    }
  }
  keepModule(std::move(made), module);
  return kSuccess;
}

extern "C" int cuModuleUnload(void *module) { return unloadModule("cuModuleUnload", module); }

extern "C" int cuModuleGetFunction(void **function, void *module, const char *name) {
  return findFunction("cuModuleGetFunction", function, module, name);
}

extern "C" int cuFuncGetAttribute(int *value, int attribute, void *function) {
  return readFunctionAttribute("cuFuncGetAttribute", value, attribute, function);
}

extern "C" int cuFuncSetAttribute(void *function, int attribute, int value) {
  ContextCall call("cuFuncSetAttribute",
                   " " + std::to_string(attribute) + "=" + std::to_string(value));
  if (call.failure)
    return call.failure;
  constexpr int maxDynamicSharedBytes = 8;
  if (attribute != maxDynamicSharedBytes || value > state().settings.sharedLimit)
    return kInvalidValue;
  static_cast<Function *>(function)->maxDynamicSharedBytes = value;
  return kSuccess;
}

extern "C" int cuLaunchKernel(void *handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                              unsigned threadsX, unsigned threadsY, unsigned threadsZ,
                              unsigned sharedBytes, void *stream, void **parameters, void **extra) {
  return launchKernel("cuLaunchKernel", *static_cast<Function *>(handle),
                      {{gridX, gridY, gridZ}, {threadsX, threadsY, threadsZ}, sharedBytes, stream},
                      parameters);
}

extern "C" int cuLaunchCooperativeKernel(void *handle, unsigned gridX, unsigned gridY,
                                         unsigned gridZ, unsigned threadsX, unsigned threadsY,
                                         unsigned threadsZ, unsigned sharedBytes, void *stream,
                                         void **parameters) {
  LaunchShape shape = {
      {gridX, gridY, gridZ}, {threadsX, threadsY, threadsZ}, sharedBytes, stream, true};
  return launchKernel("cuLaunchCooperativeKernel", *static_cast<Function *>(handle), shape,
                      parameters);
}

namespace {
/// CUlaunchAttribute and CUlaunchConfig of the driver's header.
struct LaunchAttribute {
  int id;
  char padding[4];
  union {
    int number;
    unsigned long long aligned[8];
  } value;
};
struct LaunchConfiguration {
  unsigned grid[3], threads[3], sharedBytes;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned numAttributes;
};
static_assert(sizeof(LaunchAttribute) == 72 && sizeof(LaunchConfiguration) == 56);
} // namespace

/// Takes only the attribute that lets a launch begin early, on GPUs that have it.
extern "C" int cuLaunchKernelEx(const void *given, void *handle, void **parameters, void **extra) {
  const auto &launch = *static_cast<const LaunchConfiguration *>(given);
  LaunchShape shape = {{launch.grid[0], launch.grid[1], launch.grid[2]},
                       {launch.threads[0], launch.threads[1], launch.threads[2]},
                       launch.sharedBytes,
                       launch.stream};
  constexpr int serializesByProgram = 6;
  for (unsigned i = 0; i < launch.numAttributes; ++i) {
    bool isKnown = launch.attributes[i].id == serializesByProgram &&
                   state().settings.capability >= 90 && launch.attributes[i].value.number == 1;
    if (!isKnown)
      return kInvalidValue;
    shape.isEarly = true;
  }
  return launchKernel("cuLaunchKernelEx", *static_cast<Function *>(handle), shape, parameters);
}

extern "C" int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *count, void *, int numThreads,
                                                           size_t) {
  return countPerProcessor("cuOccupancyMaxActiveBlocksPerMultiprocessor", count, numThreads);
}

extern "C" int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  return allocate("cuMemAlloc", address, bytes);
}

extern "C" int cuMemFree_v2(uint64_t address) { return release("cuMemFree", address); }

extern "C" int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes) {
  return copyToDevice("cuMemcpyHtoD", target, source, bytes);
}

extern "C" int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes) {
  return copyToHost("cuMemcpyDtoH", target, source, bytes);
}

extern "C" int cuEventCreate(void **event, unsigned flags) {
  return createEvent("cuEventCreate", event);
}

extern "C" int cuEventRecord(void *event, void *stream) {
  return recordEvent("cuEventRecord", event);
}

extern "C" int cuEventSynchronize(void *event) { return ContextCall("cuEventSynchronize").failure; }

extern "C" int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  return elapsedTime("cuEventElapsedTime", milliseconds);
}

extern "C" int cuEventDestroy_v2(void *event) { return destroyEvent("cuEventDestroy", event); }
