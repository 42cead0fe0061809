// What code is worth to whose values there are not enough registers.
#ifndef BACKEND_AMD_CODEGEN_EASEREGISTERS_H
#define BACKEND_AMD_CODEGEN_EASEREGISTERS_H

namespace llvm {
class Module;
}

namespace tw::amd {

/// Rewrites optimized code such that fewer values are alive at once: operands of matrix
/// instructions are read from shared memory a few instructions ahead of them and no earlier, they
/// begin behind the arithmetic before them, and what follows loops with such instructions computes
/// its addresses and masks again; `insideLoops` there in each iteration, and else before them.
void easeRegisters(llvm::Module &module, bool insideLoops);

/// Computes addresses and masks again behind loops whose sums and operands of matrix instructions
/// leave no registers for them. The loops stay as they are.
void recomputeBehindProducts(llvm::Module &module);

} // namespace tw::amd
#endif
