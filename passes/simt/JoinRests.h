// Loops whose last iterations were split off for masks.
#ifndef PASSES_SIMT_JOINRESTS_H
#define PASSES_SIMT_JOINRESTS_H
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tw::simt {

/// Lets a loop of iterations that masks were split off for take in those before it, if
/// `needsNoMasks` and nothing else needs the masks. Returns true if it has.
bool joinRest(mlir::scf::ForOp rest, llvm::function_ref<bool()> needsNoMasks);
/// Counts the tiles that a loop loads.
size_t countTileLoads(mlir::scf::ForOp loop);

} // namespace tw::simt
#endif
