// Runs the programs of a grid on all cores, on threads that others in the process keep warm too.
#ifndef RUNTIME_THREADS_THREADPOOL_H
#define RUNTIME_THREADS_THREADPOOL_H
#include <atomic>
#include <cstdint>
#include <memory>

namespace tw {

/// Work over indices [begin, end), called on worker number `worker`; worker 0 is the caller of
/// `run`.
struct ChunkFunction {
  void (*call)(void *context, int worker, uint64_t begin, uint64_t end) = nullptr;
  void *context = nullptr;
  /// Called now and then on the caller's thread while it waits for the others; may be null.
  void (*whileWaiting)(void *context) = nullptr;
  /// How many indices a call gets at least, if there are so many left: enough to be worth a call.
  uint64_t least = 1;
};

struct OpenMp;

/// Runs jobs on the team of the process's OpenMP runtime (torch's, for instance), so that two sets
/// of waiting threads do not compete for the cores; else on threads of its own, which are started
/// at the first job that needs them and again in a forked child, where the parent's do not exist.
class ThreadPool {
public:
  /// 0 threads: as many as the OpenMP runtime would use on the calling thread, else one for each
  /// core that the process may use; in a forked child the lesser of the two.
  explicit ThreadPool(int numThreads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// Who runs a job that the calling thread starts now.
  struct Plan {
    const OpenMp *runtime; // null: the own team, or the caller alone
    int numWorkers;
  };
  Plan plan() const;
  int numThreads() const { return plan().numWorkers; }

  /// Calls `chunk` until every index below `count` has been handed out once, and returns when all
  /// calls have. Chunks shrink with the work that is left, so that programs of unequal length
  /// balance. One job runs at a time on the own team; further callers wait. False in a process
  /// that was forked while the job ran, by a handler of a signal on this thread: what other
  /// threads had taken is not done.
  bool run(const Plan &plan, uint64_t count, ChunkFunction chunk);
  bool run(uint64_t count, ChunkFunction chunk) { return run(plan(), count, chunk); }

private:
  struct Team;
  Team &acquireTeam();
  int ownThreads() const;
  bool isFixed; // the number was asked for
  mutable std::atomic<int> threads;
  const int cores, quota;                  // of the process; no quota: 0
  mutable std::atomic<unsigned> countedAt; // the count of forks at which `threads` was found
  std::atomic<Team *> team = nullptr;
};

} // namespace tw
#endif
