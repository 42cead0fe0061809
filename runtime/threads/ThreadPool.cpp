// Runs the programs of a grid on all cores: on the threads of the process's OpenMP runtime where
// there is one, else on pinned workers that start within microseconds.
//
// In the own team one 32-bit word holds the state of the job: its generation, whether it is open,
// and how many workers are inside. A worker enters only an open job, and the caller changes a job's
// fields only while it is closed and empty; so a worker that wakes late finds the job closed and
// nobody waits for it.
#include "runtime/threads/ThreadPool.h"
#include "runtime/Forks.h"
#include "runtime/Futex.h"
#include "runtime/threads/AvailableCores.h"
#include "runtime/threads/HappensBefore.h"
#include "runtime/threads/OpenMp.h"
#include "runtime/threads/WorkerThread.h"
#include <algorithm>
#include <csetjmp>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace tw;

static constexpr uint32_t kOpen = 1u << 15;
static constexpr uint32_t kInsideMask = kOpen - 1;
static constexpr uint32_t kGeneration = 1u << 16;
/// About 20 microseconds: longer than the gap between two launches in a loop, shorter than a
/// wake-up by the kernel.
static constexpr int kSpins = 1500;
/// Chunks that each thread takes when all programs are equally long.
static constexpr uint64_t kChunksPerThread = 8;

static void relax() {
#if defined(__x86_64__)
  _mm_pause();
#else
  std::this_thread::yield();
#endif
}

/// How long a caller that waits for its workers sleeps before it looks around.
static constexpr int kWaitMilliseconds = 50;

namespace {
/// The indices of a job, a range of them for each worker: what programs of the last launch left in
/// a core's caches, those of the next find there. Who is done with its own range helps with the
/// ranges behind it. Worker 0, which no job is without, goes through all of them in order, so an
/// index can wait for lower ones.
class IndexRanges {
public:
  void reset(uint64_t count, int numWorkers);
  /// In chunks that shrink with what is left of a range.
  void take(const ChunkFunction &chunk, int worker);

private:
  struct alignas(64) Range {
    std::atomic<uint64_t> next;
    uint64_t end;
  };
  static constexpr int kMost = 64; // further workers share the ranges of others
  void takeFrom(Range &range, const ChunkFunction &chunk, int worker);

  Range ranges[kMost];
  int numRanges = 0;
};
} // namespace

/// Where the range of a worker begins. Of equal ranges, programs of two workers are often a power
/// of two apart, and so is what they read and write: in the same sets of a cache that the two
/// share.
static uint64_t beginOfRange(uint64_t count, int worker, int numRanges) {
  constexpr int kShift = 3, kShifts = 8;
  const uint64_t each = count / numRanges, longer = count % numRanges;
  uint64_t begin = each * worker + std::min<uint64_t>(worker, longer);
  return begin + std::min<uint64_t>(each / 32, kShift * (worker % kShifts));
}

void IndexRanges::reset(uint64_t count, int numWorkers) {
  numRanges = std::min(numWorkers, kMost);
  for (int i = 0; i < numRanges; ++i) {
    ranges[i].next.store(beginOfRange(count, i, numRanges), std::memory_order_relaxed);
    ranges[i].end = i + 1 < numRanges ? beginOfRange(count, i + 1, numRanges) : count;
  }
}

void IndexRanges::takeFrom(Range &range, const ChunkFunction &chunk, int worker) {
  uint64_t begin = range.next.load(std::memory_order_acquire);
  while (begin < range.end) {
    uint64_t left = range.end - begin;
    uint64_t size = std::min(left, std::max(chunk.least, left / kChunksPerThread));
    if (!range.next.compare_exchange_weak(begin, begin + size, std::memory_order_acq_rel))
      continue;
    chunk.call(chunk.context, worker, begin, begin + size);
    begin = range.next.load(std::memory_order_acquire);
  }
}

void IndexRanges::take(const ChunkFunction &chunk, int worker) {
  for (int i = 0; i < numRanges; ++i)
    takeFrom(ranges[(worker + i) % numRanges], chunk, worker);
}

struct ThreadPool::Team {
  explicit Team(int numThreads);
  ~Team();
  bool run(uint64_t count, ChunkFunction chunk, int wantedWorkers);

private:
  bool startWorker(int worker);
  void serve(int worker);
  bool hasWorkers() const { return forkedAt == forkCount(); }
  void waitForWorkers();
  void keepOffCallersCore();

  std::mutex jobMutex; // held by the one caller whose job runs
  alignas(64) std::atomic<uint32_t> state = 0;
  std::atomic<bool> isStopping = false;
  std::atomic<uint32_t> isCallerAsleep = 0;
  // The job. Written by the caller while it is closed and empty.
  ChunkFunction chunk;
  int numWorkers = 0; // those beyond these have nothing to do
  IndexRanges indices;
  std::vector<std::unique_ptr<WorkerThread>> workers;
  // Cores: workerCores[i] is where workers[i] is pinned, spareCore where nobody is. Empty when
  // there are more threads than cores. Guarded by jobMutex after construction.
  std::vector<int> workerCores;
  int spareCore = -1;

public:
  const unsigned forkedAt = forkCount();
};

static void pin(pthread_t thread, int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  // A refusal leaves the thread where it may run anyway.
  (void)pthread_setaffinity_np(thread, sizeof(set), &set);
}

ThreadPool::Team::Team(int numThreads) {
  std::vector<int> cores = coresOfAffinity();
  bool isPinned = numThreads > 1 && size_t(numThreads) == cores.size();
  for (int worker = 1; worker < numThreads; ++worker) {
    if (!startWorker(worker))
      break; // no more threads to be had: the team is smaller
    if (isPinned) {
      workerCores.push_back(cores[worker]);
      pin(workers.back()->handle(), cores[worker]);
    }
  }
  if (isPinned)
    spareCore = cores[0];
}

ThreadPool::Team::~Team() {
  isStopping = true;
  state += kGeneration;
  state.notify_all();
  for (std::unique_ptr<WorkerThread> &worker : workers)
    worker->join();
}

bool ThreadPool::Team::startWorker(int worker) {
  struct Start {
    Team *team;
    int worker;
  };
  auto start = std::make_unique<Start>(Start{this, worker});
  auto body = [](void *argument) -> void * {
    std::unique_ptr<Start> start(static_cast<Start *>(argument));
    start->team->serve(start->worker);
    return nullptr;
  };
  auto thread = std::make_unique<WorkerThread>();
  if (!thread->start(body, start.get()))
    return false;
  (void)start.release();
  workers.push_back(std::move(thread));
  return true;
}

/// The caller is not ours to pin. Where it sits on a worker's core, that worker moves to the spare
/// one.
void ThreadPool::Team::keepOffCallersCore() {
  if (spareCore < 0)
    return;
  int core = sched_getcpu();
  auto taken = std::find(workerCores.begin(), workerCores.end(), core);
  if (taken == workerCores.end())
    return;
  pin(workers[taken - workerCores.begin()]->handle(), spareCore);
  std::swap(*taken, spareCore);
}

void ThreadPool::Team::serve(int worker) {
  uint32_t served = ~0u; // the generation, with open and inside bits clear, that this worker left
  int spins = 0;
  while (!isStopping.load(std::memory_order_relaxed)) {
    uint32_t seen = state.load(std::memory_order_acquire);
    uint32_t generation = seen & ~(kOpen | kInsideMask);
    if (!(seen & kOpen) || generation == served) {
      if (++spins < kSpins) {
        relax();
        continue;
      }
      if (!isStopping)
        state.wait(seen);
      continue;
    }
    if (!state.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire))
      continue;
    if (worker < numWorkers)
      indices.take(chunk, worker);
    served = generation;
    spins = 0;
    uint32_t left = state.fetch_sub(1) - 1;
    if (!(left & kInsideMask) && isCallerAsleep.exchange(0))
      wakeAll(isCallerAsleep);
  }
}

void ThreadPool::Team::waitForWorkers() {
  for (int spins = 0; state.load(std::memory_order_acquire) & kInsideMask; ++spins) {
    if (!hasWorkers())
      return;
    if (spins < kSpins) {
      relax();
      continue;
    }
    isCallerAsleep = 1;
    if (state.load() & kInsideMask)
      sleepWhile(isCallerAsleep, 1, kWaitMilliseconds);
    isCallerAsleep = 0;
    if (chunk.whileWaiting)
      chunk.whileWaiting(chunk.context);
  }
}

bool ThreadPool::Team::run(uint64_t jobCount, ChunkFunction jobChunk, int wantedWorkers) {
  std::lock_guard lock(jobMutex);
  chunk = jobChunk;
  numWorkers = std::min(wantedWorkers, int(workers.size()) + 1);
  indices.reset(jobCount, numWorkers);
  if (jobCount <= 1 || numWorkers == 1) {
    indices.take(chunk, 0);
    return true;
  }
  keepOffCallersCore();
  state.store((state.load() + kGeneration) | kOpen, std::memory_order_seq_cst);
  state.notify_all();
  indices.take(chunk, 0);
  state.fetch_and(~kOpen);
  waitForWorkers();
  return hasWorkers();
}

//===-- A team of the process's OpenMP runtime ------------------------------------------------===//

namespace {
/// A job on the threads of an OpenMP region. Its caller leaves the region when all have: but it
/// waits here first, where it can be interrupted.
struct SharedJob {
  const OpenMp &runtime;
  const ChunkFunction &chunk;
  const int numWorkers; // threads beyond these have nothing to do
  const unsigned forkedAt = forkCount();
  IndexRanges indices = {};
  std::atomic<int> numInside = 0;
  std::atomic<uint32_t> isCallerAsleep = 0;
  jmp_buf leaveRegion = {};

  void serve();
  void serveCaller();
};
} // namespace

void SharedJob::serveCaller() {
  indices.take(chunk, 0);
  for (int spins = 0; numInside.load() && forkedAt == forkCount(); ++spins) {
    if (spins < kSpins) {
      relax();
      continue;
    }
    isCallerAsleep = 1;
    if (numInside.load())
      sleepWhile(isCallerAsleep, 1, kWaitMilliseconds);
    isCallerAsleep = 0;
    if (chunk.whileWaiting)
      chunk.whileWaiting(chunk.context);
  }
  // A child that a signal's handler forked has no other threads to meet at the region's end.
  if (forkedAt != forkCount())
    _longjmp(leaveRegion, 1);
}

void SharedJob::serve() {
  int worker = runtime.threadNumber();
  if (worker == 0)
    return serveCaller();
  if (worker >= numWorkers)
    return;
  ++numInside;
  indices.take(chunk, worker);
  if (--numInside == 0 && isCallerAsleep.exchange(0))
    wakeAll(isCallerAsleep);
}

static bool runShared(const OpenMp &runtime, uint64_t count, const ChunkFunction &chunk,
                      int numWorkers) {
  SharedJob job{runtime, chunk, numWorkers};
  job.indices.reset(count, numWorkers);
  if (_setjmp(job.leaveRegion))
    return false;
  // The whole team, even if some of it is idle: a team of another size than the last one's costs
  // the runtime new threads.
  auto serve = [](void *job) {
    seeOrder(job);
    static_cast<SharedJob *>(job)->serve();
    makeOrder(job);
  };
  makeOrder(&job);
  runtime.parallel(serve, &job, 0, 0);
  seeOrder(&job);
  return true;
}

//===-- Who runs a job ------------------------------------------------------------------------===//

ThreadPool::ThreadPool(int numThreads)
    : isFixed(numThreads > 0),
      threads(isFixed ? std::min(numThreads, int(kInsideMask)) : numAvailableCores()),
      cores(int(coresOfAffinity().size())), quota(isFixed ? 0 : coresOfQuota()),
      countedAt(forkCount()) {}

ThreadPool::~ThreadPool() {
  Team *current = team.load();
  // In a forked child the parent's threads cannot be joined: their memory is left alone.
  if (current && current->forkedAt == forkCount())
    delete current;
}

/// A forked child may have been moved to other cores.
int ThreadPool::ownThreads() const {
  if (!isFixed && countedAt != forkCount()) {
    threads = numAvailableCores();
    countedAt = forkCount();
  }
  return threads;
}

ThreadPool::Team &ThreadPool::acquireTeam() {
  Team *current = team.load(std::memory_order_acquire);
  if (current && current->forkedAt == forkCount())
    return *current;
  auto fresh = std::make_unique<Team>(ownThreads());
  if (team.compare_exchange_strong(current, fresh.get()))
    return *fresh.release();
  return *current; // another thread was first
}

ThreadPool::Plan ThreadPool::plan() const {
  const OpenMp *runtime = findOpenMp();
  if (!runtime)
    return {nullptr, ownThreads()};
  if (!hasOpenMpTeams()) // its number is heeded all the same: workers of a loader are set to one
    return {nullptr, isFixed ? threads.load() : std::min(ownThreads(), threadsOfTeam(*runtime))};
  if (runtime->isInParallel())
    return {nullptr, 1}; // the cores are taken by the region that this is in
  // The runtime knows of no quota: its threads would take turns, each waiting for the others.
  int teamThreads = threadsWithinQuota(threadsOfTeam(*runtime), cores, quota);
  if (!isFixed)
    return {teamThreads > 1 ? runtime : nullptr, teamThreads};
  // Asked for more than a team has: its threads leave cores to ours.
  return {teamThreads > 1 && threads <= teamThreads ? runtime : nullptr, threads};
}

bool ThreadPool::run(const Plan &plan, uint64_t count, ChunkFunction chunk) {
  if (count == 0)
    return true;
  if (count == 1 || plan.numWorkers == 1) {
    chunk.call(chunk.context, 0, 0, count);
    return true;
  }
  // A plan may have been made before a fork.
  if (plan.runtime && forkCount() == 0)
    return runShared(*plan.runtime, count, chunk, plan.numWorkers);
  return acquireTeam().run(count, chunk, plan.numWorkers);
}
