// A pass pipeline that knows its stages.
#include "passes/StagedPasses.h"
#include "mlir/Pass/Pass.h"

using namespace tw;

StagedPasses::StagedPasses(mlir::OpPassManager &manager) : manager(manager) {
  beginStage("tile",
             "Tile IR as the frontend writes it: tiles without layouts, structured control flow");
}

void StagedPasses::beginStage(llvm::StringLiteral name, llvm::StringLiteral truth) {
  unsigned number = manager.size();
  begun.push_back({name, truth, number, number});
}

void StagedPasses::addPass(std::unique_ptr<mlir::Pass> pass) {
  assert(begun.size() > 1 && "a pass leads to a stage");
  manager.addPass(std::move(pass));
  begun.back().end = manager.size();
}
