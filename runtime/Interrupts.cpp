// The process-wide question whether the running launch is to stop.
#include "runtime/Interrupts.h"
#include "runtime/Forks.h"
#include "runtime/codes/Codes.h"
#include <atomic>
#include <sys/syscall.h>
#include <unistd.h>

using namespace tw;

static std::atomic<bool (*)()> interruptCheck = nullptr;
static std::atomic<bool> isClosing = false;

/// Returns the flag that is true in the thread that has closed the launches: it may still launch.
static bool &isCloser() {
  static thread_local bool closer = false;
  return closer;
}

void tw::setInterruptCheck(bool (*check)()) { interruptCheck = check; }

void tw::closeLaunches() {
  isCloser() = true;
  isClosing = true;
  closeForkShields();
}

bool tw::isClosed() { return isClosing && !isCloser(); }

bool tw::receivesInterrupts() {
  return interruptCheck && !isClosing && ::syscall(SYS_gettid) == ::getpid();
}

/// Returns the flag that this thread asks on behalf of another one; null where it asks for itself.
static const std::atomic<bool> *&givenUp() {
  static thread_local const std::atomic<bool> *flag = nullptr;
  return flag;
}

InterruptsOf::InterruptsOf(const std::atomic<bool> &isGivenUp) { givenUp() = &isGivenUp; }

InterruptsOf::~InterruptsOf() { givenUp() = nullptr; }

bool tw::isInterrupted() {
  if (isClosed())
    return true;
  bool (*check)() = interruptCheck;
  ForkShieldPause pause; // the check may wait for the interpreter, and a fork for this thread
  if (const std::atomic<bool> *flag = givenUp())
    return *flag;
  return check && check();
}

bool InterruptClock::ask() {
  Clock::time_point now = Clock::now();
  if (lastAsked == Clock::time_point())
    lastAsked = now;
  if (now - lastAsked < std::chrono::milliseconds(50))
    return false;
  lastAsked = now;
  return isInterrupted();
}

RuntimeError tw::interruptError(const std::string &kernel) {
  return {RuntimeError::Kind::Device, Code::InterruptedLaunch,
          "the launch of kernel " + kernel +
              " was interrupted: its arrays hold a part of the "
              "result",
          ""};
}
