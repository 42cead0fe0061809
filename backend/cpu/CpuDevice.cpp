// Runs compiled kernels on the cores of this machine.
#include "backend/cpu/CpuDevice.h"
#include "backend/cpu/CpuLink.h"
#include "backend/cpu/HostFunctions.h"
#include "runtime/Interrupts.h"
#include "runtime/ThreadPool.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tw;

namespace {

/// Gives the kernel the default floating-point environment, whatever the caller's thread has set:
/// round to nearest even, denormals kept. And orders non-temporal stores before the launch returns.
class KernelEnvironment {
public:
#if defined(__x86_64__)
  KernelEnvironment() : saved(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~KernelEnvironment() {
    _mm_sfence();
    _mm_setcsr(saved);
  }

private:
  unsigned saved;
#endif
};

/// Memory that kernels keep large temporaries in: one piece for each worker, grown and kept.
class ScratchMemory {
public:
  ~ScratchMemory() { free(base); }
  bool reserve(uint64_t bytesEach, int numWorkers) {
    // Pieces begin on pages, so that two workers share no cache line and no page.
    uint64_t stride = (bytesEach + 4095) / 4096 * 4096;
    uint64_t total = 0;
    if (stride < bytesEach || __builtin_mul_overflow(stride, uint64_t(numWorkers), &total))
      return false;
    if (total > capacity) {
      free(base);
      base = static_cast<char *>(aligned_alloc(4096, total));
      capacity = base ? total : 0;
    }
    pieceBytes = stride;
    return base || total == 0;
  }
  void *piece(int worker) const { return base ? base + pieceBytes * worker : nullptr; }

private:
  char *base = nullptr;
  uint64_t capacity = 0, pieceBytes = 0;
};

class LoadedCpuKernel final : public LoadedKernel {
public:
  std::unique_ptr<LinkedCode> code;
  std::string name;
  std::vector<ArtifactParameter> parameters;
  uint64_t scratchBytes = 0;
};

/// Asks now and then whether to stop. Programs may take a nanosecond or a second each: how many
/// pass between two looks at the clock follows from how long the last ones took.
class InterruptPoll {
public:
  /// Before each program of the thread that launched.
  bool isDue() { return --untilLook == 0; }
  bool look();

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point lastLook = {}, lastAsked = {};
  uint64_t stride = 1;
  uint64_t untilLook = 2; // a grid of one program never looks
};

/// One launch as its workers see it.
struct GridRun {
  TwKernel entry;
  const uint64_t *arguments;
  const LaunchGrid &grid;
  const ScratchMemory &scratch;
  CpuLaunch &launch;
  std::atomic<bool> isInterrupted = false; // then programs that have not begun are left out
  InterruptPoll polls = {};
};

class CpuDevice final : public Device {
public:
  explicit CpuDevice(int numThreads) : pool(std::make_unique<ThreadPool>(numThreads)) {}
  std::string name() const override { return "cpu"; }
  std::shared_ptr<LoadedKernel> load(const Artifact &artifact, RuntimeError &error) override;
  std::optional<RuntimeError> launch(LoadedKernel &kernel, const LaunchGrid &grid,
                                     std::span<const LaunchArgument> arguments) override;

  int numThreads() {
    std::lock_guard lock(launchMutex);
    return pool->numThreads();
  }
  void setNumThreads(int numThreads) {
    std::lock_guard lock(launchMutex);
    pool = std::make_unique<ThreadPool>(numThreads);
  }

private:
  std::shared_ptr<CpuLinker> acquireLinker(std::string &error);

  std::mutex linkerMutex; // guards `linker` while it is made
  std::shared_ptr<CpuLinker> linker;
  std::mutex launchMutex; // one grid at a time: it owns `pool` and `scratch`
  std::unique_ptr<ThreadPool> pool;
  ScratchMemory scratch;
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
    error = {RuntimeError::Kind::Internal, "TW0902",
             "kernel " + artifact.symbol + " could not be loaded: " + reason, ""};
    return nullptr;
  }
  kernel->name = artifact.symbol.substr(0, artifact.symbol.find(kKernelSuffix));
  kernel->parameters = artifact.parameters;
  kernel->scratchBytes = artifact.scratchBytes;
  return kernel;
}

static std::optional<RuntimeError> checkArguments(const LoadedCpuKernel &kernel,
                                                  std::span<const LaunchArgument> arguments) {
  using Kind = RuntimeError::Kind;
  if (arguments.size() != kernel.parameters.size())
    return RuntimeError{Kind::Launch, "TW0404",
                        "kernel " + kernel.name + " takes " +
                            std::to_string(kernel.parameters.size()) + " run-time arguments, " +
                            std::to_string(arguments.size()) + " were given",
                        ""};
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isReadOnly && kernel.parameters[i].isStored)
      return RuntimeError{Kind::Launch, "TW0403",
                          "argument `" + kernel.parameters[i].name + "` is read-only, and kernel " +
                              kernel.name + " stores to it",
                          "pass a writable array, or a copy"};
  return std::nullopt;
}

static RuntimeError gridError(const LaunchGrid &grid, const char *fault, const char *hint) {
  const auto &[x, y, z] = grid.programs;
  return {RuntimeError::Kind::Launch, "TW0402",
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

bool InterruptPoll::look() {
  auto now = Clock::now();
  if (lastLook == Clock::time_point())
    lastLook = lastAsked = now;
  auto elapsed = now - lastLook;
  lastLook = now;
  if (elapsed < std::chrono::milliseconds(1))
    stride = std::min<uint64_t>(2 * stride, 1 << 16);
  else if (elapsed > std::chrono::milliseconds(10))
    stride = 1;
  untilLook = stride;
  if (now - lastAsked < std::chrono::milliseconds(50))
    return false;
  lastAsked = now;
  return isInterrupted();
}

/// Programs [begin, end) of the grid, x fastest.
static void runPrograms(void *context, int worker, uint64_t begin, uint64_t end) {
  GridRun &run = *static_cast<GridRun *>(context);
  const auto &extents = run.grid.programs;
  TwProgram program;
  memcpy(program.numPrograms, extents.data(), sizeof(program.numPrograms));
  program.scratch = run.scratch.piece(worker);
  program.launch = &run.launch;
  program.programId[0] = int32_t(begin % uint64_t(extents[0]));
  uint64_t rows = begin / uint64_t(extents[0]);
  program.programId[1] = int32_t(rows % uint64_t(extents[1]));
  program.programId[2] = int32_t(rows / uint64_t(extents[1]));
  KernelEnvironment environment;
  for (uint64_t i = begin; i < end; ++i) {
    if (worker == 0 && run.polls.isDue() && run.polls.look())
      run.isInterrupted = true;
    if (run.isInterrupted.load(std::memory_order_relaxed))
      return;
    run.entry(run.arguments, &program);
    if (++program.programId[0] < extents[0])
      continue;
    program.programId[0] = 0;
    if (++program.programId[1] < extents[1])
      continue;
    program.programId[1] = 0;
    ++program.programId[2];
  }
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
  llvm::SmallVector<uint64_t, 32> bits;
  for (const LaunchArgument &argument : arguments)
    bits.push_back(argument.bits);

  CpuLaunch launch;
  bool isCut = false;
  {
    std::lock_guard lock(launchMutex);
    if (!scratch.reserve(kernel.scratchBytes, pool->numThreads()))
      return RuntimeError{RuntimeError::Kind::Device, "TW0607",
                          "no memory for the temporaries of kernel " + kernel.name + ": " +
                              std::to_string(kernel.scratchBytes) + " bytes for each of " +
                              std::to_string(pool->numThreads()) + " threads",
                          "use smaller tiles"};
    GridRun run{kernel.code->entry, bits.data(), grid, scratch, launch};
    pool->run(count, {runPrograms, &run});
    isCut = run.isInterrupted;
  }
  if (launch.hasPrinted)
    fflush(stdout);
  if (isCut)
    return interruptError(kernel.name);
  if (launch.failure)
    return RuntimeError{RuntimeError::Kind::Device, "TW0602", launch.failure->text, ""};
  return std::nullopt;
}

std::shared_ptr<Device> tw::makeCpuDevice(int numThreads) {
  return std::make_shared<CpuDevice>(numThreads);
}

int tw::cpuThreads(Device &device) { return static_cast<CpuDevice &>(device).numThreads(); }

void tw::setCpuThreads(Device &device, int numThreads) {
  static_cast<CpuDevice &>(device).setNumThreads(numThreads);
}
