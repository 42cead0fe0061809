// The types of what is made of many elements: tiles, block pointers and tensor descriptors.
#ifndef FRONTEND_ARRAYTYPES_H
#define FRONTEND_ARRAYTYPES_H
#include "frontend/values/TypedValue.h"
#include <memory>
#include <vector>

namespace tw {

/// The type of a tile, `x.type`; a scalar's type is its DType.
struct TileType {
  DType element;
  std::vector<int64_t> shape;
  bool operator==(const TileType &) const = default;
};
/// The type of a block pointer or tensor descriptor: all that is known of it at compile time.
struct DescriptorType {
  bool isBlockPointer = false;
  TileType block;          // what one access reads or writes
  bool nanOutside = false; // loads outside of the array yield NaN
  bool isConst = false;    // nothing is written through its base
  bool operator==(const DescriptorType &) const = default;
};
struct DescriptorContents; // Descriptors.h
using Descriptor = std::shared_ptr<const DescriptorContents>;

} // namespace tw
#endif
