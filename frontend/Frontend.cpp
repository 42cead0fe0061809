// From a kernel source buffer to a verified Tile IR module.
#include "frontend/Frontend.h"
#include "frontend/expressions/Calls.h"
#include "frontend/statements/KernelSignature.h"
#include "frontend/tiles/WideOffsets.h"
#include "mlir/IR/Verifier.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;

static void reportBuffer(FrontendResult &result, const std::string &reason) {
  result.diagnostics.push_back(makeDiagnostic(Code::MalformedBuffer,
                                              "the kernel source buffer is malformed: " + reason,
                                              "report this as a bug of the capture", {}));
}

/// Emits the kernel's body and its return.
static LogicalResult emitKernel(Emitter &emitter, mlir::ModuleOp module,
                                const std::vector<ArgumentSpec> &arguments,
                                FrontendResult &result) {
  FailureOr<mlir::func::FuncOp> function =
      emitSignature(emitter, module, arguments, result.parameterSources);
  if (failed(function))
    return failure();
  std::shared_ptr<Frame> frame = emitter.frames.back();
  emitter.frames.pop_back();
  const Node &kernel = *emitter.program.entry->ast;
  FailureOr<PyValue> returned = emitFunctionBody(emitter, frame, kernel);
  emitter.frames.push_back(frame);
  if (failed(returned))
    return failure();
  mlir::func::ReturnOp::create(emitter.builder, emitter.location());
  widenOffsets(*function);
  return mlir::success();
}

/// The verifier's own messages, which name the operation, not the user's mistake.
static LogicalResult verifyModule(mlir::ModuleOp module, std::string &messages) {
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &diagnostic) {
    messages += diagnostic.str() + "\n";
    return mlir::success();
  });
  if (succeeded(mlir::verify(module)))
    return mlir::success();
  llvm::raw_string_ostream os(messages);
  module->print(os, mlir::OpPrintingFlags().printGenericOpForm());
  return failure();
}

FrontendResult tw::buildTileIr(mlir::MLIRContext &context, const std::string &sourceBuffer,
                               const std::vector<ArgumentSpec> &arguments,
                               const FrontendOptions &options, const StaticEvaluator &evaluator) {
  FrontendResult result;
  OrReason<std::unique_ptr<Program>> parsed = parseBuffer(sourceBuffer);
  if (!parsed) {
    reportBuffer(result, parsed.reason().message);
    return result;
  }
  std::unique_ptr<Program> program = std::move(*parsed);
  for (const auto &[id, function] : program->functions)
    result.sources.push_back({function.file, function.line, function.source});
  context.loadAllAvailableDialects();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder.getUnknownLoc());
  Emitter emitter(builder, *program, options, evaluator, result.diagnostics);
  if (failed(emitKernel(emitter, *module, arguments, result))) {
    if (!emitter.hasFailed()) // a failure that nobody reported is our bug, never silence
      reportBuffer(result, "it leads to a failure without a reason");
    return result;
  }
  std::string messages;
  if (failed(verifyModule(*module, messages))) {
    result.diagnostics.push_back(makeDiagnostic(
        Code::InvalidIr, "the frontend made invalid Tile IR: " + messages, "report this as a bug",
        {{spanOf(*program->entry->ast, *program->entry), ""}}));
    return result;
  }
  result.module = std::move(module);
  return result;
}
