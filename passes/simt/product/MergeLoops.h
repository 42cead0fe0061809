// One loop of two that follow each other and differ in what masks change.
#ifndef PASSES_SIMT_PRODUCT_MERGELOOPS_H
#define PASSES_SIMT_PRODUCT_MERGELOOPS_H
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tw::simt {

/// Makes one loop of `main` and of `rest`, which goes on behind it with the same steps. Values that
/// the two bodies compute differently are computed in a branch. Returns null, and changes nothing,
/// if effects differ or more than a few values.
mlir::scf::ForOp mergeLoops(mlir::scf::ForOp main, mlir::scf::ForOp rest);

} // namespace tw::simt
#endif
