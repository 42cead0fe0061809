// Checks of modules that copy boxes, which a stage makes of its input.
#ifndef PASSES_BOXCHECKS_H
#define PASSES_BOXCHECKS_H
#include "mlir/IR/BuiltinOps.h"

namespace tw {

/// Checks that a launch can fill in the module's tensor maps: of the kernel's pointers, with
/// numbers that are its integers.
mlir::LogicalResult checkTensorMaps(mlir::ModuleOp module);
/// Checks the numbers of warps of a loader, and of programs of a cluster.
mlir::LogicalResult checkLoadersAndCluster(mlir::ModuleOp module);
/// Checks that loaders can compute by themselves what they need.
mlir::LogicalResult checkLoaders(mlir::ModuleOp module);

} // namespace tw
#endif
