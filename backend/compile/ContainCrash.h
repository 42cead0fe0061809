// Runs LLVM code so that its fatal errors and crashes come back as a message.
#ifndef BACKEND_CONTAINCRASH_H
#define BACKEND_CONTAINCRASH_H
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tw {

/// Runs `action` on this thread. False, with the reason in `error`, when it died half way: objects
/// it was working on are then in an unknown state and must be leaked, not destroyed.
bool containCrash(llvm::function_ref<void()> action, std::string &error);

/// Within `containCrash`: ends the action when whoever waits for it has given up (Ctrl-C), which
/// looks like a crash but is told apart by `wasInterrupted`. Only where no lock is held.
void stopIfInterrupted();
/// The same question outside of actions: the caller is to give up when the answer is true.
bool givesUp();
/// Returns true if the last action of this thread, or what followed it, ended so.
bool wasInterrupted();

} // namespace tw
#endif
