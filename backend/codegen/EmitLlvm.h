// From the LLVM dialect to machine code: translation, optimization and code generation, contained
// so that a failure inside LLVM is an error message and not the end of the process.
#ifndef BACKEND_CODEGEN_EMITLLVM_H
#define BACKEND_CODEGEN_EMITLLVM_H
#include "backend/Target.h"
#include "backend/codegen/LlvmMachine.h"

namespace mlir {
class DialectRegistry;
}

namespace tw {

/// The attribute of a module that says how many of LLVM's optional passes run; without it all do.
inline constexpr llvm::StringLiteral kLlvmPassLimit = "tile.llvm_pass_limit";
/// The metadata of a module of LLVM IR that names the last of them.
inline constexpr llvm::StringLiteral kLastLlvmPass = "tilewright.last_pass";

struct EmittedCode {
  std::string bytes;             // text or an object file
  uint64_t codeBytes = 0;        // executable sections of an object file
  size_t numLinkedFunctions = 0; // from libraries of bitcode
  double translateMilliseconds = 0, optimizeMilliseconds = 0, generateMilliseconds = 0;
};

/// Registers the translations of the dialects to LLVM IR.
void registerLlvmTranslations(mlir::DialectRegistry &registry);

/// Emits a module of the LLVM dialect in one form, by the first variant of the machine. False with
/// a message in `error` when it fails.
bool emitLlvm(mlir::ModuleOp module, const LlvmMachine &machine, CodeForm form, EmittedCode &code,
              std::string &error);

/// Emits a small function, so that LLVM makes what it makes once in a process: its tables and its
/// registries of passes.
void warmUpEmission(const LlvmMachine &machine);

/// Counts the executable bytes of an object file.
uint64_t countCodeBytes(const std::string &object);

/// Adds the times of an emission's parts to an artifact, under the names that reports use.
void addTimes(const EmittedCode &code, Artifact &artifact);

} // namespace tw
#endif
