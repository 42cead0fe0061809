// Runs LLVM code so that its fatal errors and crashes come back as a message.
#include "backend/codegen/ContainCrash.h"
#include "runtime/Interrupts.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/ErrorHandling.h"
#include <mutex>

using namespace tw;

namespace {
/// Counts actions in flight: signal handlers are the process's own whenever no LLVM code runs.
struct RecoveryCount {
  std::mutex mutex; // guards `active` and the calls to Enable and Disable
  int active = 0;
};
} // namespace

static RecoveryCount &recoveryCount() {
  static RecoveryCount count;
  return count;
}

/// The text of the last fatal error on this thread. Plain storage: the jump out of the fatal error
/// runs no destructors.
static char *fatalMessage() {
  static thread_local char message[1024];
  return message;
}

static void onFatalError(void *, const char *reason, bool) {
  snprintf(fatalMessage(), 1024, "%s", reason);
  if (llvm::CrashRecoveryContext *context = llvm::CrashRecoveryContext::GetCurrent())
    context->HandleExit(1);
}

static void enableRecovery() {
  RecoveryCount &count = recoveryCount();
  std::lock_guard lock(count.mutex);
  if (count.active++ == 0) {
    llvm::CrashRecoveryContext::Enable();
    llvm::install_fatal_error_handler(onFatalError);
  }
}

static void disableRecovery() {
  RecoveryCount &count = recoveryCount();
  std::lock_guard lock(count.mutex);
  if (--count.active == 0) {
    llvm::remove_fatal_error_handler();
    llvm::CrashRecoveryContext::Disable();
  }
}

namespace {
struct ThreadInterrupts {
  InterruptClock clock;
  bool isStopped = false;
};
} // namespace

static ThreadInterrupts &threadInterrupts() {
  static thread_local ThreadInterrupts interrupts;
  return interrupts;
}

bool tw::wasInterrupted() { return threadInterrupts().isStopped; }

bool tw::givesUp() {
  ThreadInterrupts &interrupts = threadInterrupts();
  return interrupts.isStopped = interrupts.isStopped || interrupts.clock.ask();
}

void tw::stopIfInterrupted() {
  llvm::CrashRecoveryContext *context = llvm::CrashRecoveryContext::GetCurrent();
  if (context && givesUp())
    context->HandleExit(1);
}

bool tw::containCrash(llvm::function_ref<void()> action, std::string &error) {
  enableRecovery();
  fatalMessage()[0] = 0;
  threadInterrupts().isStopped = false;
  llvm::CrashRecoveryContext context;
  bool finished = context.RunSafely(action);
  if (!finished) {
    error = fatalMessage()[0] ? std::string("LLVM: ") + fatalMessage()
                              : "LLVM crashed (code " + std::to_string(context.RetCode) + ")";
  }
  disableRecovery();
  return finished;
}
