// The text of a kernel at a stage of compilation.
#include "backend/inspect/Inspection.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/Reproducer.h"
#include "backend/compile/StageRun.h"
#include "backend/compile/Stages.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;

static Diagnostic unknownStage(llvm::StringRef stage, const Target &target) {
  Diagnostic diagnostic;
  diagnostic.code = Code::UnknownDevice;
  diagnostic.kind = DiagnosticKind::Launch;
  diagnostic.message = ("there is no stage `" + stage + "` on target " + target.name()).str();
  diagnostic.hint = "stages: " + llvm::join(stagesOf(target), ", ");
  llvm::StringRef closest;
  unsigned best = 3; // more edits than that make another word
  for (llvm::StringRef known : stagesOf(target))
    if (unsigned distance = stage.edit_distance(known); distance < best) {
      best = distance;
      closest = known;
    }
  if (!closest.empty())
    diagnostic.hint = ("did you mean " + closest + "? " + diagnostic.hint).str();
  return diagnostic;
}

/// The number of the first pass to run.
static std::optional<unsigned> firstPassOf(const InspectionStart &start, mlir::MLIRContext *context,
                                           const Target &target, const CompileOptions &options,
                                           std::vector<Diagnostic> &diagnostics) {
  if (start.stage.empty())
    return start.firstPass > 0 ? start.firstPass - 1 : 0;
  mlir::PassManager pm(context);
  StagedPasses passes(pm);
  addAllPasses(passes, target, options);
  for (const PipelineStage &stage : passes.stages())
    if (stage.name == start.stage)
      return stage.end;
  diagnostics.push_back(unknownStage(start.stage, target));
  return std::nullopt;
}

static bool printCode(mlir::ModuleOp module, const StageRun &run, const StageRunResult &stages,
                      const CodeStage &stage, std::string &text,
                      std::vector<Diagnostic> &diagnostics) {
  const StageOverride *file = stages.textOverride(run.target);
  dumpCode(run, stages, module, file ? file->text : "", diagnostics);
  if (file && file->stage == stage.name) {
    text = file->text;
    return true;
  }
  std::string error;
  bool isPrinted = false;
  collectReports(*module.getContext(), run.debug.collectsRemarks, diagnostics, [&] {
    isPrinted = stage.form == CodeForm::Assembly
                    ? printAssembly(run, module, text, error)
                    : run.target.print(module, stage.form, text, error);
  });
  if (isPrinted || hasError(diagnostics))
    return isPrinted;
  std::vector<Diagnostic> reported = {internalError(std::move(error))};
  blameText(run, reported);
  reproduceCodeFault({run.target, run.options, run.debug, stages.kernel}, module, reported);
  diagnostics.push_back(std::move(reported.front()));
  return false;
}

bool tw::inspectModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                       llvm::StringRef stage, std::string &text,
                       std::vector<Diagnostic> &diagnostics, const DebugSettings &debug,
                       const InspectionStart &start) {
  const CodeStage *code = findCodeStage(target, stage);
  if (!code && !llvm::is_contained(target.irStages(), stage)) {
    diagnostics.push_back(unknownStage(stage, target));
    return false;
  }
  std::optional<unsigned> firstPass =
      firstPassOf(start, module.getContext(), target, options, diagnostics);
  if (!firstPass)
    return false;
  StageRun run{target, options, debug, /*verifies=*/true, *firstPass, ""};
  StageRunResult stages;
  if (!startStages(module, run, stages, diagnostics))
    return false;
  if (stage != "tile") {
    if (!code)
      run.lastStage = stage;
    if (!runStages(module, run, stages, diagnostics))
      return false;
  }
  if (code)
    return printCode(module, run, stages, *code, text, diagnostics);
  text = printModule(module, debug.printsLocations);
  return true;
}
