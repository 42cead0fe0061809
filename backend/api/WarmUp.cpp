// Warms LLVM up while the frontend and MLIR's passes run: its tables, its registries of passes and
// the pages of its code are a third of what LLVM takes for the first small kernel.
#include "backend/api/WarmUp.h"
#include "runtime/Forks.h"
#include "runtime/threads/AvailableCores.h"
#include <atomic>

using namespace tw;
using namespace tw::api;

/// Returns the work to be done, to the first caller only.
static std::function<void()> takeAction(const Target &target) {
  static std::atomic<bool> isTaken = false;
  if (isTaken)
    return nullptr;
  std::function<void()> action = target.warmUp();
  return action && numAvailableCores() > 1 && !isTaken.exchange(true) ? action : nullptr;
}

void *WarmUp::run(void *self) {
  ForkShield shield(std::try_to_lock);
  if (shield.isInside())
    static_cast<WarmUp *>(self)->action();
  return nullptr;
}

WarmUp::WarmUp(const Target &target) : action(takeAction(target)) {
  if (action && !thread.emplace().start(&WarmUp::run, this))
    thread.reset();
}

WarmUp::~WarmUp() {
  if (thread)
    thread->join();
}
