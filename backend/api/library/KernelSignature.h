// A kernel's parameters as its source buffer has them, for the library: a launch without Python has
// nothing else to bind arguments by.
#ifndef BACKEND_API_LIBRARY_KERNELSIGNATURE_H
#define BACKEND_API_LIBRARY_KERNELSIGNATURE_H
#include "backend/api/library/tilewright.h"
#include "runtime/Device.h"
#include "runtime/Specialization.h"
#include "llvm/ADT/SmallVector.h"
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

/// The parameters of a launch: facts as the compiler takes them, but for names and the values of
/// constants, which only a compilation needs; bits as a device takes them.
struct BoundArguments {
  llvm::SmallVector<ArgumentSpec, 16> specs;
  llvm::SmallVector<LaunchArgument, 16> launched;
  llvm::SmallVector<const tilewright::Argument *, 16> given; // null where the default stands
  llvm::SmallVector<unsigned, 16> types;                     // tell element types apart
};

/// Binds arguments by position, for a target whose offsets of 32 bits count elements or bytes; the
/// reason of a refusal, or nothing.
std::optional<RuntimeError> bind(const KernelSignature &signature,
                                 const tilewright::Argument *arguments, size_t count,
                                 bool countsBytes, BoundArguments &bound);
/// The refusal of an array that a launch would read or write and whose address is null.
RuntimeError refuseNull(const KernelSignature &signature, size_t index);
/// The specialization of bound arguments, complete.
std::vector<ArgumentSpec> specsOf(const KernelSignature &signature, const BoundArguments &bound);

} // namespace tw::library
#endif
