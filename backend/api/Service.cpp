// What lives as long as the process: targets, their devices, loaded kernels and caches.
#include "backend/api/Service.h"
#include "backend/api/BuildId.h"
#include "backend/api/CacheKey.h"

using namespace tw;
using namespace tw::api;

static constexpr size_t kMaxLoadedKernels = 2048;
static constexpr uint64_t kMaxRecordBytes = 64 << 20;

Service &api::service() {
  static Service *instance = new Service;
  return *instance;
}

Service::Service() : store(kMaxLoadedKernels) {
  RuntimeError error;
  hostDevice = findTarget("cpu", error)->device;
}

void Service::changeSetting(const std::string &name, std::vector<std::string> values) {
  std::lock_guard lock(entriesMutex);
  currentSettings[name] = std::move(values);
}

TargetSettings Service::settings() {
  std::lock_guard lock(entriesMutex);
  return currentSettings;
}

const TargetEntry *Service::findTarget(const std::string &name, RuntimeError &error) {
  TargetSettings settings;
  {
    std::lock_guard lock(entriesMutex);
    auto found = entries.find(name);
    if (found != entries.end())
      return &found->second;
    settings = currentSettings;
  }
  // Without the lock: opening a driver may take seconds, and other devices need not wait for it.
  std::optional<TargetEntry> entry = makeTarget(kinds, name, settings, error);
  if (!entry)
    return nullptr;
  std::lock_guard lock(entriesMutex);
  return &entries.try_emplace(name, std::move(*entry)).first->second;
}

uint64_t Service::kernelNanoseconds() {
  std::lock_guard lock(entriesMutex);
  std::set<const Device *> devices; // one may have several names
  for (const auto &[name, entry] : entries)
    if (entry.device)
      devices.insert(entry.device.get());
  uint64_t sum = 0;
  for (const Device *device : devices)
    sum += device->kernelNanoseconds();
  return sum;
}

std::vector<std::string> Service::layers() {
  std::lock_guard lock(cachesMutex);
  return layerDirectories;
}

void Service::changeLayers(std::vector<std::string> directories) {
  std::lock_guard lock(cachesMutex);
  layerDirectories = std::move(directories);
}

void Service::noteDamaged(const std::string &problem) {
  std::lock_guard lock(cachesMutex);
  if (notedProblems.insert(problem).second)
    newProblems.push_back(problem);
}

std::vector<std::string> Service::takeDamaged() {
  std::lock_guard lock(cachesMutex);
  return std::exchange(newProblems, {});
}

std::string api::recordsOf(const std::string &directory) { return directory + "/records"; }

static bool isInUse(const CacheSettings &settings) {
  return settings.enabled && !settings.directory.empty() && !identifyBuild().empty();
}

DiskCache *Service::acquire(CacheMap &map, const std::string &directory,
                            DiskCacheSettings diskSettings) {
  std::lock_guard lock(cachesMutex);
  std::unique_ptr<DiskCache> &cache = map[directory];
  if (!cache) {
    diskSettings.directory = directory;
    diskSettings.hash = hashBytes;
    cache = std::make_unique<DiskCache>(std::move(diskSettings));
  }
  return cache.get();
}

DiskCache *Service::acquireCache(const CacheSettings &settings) {
  return isInUse(settings) ? acquire(caches, settings.directory, DiskCacheSettings()) : nullptr;
}

DiskCache *Service::acquireRecords(const CacheSettings &settings) {
  DiskCache *cache = acquireCache(settings);
  if (!cache || !cache->isUsable())
    return nullptr;
  DiskCacheSettings diskSettings;
  diskSettings.maxBytes = kMaxRecordBytes;
  return acquire(records, recordsOf(settings.directory), std::move(diskSettings));
}
