// Counted loops as control flow that ends at the largest integers, too.
#ifndef PASSES_SIMD_COUNTEDLOOPS_H
#define PASSES_SIMD_COUNTEDLOOPS_H
#include "mlir/IR/PatternMatch.h"

namespace tw {

/// Lowers the `scf.for` whose counter might wrap, before MLIR's own pattern for all others.
void populateCountedLoopPatterns(mlir::RewritePatternSet &patterns);

} // namespace tw
#endif
