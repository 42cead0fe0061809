// The frontend's door: a kernel source buffer and a specialization in, verified Tile IR out.
#ifndef FRONTEND_FRONTEND_H
#define FRONTEND_FRONTEND_H
#include "ir/Diagnostic.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "runtime/arguments/ArgumentSpec.h"
#include <functional>
#include <string>
#include <vector>

namespace tw {

struct FrontendOptions {
  bool debug = false;          // compile device_assert; have accesses checked
  bool checksOverflow = false; // of +, - and * of integers of at most 32 bits
  int numWarps = 4, numStages = 3;
  void (*checkpoint)() = nullptr; // called before each statement; it may not return
  std::string target;             // its name, which kernels may ask for
};

/// Evaluates a static expression that the frontend does not know. Request and answer are JSON:
/// {"function": id, "node": <AST>, "names": {name: value}} -> {"value": value} | {"error": text}.
using StaticEvaluator = std::function<std::string(const std::string &request)>;

struct FrontendResult {
  mlir::OwningOpRef<mlir::ModuleOp> module; // null when there are errors
  std::vector<Diagnostic> diagnostics;      // errors and warnings
  std::vector<SourceText> sources;          // for rendering them
  std::vector<int> parameterSources;        // for each func argument: index in the Python signature
};

/// Builds the Tile IR module of the buffer's entry function: one public func.func named like the
/// kernel, with `tile.name` and facts on its arguments, everything inlined, verified. The context
/// needs the dialects of registerTileDialects.
FrontendResult buildTileIr(mlir::MLIRContext &context, const std::string &sourceBuffer,
                           const std::vector<ArgumentSpec> &arguments,
                           const FrontendOptions &options, const StaticEvaluator &evaluator);

} // namespace tw
#endif
