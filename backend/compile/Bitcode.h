// Libraries of the user's bitcode: looked into for what a kernel calls, and linked into its code.
#ifndef BACKEND_COMPILE_BITCODE_H
#define BACKEND_COMPILE_BITCODE_H
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

/// Whether the libraries of a module of the LLVM dialect define every function that it calls from
/// them, with all that it needs, for this machine and with these types; if not, reports it where
/// the function is called.
bool checkBitcode(mlir::ModuleOp lowered, const LlvmMachine &machine);

/// Links what `code`, translated from a module that passed the check, calls: inlined where it can
/// be, and seen by nobody else. False with `error` where the files are not what they were.
bool linkBitcode(mlir::ModuleOp lowered, llvm::Module &code, std::string &error);

} // namespace tw
#endif
