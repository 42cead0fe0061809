// The text of a kernel at a stage of compilation.
#include "backend/Inspection.h"
#include "backend/Compiler.h"
#include "backend/PassRun.h"
#include "mlir/Pass/PassInstrumentation.h"
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

static std::string printModule(mlir::Operation *module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << "\n";
  return text;
}

/// The stage that a pass ends, or works on; of several passes of one stage, the last one counts.
static llvm::StringRef stageAfter(llvm::StringRef pass) {
  return llvm::StringSwitch<llvm::StringRef>(pass)
      .Cases({"assign-layouts", "coalesce-accesses", "remove-layout-conversions"}, "laid-out")
      .Cases({"stage-through-shared", "allocate-shared", "insert-barriers"}, "scheduled")
      .Cases({"lower-simd", "lower-simt"}, "lowered")
      .Default("");
}

namespace {
/// Keeps the module as it is after the last pass of a stage.
class StageRecorder : public mlir::PassInstrumentation {
public:
  StageRecorder(llvm::StringRef stage, std::string &text) : stage(stage), text(text) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    if (stageAfter(pass->getArgument()) == stage)
      text = printModule(op);
  }

private:
  llvm::StringRef stage;
  std::string &text;
};
} // namespace

static bool printCode(mlir::ModuleOp module, const Target &target, llvm::StringRef stage,
                      std::string &text, std::vector<Diagnostic> &diagnostics) {
  CodeForm form = llvm::StringSwitch<CodeForm>(stage)
                      .Case("llvm-unoptimized", CodeForm::LlvmIr)
                      .Case("llvm", CodeForm::OptimizedLlvmIr)
                      .Cases({"asm", "ptx"}, CodeForm::Assembly)
                      .Case("resources", CodeForm::Resources)
                      .Default(CodeForm::Object);
  std::string error;
  if (target.print(module, form, text, error))
    return true;
  diagnostics.push_back(internalError(std::move(error)));
  return false;
}

static Diagnostic unknownStage(llvm::StringRef stage, const Target &target) {
  Diagnostic diagnostic;
  diagnostic.code = "TW0401";
  diagnostic.kind = DiagnosticKind::Launch;
  bool isElsewhere = llvm::is_contained(inspectionStages(), stage);
  diagnostic.message = ("there is no stage `" + stage + "`").str() +
                       (isElsewhere ? " on target " + target.name() : std::string());
  diagnostic.hint = "stages: " + llvm::join(target.stages(), ", ");
  return diagnostic;
}

bool tw::inspectModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                       llvm::StringRef stage, std::string &text,
                       std::vector<Diagnostic> &diagnostics) {
  if (!llvm::is_contained(target.stages(), stage)) {
    diagnostics.push_back(unknownStage(stage, target));
    return false;
  }
  if (stage == "tile") {
    text = printModule(module);
    return true;
  }
  if (mlir::func::FuncOp kernel = findKernel(module))
    kernel.setName(target.symbolOf(kernel.getName()));
  std::string recorded;
  mlir::PassManager pm(module.getContext());
  pm.enableVerifier(true);
  pm.addInstrumentation(std::make_unique<StageRecorder>(stage, recorded));
  if (target.runsTilePasses())
    addTilePasses(pm);
  if (stage != "tile-passes")
    target.addPasses(pm, options);
  if (!runPasses(pm, module, diagnostics))
    return false;
  if (!recorded.empty()) {
    text = std::move(recorded);
    return true;
  }
  bool isCode = llvm::find(inspectionStages(), stage) >
                llvm::find(inspectionStages(), llvm::StringRef("llvm-dialect"));
  if (!isCode) {
    text = printModule(module);
    return true;
  }
  return printCode(module, target, stage, text, diagnostics);
}
