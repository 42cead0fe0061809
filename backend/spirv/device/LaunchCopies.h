// The arrays of a launch in memory of a device that cannot reach the host's.
#ifndef BACKEND_SPIRV_LAUNCHCOPIES_H
#define BACKEND_SPIRV_LAUNCHCOPIES_H
#include "backend/spirv/device/OpenClContext.h"
#include <span>
#include <vector>

namespace tw::spirv {

/// Copies for the length of a launch. Arrays that overlap have one copy together.
class LaunchCopies {
public:
  explicit LaunchCopies(OpenClContext &context) : context(context) {}
  ~LaunchCopies();
  LaunchCopies(const LaunchCopies &) = delete;
  LaunchCopies &operator=(const LaunchCopies &) = delete;

  /// Copies the memory behind the pointers among the arguments, which say how large it is.
  std::optional<RuntimeError> take(const std::string &kernel,
                                   std::span<const ArtifactParameter> parameters,
                                   std::span<const LaunchArgument> arguments);
  /// A pointer's address in the copy of its array; as it is where nothing was copied.
  uint64_t addressOf(const LaunchArgument &argument) const;
  /// Copies what the kernel has stored to back, when it has ended.
  std::optional<RuntimeError> giveBack();

private:
  struct Copy {
    uint64_t begin, end; // on the host
    bool isStored;
    char *memory;  // of the device
    size_t offset; // of the copy in it
  };
  std::optional<RuntimeError> allocate(Copy &copy);
  std::optional<RuntimeError> transfer(const Copy &copy, bool isToHost);

  OpenClContext &context;
  std::vector<Copy> copies; // by their beginnings
};

} // namespace tw::spirv
#endif
