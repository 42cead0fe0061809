// The names of stages, and the passes of a target.
#include "backend/compile/Stages.h"
#include "passes/Pipeline.h"

using namespace tw;

llvm::ArrayRef<llvm::StringLiteral> Target::stages() const {
  static constexpr llvm::StringLiteral stages[] = {
      "tile", "tile-passes", "lowered", "llvm-dialect", "llvm-unoptimized",
      "llvm", "asm",         "object"};
  return stages;
}

llvm::ArrayRef<llvm::StringLiteral> tw::inspectionStages() {
  static constexpr llvm::StringLiteral stages[] = {
      "tile", "tile-passes", "laid-out", "scheduled", "lowered", "llvm-dialect", "llvm-unoptimized",
      "llvm", "asm",         "ptx",      "object",    "cubin",   "resources"};
  return stages;
}

void tw::addAllPasses(StagedPasses &passes, const Target &target, const CompileOptions &options) {
  if (target.runsTilePasses())
    addTilePasses(passes);
  target.addPasses(passes, options);
}

std::string tw::printModule(mlir::ModuleOp module, bool withLocations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  mlir::OpPrintingFlags flags;
  if (withLocations)
    flags.enableDebugInfo();
  module->print(stream, flags);
  return text;
}
