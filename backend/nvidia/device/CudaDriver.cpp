// The CUDA driver's library, opened when it is first needed and never linked.
#include "backend/nvidia/device/CudaDriver.h"
#include "backend/nvidia/device/CudaErrors.h"
#include <dlfcn.h>

using namespace tw;
using namespace tw::nvidia;

/// The functions' names with the versions whose signatures CudaFunctions has. All of them are in
/// the drivers of CUDA 11.0 and later; PTX 8.0, the oldest that is emitted, needs CUDA 12.0.
static constexpr int kNeededVersion = 12000;

namespace {
/// Looks functions up in a library and keeps the name of the first one that is missing.
struct SymbolLookup {
  void *library;
  std::string missing;

  template <typename Function> void bind(const char *name, Function &function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function && missing.empty())
      missing = name;
  }
};
} // namespace

static void bindDevices(SymbolLookup &lookup, CudaFunctions &call) {
  lookup.bind("cuInit", call.init);
  lookup.bind("cuGetErrorName", call.errorName);
  lookup.bind("cuGetErrorString", call.errorText);
  lookup.bind("cuDeviceGetCount", call.deviceCount);
  lookup.bind("cuDeviceGet", call.device);
  lookup.bind("cuDeviceGetName", call.deviceName);
  lookup.bind("cuDeviceGetAttribute", call.deviceAttribute);
  lookup.bind("cuDevicePrimaryCtxRetain", call.retainContext);
  lookup.bind("cuDevicePrimaryCtxRelease_v2", call.releaseContext);
  lookup.bind("cuCtxPushCurrent_v2", call.pushContext);
  lookup.bind("cuCtxPopCurrent_v2", call.popContext);
  lookup.bind("cuCtxSynchronize", call.synchronizeContext);
}

static void bindKernels(SymbolLookup &lookup, CudaFunctions &call) {
  lookup.bind("cuModuleLoadDataEx", call.loadModule);
  lookup.bind("cuModuleUnload", call.unloadModule);
  lookup.bind("cuModuleGetFunction", call.findFunction);
  lookup.bind("cuFuncGetAttribute", call.functionAttribute);
  lookup.bind("cuFuncSetAttribute", call.setFunctionAttribute);
  lookup.bind("cuLaunchKernel", call.launch);
}

static void bindMemory(SymbolLookup &lookup, CudaFunctions &call) {
  lookup.bind("cuMemAlloc_v2", call.allocate);
  lookup.bind("cuMemFree_v2", call.release);
  lookup.bind("cuMemcpyHtoD_v2", call.copyToDevice);
  lookup.bind("cuMemcpyDtoH_v2", call.copyToHost);
  lookup.bind("cuEventCreate", call.createEvent);
  lookup.bind("cuEventRecord", call.recordEvent);
  lookup.bind("cuEventSynchronize", call.synchronizeEvent);
  lookup.bind("cuEventElapsedTime", call.elapsedTime);
  lookup.bind("cuEventDestroy_v2", call.destroyEvent);
}

std::string nvidia::cudaVersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

static RuntimeError missingLibrary(const char *reason) {
  return {RuntimeError::Kind::Device, Code::NoDriver,
          std::string("the CUDA driver cannot be opened: ") + (reason ? reason : "unknown reason"),
          "install NVIDIA's driver (containers need --gpus all); without a GPU, run on the cpu or "
          "on sim:sm_80"};
}

static RuntimeError missingFunction(const CudaDriver &driver, const std::string &name) {
  std::string version =
      driver.version > 0 ? " of CUDA " + cudaVersionText(driver.version) : std::string();
  return {RuntimeError::Kind::Device, Code::DriverMismatch,
          "the driver" + version + " (" + driver.library + ") has no function " + name,
          "install a driver of CUDA " + cudaVersionText(kNeededVersion) + " or newer"};
}

/// Binds every function; false with `error` when one is missing.
static bool bindAll(void *library, CudaDriver &driver, RuntimeError &error) {
  SymbolLookup lookup{library, ""};
  // First of all the version, which the report of anything missing names.
  lookup.bind("cuDriverGetVersion", driver.call.driverVersion);
  if (driver.call.driverVersion && driver.call.driverVersion(&driver.version) != kCudaSuccess)
    driver.version = 0;
  bindDevices(lookup, driver.call);
  bindKernels(lookup, driver.call);
  bindMemory(lookup, driver.call);
  if (lookup.missing.empty())
    return true;
  error = missingFunction(driver, lookup.missing);
  return false;
}

std::shared_ptr<const CudaDriver> nvidia::openCudaDriver(const CudaDriverSettings &settings,
                                                         RuntimeError &error) {
  auto driver = std::make_shared<CudaDriver>();
  driver->library = settings.library.empty() ? "libcuda.so.1" : settings.library;
  void *library = dlopen(driver->library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error = missingLibrary(dlerror());
    return nullptr;
  }
  if (!bindAll(library, *driver, error))
    return nullptr;
  CudaFailure failure;
  failure.device = "the CUDA driver";
  failure.action = "opening " + driver->library;
  failure.function = "cuInit";
  failure.result = driver->call.init(0);
  if (failure.result == kCudaSuccess) {
    failure.function = "cuDeviceGetCount";
    failure.result = driver->call.deviceCount(&driver->numDevices);
  }
  constexpr CudaResult noDevice = 100;
  if (failure.result == kCudaSuccess && driver->numDevices == 0)
    failure.result = noDevice;
  if (failure.result == kCudaSuccess)
    return driver;
  error = describeCudaFailure(*driver, failure);
  return nullptr;
}
