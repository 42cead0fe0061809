// NVIDIA GPUs as targets of the compiler.
#ifndef BACKEND_NVIDIA_NVIDIATARGET_H
#define BACKEND_NVIDIA_NVIDIATARGET_H
#include "backend/Target.h"
#include "backend/nvidia/assemble/Assemblers.h"
#include "backend/nvidia/machine/NvidiaArch.h"
#include <memory>

namespace tw {

/// The target "nvidia:sm_80"; null when there is no such arch. Its binary is PTX.
/// With `assembles`, artifacts get machine code too where this machine has an assembler; a
/// simulator needs none.
std::unique_ptr<Target> makeNvidiaTarget(const std::string &arch, bool assembles = true,
                                         const AssemblerSettings &settings = {});

/// Lists the words of launches that the target heeds (`TargetFacts::options`); null: all that some
/// GPU heeds.
std::vector<std::string> nvidiaLaunchOptions(const NvidiaArch *arch = nullptr);

} // namespace tw
#endif
