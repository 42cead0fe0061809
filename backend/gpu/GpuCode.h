// The text of a GPU's code, and what its launches need to know, as every GPU's artifact has them.
#ifndef BACKEND_GPU_GPUCODE_H
#define BACKEND_GPU_GPUCODE_H
#include "backend/codegen/EmitLlvm.h"
#include <cstdint>

namespace mlir::LLVM::cconv {
enum class CConv : uint64_t;
}

namespace tw::gpu {

/// LLVM's clean-ups of a kernel: a third of the time of -O2's, for loops as short, because passes
/// have shared and hoisted already. -O2 reassociates, too, which costs registers where LLVM assigns
/// them: products of gfx1201 spilled, and were compiled again. An assembler that assigns them
/// itself may want others.
inline constexpr llvm::StringLiteral kSimplifications =
    "sroa<modify-cfg>,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-unroll-full),early-cse<memssa>,bdce,"
    "instcombine<no-verify-fixpoint>,adce";

/// Fills the artifact's binary with a text of a lowered module's code, and its milliseconds,
/// shared buffers and resources: num_warps, threads, shared_bytes. On failure returns false with
/// `error`.
bool emitText(mlir::ModuleOp lowered, const LlvmMachine &machine, unsigned warpSize,
              Artifact &artifact, std::string &error, CodeForm form = CodeForm::Assembly);

/// A kernel's name as the symbol of its code, which is ASCII. Names from Python have no dollar
/// signs, so those mark what is replaced, and follow a name that is `taken`.
std::string symbolOf(llvm::StringRef kernelName, llvm::ArrayRef<llvm::StringRef> taken);
/// The symbol of the one kernel in a module of the LLVM dialect, which is told by how it is called.
std::string kernelSymbol(mlir::ModuleOp lowered, mlir::LLVM::cconv::CConv convention);

/// Prints the resources of a program as JSON.
std::string printResources(const Artifact &artifact);
/// One of them by name.
int64_t resourceOf(const Artifact &artifact, llvm::StringRef name, int64_t absent);

} // namespace tw::gpu
#endif
