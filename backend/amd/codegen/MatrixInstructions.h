// Matrix instructions in LLVM IR, how their operands come, and what orders the reads of these.
#ifndef BACKEND_AMD_CODEGEN_MATRIXINSTRUCTIONS_H
#define BACKEND_AMD_CODEGEN_MATRIXINSTRUCTIONS_H
#include "llvm/IR/Intrinsics.h"

namespace llvm {
class BasicBlock;
class Instruction;
class Value;
} // namespace llvm

namespace tw::amd {

/// Returns the intrinsic that an instruction calls, or none.
llvm::Intrinsic::ID intrinsicOf(const llvm::Instruction &instruction);

bool isMatrixInstruction(const llvm::Instruction &instruction);
bool hasMatrixInstruction(const llvm::BasicBlock &block);

/// Returns true if an instruction copies from global to shared memory, not through registers.
bool isDirectCopy(const llvm::Instruction &instruction);
/// Returns true if an instruction reads shared memory and gives lanes each other's elements.
bool isTransposedRead(const llvm::Instruction &instruction);
/// Returns true if an instruction reads a vector of each lane from shared memory.
bool isSharedRead(const llvm::Instruction &instruction);
/// Returns true if an instruction stores to shared memory.
bool isSharedWrite(const llvm::Instruction &instruction);
/// Returns true if an instruction loads from global memory to registers.
bool isGlobalLoad(const llvm::Instruction &instruction);

/// Returns true if reads of shared memory must stay above an instruction: it may write, or it
/// orders writes of other waves. Writes of a read's own wave are in program order without it.
bool endsReads(const llvm::Instruction &instruction);

/// Counts the registers of a value of 32-bit words, or a vector of smaller ones.
unsigned registersOf(const llvm::Value &value);
/// Counts the registers of what a block loads from global memory to registers.
unsigned registersOfLoads(const llvm::BasicBlock &block);

} // namespace tw::amd
#endif
