// Words for what launches report, and what devices have that say nothing of it.
#include "runtime/DeviceMemory.h"
#include "runtime/codes/Codes.h"

using namespace tw;

std::string tw::describeElement(const LaunchArgument &argument, const std::string &name,
                                uint64_t address, int64_t bytes) {
  int64_t distance = int64_t(address - argument.bits);
  int64_t index = distance / bytes - (distance % bytes < 0);
  std::string text = "element " + std::to_string(index) + " of argument '" + name + "'";
  if (argument.bits == 0 || argument.allocationBase == 0)
    return text; // null, or of memory that is not known
  int64_t first = int64_t(argument.allocationBase - argument.bits) / bytes;
  int64_t end = int64_t(argument.allocationBase + argument.bytes - argument.bits) / bytes;
  if (first >= end)
    return text + ", which holds no element";
  return text + ", which holds elements " + std::to_string(first) + " to " +
         std::to_string(end - 1);
}

RuntimeError tw::tooManyTogether(const LaunchGrid &grid, const std::string &kernel, uint64_t most,
                                 const std::string &reason) {
  return {RuntimeError::Kind::Launch, Code::CooperativeGrid,
          "the cooperative grid of kernel " + kernel + " has " +
              std::to_string(grid.numPrograms()) + " programs, and at most " +
              std::to_string(most) + " run at the same time: " + reason,
          "launch at most " + std::to_string(most) +
              ", each of which loops over its share of the tiles"};
}

ClusterExtents tw::clustersOf(const Artifact &artifact) {
  auto along = [&](const char *axis) {
    auto found = artifact.resources.find(axis);
    return found == artifact.resources.end() ? 1 : std::max<int64_t>(1, found->second);
  };
  return {along("cluster_x"), along("cluster_y"), along("cluster_z")};
}

static std::string textOf(const std::array<int64_t, 3> &extents) {
  return "(" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ", " +
         std::to_string(extents[2]) + ")";
}

std::optional<RuntimeError> tw::checkClusters(const LaunchGrid &grid,
                                              const ClusterExtents &clusters,
                                              const std::string &kernel) {
  if (clusters == ClusterExtents{1, 1, 1})
    return std::nullopt;
  if (grid.isCooperative)
    return RuntimeError{RuntimeError::Kind::Launch, Code::DeviceLacksOption,
                        "kernel " + kernel + " asks for a cooperative grid of clusters",
                        "leave out launch_cooperative_grid, or num_ctas and cluster_dims"};
  std::array<int64_t, 3> programs = {grid.programs[0], grid.programs[1], grid.programs[2]};
  for (unsigned axis = 0; axis < 3; ++axis)
    if (programs[axis] % clusters[axis] != 0)
      return RuntimeError{RuntimeError::Kind::Launch, Code::BadGrid,
                          "the grid " + textOf(programs) + " of kernel " + kernel +
                              " is not divided into its clusters of " + textOf(clusters) +
                              " programs",
                          "round the grid up to multiples of the cluster, and mask what the "
                          "programs beyond do; or leave out num_ctas and cluster_dims"};
  return std::nullopt;
}

RuntimeError tw::tooFewThreads(const LaunchGrid &grid, const std::string &kernel) {
  return {RuntimeError::Kind::Launch, Code::CooperativeGrid,
          "the cooperative grid of kernel " + kernel + " needs " +
              std::to_string(grid.numPrograms()) + " threads, and the system gave fewer",
          "launch fewer programs, each of which loops over its share of the tiles"};
}

std::shared_ptr<DeviceMemory> Device::allocate(uint64_t bytes, RuntimeError &error) {
  error = {RuntimeError::Kind::Launch, Code::UnknownDevice,
           "`" + name() + "` has no memory of its own", "kernels there take arrays of the host"};
  return nullptr;
}
