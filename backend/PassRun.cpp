// Runs passes for a user: errors become coded diagnostics at the user's source, crashes do not
// spread.
#include "backend/PassRun.h"
#include "backend/Compiler.h"
#include "backend/ContainCrash.h"
#include "mlir/IR/Diagnostics.h"

using namespace tw;

static constexpr llvm::StringLiteral kReproduceHint =
    "this is a fault of the compiler; please report it with the kernel and the output of "
    "`tilewright explain TW0901`";

Diagnostic tw::internalError(std::string message) {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::Internal;
  diagnostic.code = "TW0901";
  diagnostic.message = std::move(message);
  diagnostic.hint = kReproduceHint.str();
  return diagnostic;
}

bool tw::hasError(const std::vector<Diagnostic> &diagnostics) {
  return llvm::any_of(diagnostics,
                      [](const Diagnostic &d) { return d.severity == Severity::Error; });
}

/// Which exception a code belongs to: TW03.. are refusals of a target, TW09.. our own faults.
static DiagnosticKind kindOf(llvm::StringRef code) {
  if (code.starts_with("TW03"))
    return DiagnosticKind::Unsupported;
  return code.starts_with("TW09") ? DiagnosticKind::Internal : DiagnosticKind::Compile;
}

/// Splits "[TW0301] message" into code and message; false when there is no code.
static bool takeCode(llvm::StringRef &message, std::string &code) {
  llvm::StringRef rest = message;
  // Operations prefix their own errors: 'tile.dot' op [TW0301] ...
  if (rest.consume_front("'"))
    rest = rest.split("op ").second;
  if (!rest.consume_front("["))
    return false;
  auto [name, text] = rest.split("] ");
  if (!name.starts_with("TW") || name.size() != 6)
    return false;
  code = name.str();
  message = text;
  return true;
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
  std::string text = source.str(), code;
  llvm::StringRef message = text;
  Diagnostic result;
  if (takeCode(message, code)) {
    result.kind = kindOf(code);
    result.code = code;
    result.message = message.str();
  } else {
    result = internalError(text);
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

bool tw::runPasses(mlir::PassManager &pm, mlir::ModuleOp module,
                   std::vector<Diagnostic> &diagnostics) {
  bool succeeded = false;
  std::string crash;
  auto run = [&] {
    mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
      // A remark or warning without a code is MLIR's, not for a kernel's author.
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error ||
          llvm::StringRef(diagnostic.str()).starts_with("[TW"))
        diagnostics.push_back(translate(diagnostic));
      return mlir::success();
    });
    succeeded = mlir::succeeded(pm.run(module));
  };
  if (!containCrash(run, crash)) {
    abandonThreadContext();
    diagnostics.push_back(internalError("a pass crashed: " + crash));
    return false;
  }
  if (!succeeded && !hasError(diagnostics))
    diagnostics.push_back(internalError("a pass failed without saying why"));
  return succeeded;
}
