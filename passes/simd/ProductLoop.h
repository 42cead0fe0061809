// A loop that adds up products: its sums go from registers to the user's memory in its last step.
#ifndef PASSES_SIMD_PRODUCTLOOP_H
#define PASSES_SIMD_PRODUCTLOOP_H
#include "ir/tile/Tile.h"

namespace tw::simd {

struct ProductLoop {
  tile::DotOp product;
  mlir::OpResult sum; // of the loop
  tile::StoreOp store;
  /// Where the sums begin, if the first step computes that in registers; null where the slot that
  /// the loop carries has it.
  mlir::Value start;
  mlir::Value isFirst, isLast; // i1, of the step that is being written
};

} // namespace tw::simd
#endif
