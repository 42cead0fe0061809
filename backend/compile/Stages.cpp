// The stages of compilation and which passes of a pipeline lead to each.
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

/// The stage that a pass works towards; empty for clean-ups, which follow the pass before them.
static llvm::StringRef stageOfPass(llvm::StringRef pass) {
  return llvm::StringSwitch<llvm::StringRef>(pass)
      .StartsWith("describe-", "laid-out")
      .Cases({"assign-layouts", "coalesce-accesses", "remove-layout-conversions"}, "laid-out")
      .Cases({"pipeline-loops", "stage-through-shared", "allocate-shared", "insert-barriers"},
             "scheduled")
      .Cases({"lower-simd", "lower-simt", "expand-math", "expand-simt-math"}, "lowered")
      .StartsWith("lower-", "llvm-dialect")
      .Default("");
}

std::vector<StageEnd> tw::stageEndsOf(const mlir::OpPassManager &pm) {
  std::vector<StageEnd> ends = {{"tile", 0}};
  llvm::StringRef current = "tile-passes";
  unsigned number = 0;
  for (const mlir::Pass &pass : pm) {
    llvm::StringRef stage = stageOfPass(pass.getArgument());
    if (!stage.empty() && stage != current) {
      ends.push_back({current, number});
      current = stage;
    }
    ++number;
  }
  if (number > 0)
    ends.push_back({current, number});
  return ends;
}

void tw::addAllPasses(mlir::OpPassManager &pm, const Target &target,
                      const CompileOptions &options) {
  if (target.runsTilePasses())
    addTilePasses(pm);
  target.addPasses(pm, options);
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
