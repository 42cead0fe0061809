// What every layer of the compiler reports to a user: a coded error at spans of the user's source.
#ifndef IR_DIAGNOSTIC_H
#define IR_DIAGNOSTIC_H
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace mlir {
class Location;
}

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

/// Which exception the report becomes: see CONVENTIONS, "Errors".
enum class DiagnosticKind { Compile, Unsupported, Launch, Device, Internal };
enum class Severity { Error, Warning, Remark };

/// "error", "warning", "remark".
llvm::StringRef nameOf(Severity severity);

/// One report. The first label is the primary one.
struct Diagnostic {
  DiagnosticKind kind = DiagnosticKind::Compile;
  Severity severity = Severity::Error;
  std::string code; // "TW0107"
  std::string message;
  std::vector<SourceLabel> labels;
  std::vector<SourceLabel> callStack; // innermost call first; text names the called function
  std::string hint;
};

/// Text of a source file for quoting: one snippet of consecutive lines.
struct SourceText {
  std::string file;
  int firstLine = 1;
  std::string text;
};

/// The report as a person reads it: message, file, quoted lines with carets, labels, stack, hint.
std::string renderDiagnostic(const Diagnostic &diagnostic, const std::vector<SourceText> &sources);

/// The innermost span of an MLIR location, and the calls around it (innermost first).
SourceSpan spanOf(mlir::Location location);
std::vector<SourceLabel> callStackOf(mlir::Location location);

} // namespace tw
#endif
