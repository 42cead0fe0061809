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

/// Returns the value of the option "pass_limit": how many optional passes run. These are counted
/// from the first of the pipeline to the last of LLVM's. All of them without the option.
unsigned passLimitOf(const CompileOptions &options);
/// A pass, and whether kernels compute the same without it.
struct PassName {
  std::string name;
  bool isOptional = false;
};
/// The passes before LLVM's, in order.
std::vector<PassName> passesOf(const Target &target, const CompileOptions &options);
/// Counts the optional passes before LLVM's.
unsigned countOptional(mlir::OpPassManager &passes);

/// The module as text, with its places in the user's source where they are asked for.
std::string printModule(mlir::ModuleOp module, bool withLocations);

} // namespace tw
#endif
