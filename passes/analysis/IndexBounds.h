// What a tile of indices can hold at most, from how it is computed.
#ifndef PASSES_ANALYSIS_INDEXBOUNDS_H
#define PASSES_ANALYSIS_INDEXBOUNDS_H
#include "mlir/IR/Value.h"

namespace tw {

/// Whether every element of an integer or a tile of integers is known to be in [0, extent).
bool isIndexWithin(mlir::Value index, int64_t extent);

} // namespace tw
#endif
