// Memory and timing on a GPU, for tests and measurements that no framework helps with.
#include "backend/nvidia/device/CudaMemory.h"

using namespace tw;
using namespace tw::nvidia;

/// Makes one call of the driver in a context, and reports its failure.
template <typename Call>
static std::optional<RuntimeError> callIn(CudaContext &context, const char *function,
                                          const std::string &action, Call call) {
  CudaScope scope(context);
  if (!scope.isEntered())
    return scope.failure(action);
  CudaResult result = call(context.call());
  if (result == kCudaSuccess)
    return std::nullopt;
  return context.failureOf(result, function, action);
}

std::unique_ptr<CudaMemory> CudaMemory::allocate(std::shared_ptr<CudaContext> context, size_t bytes,
                                                 RuntimeError &error) {
  std::unique_ptr<CudaMemory> memory(new CudaMemory(std::move(context), bytes));
  // The driver has no empty allocations.
  size_t allocated = std::max<size_t>(bytes, 1);
  auto failure =
      callIn(*memory->context, "cuMemAlloc", "allocating " + std::to_string(bytes) + " bytes",
             [&](const CudaFunctions &call) { return call.allocate(&memory->start, allocated); });
  if (!failure)
    return memory;
  memory->start = 0;
  error = std::move(*failure);
  return nullptr;
}

CudaMemory::~CudaMemory() {
  if (start)
    (void)callIn(*context, "cuMemFree", "freeing memory",
                 [&](const CudaFunctions &call) { return call.release(start); });
}

std::optional<RuntimeError> CudaMemory::copyFrom(const void *host) {
  return callIn(*context, "cuMemcpyHtoD", "copying to the GPU", [&](const CudaFunctions &call) {
    return size ? call.copyToDevice(start, host, size) : CudaResult(kCudaSuccess);
  });
}

std::optional<RuntimeError> CudaMemory::copyTo(void *host) const {
  return callIn(*context, "cuMemcpyDtoH", "copying from the GPU", [&](const CudaFunctions &call) {
    return size ? call.copyToHost(host, start, size) : CudaResult(kCudaSuccess);
  });
}

std::unique_ptr<CudaTimer> CudaTimer::create(std::shared_ptr<CudaContext> context,
                                             RuntimeError &error) {
  std::unique_ptr<CudaTimer> timer(new CudaTimer(std::move(context)));
  for (CudaHandle *event : {&timer->begin, &timer->end})
    if (auto failure = callIn(
            *timer->context, "cuEventCreate", "making a timer",
            [&](const CudaFunctions &call) { return call.createEvent(event, /*flags=*/0); })) {
      *event = nullptr;
      error = std::move(*failure);
      return nullptr;
    }
  return timer;
}

CudaTimer::~CudaTimer() {
  for (CudaHandle event : {begin, end})
    if (event)
      (void)callIn(*context, "cuEventDestroy", "freeing a timer",
                   [&](const CudaFunctions &call) { return call.destroyEvent(event); });
}

std::optional<RuntimeError> CudaTimer::start(uint64_t stream) {
  return callIn(*context, "cuEventRecord", "starting a timer", [&](const CudaFunctions &call) {
    return call.recordEvent(begin, reinterpret_cast<CudaHandle>(stream));
  });
}

std::optional<RuntimeError> CudaTimer::stop(uint64_t stream, float &milliseconds) {
  auto record = [&](const CudaFunctions &call) {
    return call.recordEvent(end, reinterpret_cast<CudaHandle>(stream));
  };
  if (auto failure = callIn(*context, "cuEventRecord", "stopping a timer", record))
    return failure;
  auto wait = [&](const CudaFunctions &call) { return call.synchronizeEvent(end); };
  if (auto failure = callIn(*context, "cuEventSynchronize", "waiting for the GPU", wait))
    return failure;
  auto read = [&](const CudaFunctions &call) {
    return call.elapsedTime(&milliseconds, begin, end);
  };
  return callIn(*context, "cuEventElapsedTime", "reading a timer", read);
}
