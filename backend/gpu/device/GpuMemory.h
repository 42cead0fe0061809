// Memory and timing on a GPU, for tests and measurements that no framework helps with.
#ifndef BACKEND_GPU_GPUMEMORY_H
#define BACKEND_GPU_GPUMEMORY_H
#include "backend/gpu/device/GpuContext.h"
#include "runtime/DeviceMemory.h"

namespace tw::gpu {

class GpuMemory final : public DeviceMemory {
public:
  /// Null with a reason in `error` where there is not enough.
  static std::unique_ptr<GpuMemory> allocate(std::shared_ptr<GpuContext> context, size_t bytes,
                                             RuntimeError &error);
  ~GpuMemory() override;
  GpuMemory(const GpuMemory &) = delete;
  GpuMemory &operator=(const GpuMemory &) = delete;

  uint64_t address() const override { return start; }
  uint64_t bytes() const override { return size; }
  std::optional<RuntimeError> copyFrom(const void *host) override;
  std::optional<RuntimeError> copyTo(void *host) const override;

private:
  GpuMemory(std::shared_ptr<GpuContext> context, size_t size)
      : context(std::move(context)), size(size) {}

  std::shared_ptr<GpuContext> context;
  DeviceAddress start = 0;
  size_t size;
};

/// The time between two points of a stream, measured by the GPU.
class GpuTimer {
public:
  static std::unique_ptr<GpuTimer> create(std::shared_ptr<GpuContext> context, RuntimeError &error);
  ~GpuTimer();
  GpuTimer(const GpuTimer &) = delete;
  GpuTimer &operator=(const GpuTimer &) = delete;

  std::optional<RuntimeError> start(uint64_t stream);
  /// Marks the end, waits for it and gives the time since `start`.
  std::optional<RuntimeError> stop(uint64_t stream, float &milliseconds);

private:
  explicit GpuTimer(std::shared_ptr<GpuContext> context) : context(std::move(context)) {}

  std::shared_ptr<GpuContext> context;
  DriverHandle begin = nullptr, end = nullptr;
};

} // namespace tw::gpu
#endif
