// Keeps the code generator from cutting the amounts of shifts to 32 bits.
#ifndef BACKEND_NVIDIA_CODEGEN_BOUNDSHIFTS_H
#define BACKEND_NVIDIA_CODEGEN_BOUNDSHIFTS_H

namespace llvm {
class Module;
}

namespace tw::nvidia {

/// Bounds the wide amount of each shift that is chosen where the amount is below its width. PTX
/// takes 32 bits of an amount and gives 0 from the width on, so LLVM 22 leaves the choice out; but
/// it does so for amounts of 64 bits, too: `x << (1 << 32)` would be `x`.
void boundShifts(llvm::Module &module);

} // namespace tw::nvidia
#endif
