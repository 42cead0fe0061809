// Runs compiled kernels on the cores of this machine.
#include "backend/cpu/CpuDevice.h"
#include "backend/cpu/CpuLink.h"
#include "backend/cpu/GridRun.h"
#include "runtime/LaunchLock.h"
#include "runtime/codes/Codes.h"
#include "runtime/threads/Gang.h"
#include <cstddef>
#include <cstdio>

using namespace tw;

namespace {

class LoadedCpuKernel final : public LoadedKernel {
public:
  std::span<const CodeRange> codeRanges() const override { return code->ranges; }

  std::unique_ptr<LinkedCode> code;
  std::string name;
  std::vector<ArtifactParameter> parameters;
  uint64_t scratchBytes = 0;
  std::shared_ptr<LoadedKernel> promises; // null: there are none to check
  /// Nanoseconds that a program took in the last launch, on one thread; 0 before the first.
  std::atomic<uint32_t> programNanoseconds = 0;
};

static_assert(offsetof(LaunchArgument, allocationBase) == simd::kArgumentBase &&
              offsetof(LaunchArgument, bytes) == simd::kArgumentBytes &&
              sizeof(LaunchArgument) == simd::kArgumentStride);

class CpuDevice final : public Device {
public:
  CpuDevice(int numThreads, std::shared_ptr<Device> promises)
      : pool(std::make_unique<ThreadPool>(numThreads)), threads(numThreads),
        promises(std::move(promises)) {}
  std::string name() const override { return "cpu"; }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;

  int numThreads() override { return ThreadPool(threads).numThreads(); }
  bool setNumThreads(int numThreads) override {
    LaunchScope scope(launchLock);
    if (scope.isNested() || scope.isInterrupted())
      return false;
    takeOver();
    pool = std::make_unique<ThreadPool>(numThreads);
    threads = numThreads;
    return true;
  }

private:
  void takeOver();
  std::optional<RuntimeError> run(LoadedCpuKernel &kernel, const LaunchGrid &grid, uint64_t count,
                                  std::span<const LaunchArgument> arguments, ScratchMemory &memory,
                                  bool isNested);
  ThreadPool::Plan planOf(const LaunchGrid &grid, uint64_t count, bool isNested) const;
  std::shared_ptr<CpuLinker> acquireLinker(std::string &error);

  std::mutex linkerMutex; // guards `linker` while it is made
  std::shared_ptr<CpuLinker> linker;
  LaunchLock launchLock; // one grid at a time: it owns what follows
  std::unique_ptr<ThreadPool> pool;
  ScratchMemory scratch;
  UpdateLocks locks;
  unsigned forkedAt = forkCount();
  std::atomic<int> threads; // as asked for; 0: not
  const std::shared_ptr<Device> promises;
};
} // namespace

std::shared_ptr<CpuLinker> CpuDevice::acquireLinker(std::string &error) {
  std::lock_guard lock(linkerMutex);
  if (!linker)
    linker = CpuLinker::create(error);
  return linker;
}

std::shared_ptr<LoadedKernel> CpuDevice::load(const Artifact &artifact, RuntimeError &error) {
  auto kernel = std::make_shared<LoadedCpuKernel>();
  std::string reason;
  if (std::shared_ptr<CpuLinker> current = acquireLinker(reason))
    kernel->code = current->link(artifact.binary, artifact.symbol, reason);
  if (!kernel->code) {
    error = {RuntimeError::Kind::Internal, Code::UnloadableKernel,
             "kernel " + artifact.symbol + " could not be loaded: " + reason, ""};
    return nullptr;
  }
  kernel->name = artifact.symbol.substr(0, artifact.symbol.find(kKernelSuffix));
  kernel->parameters = artifact.parameters;
  kernel->scratchBytes = artifact.scratchBytes;
  if (promises && !artifact.promises.empty() &&
      !(kernel->promises = promises->load(artifact, error)))
    return nullptr;
  return kernel;
}

static std::optional<RuntimeError> checkArguments(const LoadedCpuKernel &kernel,
                                                  std::span<const LaunchArgument> arguments) {
  using Kind = RuntimeError::Kind;
  if (arguments.size() != kernel.parameters.size())
    return RuntimeError{Kind::Launch, Code::LaunchArguments,
                        "kernel " + kernel.name + " takes " +
                            std::to_string(kernel.parameters.size()) + " run-time arguments, " +
                            std::to_string(arguments.size()) + " were given",
                        ""};
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isReadOnly && kernel.parameters[i].isStored)
      return RuntimeError{Kind::Launch, Code::ReadOnlyArgument,
                          "argument `" + kernel.parameters[i].name + "` is read-only, and kernel " +
                              kernel.name + " stores to it",
                          "pass a writable array, or a copy"};
  return std::nullopt;
}

static RuntimeError gridError(const LaunchGrid &grid, const char *fault, const char *hint) {
  const auto &[x, y, z] = grid.programs;
  return {RuntimeError::Kind::Launch, Code::BadGrid,
          llvm::formatv("the grid ({0}, {1}, {2}) has {3}", x, y, z, fault).str(), hint};
}

static std::optional<RuntimeError> countPrograms(const LaunchGrid &grid, uint64_t &count) {
  const auto &[x, y, z] = grid.programs;
  if (x < 0 || y < 0 || z < 0)
    return gridError(grid, "a negative extent",
                     "a grid counts programs along each axis: 0 or more");
  if (__builtin_mul_overflow(uint64_t(x) * uint64_t(y), uint64_t(z), &count))
    return gridError(grid, "more programs than can be counted", "");
  return std::nullopt;
}

/// In a forked child: what a thread of the parent had in its hands.
void CpuDevice::takeOver() {
  if (forkedAt == forkCount())
    return;
  forkedAt = forkCount();
  scratch.abandon();
}

/// A launch within a launch of the same thread, by a signal's handler, runs on this thread alone.
ThreadPool::Plan CpuDevice::planOf(const LaunchGrid &grid, uint64_t count, bool isNested) const {
  if (grid.isCooperative)
    return {nullptr, int(count)};
  return isNested || count == 1 ? ThreadPool::Plan{nullptr, 1} : pool->plan();
}

std::optional<RuntimeError> CpuDevice::run(LoadedCpuKernel &kernel, const LaunchGrid &grid,
                                           uint64_t count,
                                           std::span<const LaunchArgument> arguments,
                                           ScratchMemory &memory, bool isNested) {
  ThreadPool::Plan plan = planOf(grid, count, isNested);
  int numWorkers = plan.numWorkers;
  if (!memory.reserve(kernel.scratchBytes, numWorkers))
    return RuntimeError{RuntimeError::Kind::Device, Code::NoTemporaryMemory,
                        "no memory for the temporaries of kernel " + kernel.name + ": " +
                            std::to_string(kernel.scratchBytes) + " bytes for each of " +
                            std::to_string(numWorkers) + " threads",
                        "use smaller tiles"};
  llvm::SmallVector<uint64_t, 32> bits;
  for (const LaunchArgument &argument : arguments)
    bits.push_back(argument.bits);
  CpuLaunch launch{kernel.name, kernel.parameters, arguments};
  launch.isCooperative = grid.isCooperative;
  GridRun run{kernel.code->entry, bits.data(), grid, memory, launch, locks};
  if (grid.isCooperative) {
    if (auto error = runTogether(run, count))
      return error;
  } else if (!runGrid(run, count, *pool, plan, kernel.programNanoseconds)) {
    run.isInterrupted = true;
  }
  if (launch.hasPrinted)
    fflush(stdout);
  if ((run.isInterrupted || launch.failure) && !isNested)
    locks.reset();
  if (run.isInterrupted)
    return interruptError(kernel.name);
  return launch.failure;
}

std::optional<RuntimeError> CpuDevice::launch(LoadedKernel &loaded, const LaunchGrid &grid,
                                              std::span<const LaunchArgument> arguments) {
  auto &kernel = static_cast<LoadedCpuKernel &>(loaded);
  uint64_t count = 0;
  if (auto error = countPrograms(grid, count))
    return error;
  if (auto error = checkArguments(kernel, arguments))
    return error;
  if (count == 0)
    return std::nullopt;
  if (grid.isCooperative && count > kMostInGang)
    return tooManyTogether(grid, kernel.name, kMostInGang, "each needs a thread");
  LaunchScope scope(launchLock);
  if (scope.isInterrupted())
    return interruptError(kernel.name);
  // Under the lock, since no launch of another thread may be half done when promises read memory.
  if (kernel.promises)
    if (auto error = promises->launch(*kernel.promises, grid, arguments))
      return error;
  if (scope.isNested()) {
    ScratchMemory own;
    return run(kernel, grid, count, arguments, own, /*isNested=*/true);
  }
  takeOver();
  return run(kernel, grid, count, arguments, scratch, /*isNested=*/false);
}

std::shared_ptr<Device> tw::makeCpuDevice(int numThreads, std::shared_ptr<Device> promises) {
  return std::make_shared<CpuDevice>(numThreads, std::move(promises));
}
