// Runs passes for a user: errors become coded diagnostics at the user's source, crashes do not
// spread.
#ifndef BACKEND_PASSRUN_H
#define BACKEND_PASSRUN_H
#include "ir/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <vector>

namespace tw {

/// Runs the pipeline over the module. False when `diagnostics` got an error.
bool runPasses(mlir::PassManager &pm, mlir::ModuleOp module, std::vector<Diagnostic> &diagnostics);

/// A report of a fault of the compiler itself.
Diagnostic internalError(std::string message);

/// True when one of them is an error.
bool hasError(const std::vector<Diagnostic> &diagnostics);

} // namespace tw
#endif
