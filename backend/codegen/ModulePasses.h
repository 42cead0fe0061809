// The passes over LLVM IR that targets share, before LLVM's clean-ups.
#ifndef BACKEND_CODEGEN_MODULEPASSES_H
#define BACKEND_CODEGEN_MODULEPASSES_H
#include "backend/codegen/LlvmMachine.h"

namespace tw {

/// Rewrites `(base + constant) + index` to `(base + index) + constant`: accesses of one index at
/// many constant distances then share one address and differ in their instructions' offsets only.
void sinkConstantOffsets(llvm::Module &module);
inline constexpr ModulePass kSinkOffsets = {
    "sink-offsets", "constant parts of addresses go behind their indices", sinkConstantOffsets};

/// Moves consecutive parts of each function of many thousand instructions or some hundred blocks to
/// functions of their own. Several analyses of LLVM 22 (ScalarEvolution's search of guards, the
/// uses of induction variables) walk from each loop back to the beginning of its function: 500
/// loops in a row took ten times as long as 125. A part is what runs between two blocks that every
/// pass through the function, or through a loop of it, goes by; `costOfPart` is about its
/// instructions, by default what compiles in tens of milliseconds.
void splitLargeFunctions(llvm::Module &module, int64_t costOfPart = 4'000);
inline constexpr ModulePass kSplitFunctions = {
    "split-functions", "functions of thousands of instructions become several",
    [](llvm::Module &module) { splitLargeFunctions(module); }};

} // namespace tw
#endif
