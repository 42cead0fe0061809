// Matrix instructions in LLVM IR, how their operands come, and what orders the reads of these:
// barriers.
#ifndef BACKEND_AMD_CODEGEN_MATRIXINSTRUCTIONS_H
#define BACKEND_AMD_CODEGEN_MATRIXINSTRUCTIONS_H
#include "llvm/IR/Intrinsics.h"
#include <array>
#include <optional>

namespace llvm {
class BasicBlock;
class FenceInst;
class Instruction;
class IntrinsicInst;
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

/// A barrier of a work-group as LowerBarriers emits it, and the wait for direct copies before it.
struct WorkGroupBarrier {
  llvm::IntrinsicInst *copies = nullptr; // null: none are awaited
  llvm::FenceInst *release = nullptr;
  llvm::IntrinsicInst *wait = nullptr, *barrier = nullptr;
  llvm::FenceInst *acquire = nullptr;

  std::array<llvm::Instruction *, 4> parts() const;
};
/// Returns the parts of a barrier that orders shared memory alone, whose waits are calls of an
/// intrinsic.
std::optional<WorkGroupBarrier> matchBarrier(llvm::Instruction &instruction,
                                             llvm::Intrinsic::ID wait);

/// Returns true if reads of shared memory must stay above an instruction: it may write, or it
/// orders writes of other waves. Writes of a read's own wave are in program order without it.
bool endsReads(const llvm::Instruction &instruction);

/// Counts the registers of 32 bits of a value.
unsigned registersOf(const llvm::Value &value);
/// Counts the registers of what a block loads from global memory to registers.
unsigned registersOfLoads(const llvm::BasicBlock &block);

} // namespace tw::amd
#endif
