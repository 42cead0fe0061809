// NVIDIA's linker library, opened when the machine has it.
#ifndef BACKEND_NVIDIA_JITLINK_H
#define BACKEND_NVIDIA_JITLINK_H
#include "backend/nvidia/assemble/AssemblePtx.h"

namespace tw::nvidia {

/// The file that would be opened, as far as that can be told without the loader's search path.
std::string findJitLink(const std::vector<std::string> &directories);

/// Assembles with libnvJitLink. False with an empty `error` when the library cannot be found or is
/// too old for the architecture.
bool assembleWithJitLink(const std::string &ptx, const std::string &arch,
                         const std::vector<std::string> &directories, AssembledPtx &result,
                         std::string &error);

} // namespace tw::nvidia
#endif
