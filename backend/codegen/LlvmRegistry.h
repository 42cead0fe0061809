// LLVM's registry of architectures: a list without a lock, which several threads use here.
#ifndef BACKEND_CODEGEN_LLVMREGISTRY_H
#define BACKEND_CODEGEN_LLVMREGISTRY_H
#include "llvm/MC/TargetRegistry.h"

namespace tw {

/// Has `enter` enter an architecture, while nobody else enters or looks for one.
void registerWithLlvm(void (*enter)());
/// Returns the entry for a triple, or null with the reason in `error`.
const llvm::Target *findLlvmTarget(const llvm::Triple &triple, std::string &error);

} // namespace tw
#endif
