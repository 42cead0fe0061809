// What has to hold across fork(): a child has one thread, and every lock as it was.
#include "runtime/Forks.h"
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <pthread.h>
#include <unistd.h>

using namespace tw;

namespace {
/// Shared by the shields, exclusively held over a fork. Who wants it exclusively goes before others
/// who want to share it (std::shared_mutex does not promise that): threads that compile one kernel
/// after another would keep a fork waiting for ever.
class ForkGate {
public:
  ForkGate() {
    pthread_rwlockattr_t attributes;
    (void)pthread_rwlockattr_init(&attributes);
    (void)pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    (void)pthread_rwlock_init(&lockable, &attributes);
    (void)pthread_rwlockattr_destroy(&attributes);
  }
  void lock() { (void)pthread_rwlock_wrlock(&lockable); }
  /// Gives up after some milliseconds.
  bool lockWithin(int milliseconds) {
    timespec limit;
    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += milliseconds * 1'000'000L;
    limit.tv_sec += limit.tv_nsec / 1'000'000'000;
    limit.tv_nsec %= 1'000'000'000;
    return pthread_rwlock_timedwrlock(&lockable, &limit) == 0;
  }
  bool try_lock_shared() { return pthread_rwlock_tryrdlock(&lockable) == 0; }
  void lock_shared() { (void)pthread_rwlock_rdlock(&lockable); }
  void unlock() { (void)pthread_rwlock_unlock(&lockable); }
  void unlock_shared() { unlock(); }

private:
  pthread_rwlock_t lockable;
};

struct ForkState {
  std::atomic<unsigned> count = 0;
  ForkGate gate;
  ForkState();
};
} // namespace

/// The depth of the thread that has closed the shields: it is inside for good.
static constexpr int kClosed = 1 << 20;

/// Milliseconds that the end of a process waits for others to leave: they do between two passes of
/// a compiler, and a pass over a large kernel may last for a minute.
static constexpr int kLongestWaitAtEnd = 100;

/// How deep this thread is in shields.
static int &shieldDepth() {
  static thread_local int depth = 0;
  return depth;
}

/// Never destroyed: threads may be inside when the process ends.
static ForkState &forkState() {
  static ForkState *state = new ForkState;
  return *state;
}

/// Made when this code is loaded: a child that is forked while another thread makes it would find
/// the guard of its initialization taken for ever.
[[maybe_unused]] static const ForkState &madeAtLoad = forkState();

static void beforeFork() {
  if (shieldDepth() == 0)
    forkState().gate.lock();
}

static void afterForkInParent() {
  if (shieldDepth() == 0)
    forkState().gate.unlock();
}

/// The gate knows its holder by a number that the child's thread does not have: it is made anew.
static void afterForkInChild() {
  ForkState &state = forkState();
  ++state.count;
  new (&state.gate) ForkGate;
  if (shieldDepth() > 0)
    state.gate.lock_shared();
}

ForkState::ForkState() { (void)pthread_atfork(beforeFork, afterForkInParent, afterForkInChild); }

unsigned tw::forkCount() { return forkState().count.load(std::memory_order_relaxed); }

ForkShield::ForkShield() {
  if (shieldDepth()++ == 0)
    forkState().gate.lock_shared();
}

ForkShield::ForkShield(std::try_to_lock_t) {
  inside = shieldDepth() > 0 || forkState().gate.try_lock_shared();
  shieldDepth() += inside;
}

ForkShield::~ForkShield() {
  if (inside && --shieldDepth() == 0)
    forkState().gate.unlock_shared();
}

ForkShieldPause::ForkShieldPause() : depth(shieldDepth()) {
  if (depth == 0 || depth >= kClosed)
    return;
  shieldDepth() = 0;
  forkState().gate.unlock_shared();
}

ForkShieldPause::~ForkShieldPause() {
  if (depth == 0 || depth >= kClosed)
    return;
  forkState().gate.lock_shared();
  shieldDepth() = depth;
}

/// Ends the process without its destructors where another thread is still inside: it works with
/// what they would destroy.
static void endBesideOthers(int status, void *) {
  if (forkState().gate.lockWithin(0))
    return;
  (void)fflush(stdout);
  (void)fflush(stderr);
  _exit(status);
}

void tw::closeForkShields() {
  // This thread goes on: handlers of the process's end may launch kernels.
  if (shieldDepth() >= kClosed)
    return;
  if (shieldDepth() == 0 && !forkState().gate.lockWithin(kLongestWaitAtEnd))
    (void)on_exit(endBesideOthers, nullptr);
  shieldDepth() += kClosed;
}
