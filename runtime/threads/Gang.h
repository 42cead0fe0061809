// Calls that all run at the same time, each on a thread of its own.
#ifndef RUNTIME_THREADS_GANG_H
#define RUNTIME_THREADS_GANG_H
#include <cstdint>

namespace tw {

/// So many threads at most: beyond, switching between them is all that a machine does.
inline constexpr uint64_t kMostInGang = 1024;

struct GangFunction {
  void (*call)(void *context, int member) = nullptr;
  void *context = nullptr;
  /// Called now and then on the caller's thread while it waits.
  void (*whileWaiting)(void *context) = nullptr;
};

enum class GangOutcome {
  Done,
  NoThreads, // there were too few to be had, and nothing was called
  Forked,    // this is a child, forked by a handler of a signal: its parent has the threads
};

/// Calls `function` for each member below `count`, all at the same time even on one core, so that
/// they may wait for each other; returns when all calls have.
GangOutcome runGang(int count, GangFunction function);

} // namespace tw
#endif
