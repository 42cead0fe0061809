// Our passes on optimized LLVM IR for AMD's GPUs; Variants.cpp says which run when.
// GeneratorPasses.h has those in LLVM's code generator.
#ifndef BACKEND_AMD_CODEGEN_PASSES_H
#define BACKEND_AMD_CODEGEN_PASSES_H
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace llvm {
class Function;
class Module;
} // namespace llvm

namespace tw::amd {

//===-- Before LLVM's clean-ups.

/// Carries vectors as such through loops that take them apart at their ends and put them together
/// again at their beginnings: accumulators of matrix instructions, whose 4 to 16 registers are one
/// operand. The machine code is the same; LLVM finds it in a fraction of the time.
void joinLoopVectors(llvm::Module &module);

//===-- On optimized code.

/// Marks atomics with what is true of kernels' arguments: their memory lies on the GPU and is
/// cached. Adding floats to it is one instruction then.
void markAtomics(llvm::Module &module);

/// Expands saturating differences of scalars to a maximum and a difference, which scalar
/// instructions have: a count of iterations would go through vector registers.
void expandSaturatingDifferences(llvm::Module &module);

/// Marks direct copies to shared memory as not meeting other accesses of it, and computes their
/// addresses in scalar registers.
void separateDirectCopies(llvm::Module &module);

/// Lets the two waves of a SIMD take turns at memory and at products, in loops of programs that
/// have eight waves and a processor for themselves: four waves run one phase behind the others.
void alternateWaves(llvm::Module &module);

/// Orders what stands between two barriers with direct copies and matrix instructions: copies start
/// first, so that the next wait for them is as far away as it can be, in turn with the first reads
/// of shared memory; the other reads stand among the products.
void scheduleSteps(llvm::Module &module);

/// Keeps what waits for the loads of a loop's next step behind three quarters of this step's
/// products: LLVM's scheduler would let the first of them wait for the loads.
void storeBehindProducts(llvm::Module &module);

/// Splits barriers of gfx12 that follow products into a signal in front of the last quarter of
/// these and a wait behind them, so that waves wait less for the last one.
void splitBarriers(llvm::Module &module);

/// Fuses sums of f32 with numbers extended from f16 to products with 1: `v_fma_mix_f32` takes
/// halves of registers as they are, and a sum is the same number, rounded once either way. LLVM
/// makes a product with 1 a sum again, so that the 1 is opaque to it. Pairs of sums
/// (`v_pk_add_f32`) would need extended operands: they become single ones.
void mixHalves(llvm::Module &module);

/// Builds each word of a vector of 16-bit elements whose halves come from words of other vectors by
/// `v_perm`. With true 16-bit registers, LLVM would move each half.
void exchangeHalves(llvm::Module &module);

/// Has LLVM's scheduler prefer clauses of loads where a block loads more than the registers hold.
/// It would else begin loads, and compute their addresses, until it is a register beyond.
void preferClauses(llvm::Module &module);

//===-- On optimized code, for fewer registers.

/// Runs the branches of a condition in a loop one after the other, with one set of accumulators.
void serializeBranches(llvm::Module &module);

/// Rematerializes addresses and masks behind loops whose accumulators and operands of matrix
/// instructions leave no registers for them.
void rematerializeAfterLargeProducts(llvm::Module &module);

/// The attribute of kernels that lists numbers of registers in ascending order, "128,168,256": with
/// each of them a processor holds more programs than with any more.
inline constexpr llvm::StringLiteral kRegisterSteps = "tw-register-steps";

/// Reads these numbers. The last one is the most that a thread can have.
llvm::SmallVector<unsigned> readRegisterSteps(const llvm::Function &function);

/// Rematerializes the same behind loops where a processor holds more programs then, as estimated
/// by the numbers of `kRegisterSteps`.
void rematerializeForOccupancy(llvm::Module &module);

/// Rematerializes addresses and masks behind and inside of every loop with matrix instructions:
/// before the loops that use them.
void rematerializeBeforeLoops(llvm::Module &module);

/// Rematerializes the same in each iteration of all these loops, but for what takes divisions.
void rematerializeInLoops(llvm::Module &module);

/// Moves reads of shared memory and their conversions to the group of matrix instructions that
/// needs them, and begins products behind other arithmetic before them.
void groupMatrixReads(llvm::Module &module);

/// Rewrites each offset of a buffer access to another access's offset and a constant, where it is
/// that: the constant is part of the instruction, and the offset takes no register of its own. LLVM
/// does so where both are computed in the access's block, but offsets of loops are computed before
/// them.
void shareOffsets(llvm::Module &module);

} // namespace tw::amd
#endif
