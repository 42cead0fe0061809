// Memory and timing on a GPU, for tests and measurements that no framework helps with.
#include "backend/gpu/device/GpuMemory.h"

using namespace tw;
using namespace tw::gpu;

/// Makes one call of the driver in a context, and reports its failure.
template <typename... Parameters, typename... Arguments>
static std::optional<RuntimeError> callIn(GpuContext &context, const std::string &action,
                                          DriverCall<Parameters...> DriverFunctions::*function,
                                          Arguments... arguments) {
  GpuScope scope(context);
  if (!scope.isEntered())
    return scope.failure(action);
  const DriverCall<Parameters...> &call = context.call().*function;
  DriverResult result = call(arguments...);
  if (result == kSuccess)
    return std::nullopt;
  return context.failureOf(result, call.name, action);
}

std::unique_ptr<GpuMemory> GpuMemory::allocate(std::shared_ptr<GpuContext> context, size_t bytes,
                                               RuntimeError &error) {
  std::unique_ptr<GpuMemory> memory(new GpuMemory(std::move(context), bytes));
  // The driver has no empty allocations.
  size_t allocated = std::max<size_t>(bytes, 1);
  auto failure = callIn(*memory->context, "allocating " + std::to_string(bytes) + " bytes",
                        &DriverFunctions::allocate, &memory->start, allocated);
  if (!failure)
    return memory;
  memory->start = 0;
  error = std::move(*failure);
  return nullptr;
}

GpuMemory::~GpuMemory() {
  if (start)
    (void)callIn(*context, "freeing memory", &DriverFunctions::release, start);
}

std::optional<RuntimeError> GpuMemory::copyFrom(const void *host) {
  if (size == 0)
    return std::nullopt;
  return callIn(*context, "copying to the GPU", &DriverFunctions::copyToDevice, start, host, size);
}

std::optional<RuntimeError> GpuMemory::copyTo(void *host) const {
  if (size == 0)
    return std::nullopt;
  return callIn(*context, "copying from the GPU", &DriverFunctions::copyToHost, host, start, size);
}

std::unique_ptr<GpuTimer> GpuTimer::create(std::shared_ptr<GpuContext> context,
                                           RuntimeError &error) {
  std::unique_ptr<GpuTimer> timer(new GpuTimer(std::move(context)));
  for (DriverHandle *event : {&timer->begin, &timer->end})
    if (auto failure = callIn(*timer->context, "making a timer", &DriverFunctions::createEvent,
                              event, /*flags=*/0u)) {
      *event = nullptr;
      error = std::move(*failure);
      return nullptr;
    }
  return timer;
}

GpuTimer::~GpuTimer() {
  for (DriverHandle event : {begin, end})
    if (event)
      (void)callIn(*context, "freeing a timer", &DriverFunctions::destroyEvent, event);
}

std::optional<RuntimeError> GpuTimer::start(uint64_t stream) {
  return callIn(*context, "starting a timer", &DriverFunctions::recordEvent, begin,
                reinterpret_cast<DriverHandle>(stream));
}

std::optional<RuntimeError> GpuTimer::stop(uint64_t stream, float &milliseconds) {
  if (auto failure = callIn(*context, "stopping a timer", &DriverFunctions::recordEvent, end,
                            reinterpret_cast<DriverHandle>(stream)))
    return failure;
  if (auto failure =
          callIn(*context, "waiting for the GPU", &DriverFunctions::synchronizeEvent, end))
    return failure;
  return callIn(*context, "reading a timer", &DriverFunctions::elapsedTime, &milliseconds, begin,
                end);
}
