// Runs passes for a user: errors become coded diagnostics at the user's source, crashes do not
// spread.
#include "backend/compile/PassRun.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/compile/Compiler.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "passes/Pipeline.h"
#include "runtime/codes/Codes.h"

using namespace tw;

static constexpr llvm::StringLiteral kReproduceHint =
    "this is a fault of the compiler; please report it with the kernel and the output of "
    "`tilewright explain TW0901`";

Diagnostic tw::internalError(std::string message) {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::Internal;
  diagnostic.code = Code::CompilerFault;
  diagnostic.message = std::move(message);
  diagnostic.hint = kReproduceHint.str();
  return diagnostic;
}

Diagnostic tw::interruptedDiagnostic() {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::Device;
  diagnostic.code = Code::InterruptedCompilation;
  diagnostic.message = "the compilation was interrupted";
  return diagnostic;
}

bool tw::hasError(const std::vector<Diagnostic> &diagnostics) {
  return llvm::any_of(diagnostics,
                      [](const Diagnostic &d) { return d.severity == Severity::Error; });
}

static Severity severityOf(mlir::DiagnosticSeverity severity) {
  switch (severity) {
  case mlir::DiagnosticSeverity::Error:
    return Severity::Error;
  case mlir::DiagnosticSeverity::Warning:
    return Severity::Warning;
  default:
    return Severity::Remark;
  }
}

/// The user's view of an MLIR diagnostic. Notes become labels, or the hint where they have no span.
static Diagnostic translate(mlir::Diagnostic &source) {
  Diagnostic result = internalError(source.str());
  if (std::optional<Code> code = codeOf(source)) {
    result.kind = rowOfCode(*code).kind;
    result.code = *code;
    result.hint.clear();
  }
  result.severity = severityOf(source.getSeverity());
  result.labels.push_back({spanOf(source.getLocation()), ""});
  result.callStack = callStackOf(source.getLocation());
  for (mlir::Diagnostic &note : source.getNotes()) {
    SourceSpan span = spanOf(note.getLocation());
    std::string noteText = note.str();
    if (llvm::StringRef(noteText).starts_with("see current operation"))
      continue; // raw IR
    if (span.isKnown() && note.getLocation() != source.getLocation())
      result.labels.push_back({span, noteText});
    else
      result.hint = noteText;
  }
  return result;
}

namespace {
/// Lets only the chosen passes of a pipeline run, while it lives.
class PassChoice {
public:
  PassChoice(mlir::MLIRContext *context, const PassRunOptions &options)
      : context(context), options(options) {
    if (options.begin == 0 && options.end == PassRunOptions().end &&
        options.numOptional == PassRunOptions().numOptional && !options.afterPass)
      return; // all of them, unobserved
    isRegistered = true;
    context->registerActionHandler(
        [this](llvm::function_ref<void()> run, const mlir::tracing::Action &action) {
          const auto *execution = llvm::dyn_cast<mlir::PassExecutionAction>(&action);
          // Patterns are actions, too, and so are the passes inside of a pass.
          if (execution && depth == 0)
            visit(run, execution->getPass());
          else
            run();
        });
  }
  ~PassChoice() {
    if (isRegistered)
      context->registerActionHandler(nullptr);
  }

private:
  void visit(llvm::function_ref<void()> run, const mlir::Pass &pass) {
    unsigned number = next++;
    bool isLeftOut = isOptionalPass(pass.getArgument()) && nextOptional++ >= options.numOptional;
    if (isLeftOut || number < options.begin || number >= options.end)
      return;
    ++depth;
    run();
    --depth;
    if (options.afterPass)
      options.afterPass(number, pass);
  }

  mlir::MLIRContext *context;
  const PassRunOptions &options;
  bool isRegistered = false;
  unsigned next = 0, nextOptional = 0, depth = 0;
};
} // namespace

namespace {
/// Ends the passes between two of them when nobody waits for the result any longer.
struct InterruptPasses : mlir::PassInstrumentation {
  void runBeforePass(mlir::Pass *, mlir::Operation *) override { stopIfInterrupted(); }
};
} // namespace

/// Returns true if a diagnostic is for a kernel's author. A remark or warning without a code comes
/// from MLIR.
static bool isWanted(mlir::Diagnostic &diagnostic, const PassRunOptions &options) {
  if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
    return true;
  if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Warning && !options.collectsRemarks)
    return false;
  return codeOf(diagnostic).has_value();
}

void tw::collectReports(mlir::MLIRContext &context, bool collectsRemarks,
                        std::vector<Diagnostic> &diagnostics, llvm::function_ref<void()> run) {
  PassRunOptions options;
  options.collectsRemarks = collectsRemarks;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    bool isCoded = codeOf(diagnostic).has_value();
    if (isCoded && isWanted(diagnostic, options))
      diagnostics.push_back(translate(diagnostic));
    return mlir::success(isCoded);
  });
  run();
}

bool tw::runPasses(mlir::PassManager &pm, mlir::ModuleOp module,
                   std::vector<Diagnostic> &diagnostics, const PassRunOptions &options) {
  bool succeeded = false;
  std::string crash;
  size_t numBefore = diagnostics.size();
  pm.addInstrumentation(std::make_unique<InterruptPasses>());
  PassChoice choice(module.getContext(), options);
  auto run = [&] {
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      if (isWanted(diagnostic, options))
        diagnostics.push_back(translate(diagnostic));
      return mlir::success();
    });
    succeeded = mlir::succeeded(pm.run(module));
  };
  if (!containCrash(run, crash)) {
    abandonThreadContext();
    diagnostics.push_back(wasInterrupted() ? interruptedDiagnostic()
                                           : internalError("a pass crashed: " + crash));
    return false;
  }
  if (!succeeded &&
      llvm::none_of(llvm::ArrayRef(diagnostics).drop_front(numBefore),
                    [](const Diagnostic &d) { return d.severity == Severity::Error; }))
    diagnostics.push_back(internalError("a pass failed without saying why"));
  return succeeded;
}
