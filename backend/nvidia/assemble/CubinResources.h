// Reads machine code: what a kernel uses of a GPU, and what made the code.
#ifndef BACKEND_NVIDIA_CUBINRESOURCES_H
#define BACKEND_NVIDIA_CUBINRESOURCES_H
#include "runtime/Artifact.h"

namespace tw::nvidia {

/// Reads the artifact's machine code: its bytes of instructions, and the resources "registers",
/// "stack_bytes", "static_shared_bytes" and, as far as the assembler's log tells, "spill_bytes".
void readCubin(const std::string &log, Artifact &artifact);

/// Returns what made machine code, "ptxas 13.0.88"; nothing where the code does not say.
std::string readAssembler(const std::string &cubin);

/// Returns the names of the assembler's own functions that the machine code calls, such as
/// "__cuda_sm70_shflsync_bfly".
std::vector<std::string> findRoutines(const std::string &cubin);

/// Returns whether an assembler's output is a whole ELF file for this vendor's GPUs: each section
/// lies in it, and one holds instructions. What is not must never be kept.
bool holdsMachineCode(const std::string &cubin);

} // namespace tw::nvidia
#endif
