// One OpenCL device with its context and queue, made at the first use.
#include "backend/spirv/device/OpenClContext.h"
#include "backend/spirv/device/OpenClErrors.h"
#include "runtime/Forks.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using namespace tw::spirv;

OpenClContext::OpenClContext(std::shared_ptr<const OpenClDriver> driver, int index,
                             std::string simulator)
    : driver(std::move(driver)), index(size_t(index)), simulator(std::move(simulator)),
      forkedAt(forkCount()) {}

OpenClContext::~OpenClContext() {
  if (forkCount() != forkedAt)
    return; // its threads are the parent's
  if (queueHandle)
    call().releaseQueue(queueHandle);
  if (contextHandle)
    call().releaseContext(contextHandle);
}

std::optional<RuntimeError> OpenClContext::enter(const std::string &action) {
  if (forkCount() != forkedAt)
    return RuntimeError{RuntimeError::Kind::Device, Code::DriverNotInitialized,
                        name() + ": the driver was opened before this process was forked (" +
                            action + ")",
                        "a process forked after the driver was opened cannot use it: start "
                        "workers with multiprocessing's spawn method"};
  std::lock_guard lock(mutex);
  int result = gpu::kSuccess;
  if (!contextHandle)
    contextHandle = call().createContext(nullptr, 1, &entry().id, nullptr, nullptr, &result);
  if (result != gpu::kSuccess) {
    contextHandle = nullptr;
    return failureOf(result, "clCreateContext", action);
  }
  if (!queueHandle)
    queueHandle = call().createQueue(contextHandle, entry().id, kTimedQueue, &result);
  if (result == gpu::kSuccess)
    return std::nullopt;
  queueHandle = nullptr;
  return failureOf(result, "clCreateCommandQueueWithProperties", action);
}

RuntimeError OpenClContext::failureOf(int result, const std::string &function,
                                      const std::string &action) const {
  gpu::DriverFailure failure{result, function, name(), action, simulator, ""};
  const gpu::FailureRow &row = gpu::rowOf(kOpenClFailures, result);
  std::string call =
      nameOfError(result) + " from " + function + ", " + action + ", on " + entry().describe();
  return gpu::describeFailure(kOpenClFailures, row, failure, row.meaning, call);
}
