// Replaces a stage of a kernel by the content of a file, for experiments.
#ifndef BACKEND_COMPILE_STAGEOVERRIDE_H
#define BACKEND_COMPILE_STAGEOVERRIDE_H
#include "backend/Target.h"
#include "backend/compile/DebugSettings.h"
#include "ir/Diagnostic.h"

namespace tw {

/// A file that takes the place of a stage.
struct StageOverride {
  std::string stage, path, text;
};

/// The overrides DIRECTORY/NAME.STAGE that there are for a kernel, in the order of the flow, with a
/// warning for each. False after an error: a stage that cannot be overridden on this target, or a
/// file that cannot be read.
bool findOverrides(const DebugSettings &debug, llvm::StringRef kernel, const Target &target,
                   std::vector<StageOverride> &overrides, std::vector<Diagnostic> &diagnostics);

/// Puts the override's IR in the place of the module's. False with an error at a line of the file
/// when it is not IR of this kernel.
bool applyOverride(const StageOverride &file, mlir::ModuleOp module,
                   std::vector<Diagnostic> &diagnostics);

/// An error about an override, which is the user's own text.
Diagnostic overrideError(const StageOverride &file, const std::string &message);

} // namespace tw
#endif
