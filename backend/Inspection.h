// The text of a kernel at a stage of compilation.
#ifndef BACKEND_INSPECTION_H
#define BACKEND_INSPECTION_H
#include "backend/Target.h"

namespace tw {

/// All names of stages, in the order of the flow; `Target::stages` has those of one target.
llvm::ArrayRef<llvm::StringLiteral> inspectionStages();

/// Runs the module, which is used up, as far as `stage` and prints it. False with an error in
/// `diagnostics` when a pass fails or there is no such stage for this target.
bool inspectModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                   llvm::StringRef stage, std::string &text, std::vector<Diagnostic> &diagnostics);

} // namespace tw
#endif
