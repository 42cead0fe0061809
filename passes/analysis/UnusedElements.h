// Elements of tiles that reach no memory.
#ifndef PASSES_ANALYSIS_UNUSEDELEMENTS_H
#define PASSES_ANALYSIS_UNUSEDELEMENTS_H
#include "passes/analysis/StridedTile.h"

namespace tw {

/// Returns true if nothing depends on the elements of a tile whose index along a dimension is at or
/// beyond an extent: they are operands of rows or columns of results that are stored only where the
/// index is below it.
bool isUnusedBeyond(const IndexFacts &facts, mlir::Value tile, const IndexLimit &limit);

} // namespace tw
#endif
