// What every GPU's launch is refused for, before its driver sees it.
#ifndef BACKEND_GPU_LAUNCHCHECKS_H
#define BACKEND_GPU_LAUNCHCHECKS_H
#include "runtime/Device.h"
#include <string>

namespace tw::gpu {

/// How far a grid may extend.
struct GridLimits {
  std::string platform;           // in reports: "CUDA"
  uint64_t maxLaterPrograms;      // along its second and third axis
  uint64_t maxThreadsAlongX = ~0; // of all programs together
};

/// Refuses a grid of programs of `numThreads` each.
std::optional<RuntimeError> checkGrid(const LaunchGrid &grid, const GridLimits &limits,
                                      unsigned numThreads);
/// Refuses too few or many arguments, and stores to memory that is read-only.
std::optional<RuntimeError> checkArguments(const std::string &kernel,
                                           std::span<const ArtifactParameter> parameters,
                                           std::span<const LaunchArgument> arguments);

/// "200000 bytes of shared memory (a 120000, b 80000)".
std::string listBuffers(const Artifact &artifact);
/// Refuses a kernel whose shared memory is more than `limit` bytes; 0: nobody says how many.
std::optional<RuntimeError> checkShared(const Artifact &artifact, int64_t limit,
                                        const std::string &device);

} // namespace tw::gpu
#endif
