// Launches of a double that execute: the simulator runs the code that the driver was given.
#include "backend/warpsim/TensorMap.h"
#include "runtime/codes/Codes.h"
#include "test/unit/driver_double/Double.h"
#include <cstring>

using namespace tw;
using namespace tw::driver_double;

/// A tensor map by value, which a launch gave; the simulator makes it anew.
static bool isMap(const Parameter &parameter) { return parameter.bytes == kTensorMapBytes; }

/// A recipe of constants for a map that was passed, of the array that a pointer parameter has.
static TensorMapRecipe recipeOf(const warpsim::TensorMap &map, const Function &function,
                                void **parameters) {
  TensorMapRecipe recipe;
  recipe.element = MapElement(map.element);
  for (size_t i = 0; i < function.parameters.size(); ++i)
    if (function.parameters[i].isPointer && !memcmp(parameters[i], &map.base, sizeof(map.base)))
      recipe.parameter = uint32_t(i);
  for (unsigned dim = 0; dim < map.rank; ++dim) {
    recipe.extents.push_back({int64_t(map.extents[dim]), {}});
    recipe.box.push_back(map.box[dim]);
    if (dim > 0)
      recipe.strides.push_back({int64_t(map.strideOf(dim)) / mapElementBytes(recipe.element), {}});
  }
  recipe.spanBytes = map.swizzleBytes;
  return recipe;
}

/// What the simulator needs to know of a kernel. Any of its pointers may be stored to.
static Artifact artifactOf(const Function &function, unsigned numThreads, unsigned sharedBytes,
                           void **parameters) {
  Artifact artifact;
  artifact.symbol = function.name;
  artifact.binary = function.code;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    if (isMap(function.parameters[i]))
      artifact.tensorMaps.push_back(recipeOf(
          *warpsim::decode(static_cast<const uint8_t *>(parameters[i])), function, parameters));
    else
      artifact.parameters.push_back({"parameter " + std::to_string(i),
                                     function.parameters[i].isPointer ? "*u8" : "u64", true, true,
                                     int(i)});
  artifact.resources = {{"threads", numThreads}, {"shared_bytes", sharedBytes}};
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

int driver_double::simulateLaunch(const Function &function, const LaunchShape &shape,
                                  void **parameters) {
  const std::string &arch = state().settings.simulator;
  std::shared_ptr<Device> simulator = platform().makeSimulator(arch);
  const auto &[x, y, z] = shape.threads;
  RuntimeError error;
  std::shared_ptr<LoadedKernel> kernel =
      simulator->load(artifactOf(function, x * y * z, shape.sharedBytes, parameters), error);
  std::vector<LaunchArgument> arguments;
  for (size_t i = 0; i < function.parameters.size(); ++i)
    if (!isMap(function.parameters[i]))
      arguments.push_back(readArgument(function.parameters[i], parameters[i]));
  LaunchGrid grid{{int32_t(shape.grid[0]), int32_t(shape.grid[1]), int32_t(shape.grid[2])},
                  0,
                  shape.isCooperative};
  std::optional<RuntimeError> failure = error;
  if (kernel)
    failure = simulator->launch(*kernel, grid, arguments);
  if (!failure)
    return kSuccess;
  state().record += "the simulator says: " + failure->message + "\n";
  return failure->code == Code::DeviceAssert ? kAssert : kIllegalAddress;
}
