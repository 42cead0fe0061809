// Loops of one block, behind register allocation: what stands in front of them, and which registers
// are in use.
#ifndef BACKEND_AMD_CODEGEN_LOOPBLOCKS_H
#define BACKEND_AMD_CODEGEN_LOOPBLOCKS_H
#include "llvm/CodeGen/Register.h"

namespace llvm {
class MachineBasicBlock;
} // namespace llvm

namespace tw::amd {

/// Returns the block in front of a loop of one block; null if this is no such loop, or several
/// blocks lead to it.
llvm::MachineBasicBlock *blockBefore(const llvm::MachineBasicBlock &loop);

/// Returns true if a register, or a part of it, is in use where a block begins. LLVM lists wide
/// registers with the parts that are in use.
bool isInUse(const llvm::MachineBasicBlock &block, llvm::Register wanted);

} // namespace tw::amd
#endif
