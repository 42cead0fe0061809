// NVIDIA's linker library, opened when it is asked for.
#ifndef BACKEND_NVIDIA_JITLINK_H
#define BACKEND_NVIDIA_JITLINK_H
#include "backend/nvidia/assemble/AssemblePtx.h"

namespace tw::nvidia {

/// Assembles with the library `path`. Returns false with `error`, which is empty where the library
/// cannot be opened or does not know the architecture.
bool assembleWithJitLink(const std::string &ptx, const std::string &arch, const std::string &path,
                         AssembledPtx &result, std::string &error);

} // namespace tw::nvidia
#endif
