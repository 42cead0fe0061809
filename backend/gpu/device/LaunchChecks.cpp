// What every GPU's launch is refused for, before its driver sees it.
#include "backend/gpu/device/LaunchChecks.h"
#include "backend/gpu/GpuCode.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using namespace tw::gpu;
using Kind = RuntimeError::Kind;

std::optional<RuntimeError> gpu::checkGrid(const LaunchGrid &grid, const GridLimits &limits,
                                           unsigned numThreads) {
  const auto &[x, y, z] = grid.programs;
  uint64_t maxPrograms = limits.maxThreadsAlongX / numThreads;
  auto error = [&](const std::string &fault, const std::string &hint) {
    return RuntimeError{Kind::Launch, Code::BadGrid,
                        llvm::formatv("the grid ({0}, {1}, {2}) has {3}", x, y, z, fault).str(),
                        hint};
  };
  if (x < 0 || y < 0 || z < 0)
    return error("a negative extent", "a grid counts programs along each axis: 0 or more");
  if (uint64_t(y) > limits.maxLaterPrograms || uint64_t(z) > limits.maxLaterPrograms)
    return error("more than " + std::to_string(limits.maxLaterPrograms) +
                     " programs along its second or third axis",
                 "put the longest axis first: it may have " +
                     std::to_string(std::min<uint64_t>(maxPrograms, 0x7FFFFFFF)));
  if (uint64_t(x) > maxPrograms)
    return error(
        "more programs along its first axis than " + std::to_string(maxPrograms) +
            ", which is what " + limits.platform + " takes of " + std::to_string(numThreads) +
            " threads each",
        "use larger tiles, fewer warps (num_warps), or put programs along the second axis");
  return std::nullopt;
}

std::optional<RuntimeError> gpu::checkArguments(const std::string &kernel,
                                                std::span<const ArtifactParameter> parameters,
                                                std::span<const LaunchArgument> arguments) {
  if (arguments.size() != parameters.size())
    return RuntimeError{Kind::Launch, Code::LaunchArguments,
                        llvm::formatv("kernel {0} takes {1} run-time arguments, {2} were given",
                                      kernel, parameters.size(), arguments.size())
                            .str(),
                        ""};
  for (size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].isReadOnly && parameters[i].isStored)
      return RuntimeError{Kind::Launch, Code::ReadOnlyArgument,
                          "argument `" + parameters[i].name + "` is read-only, and kernel " +
                              kernel + " stores to it",
                          "pass a writable array, or a copy"};
  return std::nullopt;
}

std::string gpu::listBuffers(const Artifact &artifact) {
  std::string list;
  for (const ArtifactBuffer &buffer : artifact.sharedBuffers)
    list += (list.empty() ? "" : ", ") + buffer.name + " " + std::to_string(buffer.bytes);
  return std::to_string(resourceOf(artifact, "shared_bytes", 0)) + " bytes of shared memory" +
         (list.empty() ? "" : " (" + list + ")");
}

std::optional<RuntimeError> gpu::checkShared(const Artifact &artifact, int64_t limit,
                                             const std::string &device) {
  if (limit <= 0 || resourceOf(artifact, "shared_bytes", 0) <= limit)
    return std::nullopt;
  return RuntimeError{Kind::Launch, Code::SharedMemoryExceeded,
                      llvm::formatv("kernel {0} needs {1}, and a program on {2} may have {3}",
                                    artifact.symbol, listBuffers(artifact), device, limit)
                          .str(),
                      "use smaller tiles, or fewer stages"};
}
