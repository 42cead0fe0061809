// A thread of ours: its stack, its signals, its end.
#ifndef RUNTIME_THREADS_WORKERTHREAD_H
#define RUNTIME_THREADS_WORKERTHREAD_H
#include <cstddef>
#include <pthread.h>

namespace tw {

/// The stack lies outside of the C library's cache of stacks. In a forked child that cache has the
/// stacks of the parent's threads, and in them what their handles point to: a worker that got one
/// would be waited for by whoever joins his own lost thread at the end of the child, as torch's
/// pthreadpool does.
class WorkerThread {
public:
  /// The stack is as large as the system's for threads, and at least of `leastBytes`.
  explicit WorkerThread(size_t leastBytes = 0);
  ~WorkerThread(); // after `join`, where it was started
  WorkerThread(const WorkerThread &) = delete;
  /// Runs `body(argument)`; false where there is no memory or no thread to be had. It takes no
  /// signals: those are for the threads that the program itself made.
  bool start(void *(*body)(void *), void *argument);
  void join() { pthread_join(thread, nullptr); }
  pthread_t handle() const { return thread; }

private:
  size_t bytes = 0;
  void *memory;
  pthread_t thread = {};
};

} // namespace tw
#endif
