// Moves the constant parts of addresses to their ends, where instructions take them for free.
#include "backend/codegen/ModulePasses.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace tw;

/// Returns the address under `pointer`, and the bytes that it adds where those are a constant.
static llvm::Value *takeConstant(llvm::Value *pointer, const llvm::DataLayout &layout,
                                 int64_t &bytes) {
  auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(pointer);
  if (!address || address->getNumIndices() != 1)
    return nullptr;
  llvm::APInt offset(layout.getIndexTypeSizeInBits(address->getType()), 0);
  if (!address->accumulateConstantOffset(layout, offset))
    return nullptr;
  bytes = offset.getSExtValue();
  return address->getPointerOperand();
}

static void sinkOffsets(llvm::Function &function) {
  const llvm::DataLayout &layout = function.getParent()->getDataLayout();
  llvm::SmallVector<llvm::GetElementPtrInst *> addresses;
  for (llvm::Instruction &instruction : llvm::instructions(function))
    if (auto *address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
      if (address->getNumIndices() == 1 && !address->getType()->isVectorTy())
        addresses.push_back(address);
  // In the order of the text, so that constants sink through chains of indices.
  for (llvm::GetElementPtrInst *address : addresses) {
    int64_t bytes = 0;
    llvm::Value *base = takeConstant(address->getPointerOperand(), layout, bytes);
    if (!base || address->hasAllConstantIndices())
      continue;
    // Without the facts about wrapping: they were about the sums in their old order.
    llvm::IRBuilder<> builder(address);
    llvm::Value *indexed =
        builder.CreateGEP(address->getSourceElementType(), base, address->getOperand(1));
    llvm::Value *sum = builder.CreateConstGEP1_64(builder.getInt8Ty(), indexed, uint64_t(bytes));
    address->replaceAllUsesWith(sum);
    address->eraseFromParent();
  }
}

void tw::sinkConstantOffsets(llvm::Module &module) {
  for (llvm::Function &function : module)
    sinkOffsets(function);
}
