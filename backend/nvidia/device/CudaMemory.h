// Memory and timing on a GPU, for tests and measurements that no framework helps with.
#ifndef BACKEND_NVIDIA_CUDAMEMORY_H
#define BACKEND_NVIDIA_CUDAMEMORY_H
#include "backend/nvidia/device/CudaContext.h"
#include "runtime/DeviceMemory.h"

namespace tw::nvidia {

class CudaMemory final : public DeviceMemory {
public:
  /// Null with a reason in `error` where there is not enough.
  static std::unique_ptr<CudaMemory> allocate(std::shared_ptr<CudaContext> context, size_t bytes,
                                              RuntimeError &error);
  ~CudaMemory() override;
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;

  uint64_t address() const override { return start; }
  uint64_t bytes() const override { return size; }
  std::optional<RuntimeError> copyFrom(const void *host) override;
  std::optional<RuntimeError> copyTo(void *host) const override;

private:
  CudaMemory(std::shared_ptr<CudaContext> context, size_t size)
      : context(std::move(context)), size(size) {}

  std::shared_ptr<CudaContext> context;
  CudaAddress start = 0;
  size_t size;
};

/// The time between two points of a stream, measured by the GPU.
class CudaTimer {
public:
  static std::unique_ptr<CudaTimer> create(std::shared_ptr<CudaContext> context,
                                           RuntimeError &error);
  ~CudaTimer();
  CudaTimer(const CudaTimer &) = delete;
  CudaTimer &operator=(const CudaTimer &) = delete;

  std::optional<RuntimeError> start(uint64_t stream);
  /// Marks the end, waits for it and gives the time since `start`.
  std::optional<RuntimeError> stop(uint64_t stream, float &milliseconds);

private:
  explicit CudaTimer(std::shared_ptr<CudaContext> context) : context(std::move(context)) {}

  std::shared_ptr<CudaContext> context;
  CudaHandle begin = nullptr, end = nullptr;
};

} // namespace tw::nvidia
#endif
