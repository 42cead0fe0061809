// Reads a module that somebody wrote, and says what is wrong with it.
#ifndef BACKEND_READMODULE_H
#define BACKEND_READMODULE_H
#include "ir/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tw {

/// The module of a text or of bytecode; null after `diagnostics` got what the parser or an
/// operation's verifier refuses, with `code` and at its place in `source.file`.
mlir::OwningOpRef<mlir::ModuleOp> readModule(const SourceText &source, mlir::MLIRContext &context,
                                             Code code, std::vector<Diagnostic> &diagnostics);

} // namespace tw
#endif
