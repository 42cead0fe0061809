// What compiled CPU kernels call back: printing and assertions, and what a launch keeps for them.
#ifndef BACKEND_CPU_HOSTFUNCTIONS_H
#define BACKEND_CPU_HOSTFUNCTIONS_H
#include "backend/cpu/KernelAbi.h"
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

namespace tw {

/// The first failed assertion of a launch: first by program, x fastest, then by element.
struct AssertFailure {
  uint64_t program = 0; // linear index in the grid
  int64_t index = -1;
  std::string text;
};

/// What the host functions keep while a grid runs; `TwProgram::launch` points to it.
struct CpuLaunch {
  std::mutex mutex; // guards `failure`
  std::optional<AssertFailure> failure;
  std::atomic<bool> hasPrinted = false;
};

} // namespace tw
#endif
