// The text of a kernel at a stage of compilation.
#ifndef BACKEND_INSPECTION_H
#define BACKEND_INSPECTION_H
#include "backend/compile/DebugSettings.h"
#include "backend/compile/Stages.h"

namespace tw {

/// How far the given module has come already: nothing has run on it by default.
struct InspectionStart {
  std::string stage;      // the module is what compilation has at the end of this stage
  unsigned firstPass = 0; // or what it has before this pass, which counts from 1 as in dumps
};

/// Runs the module, which is used up, as far as `stage` and prints it; no later pass runs. False
/// with an error in `diagnostics` when a pass fails or there is no such stage for this target.
bool inspectModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                   llvm::StringRef stage, std::string &text, std::vector<Diagnostic> &diagnostics,
                   const DebugSettings &debug = {}, const InspectionStart &start = {});

} // namespace tw
#endif
