// Turns the compiler's diagnostics into the reports that users and tools get.
#include "backend/api/Reports.h"
#include "llvm/Support/JSON.h"

using namespace tw;
using namespace tw::api;

/// A source line or a path may hold any bytes; JSON and Python's texts may not.
static std::string asUtf8(const std::string &text) {
  return llvm::json::isUTF8(text) ? text : llvm::json::fixUTF8(text);
}

static llvm::json::Array labelsToJson(const std::vector<SourceLabel> &labels) {
  llvm::json::Array array;
  for (const SourceLabel &label : labels)
    array.push_back(llvm::json::Object{{"file", asUtf8(label.span.file)},
                                       {"line", label.span.line},
                                       {"column", label.span.column},
                                       {"endLine", label.span.endLine},
                                       {"endColumn", label.span.endColumn},
                                       {"text", asUtf8(label.text)}});
  return array;
}

Report api::makeReport(const Diagnostic &diagnostic, const std::vector<SourceText> &sources) {
  Report report;
  report.kind = kindName(diagnostic.kind);
  report.severity = tw::nameOf(diagnostic.severity).str();
  report.code = codeName(diagnostic.code);
  report.message = asUtf8(diagnostic.message);
  report.hint = asUtf8(diagnostic.hint);
  report.rendered = asUtf8(renderDiagnostic(diagnostic, sources));
  llvm::json::Object object{{"kind", report.kind},
                            {"severity", report.severity},
                            {"code", report.code},
                            {"message", report.message},
                            {"hint", report.hint},
                            {"labels", labelsToJson(diagnostic.labels)},
                            {"callStack", labelsToJson(diagnostic.callStack)}};
  report.json = llvm::formatv("{0}", llvm::json::Value(std::move(object))).str();
  return report;
}

Diagnostic api::diagnosticOf(const RuntimeError &error) {
  Diagnostic diagnostic;
  diagnostic.kind = error.kind;
  diagnostic.code = error.code;
  diagnostic.message = error.message;
  diagnostic.hint = error.hint;
  return diagnostic;
}

Diagnostic api::warningOf(Code code, std::string message) {
  Diagnostic diagnostic;
  diagnostic.kind = DiagnosticKind::Launch;
  diagnostic.severity = Severity::Warning;
  diagnostic.code = code;
  diagnostic.message = std::move(message);
  return diagnostic;
}
