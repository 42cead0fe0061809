// The lock that a device holds for the length of a launch.
#ifndef RUNTIME_LAUNCHLOCK_H
#define RUNTIME_LAUNCHLOCK_H
#include <atomic>
#include <cstdint>

namespace tw {

/// A lock that may be held for minutes: a thread that waits for it can be interrupted, the thread
/// that holds it is told so when it comes again (a signal's handler that launches), and a forked
/// child finds it free, whatever thread of its parent held it.
class LaunchLock {
public:
  enum class Outcome { Taken, Nested, Interrupted };

  LaunchLock();
  Outcome acquire();
  /// After `Taken` only.
  void release();

private:
  void forgetParent();

  std::atomic<uint32_t> isTaken = 0, numWaiting = 0;
  std::atomic<const void *> owner = nullptr; // something of the thread that holds it
  std::atomic<unsigned> forkedAt;
};

/// Takes a lock for a scope, where that is possible.
class LaunchScope {
public:
  explicit LaunchScope(LaunchLock &lock) : lock(lock), outcome(lock.acquire()) {}
  ~LaunchScope() {
    if (outcome == LaunchLock::Outcome::Taken)
      lock.release();
  }
  LaunchScope(const LaunchScope &) = delete;
  bool isNested() const { return outcome == LaunchLock::Outcome::Nested; }
  bool isInterrupted() const { return outcome == LaunchLock::Outcome::Interrupted; }

private:
  LaunchLock &lock;
  const LaunchLock::Outcome outcome;
};

} // namespace tw
#endif
