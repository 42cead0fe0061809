// Offsets into arrays that 32 bits do not reach all of.
#ifndef FRONTEND_WIDEOFFSETS_H
#define FRONTEND_WIDEOFFSETS_H
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tw {

/// Computes the offsets of pointers that come, or may come, from an argument with tile.large in 64
/// bits, from the arguments, program numbers and loaded values on, so that none of them wraps.
/// In kernels that have such an argument, signed numbers that tell a place (such offsets, program
/// numbers, ranges, and what is computed of them) are compared as if no sum, difference or product
/// wrapped. Everything else keeps its numbers.
void widenOffsets(mlir::func::FuncOp kernel);

} // namespace tw
#endif
