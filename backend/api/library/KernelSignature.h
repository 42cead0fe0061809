// A kernel's parameters as its source buffer has them, for the library: a launch without Python has
// nothing else to bind arguments by.
#ifndef BACKEND_API_LIBRARY_KERNELSIGNATURE_H
#define BACKEND_API_LIBRARY_KERNELSIGNATURE_H
#include "backend/api/library/tilewright.h"
#include "runtime/Device.h"
#include "runtime/Specialization.h"
#include <optional>

namespace tw::library {

struct SignatureParameter {
  std::string name;
  bool isConstexpr = false;
  std::string type;        // of a number that is annotated: "fp32", else empty
  std::string defaultJson; // a value of the buffer, or empty
};

struct KernelSignature {
  std::string name;
  std::vector<SignatureParameter> parameters;
};

/// Null with a reason where a text is not a kernel source buffer.
std::optional<KernelSignature> readSignature(const std::string &buffer, std::string &error);

/// A launch's arguments as the compiler and a device take them.
struct BoundArguments {
  std::vector<ArgumentSpec> specs;      // one for each parameter
  std::vector<LaunchArgument> launched; // the same, for those that are passed
};

/// Binds arguments by position; the reason of a refusal, or nothing.
std::optional<RuntimeError> bind(const KernelSignature &signature,
                                 const tilewright::Argument *arguments, size_t count,
                                 BoundArguments &bound);

} // namespace tw::library
#endif
