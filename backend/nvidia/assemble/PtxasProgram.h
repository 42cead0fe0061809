// The assembler as a program, run without a shell.
#ifndef BACKEND_NVIDIA_PTXASPROGRAM_H
#define BACKEND_NVIDIA_PTXASPROGRAM_H
#include "backend/nvidia/assemble/AssemblePtx.h"
#include "llvm/ADT/ArrayRef.h"

namespace tw::nvidia {

/// The program `path`, or where that is empty the ptxas of the search path or the CUDA toolkit;
/// empty when there is none.
std::string findPtxas(const std::string &path);

/// Every ptxas of the usual places, the one of `findPtxas` first, each once.
std::vector<std::string> findEveryPtxas();

/// The first of `programs` that is of the release `preferred` (1304 for 13.4) or a later one, else
/// the first of them. They are asked only where there is a choice.
std::string choosePtxas(llvm::ArrayRef<std::string> programs, unsigned preferred);

/// Assembles with the program `path`, or with the ptxas of the search path or the CUDA toolkit
/// where `path` is empty. False with an empty `error` when there is none.
bool assembleWithProgram(const std::string &ptx, const std::string &arch, const std::string &path,
                         AssembledPtx &result, std::string &error);

} // namespace tw::nvidia
#endif
