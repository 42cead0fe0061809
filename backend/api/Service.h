// What lives as long as the process: targets, their devices, loaded kernels and caches.
#ifndef BACKEND_API_SERVICE_H
#define BACKEND_API_SERVICE_H
#include "backend/TargetKind.h"
#include "backend/api/Compile.h"
#include "backend/api/KernelStore.h"
#include "runtime/DiskCache.h"
#include <map>
#include <mutex>
#include <set>

namespace tw::api {

class Service {
public:
  Service();
  /// The target of a name, made at its first use; null with a reason in `error`.
  const TargetEntry *findTarget(const std::string &name, RuntimeError &error);
  /// Returns what the devices of all targets that are made say together.
  uint64_t kernelNanoseconds();
  /// The device that launches go to unless another is chosen: the cores of this machine.
  Device &host() { return *hostDevice; }

  /// All of them; the list never changes.
  const std::vector<TargetKind> kinds = targetKinds();
  /// For targets that are made, and drivers that are opened, after this.
  void changeSetting(const std::string &name, std::vector<std::string> values);
  TargetSettings settings();

  /// Directories of caches that are only read, the first first.
  std::vector<std::string> layers();
  void changeLayers(std::vector<std::string> directories);
  /// Notes what is wrong with an entry of a cache; `takeDamaged` gives each text once.
  void noteDamaged(const std::string &problem);
  std::vector<std::string> takeDamaged();

  DiskCache *acquireCache(const CacheSettings &settings);
  /// The records of a cache; null where its kernels cannot be kept either.
  DiskCache *acquireRecords(const CacheSettings &settings);

  KernelStore store;
  std::mutex cachesMutex; // guards the maps of caches; each cache is thread safe itself
  using CacheMap = std::map<std::string, std::unique_ptr<DiskCache>>;
  CacheMap caches, records;

private:
  std::vector<std::string> layerDirectories; // guarded by cachesMutex
  std::set<std::string> notedProblems;       // guarded by cachesMutex: of all damaged entries
  std::vector<std::string> newProblems;      // guarded by cachesMutex
  DiskCache *acquire(CacheMap &map, const std::string &directory, DiskCacheSettings diskSettings);

  std::mutex entriesMutex; // guards the map, whose entries never go away, and the settings
  TargetSettings currentSettings;
  std::map<std::string, TargetEntry> entries;
  std::shared_ptr<Device> hostDevice;
};

/// Where the records of a cache in `directory` are.
std::string recordsOf(const std::string &directory);

/// Never destroyed: kernels may outlive static destructors.
Service &service();

} // namespace tw::api
#endif
