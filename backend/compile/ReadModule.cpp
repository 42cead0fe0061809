// Reads a module that somebody wrote, and says what is wrong with it.
#include "backend/compile/ReadModule.h"
#include "mlir/Parser/Parser.h"
#include "runtime/codes/Codes.h"

using namespace tw;

mlir::OwningOpRef<mlir::ModuleOp> tw::readModule(const SourceText &source,
                                                 mlir::MLIRContext &context, Code code,
                                                 std::vector<Diagnostic> &diagnostics) {
  auto report = [&](const std::string &message, SourceSpan span) {
    Diagnostic diagnostic;
    diagnostic.kind = rowOfCode(code).kind;
    diagnostic.code = code;
    diagnostic.message = message;
    diagnostic.labels.push_back({span, ""});
    diagnostics.push_back(std::move(diagnostic));
  };
  size_t numBefore = diagnostics.size();
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
      report(diagnostic.str(), spanOf(diagnostic.getLocation()));
    return mlir::success();
  });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(source.text, &context, source.file);
  if (!module && diagnostics.size() == numBefore)
    report("it is not a module", {});
  return module;
}
