// Marks atomics with what is true of the memory of kernels' arguments.
#include "backend/amd/codegen/Passes.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

void tw::amd::markAtomics(llvm::Module &module) {
  llvm::MDNode *empty = llvm::MDNode::get(module.getContext(), {});
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (llvm::isa<llvm::AtomicRMWInst>(instruction)) {
        instruction.setMetadata("amdgpu.no.fine.grained.memory", empty);
        instruction.setMetadata("amdgpu.no.remote.memory", empty);
      }
}
