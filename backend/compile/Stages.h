// The names of stages, and the passes of a target.
#ifndef BACKEND_STAGES_H
#define BACKEND_STAGES_H
#include "backend/Target.h"

namespace tw {

/// The names of all stages of a target, in the order of the flow.
std::vector<llvm::StringRef> stagesOf(const Target &target);
/// The stage of that name among those that are code; null when it is none of them.
const CodeStage *findCodeStage(const Target &target, llvm::StringRef name);

/// All passes of a target: the shared tile passes and its own.
void addAllPasses(StagedPasses &passes, const Target &target, const CompileOptions &options);

/// The module as text, with its places in the user's source where they are asked for.
std::string printModule(mlir::ModuleOp module, bool withLocations);

} // namespace tw
#endif
