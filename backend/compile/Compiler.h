// From a Tile IR module to an artifact of one target.
#ifndef BACKEND_COMPILER_H
#define BACKEND_COMPILER_H
#include "backend/Target.h"
#include "backend/compile/DebugSettings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir {
class DialectRegistry;
class MLIRContext;
} // namespace mlir

namespace tw {

/// All dialects that compilation passes through, with their translations to LLVM IR.
void registerCompilerDialects(mlir::DialectRegistry &registry);

/// A single-threaded context with those dialects.
std::unique_ptr<mlir::MLIRContext> makeCompilerContext();

/// This thread's context, made at first use and kept; renewed after a crash, and from time to time
/// so that the types and attributes it holds stay bounded. Hold it as long as anything made with
/// it.
std::shared_ptr<mlir::MLIRContext> acquireThreadContext();

/// Leaks this thread's context: something died while using it.
void abandonThreadContext();
/// Returns true if this thread's context was abandoned after it was acquired: whatever was being
/// worked on must then be leaked.
bool isThreadContextAbandoned();

/// The module's kernel: its one public function with a body; null when there is none.
mlir::func::FuncOp findKernel(mlir::ModuleOp module);

/// Compiles a module with one public function; the module is used up. `artifact.milliseconds` gets
/// "passes" and the target's own pieces. False when `diagnostics` got an error.
bool compileModule(mlir::ModuleOp module, const Target &target, const CompileOptions &options,
                   Artifact &artifact, std::vector<Diagnostic> &diagnostics,
                   const DebugSettings &debug = {});

/// Returns true if `word` is among the comma-separated words of `options.extra`.
bool hasExtraOption(const CompileOptions &options, llvm::StringRef word);
/// Returns the text after `name` and "=" in one of those words; none if there is no such word.
std::optional<llvm::StringRef> extraOption(const CompileOptions &options, llvm::StringRef name);

} // namespace tw
#endif
