// The names of stages, and the passes of a target.
#include "backend/compile/Stages.h"
#include "backend/compile/Compiler.h"
#include "mlir/Pass/Pass.h"
#include "passes/Pipeline.h"

using namespace tw;

llvm::ArrayRef<llvm::StringLiteral> Target::irStages() const {
  std::call_once(areStagesKnown, [&] {
    mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
    StagedPasses passes(manager);
    addAllPasses(passes, *this, CompileOptions());
    for (const PipelineStage &stage : passes.stages())
      stageNames.push_back(stage.name);
  });
  return stageNames;
}

llvm::ArrayRef<CodeStage> Target::codeStages() const {
  static constexpr CodeStage stages[] = {{"llvm-unoptimized", CodeForm::LlvmIr},
                                         {"llvm", CodeForm::OptimizedLlvmIr},
                                         {"asm", CodeForm::Assembly},
                                         {"object", CodeForm::Object}};
  return stages;
}

std::vector<llvm::StringRef> tw::stagesOf(const Target &target) {
  std::vector<llvm::StringRef> names(target.irStages().begin(), target.irStages().end());
  for (const CodeStage &stage : target.codeStages())
    names.push_back(stage.name);
  return names;
}

const CodeStage *tw::findCodeStage(const Target &target, llvm::StringRef name) {
  const CodeStage *found = llvm::find_if(
      target.codeStages(), [&](const CodeStage &stage) { return stage.name == name; });
  return found == target.codeStages().end() ? nullptr : found;
}

void tw::addAllPasses(StagedPasses &passes, const Target &target, const CompileOptions &options) {
  if (target.runsTilePasses())
    addTilePasses(passes);
  target.addPasses(passes, options);
}

unsigned tw::passLimitOf(const CompileOptions &options) {
  unsigned limit = std::numeric_limits<unsigned>::max();
  if (std::optional<llvm::StringRef> text = extraOption(options, "pass_limit"))
    (void)text->getAsInteger(10, limit); // other text: no limit
  return limit;
}

std::vector<PassName> tw::passesOf(const Target &target, const CompileOptions &options) {
  mlir::OpPassManager manager(mlir::ModuleOp::getOperationName());
  StagedPasses passes(manager);
  addAllPasses(passes, target, options);
  std::vector<PassName> names;
  for (const mlir::Pass &pass : manager.getPasses())
    names.push_back({pass.getArgument().str(), isOptionalPass(pass.getArgument())});
  return names;
}

unsigned tw::countOptional(mlir::OpPassManager &passes) {
  return llvm::count_if(passes,
                        [](mlir::Pass &pass) { return isOptionalPass(pass.getArgument()); });
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
