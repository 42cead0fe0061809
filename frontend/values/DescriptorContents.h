// What a block pointer or tensor descriptor is made of.
#ifndef FRONTEND_DESCRIPTORCONTENTS_H
#define FRONTEND_DESCRIPTORCONTENTS_H
#include "frontend/values/PyValue.h"

namespace tw {

/// `parts` are the base (a run-time pointer), then one extent and one stride per dimension, and of
/// a block pointer one offset each: numbers, or int64 where they are known at run time only.
/// Branches and loops join and carry the parts.
struct DescriptorContents {
  DescriptorType type;
  std::vector<PyValue> parts;

  size_t rank() const { return type.block.shape.size(); }
  const TypedValue &base() const { return *parts.front().as<TypedValue>(); }
  llvm::ArrayRef<PyValue> shape() const { return llvm::ArrayRef(parts).slice(1, rank()); }
  llvm::ArrayRef<PyValue> strides() const {
    return llvm::ArrayRef(parts).slice(1 + rank(), rank());
  }
  llvm::ArrayRef<PyValue> offsets() const {
    return llvm::ArrayRef(parts).drop_front(1 + 2 * rank());
  }
};

PyValue makeDescriptor(DescriptorType type, std::vector<PyValue> parts);

} // namespace tw
#endif
