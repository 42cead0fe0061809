// What has to hold across fork(): a child has one thread, and every lock as it was.
#ifndef RUNTIME_FORKS_H
#define RUNTIME_FORKS_H
#include <mutex>

namespace tw {

/// How often this process has been forked off. Threads and locks of another count are not here.
unsigned forkCount();

/// Guards code that takes locks of the whole process, as a compilation does: fork() waits until no
/// other thread is inside, so that a child finds none of them taken. Nests; costs a shared lock.
class ForkShield {
public:
  ForkShield();
  /// For a thread that another one, which is inside, may wait for: enters only where no fork waits.
  explicit ForkShield(std::try_to_lock_t);
  ~ForkShield();
  ForkShield(const ForkShield &) = delete;
  bool isInside() const { return inside; }

private:
  bool inside = true;
};

/// Within shields: a stretch that holds no such lock and may last. Whoever asks the interpreter
/// needs one: the thread that forks holds the interpreter's lock.
class ForkShieldPause {
public:
  ForkShieldPause();
  ~ForkShieldPause();
  ForkShieldPause(const ForkShieldPause &) = delete;

private:
  int depth;
};

/// Keeps every other thread out of shields for good, at the end of the process. Waits for a moment
/// until they have left; where one stays, the process ends without destroying what it works with.
void closeForkShields();

} // namespace tw
#endif
