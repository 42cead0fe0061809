// Files that replay a fault of the compiler: the IR before it, and the command to run on it.
#ifndef BACKEND_COMPILE_REPRODUCER_H
#define BACKEND_COMPILE_REPRODUCER_H
#include "backend/Target.h"
#include "backend/compile/DebugSettings.h"

namespace tw {

/// The compilation that was going on when a fault occurred.
struct FaultScene {
  const Target &target;
  const CompileOptions &options;
  const DebugSettings &debug;
  std::string kernel;
};

/// Gives the internal errors among `diagnostics` a hint that names a new file: the module before
/// the pass that fails. `input` is the text of the module before the pass number `firstPass`; all
/// passes from there on run again, one at a time, to find the one.
void reproducePassFault(const FaultScene &scene, const std::string &input, unsigned firstPass,
                        std::vector<Diagnostic> &diagnostics);

/// The same for a failure to make code of a module of the LLVM dialect. The LLVM IR goes to a
/// second file where translation works.
void reproduceCodeFault(const FaultScene &scene, mlir::ModuleOp lowered,
                        std::vector<Diagnostic> &diagnostics);

/// Writes a new file for a fault and gives its path, or nothing when no file can be written.
std::string writeReproducer(const DebugSettings &debug, llvm::StringRef kernel,
                            llvm::StringRef extension,
                            llvm::function_ref<std::string(llvm::StringRef path)> makeText);

} // namespace tw
#endif
