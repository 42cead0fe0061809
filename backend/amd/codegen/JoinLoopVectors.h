// Vectors that loops carry from one iteration to the next.
#ifndef BACKEND_AMD_CODEGEN_JOINLOOPVECTORS_H
#define BACKEND_AMD_CODEGEN_JOINLOOPVECTORS_H

namespace llvm {
class Module;
}

namespace tw::amd {

/// Carries vectors as such through loops that take them apart at their ends and put them together
/// again at their beginnings: the sums of matrix instructions, whose 4 to 16 registers are one
/// operand. The machine code is the same; LLVM finds it in a fraction of the time.
void joinLoopVectors(llvm::Module &module);

} // namespace tw::amd
#endif
