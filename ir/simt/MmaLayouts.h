// Which lane holds which elements of a matrix instruction's operands.
#ifndef IR_SIMT_MMALAYOUTS_H
#define IR_SIMT_MMALAYOUTS_H
#include "ir/layout/LinearLayout.h"
#include "ir/tile/Tile.h"

namespace tw::simt {

/// The operands of acc [M, N] += a [M, K] * b [K, N], and their scales, [M, K / 32] and [N, K /
/// 32], in the order that `simt.mma` has them.
enum class MmaOperand { A, B, Accumulator, ScalesA, ScalesB };

/// One instruction's operand, over the registers and lanes of a warp. Of elements below 32 bits,
/// the lowest register bits are the elements of one 32-bit register.
LinearLayout mmaFragment(tile::MmaAttr instruction, MmaOperand operand);
/// The same repeated over a tile of rank 2 or 3. `warps` per dimension of the product lie side by
/// side; along the dimension that an operand does not have, they hold copies of it. With
/// `interleave` per dimension of the product, and last for K, the instructions take rows,
/// columns and steps of K in another order, such that each lane holds so many neighbours, or as
/// many as it has: then it can read them at once from memory in which they are consecutive.
LinearLayout mmaLayout(tile::MmaAttr instruction, MmaOperand operand, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> warps, llvm::ArrayRef<int64_t> interleave = {});
/// How many neighbours along the rows of A or the columns of B, `extent` of them, lanes can hold by
/// interleaving where `warps` lie side by side.
int64_t mostInterleaved(tile::MmaAttr instruction, MmaOperand operand, int64_t extent,
                        int64_t warps);
int64_t mostInterleavedAlongDepth(tile::MmaAttr instruction, int64_t depth);
/// Returns true if a tile of `shape` holds at least one whole fragment.
bool fitsMma(tile::MmaAttr instruction, MmaOperand operand, llvm::ArrayRef<int64_t> shape);

} // namespace tw::simt
#endif
