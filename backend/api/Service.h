// What lives as long as the process: targets, their devices, loaded kernels and caches.
#ifndef BACKEND_API_SERVICE_H
#define BACKEND_API_SERVICE_H
#include "backend/Target.h"
#include "backend/api/Compile.h"
#include "backend/api/KernelStore.h"
#include "backend/nvidia/assemble/AssemblePtx.h"
#include "backend/nvidia/device/CudaDriver.h"
#include "runtime/DiskCache.h"
#include <map>
#include <mutex>

namespace tw::api {

/// A target and the device that runs what it compiles.
struct TargetEntry {
  std::unique_ptr<Target> target;
  std::shared_ptr<Device> device;
};

class Service {
public:
  Service();
  /// The target of a name, made at its first use; null with a reason in `error`.
  const TargetEntry *findTarget(const std::string &name, RuntimeError &error);
  /// The names that this build has without asking a driver.
  std::vector<std::string> names() const;
  Device &cpu() { return *cpuDevice; }

  /// The CUDA driver; with `opens` it is opened if it was not yet, else null before that. Null with
  /// a reason in `error` where it cannot be opened, and then tried again at the next use.
  std::shared_ptr<const nvidia::CudaDriver> cudaDriver(bool opens, RuntimeError &error);
  void setCudaLibrary(const std::string &path);
  /// For targets that are made after this.
  void setAssemblerDirectories(std::vector<std::string> directories);

  DiskCache *acquireCache(const CacheSettings &settings);
  /// The records of a cache; null where its kernels cannot be kept either.
  DiskCache *acquireRecords(const CacheSettings &settings);

  KernelStore store;
  std::mutex cachesMutex; // guards the maps of caches; each cache is thread safe itself
  using CacheMap = std::map<std::string, std::unique_ptr<DiskCache>>;
  CacheMap caches, records;

private:
  std::optional<TargetEntry> makeEntry(const std::string &name, const AssemblerSettings &assemblers,
                                       RuntimeError &error);
  std::optional<TargetEntry> makeCudaEntry(const std::string &number,
                                           const AssemblerSettings &assemblers,
                                           RuntimeError &error);
  DiskCache *acquire(CacheMap &map, const std::string &directory, DiskCacheSettings diskSettings);

  const std::shared_ptr<Device> cpuDevice;
  std::mutex entriesMutex; // guards the map, whose entries never go away, and the settings
  AssemblerSettings assemblers;
  std::map<std::string, TargetEntry> entries;
  std::mutex cudaMutex; // guards the two below
  nvidia::CudaDriverSettings cudaSettings;
  std::shared_ptr<const nvidia::CudaDriver> cuda;
};

/// Never destroyed: kernels may outlive static destructors.
Service &service();

} // namespace tw::api
#endif
