// One GPU's primary context, the one that torch and other libraries in the process use too.
#ifndef BACKEND_GPU_GPUCONTEXT_H
#define BACKEND_GPU_GPUCONTEXT_H
#include "backend/gpu/device/Driver.h"
#include <mutex>
#include <optional>
#include <vector>

namespace tw::gpu {

/// Retained when first entered, released with the last kernel and device that use it.
class GpuContext {
public:
  /// `simulator` is the device that can find a kernel's fault, which reports name; "" for none.
  GpuContext(std::shared_ptr<const Driver> driver, int index, std::string simulator);
  ~GpuContext();
  GpuContext(const GpuContext &) = delete;
  GpuContext &operator=(const GpuContext &) = delete;

  const DriverFunctions &call() const { return driver->call; }
  const DriverKind &kind() const { return *driver->kind; }
  int number() const { return index; }
  std::string name() const { return kind().devicePrefix + std::to_string(index); }
  /// A fact of the GPU by its number in the driver; 0 where that fails.
  int attribute(int attribute) const;
  /// Returns the name that its maker gave the GPU.
  std::string productName() const;

  /// The report of a call that failed while `action` ("loading kernel add") was done.
  RuntimeError failureOf(DriverResult result, const std::string &function,
                         const std::string &action);
  /// Remembers a kernel that was launched, for the reports of later failures.
  void noteLaunch(const std::string &kernel);
  /// Waits for everything that was launched, then unloads what was retired.
  std::optional<RuntimeError> synchronize();

  /// Takes a module that nobody uses any more. One whose kernels may still run is unloaded when the
  /// GPU is known to be idle.
  void retire(DriverHandle module, bool wasLaunched);
  /// Waits for the GPU where many modules are retired, and unloads them.
  void collectRetired();

private:
  friend class GpuScope;
  /// Makes it current; `left` is then what was current before, where it is not on a stack.
  DriverResult enter(int &left);
  DriverResult enterDevice(int &left);
  void leave(int left);

  std::shared_ptr<const Driver> driver;
  int index;
  std::string simulator;
  unsigned forkedAt; // the driver is of no use in a process that was forked since
  std::mutex mutex;  // guards everything below
  DriverHandle context = nullptr;
  bool isInUse = false; // without contexts: whether anything was done on the device
  DeviceOrdinal ordinal = 0;
  std::vector<std::string> recentKernels; // the last one first
  std::vector<DriverHandle> retired;
};

/// Makes a context current in the calling thread while it lives, then the previous one again.
class GpuScope {
public:
  explicit GpuScope(GpuContext &context) : context(context), result(context.enter(left)) {}
  ~GpuScope();
  GpuScope(const GpuScope &) = delete;
  GpuScope &operator=(const GpuScope &) = delete;
  bool isEntered() const { return result == kSuccess; }
  RuntimeError failure(const std::string &action) const;

private:
  GpuContext &context;
  int left = 0;
  DriverResult result;
};

} // namespace tw::gpu
#endif
