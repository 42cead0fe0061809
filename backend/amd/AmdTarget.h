// AMD GPUs as targets of the compiler.
#ifndef BACKEND_AMD_AMDTARGET_H
#define BACKEND_AMD_AMDTARGET_H
#include "backend/Target.h"
#include "backend/amd/AmdArch.h"
#include <memory>

namespace tw {

/// The target "amd:gfx942"; null when there is no such arch. Its binary is a code object (HSACO).
/// A simulator, which executes LLVM IR, takes none (`assembles`): then the binary is that IR.
std::unique_ptr<Target> makeAmdTarget(const std::string &arch, bool assembles = true);

} // namespace tw
#endif
