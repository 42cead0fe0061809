// The assembler as a program, run without a shell.
#ifndef BACKEND_NVIDIA_PTXASPROGRAM_H
#define BACKEND_NVIDIA_PTXASPROGRAM_H
#include "backend/nvidia/assemble/AssemblePtx.h"

namespace tw::nvidia {

/// Assembles with the program `path`. Returns false with `error`.
bool assembleWithPtxas(const std::string &ptx, const std::string &arch, const std::string &path,
                       AssembledPtx &result, std::string &error);

} // namespace tw::nvidia
#endif
