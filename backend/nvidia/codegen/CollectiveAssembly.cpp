// Keeps LLVM from dividing the threads that execute an instruction of a whole warp together.
#include "backend/nvidia/codegen/CollectiveAssembly.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Returns true if a text has instructions of whole warps: with .sync or .aligned, or `bar`, which
/// is aligned without that word (PTX ISA, "barrier"). Waits for a phase are taken for such: lanes
/// that wait apart would not all have waited when one of them releases for the warp.
static bool isCollective(StringRef text) {
  return any_of(ArrayRef<StringRef>{".sync", ".aligned", "bar.", "mbarrier.try_wait"},
                [&](StringRef word) { return text.contains(word); });
}

void tw::nvidia::markCollectives(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallInst>(&instruction);
      auto *code = call ? dyn_cast<InlineAsm>(call->getCalledOperand()) : nullptr;
      if (code && isCollective(code->getAsmString()))
        call->setConvergent();
    }
}
