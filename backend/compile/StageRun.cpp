// Takes a kernel's module through the passes of a target, with whatever looks into it: dumps,
// overrides, and a reproducer where a pass fails by our own fault.
#include "backend/compile/StageRun.h"
#include "backend/codegen/Bitcode.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/codegen/EmitLlvm.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/PassDumps.h"
#include "backend/compile/PassRun.h"
#include "backend/compile/Reproducer.h"
#include "backend/compile/Stages.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "passes/StageChecks.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace tw;

const StageOverride *StageRunResult::textOverride(const Target &target) const {
  for (const StageOverride &file : overrides)
    if (file.stage == target.textStage())
      return &file;
  return nullptr;
}

/// The name of the module's kernel at any stage, for files.
static std::string nameOfKernel(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::FunctionOpInterface>())
    if (function.isPublic() && !function.isExternal())
      return function.getName().split('.').first.str(); // without the suffix of a target
  return "kernel";
}

namespace {
/// One run of some of the passes, which may be followed by an override.
struct Segment {
  unsigned begin, end;
  const StageOverride *override = nullptr;
};
} // namespace

/// Where the passes have to pause or stop: at overrides and after the last stage.
static std::vector<Segment> segmentsOf(const StagedPasses &passes, const StageRun &run,
                                       const std::vector<StageOverride> &overrides) {
  std::vector<Segment> segments;
  unsigned begin = run.firstPass;
  for (const PipelineStage &stage : passes.stages()) {
    if (stage.end == 0)
      continue; // the input
    auto found = llvm::find_if(overrides,
                               [&](const StageOverride &file) { return file.stage == stage.name; });
    bool isLast = stage.name == run.lastStage;
    if ((found == overrides.end() && !isLast) || stage.end < begin)
      continue;
    segments.push_back({begin, stage.end, found == overrides.end() ? nullptr : &*found});
    begin = stage.end;
    if (isLast)
      return segments;
  }
  segments.push_back({begin, PassRunOptions().end});
  return segments;
}

/// Runs the passes of one segment. A copy of the module is kept for the case that one fails: making
/// it costs a small part of what a pass costs.
static bool runSegment(mlir::PassManager &pm, mlir::ModuleOp module, const Segment &segment,
                       const StageRun &run, StageRunResult &result, PassDumps &dumps,
                       std::vector<tw::Diagnostic> &diagnostics) {
  mlir::OwningOpRef<mlir::ModuleOp> before = module.clone();
  PassRunOptions options;
  options.begin = segment.begin;
  options.end = segment.end;
  options.numOptional = passLimitOf(run.options);
  options.collectsRemarks = run.debug.collectsRemarks;
  auto start = std::chrono::steady_clock::now();
  if (dumps.isActive() || run.debug.timesPasses)
    options.afterPass = [&](unsigned number, const mlir::Pass &pass) {
      std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
      llvm::StringRef name = pass.getArgument().empty() ? pass.getName() : pass.getArgument();
      result.passTimes.push_back(
          {llvm::formatv("{0,0+3} {1}", number, name).str(), elapsed.count()});
      dumps.record(number + 1, name, module);
      start = std::chrono::steady_clock::now();
    };
  std::vector<tw::Diagnostic> reported;
  bool succeeded = runPasses(pm, module, reported, options);
  bool isText = run.debug.checksInput && run.firstPass > 0; // then it reproduces itself
  if (!succeeded && !wasInterrupted() && !isText) {
    FaultScene scene{run.target, run.options, run.debug, result.kernel};
    std::string input, crash; // a crash may have left the context in any state
    containCrash([&] { input = printModule(*before, /*withLocations=*/true); }, crash);
    reproducePassFault(scene, input, segment.begin, reported);
  }
  blameText(run, reported);
  if (isThreadContextAbandoned())
    (void)before.release();
  diagnostics.insert(diagnostics.end(), std::make_move_iterator(reported.begin()),
                     std::make_move_iterator(reported.end()));
  return succeeded;
}

/// Returns the input of the first pass from `firstPass` on that does not take any module it is
/// given.
static llvm::StringRef inputFrom(unsigned firstPass, mlir::MLIRContext *context,
                                 const StageRun &run) {
  mlir::PassManager pm(context);
  StagedPasses passes(pm);
  addAllPasses(passes, run.target, run.options);
  unsigned number = 0;
  for (const mlir::Pass &pass : pm)
    if (llvm::StringRef input = inputOf(pass.getArgument(), run.target.passInputs());
        number++ >= firstPass && !input.empty())
      return input;
  return "llvm-dialect"; // no pass is left
}

/// Returns true if the user's text is valid input for the passes from `firstPass` on.
static bool checkText(mlir::ModuleOp module, const StageRun &run, unsigned firstPass,
                      std::vector<tw::Diagnostic> &diagnostics) {
  bool isTaken = false;
  collectReports(*module.getContext(), run.debug.collectsRemarks, diagnostics, [&] {
    llvm::StringRef input = inputFrom(firstPass, module.getContext(), run);
    isTaken = mlir::succeeded(checkInput(module, input)) &&
              (firstPass > 0 || mlir::succeeded(checkKernel(module)));
  });
  return isTaken;
}

void tw::blameText(const StageRun &run, std::vector<tw::Diagnostic> &diagnostics) {
  if (!run.debug.checksInput || run.firstPass == 0)
    return;
  for (tw::Diagnostic &diagnostic : diagnostics)
    if (diagnostic.kind == DiagnosticKind::Internal) {
      diagnostic.kind = DiagnosticKind::Unsupported;
      diagnostic.code = Code::FailingText;
      diagnostic.message = "the text is not what a later stage takes: " + diagnostic.message;
      diagnostic.hint = "start from what --emit or --dump-to writes, and change little at a time";
    }
}

bool tw::startStages(mlir::ModuleOp module, const StageRun &run, StageRunResult &result,
                     std::vector<tw::Diagnostic> &diagnostics) {
  result.kernel = nameOfKernel(module);
  nameBitcode(module, run.options);
  if (run.debug.checksInput && !checkText(module, run, run.firstPass, diagnostics))
    return false;
  if (!findOverrides(run.debug, result.kernel, run.target, result.overrides, diagnostics))
    return false;
  if (result.overrides.empty() || result.overrides.front().stage != "tile" || run.firstPass > 0)
    return true;
  return applyOverride(result.overrides.front(), module, diagnostics) &&
         checkText(module, run, 0, diagnostics);
}

/// Writes onto the module how many of LLVM's optional passes run: the rest of the limit.
static void limitLlvm(mlir::ModuleOp module, const StageRun &run, unsigned numBefore) {
  unsigned limit = passLimitOf(run.options);
  if (limit == PassRunOptions().numOptional)
    return;
  mlir::Builder builder(module.getContext());
  module->setAttr(kLlvmPassLimit, builder.getI32IntegerAttr(limit - std::min(limit, numBefore)));
}

bool tw::runStages(mlir::ModuleOp module, const StageRun &run, StageRunResult &result,
                   std::vector<tw::Diagnostic> &diagnostics) {
  PassDumps dumps(run.debug, result.kernel, diagnostics);
  dumps.record(run.firstPass, "input", module);
  if (mlir::func::FuncOp kernel = findKernel(module); kernel && run.firstPass == 0)
    kernel.setName(run.target.symbolOf(kernel.getName()));
  mlir::PassManager pm(module.getContext());
  pm.enableVerifier(run.verifies);
  StagedPasses passes(pm);
  addAllPasses(passes, run.target, run.options);
  result.numPasses = pm.size();
  for (const Segment &segment : segmentsOf(passes, run, result.overrides)) {
    if (segment.begin < segment.end &&
        !runSegment(pm, module, segment, run, result, dumps, diagnostics))
      return false;
    if (!segment.override)
      continue;
    if (!applyOverride(*segment.override, module, diagnostics) ||
        !checkText(module, run, segment.end, diagnostics))
      return false;
    dumps.record(segment.end, "override", module);
  }
  limitLlvm(module, run, countOptional(pm));
  return true;
}

bool tw::printAssembly(const StageRun &run, mlir::ModuleOp lowered, std::string &text,
                       std::string &error) {
  return run.debug.printsLocations ? run.target.printLocated(lowered, text, error)
                                   : run.target.print(lowered, CodeForm::Assembly, text, error);
}

/// The name of the file of a target's code among the dumps.
static std::string codeFileOf(const Target &target) {
  return target.hasTextBinary() ? "code." + target.textStage().str() : "code.s";
}

void tw::dumpCode(const StageRun &run, const StageRunResult &result, mlir::ModuleOp lowered,
                  const std::string &assembly, std::vector<tw::Diagnostic> &diagnostics) {
  PassDumps dumps(run.debug, result.kernel, diagnostics, /*isNew=*/false);
  if (!dumps.isActive())
    return;
  std::string text, error;
  if (run.target.print(lowered, CodeForm::OptimizedLlvmIr, text, error))
    dumps.write(result.numPasses + 1, "llvm.ll", text);
  text = assembly;
  if (!text.empty() || printAssembly(run, lowered, text, error))
    dumps.write(result.numPasses + 2, codeFileOf(run.target), text);
}
