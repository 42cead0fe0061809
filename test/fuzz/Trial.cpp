// Draws trials, and judges what the compiler answers: success or a diagnostic, nothing else.
#include "test/fuzz/Trial.h"
#include "backend/compile/Compiler.h"
#include "backend/compile/PassRun.h"
#include "backend/cpu/CpuTarget.h"
#include "backend/inspect/Inspection.h"
#include "backend/nvidia/LowerNvidia.h"
#include "backend/nvidia/NvidiaTarget.h"
#include "backend/reference/BytecodeTarget.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Pipeline.h"
#include "passes/StageChecks.h"
#include "llvm/ADT/ScopeExit.h"

using namespace mlir;
using namespace tw;
using namespace tw::fuzz;

std::string Task::command(const std::string &file) const {
  if (target.empty())
    return "tile-opt --pass-pipeline='builtin.module(" + pipeline + ")' " + file;
  std::string command = "tile-compile " + file + " --target " + target + " --num-warps " +
                        std::to_string(numWarps) + " --num-stages " + std::to_string(numStages);
  if (!fromStage.empty())
    command += " --from-stage " + fromStage;
  bool isGpu = target.starts_with("nvidia");
  return command + (isGpu ? " --emit ptx" : fromStage.empty() ? "" : " --emit object");
}

std::unique_ptr<MLIRContext> tw::fuzz::makeFuzzContext() {
  static const bool areRegistered = [] {
    registerPasses();
    registerNvidiaPasses();
    registerTransformsPasses();
    registerPass([] { return createReconcileUnrealizedCastsPass(); });
    return true;
  }();
  (void)areRegistered;
  return makeCompilerContext();
}

std::unique_ptr<MLIRContext> tw::fuzz::makeDrawingContext() {
  std::unique_ptr<MLIRContext> context = makeFuzzContext();
  context->loadDialect<arith::ArithDialect, scf::SCFDialect>(); // of which changes make operations
  return context;
}

//===-- Drawing ------------------------------------------------------------------------------===//

/// Passes by themselves on whatever stage the text is of.
static constexpr const char *kSinglePasses[] = {"spread-hints",
                                                "expand-descriptors",
                                                "combine-ops",
                                                "raise-pointers",
                                                "split-loops-by-mask",
                                                "split-loops-by-mask{products=true}",
                                                "merge-comparisons",
                                                "refuse-assembly",
                                                "lower-simd",
                                                "expand-math",
                                                "lower-to-llvm",
                                                "select-mma",
                                                "assign-layouts",
                                                "coalesce-accesses",
                                                "assign-layouts{remarks=true}",
                                                "draw-layouts",
                                                "pipeline-loops",
                                                "stage-through-shared",
                                                "reload-operands",
                                                "allocate-shared",
                                                "insert-barriers",
                                                "lower-simt",
                                                "expand-simt-math",
                                                "lower-nvidia",
                                                "canonicalize",
                                                "cse",
                                                "loop-invariant-code-motion"};

static constexpr const char *kTargets[] = {"cpu",           "cpu",           "nvidia:sm_80",
                                           "nvidia:sm_80",  "nvidia:sm_90a", "nvidia:sm_120",
                                           "cpu:x86-64-v2", "reference"};
static constexpr int kWarps[] = {4, 4, 4, 1, 2, 8, 16, 32, 3, 64, 0};
static constexpr int kStages[] = {3, 3, 3, 1, 2, 4, 8, 0, 100};
static constexpr const char *kStageNames[] = {"tile",      "tile-passes", "laid-out",
                                              "scheduled", "lowered",     "llvm-dialect"};

static Task drawTask(const Part &part, const Corpus &corpus, Draw &draw) {
  Task task;
  size_t kind = draw.below(100);
  if (kind < 30) {
    task.target = draw.of(kTargets);
    task.numWarps = draw.of(kWarps);
    task.numStages = draw.of(kStages);
    if (draw.chance(25))
      task.fromStage = draw.of(kStageNames);
  } else if (kind < 60 && !part.pipelines.empty()) {
    task.pipeline = draw.of(part.pipelines);
  } else if (kind < 90 || corpus.pipelines.empty()) {
    task.pipeline = draw.of(kSinglePasses);
  } else {
    task.pipeline = draw.of(corpus.pipelines);
  }
  return task;
}

static OwningOpRef<ModuleOp> parseQuietly(const std::string &text, MLIRContext &context) {
  ScopedDiagnosticHandler handler(&context, [](mlir::Diagnostic &) { return success(); });
  return parseSourceString<ModuleOp>(text, &context);
}

/// In the generic form, which is printed without asking operations that may be ill-formed.
static std::string printGeneric(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().printGenericOpForm());
  return text;
}

/// The text with changes of its structure; as it is where it does not parse. Nothing here looks at
/// what operations mean: whether changed IR is well formed is for the trial to find out.
static std::string mutateStructure(const std::string &text, const Corpus &corpus,
                                   MLIRContext &context, Draw &draw) {
  OwningOpRef<ModuleOp> module = parseQuietly(text, context);
  OwningOpRef<ModuleOp> donor = parseQuietly(draw.of(corpus.parts).text, context);
  if (!module || !donor)
    return text;
  for (size_t count = 1 + draw.below(4), tries = 0; count > 0 && tries < 20; ++tries)
    count -= mutateModule(*module, *donor, draw);
  return printGeneric(*module);
}

/// The text with changes of attributes; as it is where it does not parse.
static std::string mutateAttributes(const std::string &text, MLIRContext &context, Draw &draw) {
  OwningOpRef<ModuleOp> module = parseQuietly(text, context);
  std::string changed = module ? printGeneric(*module) : text;
  for (size_t count = 1 + draw.below(2); count > 0; --count)
    changed = changeAttribute(changed, draw);
  return changed;
}

/// Mostly a part that parses; the others are tests of what the parser refuses.
static const Part &drawPart(const Corpus &corpus, MLIRContext &context, Draw &draw) {
  const Part *part = &draw.of(corpus.parts);
  for (int tries = 0; tries < 4 && !parseQuietly(part->text, context); ++tries)
    part = &draw.of(corpus.parts);
  return *part;
}

Trial tw::fuzz::drawTrial(uint64_t seed, unsigned attempt, const Corpus &corpus,
                          MLIRContext &context) {
  Draw draw(seed, attempt);
  const Part &part = drawPart(corpus, context, draw);
  Trial trial{part.text, drawTask(part, corpus, draw)};
  if (draw.chance(30))
    trial.text = mutateAttributes(trial.text, context, draw);
  if (draw.chance(50))
    trial.text = mutateStructure(trial.text, corpus, context, draw);
  if (trial.text == part.text || draw.chance(30))
    for (size_t count = 1 + draw.below(3); count > 0; --count)
      trial.text = mutateText(trial.text, corpus, draw);
  return trial;
}

//===-- Passes -------------------------------------------------------------------------------===//

namespace {
/// Says which pass runs, and looks whether what it leaves is well formed.
struct Observation : PassInstrumentation {
  Observation(llvm::function_ref<void(StringRef)> progress, std::string &finding)
      : progress(progress), finding(finding) {}
  void runBeforePass(Pass *pass, Operation *) override { progress(pass->getName()); }
  void runAfterPass(Pass *pass, Operation *op) override {
    if (finding.empty() && failed(verify(op)))
      finding = "invalid IR after " + pass->getName().str();
  }
  llvm::function_ref<void(StringRef)> progress;
  std::string &finding;
};
} // namespace

static std::string runPipeline(ModuleOp module, const Task &task,
                               llvm::function_ref<void(StringRef)> progress) {
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  std::string finding, reported;
  manager.addInstrumentation(std::make_unique<Observation>(progress, finding));
  ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      reported = diagnostic.str();
    return success();
  });
  OpPassManager passes(ModuleOp::getOperationName());
  progress("the reader of pipelines");
  if (failed(parsePassPipeline(task.pipeline, passes, llvm::nulls())))
    return "";
  if (failed(addCheckedPasses(manager, passes, nvidiaPassInputs())))
    return "a pass has no text that makes it again";
  bool isDone = succeeded(manager.run(module));
  if (isDone)
    progress(kDone);
  if (!finding.empty())
    return finding + ": " + reported;
  return isDone || !reported.empty() ? "" : "a pass failed without saying why";
}

//===-- Targets ------------------------------------------------------------------------------===//

static std::unique_ptr<Target> makeTarget(StringRef name) {
  auto [kind, level] = name.split(':');
  if (kind == "reference")
    return makeBytecodeTarget("reference");
  if (kind == "nvidia")
    return makeNvidiaTarget(level.str(), /*assembles=*/false);
  return makeCpuTarget(level.str());
}

static std::string runCompiler(ModuleOp module, const Task &task,
                               llvm::function_ref<void(StringRef)> progress) {
  std::unique_ptr<Target> target = makeTarget(task.target);
  CompileOptions options;
  options.numWarps = task.numWarps;
  options.numStages = task.numStages;
  DebugSettings debug;
  debug.checksInput = true;
  std::vector<tw::Diagnostic> diagnostics;
  bool isDone = false;
  if (task.fromStage.empty()) {
    Artifact artifact;
    isDone = compileModule(module, *target, options, artifact, diagnostics, debug);
  } else {
    std::string text, stage = task.target.starts_with("nvidia") ? "ptx" : "object";
    isDone = inspectModule(module, *target, options, stage, text, diagnostics, debug,
                           {task.fromStage, 0});
  }
  if (isDone)
    progress(kDone);
  for (const tw::Diagnostic &diagnostic : diagnostics)
    if (StringRef(diagnostic.message).contains("crashed"))
      progress(kContained);
  for (const tw::Diagnostic &diagnostic : diagnostics)
    if (diagnostic.kind == tw::DiagnosticKind::Internal)
      return tw::codeName(diagnostic.code) + " " + diagnostic.message;
  return isDone || hasError(diagnostics) ? "" : "the compiler failed without saying why";
}

namespace {
/// What crashes MLIR itself, whatever the dialect: a text that has `word` is not tried.
struct UpstreamFault {
  StringLiteral word, reason;
};
} // namespace

static constexpr UpstreamFault kUpstreamFaults[] = {
    {"array<index", "the reader of operandSegmentSizes takes arrays of any type for 32-bit ones"},
};

static bool isUpstreamFault(StringRef text) {
  return llvm::any_of(kUpstreamFaults,
                      [&](const UpstreamFault &fault) { return text.contains(fault.word); });
}

std::string tw::fuzz::runTrial(const Trial &trial, MLIRContext &context,
                               llvm::function_ref<void(StringRef)> progress) {
  progress(kParsing);
  if (isUpstreamFault(trial.text))
    return "";
  OwningOpRef<ModuleOp> module = parseQuietly(trial.text, context);
  if (!module)
    return "";
  if (trial.task.target.empty())
    return runPipeline(*module, trial.task, progress);
  progress(trial.task.target);
  bool isContained = false;
  std::string finding = runCompiler(*module, trial.task, [&](StringRef step) {
    progress(step);
    isContained |= step == kContained;
  });
  if (!finding.empty() || isContained)
    (void)module.release(); // it may be half transformed by what crashed
  return finding;
}
