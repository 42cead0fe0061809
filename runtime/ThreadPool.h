// Runs the programs of a grid on all cores: pinned workers that start within microseconds.
#ifndef RUNTIME_THREADPOOL_H
#define RUNTIME_THREADPOOL_H
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
};

/// A fixed team of threads, the caller among them. Started at the first job that needs it, and
/// again in a forked child, where the parent's threads do not exist.
class ThreadPool {
public:
  /// 0 threads: one for each core that the process may use.
  explicit ThreadPool(int numThreads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int numThreads() const { return threads; }
  /// Calls `chunk` until every index below `count` has been handed out once, and returns when all
  /// calls have. Chunks shrink with the work that is left, so that programs of unequal length
  /// balance. One job runs at a time; further callers wait. False in a process that was forked
  /// while the job ran, by a handler of a signal on this thread: what other threads had taken is
  /// not done.
  bool run(uint64_t count, ChunkFunction chunk);

private:
  struct Team;
  Team &acquireTeam();
  int threads;
  std::atomic<Team *> team = nullptr;
};

/// Cores that this process may run on.
int numAvailableCores();

} // namespace tw
#endif
