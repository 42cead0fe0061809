// Which tiles the machine can copy from global to shared memory by itself, and into which buffers.
#ifndef PASSES_SIMT_LAYOUT_ASYNCCOPIES_H
#define PASSES_SIMT_LAYOUT_ASYNCCOPIES_H
#include "ir/simt/Simt.h"
#include "passes/simt/layout/Coalescing.h"

namespace tw::simt {

/// Returns true if a load leaves 0 where its mask is false, as copies do.
bool fillsWithZeros(tile::LoadOp load);
/// The pieces in which a tile is copied: groups of registers that are consecutive in global memory
/// and in the buffer, aligned in both, of one of the target's sizes. None where there are none.
std::optional<VectorAccess> asyncPieces(const IndexFacts &facts, mlir::Value ptr, mlir::Value mask,
                                        SharedType buffer, tile::TargetAttr target);

/// The way to copy that puts what the lanes of a warp copy one after the other; null where the
/// machine has none.
tile::CopyAttr packedCopyOf(tile::TargetAttr target);
/// The pieces in which the machine copies a tile so: neighbours in global memory, aligned, under
/// one condition of the mask. None where there are none.
std::optional<VectorAccess> packedPieces(const IndexFacts &facts, mlir::Value ptr, mlir::Value mask,
                                         tile::TargetAttr target);
/// The buffer that a tile is copied to so, if threads hold it in `layout`: after the elements of a
/// piece (`vector` neighbours along `dim`) the lanes, the warps and the other registers. None where
/// lanes hold copies.
std::optional<LinearLayout> packedBuffer(const LinearLayout &layout, unsigned dim, unsigned vector);
/// The layout in which threads copy a tile so to a buffer whose first elements are such a piece;
/// none where it has less than one for each lane.
std::optional<LinearLayout> packedLayout(const LinearLayout &buffer, unsigned dim, unsigned vector,
                                         unsigned numLanes, unsigned numWarps);

/// The types as which a load's tile is read from shared memory.
llvm::SmallVector<mlir::Type> readTypesOf(tile::LoadOp load);

} // namespace tw::simt
#endif
