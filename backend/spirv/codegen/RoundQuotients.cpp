// Quotients and square roots of float32 by way of float64, which OpenCL rounds correctly: with 53
// bits, at least 2 * 24 + 2, rounding twice is rounding once (Figueroa, "When is double rounding
// innocuous?", 1995). It comes after LLVM's passes, which know that, too, and would undo it.
#include "backend/spirv/codegen/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"

using namespace tw;

static bool isExactDivision(const llvm::Instruction &instruction) {
  return instruction.getOpcode() == llvm::Instruction::FDiv && !instruction.hasApproxFunc() &&
         instruction.getType()->getScalarType()->isFloatTy();
}

static bool isExactRoot(const llvm::Instruction &instruction) {
  auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return call && call->getIntrinsicID() == llvm::Intrinsic::sqrt &&
         call->getType()->getScalarType()->isFloatTy();
}

static llvm::Value *compute(llvm::Instruction &instruction) {
  llvm::IRBuilder<> b(&instruction);
  llvm::Type *type = instruction.getType(), *wide = type->getWithNewType(b.getDoubleTy());
  llvm::Value *first = b.CreateFPExt(instruction.getOperand(0), wide), *result = nullptr;
  if (isExactRoot(instruction))
    result = b.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, first);
  else
    result = b.CreateFDiv(first, b.CreateFPExt(instruction.getOperand(1), wide));
  return b.CreateFPTrunc(result, type);
}

void tw::spirv::roundQuotients(llvm::Module &module) {
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      if (!isExactDivision(instruction) && !isExactRoot(instruction))
        continue;
      instruction.replaceAllUsesWith(compute(instruction));
      instruction.eraseFromParent();
    }
}
