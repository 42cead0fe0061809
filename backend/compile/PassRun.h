// Runs passes for a user: errors become coded diagnostics at the user's source, crashes do not
// spread.
#ifndef BACKEND_PASSRUN_H
#define BACKEND_PASSRUN_H
#include "ir/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include <functional>
#include <limits>
#include <vector>

namespace tw {

struct PassRunOptions {
  /// The passes to run by their numbers in the pipeline, which count from 0; `end` is not run.
  unsigned begin = 0, end = std::numeric_limits<unsigned>::max();
  unsigned numOptional = std::numeric_limits<unsigned>::max(); // as many optional passes run
  bool collectsRemarks = true;
  /// Called after each pass that ran, with its number. May be empty.
  std::function<void(unsigned number, const mlir::Pass &pass)> afterPass;
};

/// Runs the pipeline over the module. False when `diagnostics` got an error.
bool runPasses(mlir::PassManager &pm, mlir::ModuleOp module, std::vector<Diagnostic> &diagnostics,
               const PassRunOptions &options = {});

/// Calls `run`, and adds what it reports with a code on operations.
void collectReports(mlir::MLIRContext &context, bool collectsRemarks,
                    std::vector<Diagnostic> &diagnostics, llvm::function_ref<void()> run);

/// A report of a fault of the compiler itself.
Diagnostic internalError(std::string message);
/// Returns the diagnostic of a compilation that was given up (Ctrl-C).
Diagnostic interruptedDiagnostic();

/// True when one of them is an error.
bool hasError(const std::vector<Diagnostic> &diagnostics);

} // namespace tw
#endif
