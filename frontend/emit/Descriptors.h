// Block pointers and tensor descriptors: arrays in memory that are accessed block by block.
#ifndef FRONTEND_DESCRIPTORS_H
#define FRONTEND_DESCRIPTORS_H
#include "frontend/emit/Emitter.h"
#include "frontend/values/DescriptorContents.h"

namespace tw {

/// The value of a kernel's parameter with its tuples of these fields as tensor descriptors: a
/// host's TensorDescriptor is passed as one.
mlir::FailureOr<PyValue> withDescriptors(Emitter &emitter, const PyValue &argument);

/// `desc.shape`, `pointer.dtype`, ...; nullopt for other names.
std::optional<PyValue> descriptorAttribute(const Descriptor &descriptor, llvm::StringRef name);
std::optional<PyValue> descriptorTypeAttribute(const DescriptorType &type, llvm::StringRef name);
/// `is_ptr()` and the like of a type.
std::optional<bool> descriptorTypePredicate(const DescriptorType &type, llvm::StringRef name);
/// An error for a descriptor that is used as a number, tile or plain pointer.
mlir::LogicalResult rejectDescriptor(Emitter &emitter, const PyValue &descriptor, const Node &site);

} // namespace tw
#endif
