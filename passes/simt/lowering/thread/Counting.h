// Comparisons of indices that count from one register of a thread to the next.
#ifndef PASSES_SIMT_LOWERING_COUNTING_H
#define PASSES_SIMT_LOWERING_COUNTING_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include <array>

namespace tw::simt {

/// Returns other operands for a comparison of `base + i`, where `i` counts within the thread's
/// registers, with fewer bounds: `i`, a constant of each register, and `bound - base`. The machines
/// compare with constants for nothing. Nothing where these may overflow as `base + i` does not.
std::optional<std::array<Registers, 2>> countedOperands(SimtFunction &f, mlir::arith::CmpIOp op);

} // namespace tw::simt
#endif
