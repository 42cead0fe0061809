// Runs LLVM code so that its fatal errors and crashes come back as a message.
#ifndef BACKEND_CONTAINCRASH_H
#define BACKEND_CONTAINCRASH_H
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace tw {

/// Runs `action` on this thread. False, with the reason in `error`, when it died half way: objects
/// it was working on are then in an unknown state and must be leaked, not destroyed.
bool containCrash(llvm::function_ref<void()> action, std::string &error);

} // namespace tw
#endif
