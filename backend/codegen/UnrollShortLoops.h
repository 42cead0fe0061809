// Unrolls the loops of LLVM IR that are short and of a fixed number of iterations.
#ifndef BACKEND_CODEGEN_UNROLLSHORTLOOPS_H
#define BACKEND_CODEGEN_UNROLLSHORTLOOPS_H
#include "llvm/IR/PassManager.h"

namespace tw {

/// The name of the pass in pipelines that are written as text.
inline constexpr llvm::StringLiteral kUnrollShortLoops = "unroll-short-loops";

/// Unrolls innermost loops completely where that makes little code. LLVM's `loop-unroll-full`
/// decides the same by size, but first tries out what each longer loop would fold to: half of the
/// time of all clean-ups of a kernel, in which loops over vectors have nothing to fold.
struct UnrollShortLoops : llvm::PassInfoMixin<UnrollShortLoops> {
  llvm::PreservedAnalyses run(llvm::Function &function, llvm::FunctionAnalysisManager &analyses);
};

} // namespace tw
#endif
