// Builds the operations on boxes of strided arrays from typed operands.
#ifndef FRONTEND_BOXBUILDER_H
#define FRONTEND_BOXBUILDER_H
#include "frontend/tiles/TileBuilder.h"

namespace tw {

/// The operands of an access to a box (ir/tile/TileOps.td), as the user sees them.
struct BoxOperands {
  TypedValue base;
  std::vector<TypedValue> shape, strides, offsets; // int32 or int64; offsets may be 1-D tiles
  std::vector<int32_t> checked;                    // ascending
  std::vector<int64_t> extents;                    // of the box
};

class BoxBuilder : public OperandBuilder {
public:
  explicit BoxBuilder(TileBuilder &tiles, mlir::OpBuilder &builder) : OperandBuilder(builder) {
    setLocation(tiles.location());
  }

  TileOr load(const BoxOperands &box, bool nanOutside, const LoadOptions &options);
  /// `position` is the value's, for labels.
  std::optional<Reason> store(const BoxOperands &box, TypedValue value, int position,
                              const LoadOptions &options);
  /// `kind` is add, max, min, and, or, xor.
  std::optional<Reason> atomic(llvm::StringRef kind, const BoxOperands &box, TypedValue value,
                               int position);

private:
  TileOr element(const BoxOperands &box, TypedValue value, int position);
};

// What plain accesses (TileBuilderMemory.cpp) and those to boxes have in common.
struct CacheHints {
  tile::CacheModifier cache;
  tile::EvictionPolicy evict;
};
OrReason<CacheHints> cacheHintsOf(const LoadOptions &options, bool isStore);
/// An error when memory is written through a pointer that promises not to.
std::optional<Reason> checkWritable(const TypedValue &pointer);
/// An error unless the atomic exists for the element type; a bool is a byte.
std::optional<Reason> checkAtomicType(const AtomicRule &rule, const TypedValue &pointer);
/// `kind` is one of those that atomicKindOf knows.
AtomicRule atomicRuleOf(llvm::StringRef kind);
OrReason<tile::AtomicKind> atomicKindOf(llvm::StringRef kind, DType element);

} // namespace tw
#endif
