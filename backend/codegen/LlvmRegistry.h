// Locks of what LLVM keeps for the whole process: its registry of architectures, and its options.
#ifndef BACKEND_CODEGEN_LLVMREGISTRY_H
#define BACKEND_CODEGEN_LLVMREGISTRY_H
#include "llvm/MC/TargetRegistry.h"
#include <mutex>

namespace tw {

/// Has `enter` enter an architecture, while nobody else enters or looks for one.
void registerWithLlvm(void (*enter)());
/// Returns the entry for a triple, or null with the reason in `error`.
const llvm::Target *findLlvmTarget(const llvm::Triple &triple, std::string &error);
/// Returns what is locked while LLVM's command-line options are set, needed or reset: lld resets
/// all.
std::mutex &llvmOptionsLock();

} // namespace tw
#endif
