// Lets whoever launches a kernel stop it: Python's Ctrl-C, while a launch holds its thread.
#ifndef RUNTIME_INTERRUPTS_H
#define RUNTIME_INTERRUPTS_H
#include "runtime/Device.h"
#include <atomic>
#include <chrono>

namespace tw {

// Seen from outside, as the public interface is: the bindings call it.
#pragma GCC visibility push(default)
/// Sets what `isInterrupted` asks; null: nothing. A long launch, a compilation, or a wait for
/// either asks on the thread that called for it, every few milliseconds at most, and gives up when
/// the answer is true. After that answer nothing asks again for the same call.
void setInterruptCheck(bool (*check)());
/// From now on every launch and compilation of another thread is interrupted, and those that began
/// no longer are inside the compiler: the process ends.
void closeLaunches();
/// Returns true if `closeLaunches` was called, by another thread than this one.
bool isClosed();
#pragma GCC visibility pop

bool isInterrupted();
/// Returns true if interrupts reach this thread: those of Python's go to the first one of the
/// process.
bool receivesInterrupts();

/// While it lives, `isInterrupted` on this thread asks for another one, on whose behalf it works:
/// it is interrupted when `isGivenUp` is set.
class InterruptsOf {
public:
  explicit InterruptsOf(const std::atomic<bool> &isGivenUp);
  ~InterruptsOf();
  InterruptsOf(const InterruptsOf &) = delete;
};

/// Returns the error of such a launch.
RuntimeError interruptError(const std::string &kernel);

/// Asks `isInterrupted` no more often than every 50 milliseconds: the answer needs the
/// interpreter's lock.
class InterruptClock {
public:
  bool ask();

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point lastAsked = {}; // the first question starts the clock
};

} // namespace tw
#endif
