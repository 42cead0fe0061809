// Finds which pointer parameters a kernel writes through.
#ifndef BACKEND_STOREDPARAMETERS_H
#define BACKEND_STOREDPARAMETERS_H
#include "mlir/IR/Value.h"

namespace tw {

/// Returns true if a store or an atomic may write to an address derived from `pointer`, in Tile IR.
bool isStoredThrough(mlir::Value pointer);
/// Returns true if a load or an atomic may read from such an address; an atomic does both.
bool isLoadedThrough(mlir::Value pointer);

} // namespace tw
#endif
