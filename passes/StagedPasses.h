// A pass pipeline that knows its stages: which passes lead to each, and what is true after them.
#ifndef PASSES_STAGEDPASSES_H
#define PASSES_STAGEDPASSES_H
#include "mlir/Pass/PassManager.h"
#include <vector>

namespace tw {

/// A stage of compilation, reached by the passes of a pipeline from `begin` to before `end`.
struct PipelineStage {
  llvm::StringLiteral name, truth;
  unsigned begin, end;
};

/// The IR that a pass takes: the name of an input of StageChecks.cpp.
struct PassInput {
  llvm::StringLiteral pass, input;
};

class StagedPasses {
public:
  /// The first stage, which takes no passes, is `tile`.
  explicit StagedPasses(mlir::OpPassManager &manager);

  /// The passes that follow lead to this stage, of which `truth` says in one line what holds then.
  void beginStage(llvm::StringLiteral name, llvm::StringLiteral truth);
  void addPass(std::unique_ptr<mlir::Pass> pass);

  /// Every stage that was begun, in the order of the flow.
  llvm::ArrayRef<PipelineStage> stages() const { return begun; }
  mlir::OpPassManager &passes() { return manager; }

private:
  mlir::OpPassManager &manager;
  std::vector<PipelineStage> begun;
};

} // namespace tw
#endif
