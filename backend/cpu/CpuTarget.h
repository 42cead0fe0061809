// The CPU of this process as a target of the compiler.
#ifndef BACKEND_CPU_CPUTARGET_H
#define BACKEND_CPU_CPUTARGET_H
#include "backend/Target.h"
#include <memory>
#include <string>
#include <vector>

namespace tw {

/// This host, with a matrix unit whose instructions are functions: for tests of what is compiled
/// for such a unit.
inline constexpr char kEmulatedMatrixUnit[] = "emulated-amx";

/// The host with all that it has; or only what a level of the x86-64 psABI ("x86-64-v3") has, for
/// binaries that run on any machine of the level and for tests of narrower vectors; or a processor
/// by LLVM's name ("sapphirerapids").
std::unique_ptr<Target> makeCpuTarget(const std::string &level = "");
/// The names that `makeCpuTarget` is given beside "".
llvm::ArrayRef<llvm::StringRef> namedCpus();
/// Those that this host reaches, in that order.
std::vector<std::string> cpuLevels();

/// Lists the words of launches that the target heeds (`TargetFacts::options`).
std::vector<std::string> cpuLaunchOptions();

} // namespace tw
#endif
