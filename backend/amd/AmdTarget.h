// AMD GPUs as targets of the compiler.
#ifndef BACKEND_AMD_AMDTARGET_H
#define BACKEND_AMD_AMDTARGET_H
#include "backend/Target.h"
#include "backend/amd/machine/AmdArch.h"
#include <memory>

namespace tw {

/// The target "amd:gfx942"; null when there is no such arch. Its binary is a code object (HSACO).
/// A simulator, which executes LLVM IR, takes none: then the binary is that IR.
enum class AmdCode {
  Hsaco,
  HsacoWithIr, // with the LLVM IR that it was made of, in a section that nothing loads
  Ir,
};
std::unique_ptr<Target> makeAmdTarget(const std::string &arch, AmdCode code = AmdCode::Hsaco);

/// The section's name. The IR stands there as text.
inline constexpr const char *kIrSection = ".tilewright.ir";

} // namespace tw
#endif
