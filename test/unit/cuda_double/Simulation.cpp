// Launches of the double that execute: the simulator runs the PTX that the driver was given.
#include "backend/warpsim/WarpsimDevice.h"
#include "test/unit/cuda_double/Double.h"
#include <cstring>

using namespace tw;
using namespace tw::cuda_double;

static constexpr int kIllegalAddress = 700, kAssert = 710;

/// What the simulator needs to know of a kernel. Any of its pointers may be stored to.
static Artifact artifactOf(const Function &function, unsigned numThreads, unsigned sharedBytes) {
  Artifact artifact;
  artifact.symbol = function.name;
  artifact.binary = function.ptx;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    artifact.parameters.push_back({"parameter " + std::to_string(i),
                                   function.parameters[i].isPointer ? "*u8" : "u64", true, true,
                                   int(i)});
  artifact.resources = {{"num_warps", numThreads / 32}, {"shared_bytes", sharedBytes}};
  return artifact;
}

/// A parameter's bits, with the allocation that a pointer lies in.
static LaunchArgument readArgument(const Parameter &parameter, const void *bytes) {
  LaunchArgument argument;
  memcpy(&argument.bits, bytes, size_t(parameter.bytes));
  const std::map<uint64_t, size_t> &sizes = state().memoryBytes;
  auto after = sizes.upper_bound(argument.bits);
  if (!parameter.isPointer || after == sizes.begin())
    return argument;
  --after;
  argument.allocationBase = after->first;
  argument.bytes = after->second;
  return argument;
}

int cuda_double::simulateLaunch(const Function &function, const LaunchGrid &grid,
                                unsigned numThreads, unsigned sharedBytes, void **parameters) {
  std::shared_ptr<Device> simulator = makeWarpsimDevice(state().settings.simulator);
  RuntimeError error;
  std::shared_ptr<LoadedKernel> kernel =
      simulator->load(artifactOf(function, numThreads, sharedBytes), error);
  std::vector<LaunchArgument> arguments;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    arguments.push_back(readArgument(function.parameters[i], parameters[i]));
  std::optional<RuntimeError> failure = error;
  if (kernel)
    failure = simulator->launch(*kernel, grid, arguments);
  if (!failure)
    return 0;
  state().record += "the simulator says: " + failure->message + "\n";
  return failure->code == Code::DeviceAssert ? kAssert : kIllegalAddress;
}
