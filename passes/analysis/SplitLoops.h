// Loops that split-loops-by-mask has made of one.
#ifndef PASSES_ANALYSIS_SPLITLOOPS_H
#define PASSES_ANALYSIS_SPLITLOOPS_H
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tw {

/// Unit, on a loop of iterations that masks were split off for, of which one at most is needed: an
/// array ends inside of its tile.
inline constexpr llvm::StringLiteral kLoopOfEnd = "tile.of_end";

/// Returns the loop of the iterations without masks, which a short loop goes on behind; null where
/// something else comes in between.
mlir::scf::ForOp mainLoopOf(mlir::scf::ForOp rest);

} // namespace tw
#endif
