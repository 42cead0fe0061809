// Which lane holds which elements of a matrix instruction's operands.
#ifndef IR_SIMT_MMALAYOUTS_H
#define IR_SIMT_MMALAYOUTS_H
#include "ir/layout/LinearLayout.h"
#include "ir/tile/Tile.h"

namespace tw::simt {

/// The operands of acc [M, N] += a [M, K] * b [K, N].
enum class MmaOperand { A, B, Accumulator };

/// One instruction's operand, over registers and 32 lanes. Of elements below 32 bits, the lowest
/// register bits are the elements of one 32-bit register.
LinearLayout mmaFragment(tile::MmaAttr instruction, MmaOperand operand);
/// The same repeated over a tile of rank 2 or 3. `warps` per dimension of the product lie side by
/// side; along the dimension that an operand does not have, they hold copies of it.
LinearLayout mmaLayout(tile::MmaAttr instruction, MmaOperand operand, llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<int64_t> warps);
/// Whether a tile of `shape` holds at least one whole fragment.
bool fitsMma(tile::MmaAttr instruction, MmaOperand operand, llvm::ArrayRef<int64_t> shape);

} // namespace tw::simt
#endif
