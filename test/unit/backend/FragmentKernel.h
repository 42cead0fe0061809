// A kernel with one matrix instruction, for tests of what a back end makes of it.
#ifndef TEST_UNIT_BACKEND_FRAGMENTKERNEL_H
#define TEST_UNIT_BACKEND_FRAGMENTKERNEL_H
#include "backend/Target.h"
#include "ir/tile/Tile.h"
#include "mlir/Pass/Pass.h"

namespace tw {

/// Returns a module whose kernel `k` loads operands, multiplies them and stores the sums.
std::string fragmentKernel(tile::MmaAttr instruction);
/// Compiles that kernel by a target whose own pass is `lower` for a described machine. Returns the
/// code; the reason and the kernel in `error` where there is none.
std::string codeOfFragment(tile::MmaAttr instruction, mlir::Attribute machine,
                           std::unique_ptr<mlir::Pass> lower, const Target &target,
                           std::string &error);

} // namespace tw
#endif
