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
  /// Returns the value that the kernel gets for a pointer: its address in the copy of its array, or
  /// the handle of the buffer that begins there; where nothing was copied, the pointer as it is, or
  /// no buffer.
  uint64_t valueOf(const LaunchArgument &argument) const;
  /// Copies what the kernel has stored to back, when it has ended.
  std::optional<RuntimeError> giveBack();

private:
  struct Copy {
    uint64_t begin, end; // on the host
    uint64_t pointer;    // into it, as a kernel gets it
    bool isStored;
    char *memory = nullptr; // of the device, or a buffer's handle
    size_t offset = 0;      // of the copy in it
  };
  /// A part of a buffer, which begins at an address of the host.
  struct Part {
    uint64_t begin;
    const Copy *of;
    ClHandle handle;
  };
  bool usesBuffers() const { return context.entry().access == ArrayAccess::CopyBuffers; }
  void unite();
  std::optional<RuntimeError> allocate(Copy &copy);
  std::optional<RuntimeError> transfer(const Copy &copy, bool isToHost);
  std::optional<RuntimeError> cut(const std::string &kernel, const std::string &parameter,
                                  const LaunchArgument &argument);
  const Copy *copyOf(const LaunchArgument &argument) const;

  OpenClContext &context;
  std::vector<Copy> copies; // by their beginnings
  std::vector<Part> parts;
};

} // namespace tw::spirv
#endif
