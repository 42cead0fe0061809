// The stages of compilation and which passes of a pipeline lead to each.
#ifndef BACKEND_STAGES_H
#define BACKEND_STAGES_H
#include "backend/Target.h"

namespace tw {

/// All names of stages, in the order of the flow; `Target::stages` has those of one target.
llvm::ArrayRef<llvm::StringLiteral> inspectionStages();

/// The end of a stage in a pipeline: the number of passes that have run by then.
struct StageEnd {
  llvm::StringRef stage;
  unsigned numPasses;
};

/// The stages that are MLIR and that a pipeline goes through, from "tile", which is its input.
std::vector<StageEnd> stageEndsOf(const mlir::OpPassManager &pm);

/// All passes of a target: the shared tile passes and its own.
void addAllPasses(mlir::OpPassManager &pm, const Target &target, const CompileOptions &options);

/// The module as text, with its places in the user's source where they are asked for.
std::string printModule(mlir::ModuleOp module, bool withLocations);

} // namespace tw
#endif
