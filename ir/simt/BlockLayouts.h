// Which registers of a tile a block of an array fills, which a warp loads by one instruction.
#ifndef IR_SIMT_BLOCKLAYOUTS_H
#define IR_SIMT_BLOCKLAYOUTS_H
#include "ir/layout/LinearLayout.h"
#include "ir/tile/Tile.h"

namespace tw::simt {

/// A tile in a warp's registers as blocks side by side.
struct BlockParts {
  llvm::SmallVector<uint32_t> registers; // of the tile's first block, in the block's order
  llvm::SmallVector<uint32_t> starts;    // of all blocks: added to those of the first one
};
/// Divides the registers of a tile of rank 2 into blocks whose rows run along dimension `dim`; none
/// where lanes hold other elements than those of a block.
std::optional<BlockParts> divideIntoBlocks(tile::BlockAttr block, const LinearLayout &layout,
                                           unsigned dim);

} // namespace tw::simt
#endif
