// One launch of a kernel on the cores of this machine: its programs, and what they share.
#ifndef BACKEND_CPU_GRIDRUN_H
#define BACKEND_CPU_GRIDRUN_H
#include "backend/cpu/HostFunctions.h"
#include "backend/cpu/KernelAbi.h"
#include "passes/simd/ProgramLayout.h"
#include "runtime/Forks.h"
#include "runtime/Interrupts.h"
#include "runtime/threads/ThreadPool.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace tw {

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

/// Runs all programs; false when a fork left some of them out. `programNanoseconds` is what one
/// took in the kernel's last launch, on one thread, 0 before the first; it is written anew.
bool runGrid(GridRun &run, uint64_t count, ThreadPool &pool, const ThreadPool::Plan &plan,
             std::atomic<uint32_t> &programNanoseconds);

/// Runs programs that may wait for each other, each on a thread of its own.
std::optional<RuntimeError> runTogether(GridRun &run, uint64_t count);

} // namespace tw
#endif
