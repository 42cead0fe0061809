// Keeps LLVM from dividing the threads that execute an instruction of a whole warp together.
#ifndef BACKEND_NVIDIA_CODEGEN_COLLECTIVEASSEMBLY_H
#define BACKEND_NVIDIA_CODEGEN_COLLECTIVEASSEMBLY_H

namespace llvm {
class Module;
}

namespace tw::nvidia {

/// Marks inline PTX that all threads of a warp execute together as convergent (LLVM language
/// reference): else LLVM may copy it into both sides of a branch, as between two branches of one
/// condition. LLVM's intrinsics say so themselves.
void markCollectives(llvm::Module &module);

} // namespace tw::nvidia
#endif
