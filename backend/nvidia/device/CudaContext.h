// One GPU's primary context, the one that torch and other libraries in the process use too.
#ifndef BACKEND_NVIDIA_CUDACONTEXT_H
#define BACKEND_NVIDIA_CUDACONTEXT_H
#include "backend/nvidia/device/CudaErrors.h"
#include <mutex>
#include <optional>
#include <vector>

namespace tw::nvidia {

/// Retained when first entered, released with the last kernel and device that use it.
class CudaContext {
public:
  /// `arch` is the architecture that is compiled for, whose simulator reports name.
  CudaContext(std::shared_ptr<const CudaDriver> driver, int index, const std::string &arch);
  ~CudaContext();
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;

  const CudaFunctions &call() const { return driver->call; }
  const CudaDriver &cudaDriver() const { return *driver; }
  std::string name() const { return "cuda:" + std::to_string(index); }
  int attribute(CudaDeviceAttribute attribute) const;
  /// What its maker calls the GPU.
  std::string productName() const;

  /// The report of a call that failed while `action` ("loading kernel add") was done.
  RuntimeError failureOf(CudaResult result, const char *function, const std::string &action);
  /// Remembers a kernel that was launched, for the reports of later failures.
  void noteLaunch(const std::string &kernel);
  /// Waits for everything that was launched, then unloads what was retired.
  std::optional<RuntimeError> synchronize();

  /// Takes a module that nobody uses any more. One whose kernels may still run is unloaded when the
  /// GPU is known to be idle.
  void retire(CudaHandle module, bool wasLaunched);
  /// Waits for the GPU where many modules are retired, and unloads them.
  void collectRetired();

private:
  friend class CudaScope;
  CudaResult enter();

  std::shared_ptr<const CudaDriver> driver;
  int index;
  std::string simulator;
  std::mutex mutex; // guards everything below
  CudaHandle context = nullptr;
  CudaOrdinal ordinal = 0;
  std::vector<std::string> recentKernels; // the last one first
  std::vector<CudaHandle> retired;
};

/// Makes a context current in the calling thread while it lives, then the previous one again.
class CudaScope {
public:
  explicit CudaScope(CudaContext &context) : context(context), result(context.enter()) {}
  ~CudaScope();
  CudaScope(const CudaScope &) = delete;
  CudaScope &operator=(const CudaScope &) = delete;
  bool isEntered() const { return result == kCudaSuccess; }
  RuntimeError failure(const std::string &action) const;

private:
  CudaContext &context;
  CudaResult result;
};

} // namespace tw::nvidia
#endif
