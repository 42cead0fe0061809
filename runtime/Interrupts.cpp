// The process-wide question whether the running launch is to stop.
#include "runtime/Interrupts.h"
#include <atomic>

using namespace tw;

static std::atomic<bool (*)()> interruptCheck = nullptr;

void tw::setInterruptCheck(bool (*check)()) { interruptCheck = check; }

bool tw::isInterrupted() {
  bool (*check)() = interruptCheck;
  return check && check();
}

RuntimeError tw::interruptError(const std::string &kernel) {
  return {RuntimeError::Kind::Device, "TW0614",
          "the launch of kernel " + kernel +
              " was interrupted: its arrays hold a part of the "
              "result",
          ""};
}
