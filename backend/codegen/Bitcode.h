// Libraries of the user's bitcode: looked into for what a kernel calls, and linked into its code.
#ifndef BACKEND_CODEGEN_BITCODE_H
#define BACKEND_CODEGEN_BITCODE_H
#include "mlir/IR/BuiltinOps.h"
#include "runtime/Specialization.h"
#include <string>

namespace llvm {
class Module;
}

namespace tw {
struct LlvmMachine;

/// Writes the libraries that the options name ("bitcode=DIGEST:PATH", the path with %XX for
/// what is not a letter, a digit or one of `/._-`) onto the module.
void nameBitcode(mlir::ModuleOp module, const CompileOptions &options);

/// How many functions of libraries a module of the LLVM dialect calls.
size_t countLinkedFunctions(mlir::ModuleOp lowered);

/// Links what `code`, translated from `lowered`, calls from the libraries: inlined where it can be,
/// and seen by nobody else. False with `error` where they do not define every function, with all
/// that it needs, for this machine and with these types, which is reported where it is called.
bool linkBitcode(mlir::ModuleOp lowered, llvm::Module &code, const LlvmMachine &machine,
                 std::string &error);

/// Reports that LLVM failed on code with functions of libraries where the first is called.
void blameBitcode(mlir::ModuleOp lowered, const LlvmMachine &machine, llvm::StringRef fault);

} // namespace tw
#endif
