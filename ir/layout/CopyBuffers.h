// Buffers in shared memory for tiles that the machine copies there in wide pieces.
#ifndef IR_LAYOUT_COPYBUFFERS_H
#define IR_LAYOUT_COPYBUFFERS_H
#include "ir/layout/LinearLayout.h"

namespace tw {

/// Rows along the dimension of `neighbour`, in which one access of a lane changes places by the
/// row's number shifted by `ignoredRowBits`: addresses that cost little to compute.
LinearLayout swizzledRows(llvm::ArrayRef<int64_t> shape, uint32_t neighbour, unsigned elementBytes,
                          SharedBanks banks, unsigned ignoredRowBits = 0);
/// A buffer in which the first registers of `from`, neighbours in global memory, stay neighbours:
/// one access of them or as many as there are. Of such buffers the one that costs least to write,
/// and to read as `to`.
LinearLayout copyBuffer(const LinearLayout &from, const LinearLayout &to, unsigned elementBytes,
                        SharedBanks banks);

} // namespace tw
#endif
