// Our passes in LLVM's code generator for AMD's GPUs; Variants.cpp says where they run.
#ifndef BACKEND_AMD_CODEGEN_GENERATORPASSES_H
#define BACKEND_AMD_CODEGEN_GENERATORPASSES_H

namespace llvm {
class Pass;
} // namespace llvm

namespace tw::amd {

/// Makes the pass that repeats comparisons of scalars of other blocks beside each branch that takes
/// one, right before instruction selection: that is one instruction, where LLVM carries a condition
/// between blocks in a vector register, made and compared by three. Clean-ups of LLVM IR would take
/// the repetitions back.
llvm::Pass *createRepeatConditions();

/// Makes the pass that narrows fences of shared memory at barriers to one wave where the code waits
/// by itself, right before instruction selection. In kernels with direct copies LLVM has each such
/// fence wait for all of them; the code's own waits say how many may go on. A fence of one wave
/// costs no instruction, and keeps LLVM from moving accesses over the barrier. Simulators, which
/// have no waits for shared memory, see the fences of all waves.
llvm::Pass *createNarrowFences();

/// Makes the pass that widens the 32-bit offset of each asynchronous copy in the block of the copy,
/// right before instruction selection, which sees one block: the instruction takes a scalar base
/// and the offset. LLVM moves such extensions out of loops, and sums of 64 bits stay.
llvm::Pass *createSinkCopyOffsets();

/// Makes the pass that joins words of scalar registers in pairs, on selected instructions.
/// Resources of buffers are four words each: an address, and two that all of them share. LLVM puts
/// them together word by word; of pairs, where a pair is one register or several sequences have it,
/// each is copied by one instruction in place of two.
llvm::Pass *createJoinScalarWords();

/// Makes the pass that gives matrix instructions of RDNA 3 the constant 0 as an accumulator of
/// zeros, on selected instructions. LLVM does so on RDNA 4, and here holds eight registers of
/// zeros.
llvm::Pass *createFoldZeroSums();

/// Makes the passes that limit the registers of LLVM's scheduler in kernels of `preferClauses`, and
/// end the limit before registers are allocated, which takes some more than the scheduler counts.
llvm::Pass *createLimitScheduler();
llvm::Pass *createUnlimitAllocation();

/// Makes the pass that moves copies of scalar registers in front of loops of one block, once
/// registers are allocated. LLVM leaves the copy of a buffer resource's constant words in the loop,
/// because it takes the whole resource for changed where the loop moves its address.
llvm::Pass *createHoistScalarCopies();

/// Makes the pass that counts loops of one block down by one instruction: the carry of adding -1
/// says whether the number was 0. The loop counts from one fewer, and no comparison is left.
llvm::Pass *createBranchOnCarry();

/// Makes the pass that merges waits for loads, once LLVM has put them in. LLVM waits for each load
/// in front of its first use. Where only a few instructions stand between two waits, or loads of
/// shared memory come back together, one wait does; what one has covered needs no other.
llvm::Pass *createMergeWaits();

} // namespace tw::amd
#endif
