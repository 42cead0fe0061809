// How many registers the tiles of a loop take, before any are assigned.
#ifndef PASSES_ANALYSIS_REGISTERUSE_H
#define PASSES_ANALYSIS_REGISTERUSE_H
#include "ir/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tw {

/// Registers of 32 bits that a tile's data takes in each thread; equal elements are held once.
unsigned registersOf(mlir::Value value);
/// The most registers that tiles take at once in the loop's body, without operands that are read
/// from shared memory.
unsigned registersIn(mlir::scf::ForOp loop);
/// The registers of the operands that the loop's matrix products read from shared memory together:
/// those of one step along the depth.
unsigned registersOfOperands(mlir::scf::ForOp loop);
/// The most columns of sums that stay apart from their accumulator (`partial_depth`): half of those
/// that the instruction may have, so that both fit.
int64_t columnsOfPartialSums(tile::AsyncMmaAttr instruction);
/// Those that a thread may have for tiles.
unsigned registersForTiles(tile::TargetAttr target);
/// Those that a thread may have for a loop's tiles, operands and addresses.
unsigned registersForLoops(tile::TargetAttr target);

} // namespace tw
#endif
