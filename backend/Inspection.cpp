// The text of a kernel at a stage of compilation.
#include "backend/Inspection.h"
#include "backend/Compiler.h"
#include "backend/PassRun.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "passes/Pipeline.h"

using namespace tw;

llvm::ArrayRef<llvm::StringLiteral> tw::inspectionStages() {
  static constexpr llvm::StringLiteral stages[] = {
      "tile", "tile-passes", "lowered", "llvm-dialect", "llvm-unoptimized",
      "llvm", "asm",         "object"};
  return stages;
}

static std::string printModule(mlir::Operation *module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  stream << "\n";
  return text;
}

namespace {
/// Keeps the module as it is after the last pass that works on tiles.
class LoweredRecorder : public mlir::PassInstrumentation {
public:
  explicit LoweredRecorder(std::string &text) : text(text) {}
  void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
    llvm::StringRef name = pass->getArgument();
    if (name.starts_with("lower-") && !name.ends_with("-llvm"))
      text = printModule(op);
  }

private:
  std::string &text;
};
} // namespace

static bool printCode(mlir::ModuleOp module, const Target &target, llvm::StringRef stage,
                      std::string &text, std::vector<Diagnostic> &diagnostics) {
  CodeForm form = llvm::StringSwitch<CodeForm>(stage)
                      .Case("llvm-unoptimized", CodeForm::LlvmIr)
                      .Case("llvm", CodeForm::OptimizedLlvmIr)
                      .Case("asm", CodeForm::Assembly)
                      .Default(CodeForm::Object);
  std::string error;
  if (target.print(module, form, text, error))
    return true;
  diagnostics.push_back(internalError(std::move(error)));
  return false;
}

static Diagnostic unknownStage(llvm::StringRef stage) {
  Diagnostic diagnostic;
  diagnostic.code = "TW0401";
  diagnostic.kind = DiagnosticKind::Launch;
  diagnostic.message = ("there is no stage `" + stage + "`").str();
  diagnostic.hint = "stages: " + llvm::join(inspectionStages(), ", ");
  return diagnostic;
}

bool tw::inspectModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                       llvm::StringRef stage, std::string &text,
                       std::vector<Diagnostic> &diagnostics) {
  if (!llvm::is_contained(inspectionStages(), stage)) {
    diagnostics.push_back(unknownStage(stage));
    return false;
  }
  if (stage == "tile") {
    text = printModule(module);
    return true;
  }
  if (mlir::func::FuncOp kernel = findKernel(module))
    kernel.setName(target.symbolOf(kernel.getName()));
  std::string lowered;
  mlir::PassManager pm(module.getContext());
  pm.enableVerifier(true);
  pm.addInstrumentation(std::make_unique<LoweredRecorder>(lowered));
  if (target.runsTilePasses())
    addTilePasses(pm);
  if (stage != "tile-passes")
    target.addPasses(pm, options);
  if (!runPasses(pm, module, diagnostics))
    return false;
  if (stage == "lowered" && !lowered.empty()) {
    text = std::move(lowered);
    return true;
  }
  if (stage == "tile-passes" || stage == "lowered" || stage == "llvm-dialect") {
    text = printModule(module);
    return true;
  }
  return printCode(module, target, stage, text, diagnostics);
}
