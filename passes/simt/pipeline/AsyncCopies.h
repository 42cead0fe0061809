// Which tiles the machine can copy from global to shared memory by itself.
#ifndef PASSES_SIMT_ASYNCCOPIES_H
#define PASSES_SIMT_ASYNCCOPIES_H
#include "ir/simt/Simt.h"
#include "passes/simt/layout/Coalescing.h"

namespace tw::simt {

/// The pieces in which a tile is copied: groups of registers that are consecutive in global memory
/// and in the buffer, aligned in both, of one of the target's sizes. None where there are none.
std::optional<VectorAccess> asyncPieces(const Alignment &alignment, mlir::Value ptr,
                                        mlir::Value mask, SharedType buffer,
                                        tile::TargetAttr target);

} // namespace tw::simt
#endif
