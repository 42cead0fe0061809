// Comparisons of scalars, for each branch that takes one.
#ifndef BACKEND_AMD_CODEGEN_REPEATCONDITIONS_H
#define BACKEND_AMD_CODEGEN_REPEATCONDITIONS_H

namespace llvm {
class Pass;
}

namespace tw::amd {

/// A pass of the code generator, right before instructions are selected. A branch compares again
/// what another block compared, where the numbers are scalars: that is one instruction, and what
/// LLVM carries between blocks for a condition is a vector register, made and compared by three.
/// Clean-ups of LLVM would take the repetitions back, so that it is none of IR before.
llvm::Pass *createRepeatConditions();

} // namespace tw::amd
#endif
