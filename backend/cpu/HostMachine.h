// The machine that this process runs on, as LLVM's code generator knows it.
#ifndef BACKEND_CPU_HOSTMACHINE_H
#define BACKEND_CPU_HOSTMACHINE_H
#include "backend/codegen/EmitLlvm.h"

namespace tw {

LlvmMachine hostMachine();

/// Replaces stores under a constant mask with one true lane by scalar stores. LLVM 22's code
/// generation for x86 does the same, but after it has merged a truncation into the store, and then
/// writes the element before the truncation: past the end of the one that is meant.
void storeSingleLanes(llvm::Module &module);
inline constexpr ModulePass kStoreSingleLanes = {
    "store-single-lanes", "masked stores of one lane become scalar stores", storeSingleLanes};

/// Returns the features of a machine that LLVM does not know by the processor's name; with the name
/// they mean the same as all of them. A compilation reads its features several times.
std::string featuresBesideName(const LlvmMachine &machine);

} // namespace tw
#endif
