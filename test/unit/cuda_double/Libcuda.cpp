// The functions of the libcuda double, with the names and signatures of the CUDA driver's ABI.
#include "test/unit/cuda_double/Double.h"
#include <cstdio>
#include <cstring>

using namespace tw::cuda_double;

static constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101,
                     kInvalidImage = 200, kInvalidContext = 201, kNoBinaryForGpu = 209,
                     kInvalidPtx = 218, kInvalidHandle = 400, kNotFound = 500,
                     kOutOfResources = 701;

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
  constexpr int maxThreads = 1, major = 75, minor = 76, sharedBytes = 97;
  switch (attribute) {
  case maxThreads:
    *value = 1024;
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

extern "C" int cuCtxSynchronize() { return ContextCall("cuCtxSynchronize").failure; }

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
  *module = made.get();
  state().modules[*module] = std::move(made);
  return kSuccess;
}

extern "C" int cuModuleUnload(void *module) {
  ContextCall call("cuModuleUnload");
  if (call.failure)
    return call.failure;
  return state().modules.erase(module) ? kSuccess : kInvalidHandle;
}

extern "C" int cuModuleGetFunction(void **function, void *module, const char *name) {
  ContextCall call("cuModuleGetFunction", std::string(" ") + name);
  if (call.failure)
    return call.failure;
  auto found = state().modules.find(module);
  if (found == state().modules.end())
    return kInvalidHandle;
  if (found->second->isMachineCode) {
    found->second->functions.push_back(std::make_unique<Function>());
    found->second->functions.back()->name = name;
  }
  for (const std::unique_ptr<Function> &candidate : found->second->functions)
    if (candidate->name == name) {
      *function = candidate.get();
      return kSuccess;
    }
  return kNotFound;
}

extern "C" int cuFuncGetAttribute(int *value, int attribute, void *function) {
  ContextCall call("cuFuncGetAttribute");
  constexpr int maxThreads = 0, staticShared = 1, registers = 4;
  *value = attribute == maxThreads     ? state().settings.maxThreads
           : attribute == staticShared ? state().settings.staticShared
           : attribute == registers    ? 65536 / state().settings.maxThreads
                                       : 0;
  return call.failure;
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

/// The bytes of a parameter in memory order, as hexadecimal digits.
static std::string hexOf(const void *bytes, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) {
    char digits[3];
    snprintf(digits, sizeof(digits), "%02x", static_cast<const unsigned char *>(bytes)[i]);
    text += digits;
  }
  return text;
}

static std::string describeLaunch(const Function &function, const unsigned *grid,
                                  const unsigned *threads, unsigned sharedBytes, void *stream,
                                  void **parameters) {
  char text[256];
  snprintf(text, sizeof(text), " %s grid=%u,%u,%u threads=%u,%u,%u shared=%u stream=0x%llx",
           function.name.c_str(), grid[0], grid[1], grid[2], threads[0], threads[1], threads[2],
           sharedBytes, static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(stream)));
  std::string list, separator = " parameters=";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    list += separator + hexOf(parameters[i], function.parameters[i].bytes);
    separator = ",";
  }
  return text + list;
}

extern "C" int cuLaunchKernel(void *handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                              unsigned threadsX, unsigned threadsY, unsigned threadsZ,
                              unsigned sharedBytes, void *stream, void **parameters, void **extra) {
  const Function &function = *static_cast<Function *>(handle);
  const unsigned grid[] = {gridX, gridY, gridZ}, threads[] = {threadsX, threadsY, threadsZ};
  ContextCall call("cuLaunchKernel",
                   describeLaunch(function, grid, threads, sharedBytes, stream, parameters));
  if (call.failure)
    return call.failure;
  if (gridX == 0 || gridY == 0 || gridZ == 0 || gridX > 0x7FFFFFFF || gridY > 65535 ||
      gridZ > 65535 || int(sharedBytes) > function.maxDynamicSharedBytes)
    return kInvalidValue;
  if (int(threadsX * threadsY * threadsZ) > state().settings.maxThreads)
    return kOutOfResources;
  state().stickyResult = state().settings.kernelResult;
  if (!state().settings.simulator.empty())
    state().stickyResult =
        simulateLaunch(function, {{int32_t(gridX), int32_t(gridY), int32_t(gridZ)}},
                       threadsX * threadsY * threadsZ, sharedBytes, parameters);
  return kSuccess;
}

extern "C" int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ContextCall call("cuMemAlloc", " " + std::to_string(bytes));
  if (call.failure)
    return call.failure;
  if (bytes == 0)
    return kInvalidValue;
  if (bytes > (size_t(1) << 40))
    return kOutOfMemory;
  auto memory = std::make_unique<char[]>(bytes);
  *address = reinterpret_cast<uint64_t>(memory.get());
  state().memoryBytes[*address] = bytes;
  state().memory[*address] = std::move(memory);
  return kSuccess;
}

extern "C" int cuMemFree_v2(uint64_t address) {
  ContextCall call("cuMemFree");
  if (call.failure)
    return call.failure;
  state().memoryBytes.erase(address);
  return state().memory.erase(address) ? kSuccess : kInvalidValue;
}

/// Whether [address, address + bytes) lies in one allocation.
static bool isAllocated(uint64_t address, size_t bytes) {
  const std::map<uint64_t, size_t> &sizes = state().memoryBytes;
  auto after = sizes.upper_bound(address);
  if (after == sizes.begin())
    return false;
  auto [base, size] = *--after;
  return address + bytes <= base + size;
}

extern "C" int cuMemcpyHtoD_v2(uint64_t target, const void *source, size_t bytes) {
  ContextCall call("cuMemcpyHtoD", " " + std::to_string(bytes));
  if (call.failure)
    return call.failure;
  if (!isAllocated(target, bytes))
    return kInvalidValue;
  memcpy(reinterpret_cast<void *>(target), source, bytes);
  return kSuccess;
}

extern "C" int cuMemcpyDtoH_v2(void *target, uint64_t source, size_t bytes) {
  ContextCall call("cuMemcpyDtoH", " " + std::to_string(bytes));
  if (call.failure)
    return call.failure;
  if (!isAllocated(source, bytes))
    return kInvalidValue;
  memcpy(target, reinterpret_cast<const void *>(source), bytes);
  return kSuccess;
}

extern "C" int cuEventCreate(void **event, unsigned flags) {
  ContextCall call("cuEventCreate");
  if (call.failure)
    return call.failure;
  *event = new char;
  state().events.insert(*event);
  return kSuccess;
}

extern "C" int cuEventRecord(void *event, void *stream) {
  ContextCall call("cuEventRecord");
  return call.failure ? call.failure : state().events.count(event) ? kSuccess : kInvalidHandle;
}

extern "C" int cuEventSynchronize(void *event) { return ContextCall("cuEventSynchronize").failure; }

extern "C" int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  ContextCall call("cuEventElapsedTime");
  *milliseconds = 0.25f;
  return call.failure;
}

extern "C" int cuEventDestroy_v2(void *event) {
  ContextCall call("cuEventDestroy");
  if (!state().events.erase(event))
    return kInvalidHandle;
  delete static_cast<char *>(event);
  return call.failure;
}
