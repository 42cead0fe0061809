// Runs compiled kernels on the cores of this machine.
#include "backend/cpu/CpuDevice.h"
#include "backend/cpu/CpuLink.h"
#include "backend/cpu/HostFunctions.h"
#include "backend/cpu/MatrixUnit.h"
#include "runtime/Forks.h"
#include "runtime/Interrupts.h"
#include "runtime/LaunchLock.h"
#include "runtime/codes/Codes.h"
#include "runtime/threads/Gang.h"
#include "runtime/threads/ThreadPool.h"
#include <chrono>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sched.h>
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
  /// Forgets what a thread of the parent may have been about to change.
  void abandon() {
    base = nullptr;
    capacity = pieceBytes = 0;
  }
  void *piece(int worker) const { return base ? base + pieceBytes * worker : nullptr; }

private:
  char *base = nullptr;
  uint64_t capacity = 0, pieceBytes = 0;
};

/// The locks that workers hold while they update memory; free between two launches.
class UpdateLocks {
public:
  /// Where no lock of the caller's is taken. In a forked child, which may have begun in the middle
  /// of a launch, none is: whoever held one is not there.
  uint32_t *get() {
    if (forkedAt != forkCount())
      reset();
    return words;
  }
  /// After a launch that may have left a kernel in its middle, too.
  void reset() {
    memset(words, 0, sizeof(words));
    forkedAt = forkCount();
  }

private:
  unsigned forkedAt = forkCount();
  alignas(1 << simd::kLockStrideLog2) uint32_t words[simd::kLockBytes / sizeof(uint32_t)] = {};
};

class LoadedCpuKernel final : public LoadedKernel {
public:
  std::unique_ptr<LinkedCode> code;
  std::string name;
  std::vector<ArtifactParameter> parameters;
  uint64_t scratchBytes = 0;
  std::shared_ptr<LoadedKernel> promises; // null: there are none to check
  /// Nanoseconds that a program took in the last launch, on one thread; 0 before the first.
  std::atomic<uint32_t> programNanoseconds = 0;
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
  Clock::time_point lastLook = {};
  InterruptClock interrupts;
  uint64_t stride = 1;
  uint64_t untilLook = 2; // a grid of one program never looks
};

/// The bounds of the work of loops between two polls, in steps of about a nanosecond: how many
/// follows from how long the last ones took.
constexpr int32_t kFirstSteps = 1 << 10, kMostSteps = 1 << 16;
/// The steps of a program that others may wait for, on fewer cores than there are programs: then it
/// yields.
constexpr int32_t kStepsBeforeYield = 1 << 6;

/// One launch as its workers see it.
struct GridRun {
  TwKernel entry;
  const uint64_t *arguments;
  const LaunchGrid &grid;
  const ScratchMemory &scratch;
  CpuLaunch &launch;
  UpdateLocks &locks;
  uint64_t numDone = 0; // programs that ran before the others were handed out
  std::atomic<bool> isInterrupted = false;
  InterruptPoll polls = {}; // of the thread that launched, as is the next
  InterruptClock interrupts = {};

  void interrupt() {
    isInterrupted = true;
    launch.endBefore(0);
  }
};

/// A worker's chunk of programs; `tw_poll` finds it from the program, its first member.
struct Chunk {
  TwProgram program;
  GridRun *run;
  bool isCaller;
  int32_t stepsPerPoll = kFirstSteps;
  std::chrono::steady_clock::time_point lastPoll = {};
  jmp_buf exit;
};
static_assert(offsetof(Chunk, program) == 0);
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

bool InterruptPoll::look() {
  auto now = Clock::now();
  if (lastLook == Clock::time_point())
    lastLook = now;
  auto elapsed = now - lastLook;
  lastLook = now;
  if (elapsed < std::chrono::milliseconds(1))
    stride = std::min<uint64_t>(2 * stride, 1 << 16);
  else if (elapsed > std::chrono::milliseconds(10))
    stride = 1;
  untilLook = stride;
  return interrupts.ask();
}

/// Leaves the kernel by a jump: compiled code owns nothing, so nothing has to be unwound.
extern "C" void tw_poll(TwProgram *program) {
  auto &chunk = *reinterpret_cast<Chunk *>(program);
  GridRun &run = *chunk.run;
  auto now = std::chrono::steady_clock::now();
  auto elapsed = now - chunk.lastPoll;
  if (elapsed < std::chrono::microseconds(100))
    chunk.stepsPerPoll = std::min(2 * chunk.stepsPerPoll, kMostSteps);
  else if (elapsed > std::chrono::milliseconds(10) && chunk.lastPoll.time_since_epoch().count())
    chunk.stepsPerPoll = 1;
  program->untilPoll = chunk.stepsPerPoll;
  chunk.lastPoll = now;
  if (run.launch.isCooperative) {
    program->untilPoll = std::min(chunk.stepsPerPoll, kStepsBeforeYield);
    sched_yield();
  }
  if (chunk.isCaller) {
    // A handler of a signal may run kernels, ours or others'.
    KeptMatrixConfiguration configuration;
    if (run.interrupts.ask())
      run.interrupt();
    run.locks.get(); // the handler may have forked
  }
  if (linearProgram(*program) >= run.launch.end.load(std::memory_order_relaxed))
    longjmp(chunk.exit, 1);
}

void tw::leaveKernel(const TwProgram &program) {
  longjmp(const_cast<Chunk &>(reinterpret_cast<const Chunk &>(program)).exit, 1);
}

/// Programs [begin, end) of the grid, of which `program` is the first.
static void runChunk(GridRun &run, TwProgram &program, uint64_t begin, uint64_t end,
                     bool isCaller) {
  const auto &extents = run.grid.programs;
  for (uint64_t i = begin; i < end; ++i) {
    if (isCaller && run.polls.isDue()) {
      if (run.polls.look())
        run.interrupt();
      run.locks.get();
    }
    if (i >= run.launch.end.load(std::memory_order_relaxed))
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

/// Programs [begin, end) of the grid, x fastest.
static void runPrograms(void *context, int worker, uint64_t begin, uint64_t end) {
  GridRun &run = *static_cast<GridRun *>(context);
  const auto &extents = run.grid.programs;
  Chunk chunk;
  TwProgram &program = chunk.program;
  chunk.run = &run;
  chunk.isCaller = worker == 0 && !run.launch.isCooperative;
  program.untilPoll = run.launch.isCooperative ? kStepsBeforeYield : kFirstSteps;
  memcpy(program.numPrograms, extents.data(), sizeof(program.numPrograms));
  program.scratch = run.scratch.piece(worker);
  program.launch = &run.launch;
  program.arguments = run.launch.arguments.data();
  program.locks = run.locks.get();
  program.programId[0] = int32_t(begin % uint64_t(extents[0]));
  uint64_t rows = begin / uint64_t(extents[0]);
  program.programId[1] = int32_t(rows % uint64_t(extents[1]));
  program.programId[2] = int32_t(rows / uint64_t(extents[1]));
  KernelEnvironment environment;
  if (_setjmp(chunk.exit))
    return releaseMatrixUnit();
  runChunk(run, program, begin, end, chunk.isCaller);
}

/// While the thread that launched waits for the others.
static void pollForInterrupt(void *context) {
  GridRun &run = *static_cast<GridRun *>(context);
  if (!run.isInterrupted && run.interrupts.ask())
    run.interrupt();
}

/// Work below this is done before another thread has begun; measured beside a team that is awake.
static constexpr uint64_t kAloneNanoseconds = 4000;
/// Work that was expected to be short is handed out when it has taken this long.
static constexpr uint64_t kPatienceNanoseconds = 4 * kAloneNanoseconds;

/// Programs are handed out for at least so long at once: so much is lost at the end at most, and
/// what handing out costs, some 100 nanoseconds, does not count.
static constexpr uint64_t kChunkNanoseconds = 2000;

using Clock = std::chrono::steady_clock;

static uint64_t nanosecondsSince(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

/// Runs a launch that was short the last time, or whose length is unknown, on this thread; in
/// slices, so that it is not alone for long if it is a long one. `run.numDone` says how far it got.
static void runAlone(GridRun &run, uint64_t count, Clock::time_point start) {
  const uint64_t slice = (count + 7) / 8;
  while (run.numDone < count) {
    uint64_t end = std::min(count, run.numDone + slice);
    runPrograms(&run, 0, run.numDone, end);
    run.numDone = end;
    if (nanosecondsSince(start) > kPatienceNanoseconds)
      return;
  }
}

static void runHandedOut(void *context, int worker, uint64_t begin, uint64_t end) {
  uint64_t first = static_cast<GridRun *>(context)->numDone;
  runPrograms(context, worker, first + begin, first + end);
}

/// Programs that may wait for each other have a thread each.
static std::optional<RuntimeError> runTogether(GridRun &run, uint64_t count) {
  auto call = [](void *context, int member) {
    runPrograms(context, member, uint64_t(member), uint64_t(member) + 1);
  };
  GangOutcome outcome = runGang(int(count), {call, &run, pollForInterrupt});
  if (outcome == GangOutcome::Forked)
    run.isInterrupted = true;
  if (outcome != GangOutcome::NoThreads)
    return std::nullopt;
  return tooFewThreads(run.grid, run.launch.kernel);
}

/// Runs all programs; false when a fork left some of them out.
static bool runGrid(LoadedCpuKernel &kernel, GridRun &run, uint64_t count, ThreadPool &pool,
                    const ThreadPool::Plan &plan) {
  Clock::time_point start = Clock::now();
  uint64_t program = kernel.programNanoseconds.load(std::memory_order_relaxed);
  uint64_t expected = program * count;
  // Unknown: the first slice tells. One program has nobody to share with.
  bool isShort = expected < kAloneNanoseconds || count == 1 || plan.numWorkers == 1;
  if (isShort)
    runAlone(run, count, start);
  uint64_t numAlone = run.numDone;
  uint64_t spent = nanosecondsSince(start);
  uint64_t least = std::max<uint64_t>(1, kChunkNanoseconds / std::max<uint64_t>(1, program));
  ChunkFunction handOut = {runHandedOut, &run, pollForInterrupt, program ? least : 1};
  bool isWhole = pool.run(plan, count - numAlone, handOut);
  uint64_t each = numAlone ? spent / numAlone : nanosecondsSince(start) * plan.numWorkers / count;
  kernel.programNanoseconds.store(uint32_t(std::clamp<uint64_t>(each, 1, ~0u)),
                                  std::memory_order_relaxed);
  return isWhole;
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
  } else if (!runGrid(kernel, run, count, *pool, plan)) {
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
