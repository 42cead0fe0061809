// Expands saturating differences of scalars to instructions that scalar registers have.
#include "backend/amd/codegen/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

void tw::amd::expandSaturatingDifferences(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
      if (!call || call->getIntrinsicID() != llvm::Intrinsic::usub_sat ||
          !call->getType()->isIntegerTy(32) || !llvm::isa<llvm::Constant>(call->getArgOperand(1)))
        continue;
      llvm::IRBuilder<> builder(call);
      llvm::Value *from = call->getArgOperand(0), *taken = call->getArgOperand(1);
      llvm::Value *most = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umax, from, taken);
      call->replaceAllUsesWith(builder.CreateSub(most, taken));
      call->eraseFromParent();
    }
}
