// Loops whose last iterations were split off for masks.
#ifndef PASSES_SIMT_PIPELINE_JOINRESTS_H
#define PASSES_SIMT_PIPELINE_JOINRESTS_H
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tw::simt {

/// Lets a loop of iterations that masks were split off for take in those before it, if all of its
/// tiles are boxes and nothing else needs the masks. Returns true if it has.
bool joinRest(mlir::scf::ForOp rest, unsigned numStages);

} // namespace tw::simt
#endif
