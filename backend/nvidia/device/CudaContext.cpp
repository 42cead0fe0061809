// One GPU's primary context, the one that torch and other libraries in the process use too.
#include "backend/nvidia/device/CudaContext.h"
#include <algorithm>

using namespace tw;
using namespace tw::nvidia;

static constexpr size_t kNumRecentKernels = 4, kMaxRetired = 32;

CudaContext::CudaContext(std::shared_ptr<const CudaDriver> driver, int index,
                         const std::string &arch)
    : driver(std::move(driver)), index(index), simulator("sim:" + arch) {}

CudaContext::~CudaContext() {
  if (context)
    call().releaseContext(ordinal);
}

int CudaContext::attribute(CudaDeviceAttribute attribute) const {
  CudaOrdinal device = 0;
  int value = 0;
  if (call().device(&device, index) != kCudaSuccess ||
      call().deviceAttribute(&value, attribute, device) != kCudaSuccess)
    return 0;
  return value;
}

std::string CudaContext::productName() const {
  CudaOrdinal device = 0;
  char text[128] = {};
  if (call().device(&device, index) != kCudaSuccess ||
      call().deviceName(text, sizeof(text) - 1, device) != kCudaSuccess)
    return "GPU";
  return text;
}

CudaResult CudaContext::enter() {
  CudaHandle entered;
  {
    std::lock_guard lock(mutex);
    if (!context) {
      CudaResult result = call().device(&ordinal, index);
      if (result == kCudaSuccess)
        result = call().retainContext(&context, ordinal);
      if (result != kCudaSuccess) {
        context = nullptr;
        return result;
      }
    }
    entered = context;
  }
  return call().pushContext(entered);
}

CudaScope::~CudaScope() {
  CudaHandle popped = nullptr;
  if (isEntered())
    context.call().popContext(&popped);
}

RuntimeError CudaScope::failure(const std::string &action) const {
  return context.failureOf(result, "cuCtxPushCurrent or cuDevicePrimaryCtxRetain", action);
}

RuntimeError CudaContext::failureOf(CudaResult result, const char *function,
                                    const std::string &action) {
  CudaFailure failure{result, function, name(), action, simulator, ""};
  {
    std::lock_guard lock(mutex);
    for (const std::string &kernel : recentKernels)
      failure.suspects += (failure.suspects.empty() ? "" : ", ") + kernel;
  }
  return describeCudaFailure(*driver, failure);
}

void CudaContext::noteLaunch(const std::string &kernel) {
  std::lock_guard lock(mutex);
  auto found = std::find(recentKernels.begin(), recentKernels.end(), kernel);
  if (found == recentKernels.end()) {
    if (recentKernels.size() < kNumRecentKernels)
      recentKernels.emplace_back();
    recentKernels.back() = kernel;
    found = recentKernels.end() - 1;
  }
  std::rotate(recentKernels.begin(), found, found + 1);
}

std::optional<RuntimeError> CudaContext::synchronize() {
  {
    std::lock_guard lock(mutex);
    if (!context)
      return std::nullopt; // nothing was ever launched
  }
  CudaScope scope(*this);
  if (!scope.isEntered())
    return scope.failure("waiting for the GPU");
  // Only what is retired by now: later modules may have launches that this does not wait for.
  std::vector<CudaHandle> idle;
  {
    std::lock_guard lock(mutex);
    idle.swap(retired);
  }
  CudaResult result = call().synchronizeContext();
  if (result == kCudaSuccess) {
    for (CudaHandle module : idle)
      call().unloadModule(module);
    return std::nullopt;
  }
  {
    std::lock_guard lock(mutex);
    retired.insert(retired.end(), idle.begin(), idle.end());
  }
  return failureOf(result, "cuCtxSynchronize", "waiting for the GPU");
}

void CudaContext::retire(CudaHandle module, bool wasLaunched) {
  if (wasLaunched) {
    std::lock_guard lock(mutex);
    retired.push_back(module);
    return;
  }
  CudaScope scope(*this);
  if (scope.isEntered())
    call().unloadModule(module);
}

void CudaContext::collectRetired() {
  {
    std::lock_guard lock(mutex);
    if (retired.size() < kMaxRetired)
      return;
  }
  (void)synchronize(); // a failure shows itself in what the caller does next
}
