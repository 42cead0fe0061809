// One GPU's primary context, the one that torch and other libraries in the process use too.
#include "backend/gpu/device/GpuContext.h"
#include "runtime/Forks.h"
#include <algorithm>

using namespace tw;
using namespace tw::gpu;

static constexpr size_t kNumRecentKernels = 4, kMaxRetired = 32;

GpuContext::GpuContext(std::shared_ptr<const Driver> driver, int index, std::string simulator)
    : driver(std::move(driver)), index(index), simulator(std::move(simulator)),
      forkedAt(forkCount()) {}

GpuContext::~GpuContext() {
  if (context)
    call().releaseContext(ordinal);
}

int GpuContext::attribute(int attribute) const {
  DeviceOrdinal device = 0;
  int value = 0;
  if (call().device(&device, index) != kSuccess ||
      call().deviceAttribute(&value, attribute, device) != kSuccess)
    return 0;
  return value;
}

std::string GpuContext::productName() const {
  DeviceOrdinal device = 0;
  char text[128] = {};
  if (call().device(&device, index) != kSuccess ||
      call().deviceName(text, sizeof(text) - 1, device) != kSuccess)
    return "GPU";
  return text;
}

DriverResult GpuContext::enterDevice(int &left) {
  {
    std::lock_guard lock(mutex);
    isInUse = true;
  }
  if (DriverResult result = call().currentDevice(&left); result != kSuccess)
    return result;
  return left == index ? kSuccess : call().chooseDevice(index);
}

DriverResult GpuContext::enter(int &left) {
  if (forkCount() != forkedAt)
    return kNotInitialized; // what the driver would answer, or hang
  if (call().chooseDevice.function)
    return enterDevice(left);
  DriverHandle entered;
  {
    std::lock_guard lock(mutex);
    if (!context) {
      DriverResult result = call().device(&ordinal, index);
      if (result == kSuccess)
        result = call().retainContext(&context, ordinal);
      if (result != kSuccess) {
        context = nullptr;
        return result;
      }
    }
    entered = context;
  }
  return call().pushContext(entered);
}

void GpuContext::leave(int left) {
  DriverHandle popped = nullptr;
  if (!call().chooseDevice.function)
    call().popContext(&popped);
  else if (left != index)
    call().chooseDevice(left);
}

GpuScope::~GpuScope() {
  if (isEntered())
    context.leave(left);
}

RuntimeError GpuScope::failure(const std::string &action) const {
  const DriverFunctions &call = context.call();
  std::string functions = call.chooseDevice.function ? std::string(call.chooseDevice.name)
                                                     : std::string(call.pushContext.name) + " or " +
                                                           call.retainContext.name;
  return context.failureOf(result, functions, action);
}

RuntimeError GpuContext::failureOf(DriverResult result, const std::string &function,
                                   const std::string &action) {
  DriverFailure failure{result, function, name(), action, simulator, ""};
  {
    std::lock_guard lock(mutex);
    for (const std::string &kernel : recentKernels)
      failure.suspects += (failure.suspects.empty() ? "" : ", ") + kernel;
  }
  return describeFailure(*driver, failure, rowOf(driver->kind->failures, result));
}

void GpuContext::noteLaunch(const std::string &kernel) {
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

std::optional<RuntimeError> GpuContext::synchronize() {
  {
    std::lock_guard lock(mutex);
    if (!context && !isInUse)
      return std::nullopt; // nothing was ever launched
  }
  GpuScope scope(*this);
  if (!scope.isEntered())
    return scope.failure("waiting for the GPU");
  // Only what is retired by now: later modules may have launches that this does not wait for.
  std::vector<DriverHandle> idle;
  {
    std::lock_guard lock(mutex);
    idle.swap(retired);
  }
  DriverResult result = call().synchronizeContext();
  if (result == kSuccess) {
    for (DriverHandle module : idle)
      call().unloadModule(module);
    return std::nullopt;
  }
  {
    std::lock_guard lock(mutex);
    retired.insert(retired.end(), idle.begin(), idle.end());
  }
  return failureOf(result, call().synchronizeContext.name, "waiting for the GPU");
}

void GpuContext::retire(DriverHandle module, bool wasLaunched) {
  if (wasLaunched) {
    std::lock_guard lock(mutex);
    retired.push_back(module);
    return;
  }
  GpuScope scope(*this);
  if (scope.isEntered())
    call().unloadModule(module);
}

void GpuContext::collectRetired() {
  {
    std::lock_guard lock(mutex);
    if (retired.size() < kMaxRetired)
      return;
  }
  (void)synchronize(); // a failure shows itself in what the caller does next
}
