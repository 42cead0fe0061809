// Runs LLVM code so that its fatal errors and crashes come back as a message.
#ifndef BACKEND_CODEGEN_CONTAINCRASH_H
#define BACKEND_CODEGEN_CONTAINCRASH_H
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tw {

/// Runs `action` on this thread. False, with the reason in `error`, when it died half way: objects
/// it was working on are then in an unknown state and must be leaked, not destroyed.
bool containCrash(llvm::function_ref<void()> action, std::string &error);

/// Within `containCrash`: ends the action when whoever waits for it has given up (Ctrl-C), which
/// looks like a crash but is told apart by `wasInterrupted`. Only where no lock is held.
void stopIfInterrupted();
/// Asks the same outside of actions: returns true if the caller must give up.
bool givesUp();
/// Returns true if the last action of this thread, or what followed it, ended by such an
/// interruption.
bool wasInterrupted();

} // namespace tw
#endif
