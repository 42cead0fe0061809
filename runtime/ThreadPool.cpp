// Runs the programs of a grid on all cores: pinned workers that start within microseconds.
//
// One 32-bit word holds the state of the job: its generation, whether it is open, and how many
// workers are inside. A worker enters only an open job, and the caller changes a job's fields only
// while it is closed and empty; so a worker that wakes late finds the job closed and nobody waits
// for it.
#include "runtime/ThreadPool.h"
#include "runtime/Forks.h"
#include "runtime/Futex.h"
#include <algorithm>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

static std::vector<int> availableCores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set))
        cores.push_back(core);
  return cores;
}

int tw::numAvailableCores() {
  int fromAffinity = int(availableCores().size());
  return std::max(1, fromAffinity ? fromAffinity : int(std::thread::hardware_concurrency()));
}

struct ThreadPool::Team {
  explicit Team(int numThreads);
  ~Team();
  bool run(uint64_t count, ChunkFunction chunk);

private:
  bool startWorker(int worker);
  void serve(int worker);
  void takeChunks(int worker);
  bool hasWorkers() const { return forkedAt == forkCount(); }
  void waitForWorkers();
  void keepOffCallersCore();

  std::mutex jobMutex; // held by the one caller whose job runs
  alignas(64) std::atomic<uint32_t> state = 0;
  std::atomic<bool> isStopping = false;
  std::atomic<uint32_t> isCallerAsleep = 0;
  // The job. Written by the caller while it is closed and empty.
  ChunkFunction chunk;
  uint64_t count = 0;
  alignas(64) std::atomic<uint64_t> next = 0;
  std::vector<pthread_t> workers;
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
  std::vector<int> cores = availableCores();
  bool isPinned = numThreads > 1 && size_t(numThreads) == cores.size();
  for (int worker = 1; worker < numThreads; ++worker) {
    if (!startWorker(worker))
      break; // no more threads to be had: the team is smaller
    if (isPinned) {
      workerCores.push_back(cores[worker]);
      pin(workers.back(), cores[worker]);
    }
  }
  if (isPinned)
    spareCore = cores[0];
}

ThreadPool::Team::~Team() {
  isStopping = true;
  state += kGeneration;
  state.notify_all();
  for (pthread_t worker : workers)
    pthread_join(worker, nullptr);
}

/// Workers take no signals: those are for the threads that the program itself made.
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
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  bool started = pthread_create(&thread, nullptr, body, start.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started)
    return false;
  (void)start.release();
  workers.push_back(thread);
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
  pin(workers[taken - workerCores.begin()], spareCore);
  std::swap(*taken, spareCore);
}

void ThreadPool::Team::takeChunks(int worker) {
  const uint64_t numShares = kChunksPerThread * (workers.size() + 1);
  uint64_t begin = next.load(std::memory_order_relaxed);
  while (begin < count) {
    uint64_t size = std::max<uint64_t>(1, (count - begin) / numShares);
    if (!next.compare_exchange_weak(begin, begin + size, std::memory_order_relaxed))
      continue;
    chunk.call(chunk.context, worker, begin, begin + size);
    begin = next.load(std::memory_order_relaxed);
  }
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
    takeChunks(worker);
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

bool ThreadPool::Team::run(uint64_t jobCount, ChunkFunction jobChunk) {
  std::lock_guard lock(jobMutex);
  chunk = jobChunk;
  count = jobCount;
  next.store(0, std::memory_order_relaxed);
  if (count <= 1 || workers.empty()) {
    takeChunks(0);
    return true;
  }
  keepOffCallersCore();
  state.store((state.load() + kGeneration) | kOpen, std::memory_order_seq_cst);
  state.notify_all();
  takeChunks(0);
  state.fetch_and(~kOpen);
  waitForWorkers();
  return hasWorkers();
}

ThreadPool::ThreadPool(int numThreads)
    : threads(numThreads > 0 ? std::min(numThreads, int(kInsideMask)) : numAvailableCores()) {}

ThreadPool::~ThreadPool() {
  Team *current = team.load();
  // In a forked child the parent's threads cannot be joined: their memory is left alone.
  if (current && current->forkedAt == forkCount())
    delete current;
}

ThreadPool::Team &ThreadPool::acquireTeam() {
  Team *current = team.load(std::memory_order_acquire);
  if (current && current->forkedAt == forkCount())
    return *current;
  auto fresh = std::make_unique<Team>(threads);
  if (team.compare_exchange_strong(current, fresh.get()))
    return *fresh.release();
  return *current; // another thread was first
}

bool ThreadPool::run(uint64_t count, ChunkFunction chunk) {
  return count == 0 || acquireTeam().run(count, chunk);
}
