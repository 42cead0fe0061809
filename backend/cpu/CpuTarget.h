// The CPU of this process as a target of the compiler.
#ifndef BACKEND_CPU_CPUTARGET_H
#define BACKEND_CPU_CPUTARGET_H
#include "backend/Target.h"
#include <memory>
#include <string>
#include <vector>

namespace tw {

/// The host with all that it has, or only what a level of the x86-64 psABI ("x86-64-v3") has: for
/// binaries that run on any machine of the level, and for tests of narrower vectors.
std::unique_ptr<Target> makeCpuTarget(const std::string &level = "");
/// The levels that this host reaches, the lowest first.
std::vector<std::string> cpuLevels();

} // namespace tw
#endif
