// Assembly text of the user's: values in the registers that its constraints name, and the way back
// from an assembler's complaint to the text.
#ifndef BACKEND_GPU_INLINEASSEMBLY_H
#define BACKEND_GPU_INLINEASSEMBLY_H
#include "backend/gpu/ThreadLowering.h"

namespace tw::gpu {

/// The syntax of assembly text for one maker's GPUs.
struct AssemblyLanguage {
  /// The marks that text is put between, and the one that begins a comment up to the end of its
  /// line.
  llvm::StringRef opening, closing, comment;
  /// The type of the register that a constraint's letter names for a value; null: the machine has
  /// no such register.
  llvm::function_ref<mlir::Type(llvm::StringRef letter, mlir::Type value)> registerFor;
  llvm::StringRef registers; // what the letters mean, for the user
};

/// Replaces the operation's results, or refuses its constraints.
mlir::LogicalResult lowerInlineAsm(ThreadLowering &lowering, simt::InlineAsmOp op,
                                   const AssemblyLanguage &language);

/// The first error that an assembler's log reports.
struct AssemblerError {
  unsigned line = 0; // of its input; 0: none
  llvm::StringRef message;
};

/// Reports an error in text of the user's at its place in the source; false where the error is in
/// no such text. `lowered` is the module that `assembly` was made of.
bool blameInlineAsm(mlir::ModuleOp lowered, llvm::StringRef assembly, const AssemblerError &error,
                    llvm::StringRef hint);

} // namespace tw::gpu
#endif
