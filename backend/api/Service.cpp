// What lives as long as the process: targets, their devices, loaded kernels and caches.
#include "backend/api/Service.h"
#include "backend/BytecodeTarget.h"
#include "backend/api/BuildId.h"
#include "backend/api/CacheKey.h"
#include "backend/cpu/CpuDevice.h"
#include "backend/cpu/CpuTarget.h"
#include "backend/nvidia/NvidiaTarget.h"
#include "backend/nvidia/device/CudaDevice.h"
#include "backend/reference/ReferenceDevice.h"
#include "backend/warpsim/WarpsimDevice.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using namespace tw::api;

static constexpr size_t kMaxLoadedKernels = 2048;
static constexpr uint64_t kMaxRecordBytes = 64 << 20;

namespace {
/// The device of targets that are compiled for and not run here.
class CompileOnlyDevice final : public Device {
public:
  explicit CompileOnlyDevice(std::string target) : target(std::move(target)) {}
  std::string name() const override { return target; }
  std::shared_ptr<LoadedKernel> load(const Artifact &, RuntimeError &) override {
    return std::make_shared<LoadedKernel>();
  }
  std::optional<RuntimeError> launch(LoadedKernel &, const LaunchGrid &,
                                     std::span<const LaunchArgument>) override {
    auto [maker, arch] = llvm::StringRef(target).split(':');
    return RuntimeError{RuntimeError::Kind::Device, Code::TargetIsNoDevice,
                        "`" + target + "` is a target to compile for, not a device",
                        "launch on sim:" + arch.str() + ", which executes the same code here"};
  }

private:
  std::string target;
};
} // namespace

Service &api::service() {
  static Service *instance = new Service;
  return *instance;
}

Service::Service() : store(kMaxLoadedKernels), cpuDevice(makeCpuDevice()) {
  entries["cpu"] = {makeCpuTarget(), cpuDevice};
  for (const std::string &level : cpuLevels())
    entries["cpu:" + level] = {makeCpuTarget(level), cpuDevice};
  entries["reference"] = {makeBytecodeTarget("reference"), makeReferenceDevice()};
}

std::vector<std::string> Service::names() const {
  std::vector<std::string> names = {"cpu"};
  for (const std::string &level : cpuLevels())
    names.push_back("cpu:" + level);
  names.push_back("reference");
  for (const char *maker : {"sim:", "nvidia:"})
    for (const std::string &arch : nvidiaArchs())
      names.push_back(maker + arch);
  return names;
}

std::shared_ptr<const nvidia::CudaDriver> Service::cudaDriver(bool opens, RuntimeError &error) {
  std::lock_guard lock(cudaMutex);
  if (!cuda && opens)
    cuda = nvidia::openCudaDriver(cudaSettings, error);
  return cuda;
}

void Service::setCudaLibrary(const std::string &path) {
  std::lock_guard lock(cudaMutex);
  cudaSettings.library = path;
}

void Service::setAssemblerDirectories(std::vector<std::string> directories) {
  std::lock_guard lock(entriesMutex);
  assemblers.libraryDirectories = std::move(directories);
}

/// A GPU of this machine, with the target that it runs the code of.
std::optional<TargetEntry> Service::makeCudaEntry(const std::string &number,
                                                  const AssemblerSettings &assemblers,
                                                  RuntimeError &error) {
  int index = 0;
  std::string name = "cuda:" + number;
  // One spelling for each GPU: "cuda:00" would be another device with the same memory.
  if (!llvm::to_integer(number, index, 10) || number != std::to_string(index)) {
    error = {RuntimeError::Kind::Launch, Code::UnknownDevice, "there is no device `" + name + "`",
             "GPUs are called cuda:0, cuda:1, ..."};
    return std::nullopt;
  }
  std::shared_ptr<const nvidia::CudaDriver> driver = cudaDriver(/*opens=*/true, error);
  if (!driver)
    return std::nullopt;
  std::optional<CudaGpu> gpu = findCudaGpu(std::move(driver), index, error);
  if (!gpu)
    return std::nullopt;
  const CudaArchChoice &choice = gpu->choice;
  return TargetEntry{
      makeNvidiaTarget(choice.arch->name.str(), /*assembles=*/choice.isExact, assemblers),
      makeCudaDevice(*gpu)};
}

/// A target and device whose name has an arch or a number: made when first asked for.
std::optional<TargetEntry> Service::makeEntry(const std::string &name,
                                              const AssemblerSettings &assemblers,
                                              RuntimeError &error) {
  auto [kind, rest] = llvm::StringRef(name).split(':');
  if (kind == "cuda")
    return makeCudaEntry(rest.str(), assemblers, error);
  std::string arch = rest.str();
  bool isArch = llvm::is_contained(nvidiaArchs(), arch);
  if (kind == "sim" && isArch)
    return TargetEntry{makeNvidiaTarget(arch, /*assembles=*/false), makeWarpsimDevice(arch)};
  if (kind == "nvidia" && isArch)
    return TargetEntry{makeNvidiaTarget(arch, /*assembles=*/true, assemblers),
                       std::make_shared<CompileOnlyDevice>(name)};
  error = {RuntimeError::Kind::Launch, Code::UnknownDevice, "there is no device `" + name + "`",
           ""};
  if ((kind == "sim" || kind == "nvidia") && !arch.empty())
    error.hint = "did you mean " + kind.str() + ":" + closestArch(arch) + "?";
  else
    error.hint = "this build has: " + llvm::join(api::targets(), ", ");
  return std::nullopt;
}

const TargetEntry *Service::findTarget(const std::string &name, RuntimeError &error) {
  AssemblerSettings settings;
  {
    std::lock_guard lock(entriesMutex);
    auto found = entries.find(name);
    if (found != entries.end())
      return &found->second;
    settings = assemblers;
  }
  // Without the lock: opening a driver may take seconds, and other devices need not wait for it.
  std::optional<TargetEntry> entry = makeEntry(name, settings, error);
  if (!entry)
    return nullptr;
  std::lock_guard lock(entriesMutex);
  return &entries.try_emplace(name, std::move(*entry)).first->second;
}

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
  return acquire(records, settings.directory + "/records", std::move(diskSettings));
}
