// What the operations on boxes of strided arrays have in common, for their verifier, their meaning
// and the pass that expands them.
#ifndef IR_TILE_BOX_H
#define IR_TILE_BOX_H
#include "ir/tile/Tile.h"

namespace tw::tile {

/// The operands of a descriptor_load, descriptor_store or descriptor_atomic: see TileOps.td.
struct Box {
  mlir::Value base;
  mlir::OperandRange shape, strides, offsets; // one per dimension
  llvm::ArrayRef<int32_t> checked;            // ascending dimensions
  mlir::RankedTensorType type;                // of the tile that is read or written

  bool isChecked(int64_t dim) const { return llvm::is_contained(checked, dim); }
  /// Returns true if the offset of the dimension lists its indices one by one.
  bool isListed(int64_t dim) const {
    return mlir::isa<mlir::RankedTensorType>(offsets[dim].getType());
  }
};

/// The box of an operation; nullopt of one that has none.
std::optional<Box> boxOf(mlir::Operation *op);
/// Checks that the operands of an operation fit the tile that it reads or writes.
mlir::LogicalResult verifyBox(mlir::Operation *op, const Box &box);
/// Returns true if an atomic, on a box or on pointers, can combine elements of this type: some take
/// floats, others integers, a few both.
bool fitsAtomic(AtomicKind kind, mlir::Type element);

} // namespace tw::tile
#endif
