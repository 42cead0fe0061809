// Operands of products that warps load as blocks of arrays, in the registers in which matrix
// instructions take them.
#ifndef PASSES_SIMT_PRODUCT_LOADBLOCKS_H
#define PASSES_SIMT_PRODUCT_LOADBLOCKS_H
#include "ir/layout/LinearLayout.h"
#include "ir/simt/MmaLayouts.h"
#include "passes/simt/Boxes.h"

namespace tw::simt {

/// An operand as a product takes it: a tile that is loaded, itself or transposed.
struct LoadedOperand {
  tile::LoadOp load;
  tile::BlockUse use;
  LinearLayout layout; // of the loaded tile
};

/// Returns an operand of a product, a tile that is loaded; none of others. The arguments are as
/// those of `mmaLayout`.
std::optional<LoadedOperand> loadedOperandOf(mlir::Value tile, MmaOperand operand,
                                             tile::MmaAttr instruction,
                                             llvm::ArrayRef<int64_t> warps,
                                             llvm::ArrayRef<int64_t> interleave);

/// A loaded tile as blocks of an array.
struct TileOfBlocks {
  tile::BlockAttr block;
  unsigned dim; // along which rows of the array run
  BoxPlace place;
  TensorMapAttr array; // which a launch checks
};

/// Reads an operand as blocks; none where the machine has none such, with an empty `obstacle`, or
/// the tile is not a box that it can load, for the reason in `obstacle`.
std::optional<TileOfBlocks> blocksOf(const IndexFacts &facts, const LoadedOperand &operand,
                                     llvm::StringRef &obstacle);

} // namespace tw::simt
#endif
