// From PTX to machine code, by an assembler of this machine.
#ifndef BACKEND_NVIDIA_ASSEMBLEPTX_H
#define BACKEND_NVIDIA_ASSEMBLEPTX_H
#include "backend/nvidia/assemble/Assemblers.h"

namespace tw::nvidia {

struct AssembledPtx {
  std::string cubin; // empty: no assembler here takes the text, the driver assembles when it loads
  std::string log;   // what the assembler says of each function
  std::string assembler;     // its name and version, "ptxas 13.0.88"
  std::string assemblerPath; // as Assembler::path
};

/// Assembles PTX for an architecture ("sm_80"). An assembler that is older than the PTX or the GPU,
/// or does not run, leaves the work to the next. Returns false with `error` where one refuses the
/// text, or none runs. Having no assembler, or only too old ones, is not a failure.
bool assemblePtx(const std::string &ptx, const std::string &arch,
                 llvm::ArrayRef<Assembler> assemblers, AssembledPtx &result, std::string &error);

/// Returns whether an assembler's log only says that it is older than the PTX or the GPU.
bool isTooOld(llvm::StringRef log);
/// Returns whether an assembler's log complains of the text; else the assembler did not run to its
/// end, or is none.
bool isComplaint(llvm::StringRef log);

} // namespace tw::nvidia
#endif
