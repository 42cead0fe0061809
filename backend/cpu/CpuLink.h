// Links object files into this process, each kernel on its own, and unloads them again.
#ifndef BACKEND_CPU_CPULINK_H
#define BACKEND_CPU_CPULINK_H
#include "backend/cpu/KernelAbi.h"
#include "runtime/Device.h"
#include <memory>
#include <string>
#include <string_view>

namespace tw {

/// Ends the symbol of every kernel, after its Python name.
inline constexpr std::string_view kKernelSuffix = ".kernel";

/// Code in memory. Destroying it frees the memory: nothing may run it any more.
class LinkedCode {
public:
  virtual ~LinkedCode() = default;
  TwKernel entry = nullptr;
  std::vector<CodeRange> ranges; // of its functions
};

/// Links relocatable objects. They may call the host functions of KernelAbi.h, the memory functions
/// of C and the math libraries, and nothing else in the process. Thread safe.
class CpuLinker : public std::enable_shared_from_this<CpuLinker> {
public:
  static std::shared_ptr<CpuLinker> create(std::string &error);
  virtual ~CpuLinker() = default;
  /// Null with `error` when the object is not a valid one or lacks `symbol`.
  virtual std::unique_ptr<LinkedCode> link(const std::string &object, const std::string &symbol,
                                           std::string &error) = 0;
};

/// Returns true if the linker finds a function of C that an object asks for.
bool linksFunction(std::string_view name);

} // namespace tw
#endif
