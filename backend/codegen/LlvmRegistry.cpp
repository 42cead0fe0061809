// The locks of LLVM's registry of architectures and of its options.
#include "backend/codegen/LlvmRegistry.h"

using namespace tw;

static std::mutex &registryLock() {
  static std::mutex lock;
  return lock;
}

void tw::registerWithLlvm(void (*enter)()) {
  std::lock_guard guard(registryLock());
  enter();
}

const llvm::Target *tw::findLlvmTarget(const llvm::Triple &triple, std::string &error) {
  std::lock_guard guard(registryLock());
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

std::mutex &tw::llvmOptionsLock() {
  static std::mutex lock;
  return lock;
}
