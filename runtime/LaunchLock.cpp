// The lock that a device holds for the length of a launch.
#include "runtime/LaunchLock.h"
#include "runtime/Forks.h"
#include "runtime/Futex.h"
#include "runtime/Interrupts.h"

using namespace tw;

/// Between two questions whether to go on waiting.
static constexpr int kWaitMilliseconds = 50;

static const void *thisThread() {
  static thread_local char self;
  return &self;
}

LaunchLock::LaunchLock() : forkedAt(forkCount()) {}

void LaunchLock::forgetParent() {
  unsigned now = forkCount(), seen = forkedAt.load();
  if (seen == now || !forkedAt.compare_exchange_strong(seen, now))
    return;
  owner = nullptr;
  isTaken = 0;
  wakeAll(isTaken);
}

LaunchLock::Outcome LaunchLock::acquire() {
  forgetParent();
  const void *self = thisThread();
  // Only this thread can have written its own mark.
  if (owner.load(std::memory_order_relaxed) == self)
    return Outcome::Nested;
  uint32_t expected = 0;
  while (!isTaken.compare_exchange_strong(expected, 1, std::memory_order_acquire)) {
    ++numWaiting;
    sleepWhile(isTaken, 1, kWaitMilliseconds);
    --numWaiting;
    if (isTaken.load() && isInterrupted())
      return Outcome::Interrupted;
    expected = 0;
  }
  owner.store(self, std::memory_order_relaxed);
  return Outcome::Taken;
}

void LaunchLock::release() {
  owner.store(nullptr, std::memory_order_relaxed);
  isTaken.store(0); // seq_cst, as numWaiting: either we see the waiter or it sees the lock free
  if (numWaiting.load() > 0)
    wakeAll(isTaken);
}
