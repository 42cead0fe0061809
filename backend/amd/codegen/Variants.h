// What surrounds LLVM's passes for AMD's GPUs, as data.
#ifndef BACKEND_AMD_CODEGEN_VARIANTS_H
#define BACKEND_AMD_CODEGEN_VARIANTS_H
#include "backend/amd/machine/AmdArch.h"
#include "backend/codegen/LlvmMachine.h"

namespace tw::amd {

/// Fills in the passes of ours for an architecture, the variants of its code, and those of LLVM's
/// passes that are left out.
void addPasses(LlvmMachine &machine, const AmdArch &arch);

} // namespace tw::amd
#endif
