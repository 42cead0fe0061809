// The machine that this process runs on, as LLVM's code generator knows it.
#ifndef BACKEND_CPU_HOSTMACHINE_H
#define BACKEND_CPU_HOSTMACHINE_H
#include "backend/compile/EmitLlvm.h"

namespace tw {

LlvmMachine hostMachine();

/// The features of a machine that LLVM does not know by the processor's name; with the name they
/// mean the same as all of them. A compilation reads its features several times.
std::string featuresBesideName(const LlvmMachine &machine);

} // namespace tw
#endif
