// What every layer of the compiler reports to a user: a coded error at spans of the user's source.
#ifndef IR_DIAGNOSTIC_H
#define IR_DIAGNOSTIC_H
#include "mlir/IR/Diagnostics.h"
#include "runtime/codes/Code.h"
#include <optional>
#include <string>
#include <vector>

namespace tw {

/// A range of the user's source. Lines and columns count from 1; the end column is exclusive.
struct SourceSpan {
  std::string file;
  int line = 0, column = 0, endLine = 0, endColumn = 0;
  bool isKnown() const { return line > 0; }
};

struct SourceLabel {
  SourceSpan span;
  std::string text; // may be empty: the span alone is shown
};

enum class Severity { Error, Warning, Remark };

/// "error", "warning", "remark".
llvm::StringRef nameOf(Severity severity);

/// One report. The first label is the primary one.
struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::Compile;
  Severity severity = Severity::Error;
  Code code = kUncoded;
  std::string message;
  std::vector<SourceLabel> labels;
  std::vector<SourceLabel> callStack; // innermost call first; text names the called function
  std::string hint;
};

/// An error or remark of a pass, with a code that travels beside the text.
mlir::InFlightDiagnostic emitCoded(mlir::Location location, Code code);
mlir::InFlightDiagnostic emitCoded(mlir::Operation *op, Code code);
mlir::InFlightDiagnostic emitCodedRemark(mlir::Operation *op, Code code);
/// The code that an MLIR diagnostic was given, if any.
std::optional<Code> codeOf(mlir::Diagnostic &diagnostic);

/// Text of a source file for quoting: one snippet of consecutive lines.
struct SourceText {
  std::string file;
  int firstLine = 1;
  std::string text;
};

/// The report as a person reads it: message, file, quoted lines with carets, labels, stack, hint.
std::string renderDiagnostic(const Diagnostic &diagnostic, const std::vector<SourceText> &sources);

/// A place in the language's own library, which call stacks tell apart from the user's lines.
mlir::Location markLibrary(mlir::Location location);
/// The label of such a place in a report.
inline constexpr llvm::StringLiteral kInLibrary = "in this line of the library";
/// The innermost span of an MLIR location, and the calls around it (innermost first).
SourceSpan spanOf(mlir::Location location);
std::vector<SourceLabel> callStackOf(mlir::Location location);

} // namespace tw
#endif
