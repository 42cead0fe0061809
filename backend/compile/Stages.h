// The names of stages, and the passes of a target.
#ifndef BACKEND_STAGES_H
#define BACKEND_STAGES_H
#include "backend/Target.h"

namespace tw {

/// All names of stages, in the order of the flow; `Target::stages` has those of one target.
llvm::ArrayRef<llvm::StringLiteral> inspectionStages();

/// All passes of a target: the shared tile passes and its own.
void addAllPasses(StagedPasses &passes, const Target &target, const CompileOptions &options);

/// The module as text, with its places in the user's source where they are asked for.
std::string printModule(mlir::ModuleOp module, bool withLocations);

} // namespace tw
#endif
