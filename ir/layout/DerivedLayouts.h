// Layouts that follow from others: of halves and pairs, of what a product's threads read, along an
// axis.
#ifndef IR_LAYOUT_DERIVEDLAYOUTS_H
#define IR_LAYOUT_DERIVEDLAYOUTS_H
#include "ir/layout/LinearLayout.h"

namespace tw {

/// The dimensions, last first.
llvm::SmallVector<int32_t> rowMajorOrder(unsigned rank);
/// Returns the layout of two tiles of layout `half` side by side along a last dimension of extent
/// 2: each thread has both elements of its pairs.
LinearLayout pairOf(const LinearLayout &half);
/// Which elements of an operand [.., M, K] or [.., K, N] (the right one) each thread reads for its
/// elements of the product: registers along the dimension of neighbours first.
LinearLayout dotOperandReads(const LinearLayout &product, llvm::ArrayRef<int64_t> operandShape,
                             bool isRight);
/// Returns true if the warp's bases along the axis are its highest bits: pieces in order are of
/// warps in order.
bool warpsHoldHighestBits(const LinearLayout &layout, unsigned axis);
/// Returns true if several lanes or warps hold the same element.
bool hasCopies(const LinearLayout &layout);

/// A layout in which neighbours along `axis` are in registers first, then in lanes, then in warps
/// if wanted; lanes and warps that remain go to the other dimensions, or hold copies.
struct AlongAxis {
  unsigned axis = 0;
  bool hasWarps = false;
  int64_t numLanes = 1, numWarps = 1;
};
LinearLayout layoutAlong(llvm::ArrayRef<int64_t> shape, AlongAxis along);

} // namespace tw
#endif
