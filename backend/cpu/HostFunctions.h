// What compiled CPU kernels call back: printing and checks, and what a launch keeps for them.
#ifndef BACKEND_CPU_HOSTFUNCTIONS_H
#define BACKEND_CPU_HOSTFUNCTIONS_H
#include "backend/cpu/KernelAbi.h"
#include "runtime/Device.h"
#include <atomic>
#include <mutex>
#include <optional>

namespace tw {

/// The state that the host functions keep while a grid runs; `TwProgram::launch` points to it.
/// Programs count from 0 in the grid, x fastest.
struct CpuLaunch {
  const std::string &kernel;
  const std::vector<ArtifactParameter> &parameters;
  std::span<const LaunchArgument> arguments;
  std::mutex mutex = {};                    // guards `failure`
  std::optional<RuntimeError> failure = {}; // of the first program that failed
  bool isCooperative = false;               // programs may wait for any other
  std::atomic<bool> hasPrinted = false;
  std::atomic<uint64_t> end = ~uint64_t(0); // programs from here on begin no more

  /// All programs from `program` on are left out; those before it run, so that the first failure
  /// of a grid is the same on any number of threads. A cooperative grid ends as a whole.
  void endBefore(uint64_t program);
};

uint64_t linearProgram(const TwProgram &program);
/// Leaves the kernel. In GridRun.cpp.
[[noreturn]] void leaveKernel(const TwProgram &program);

} // namespace tw
#endif
