// Readies LLVM while the frontend and MLIR's passes run: its tables, its registries of passes and
// the pages of its code are a third of what LLVM takes for the first small kernel.
#include "backend/api/Readying.h"
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
  std::function<void()> action = target.readying();
  return action && numAvailableCores() > 1 && !isTaken.exchange(true) ? action : nullptr;
}

void *Readying::run(void *self) {
  ForkShield shield(std::try_to_lock);
  if (shield.isInside())
    static_cast<Readying *>(self)->action();
  return nullptr;
}

Readying::Readying(const Target &target) : action(takeAction(target)) {
  if (action && !thread.emplace().start(&Readying::run, this))
    thread.reset();
}

Readying::~Readying() {
  if (thread)
    thread->join();
}
