// Sign bits of floats that are flipped or set, in kernels with barriers: to Intel's driver of
// processors (2026.2), OpFNegate has the same result in all work-items. It keeps none of it across
// a barrier, behind which each subgroup gets the last one's. The driver makes OpFNegate of integers
// with a constant, too, so the bit comes from the number of dimensions, which only a launch knows.
#include "backend/spirv/codegen/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace tw;
using namespace llvm::PatternMatch;

/// Returns true if the module has a barrier, in whichever function: drivers inline.
static bool hasBarriers(const llvm::Module &module) {
  return llvm::any_of(module, [](const llvm::Function &function) {
    return function.getName().contains("__spirv_ControlBarrier") && !function.use_empty();
  });
}

static bool isNegative(const llvm::Instruction &instruction) {
  return instruction.getOpcode() == llvm::Instruction::FNeg;
}

/// `x ^ 0x80000000` or `x | 0x80000000` of a float's bits.
static bool changesSign(const llvm::Instruction &instruction) {
  auto *logic = llvm::dyn_cast<llvm::BinaryOperator>(&instruction);
  if (!logic ||
      (logic->getOpcode() != llvm::Instruction::Xor && logic->getOpcode() != llvm::Instruction::Or))
    return false;
  llvm::Value *source = nullptr;
  return match(logic->getOperand(0), m_BitCast(m_Value(source))) &&
         source->getType()->isFPOrFPVectorTy() && match(logic->getOperand(1), m_SignMask());
}

/// A negative number at the beginning of a function: minus the dimensions, which are 1 to 3.
static llvm::Value *emitNegativeNumber(llvm::Function &function) {
  llvm::IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());
  llvm::FunctionCallee callee =
      function.getParent()->getOrInsertFunction("_Z12get_work_dimv", b.getInt32Ty());
  auto *declaration = llvm::cast<llvm::Function>(callee.getCallee());
  declaration->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  declaration->setDoesNotAccessMemory();
  declaration->setDoesNotThrow();
  llvm::CallInst *dimensions = b.CreateCall(callee);
  dimensions->setCallingConv(llvm::CallingConv::SPIR_FUNC);
  return b.CreateNeg(dimensions);
}

/// The sign bit of a type of integers.
static llvm::Value *emitSign(llvm::IRBuilder<> &b, llvm::Type *type, llvm::Value *negativeNumber) {
  llvm::Type *element = type->getScalarType();
  llvm::Value *mask =
      llvm::ConstantInt::get(element, llvm::APInt::getSignMask(element->getPrimitiveSizeInBits()));
  llvm::Value *sign = b.CreateAnd(b.CreateSExtOrTrunc(negativeNumber, element), mask);
  auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector ? b.CreateVectorSplat(vector->getNumElements(), sign) : sign;
}

static void rewrite(llvm::Instruction &instruction, llvm::Value *negativeNumber) {
  llvm::IRBuilder<> b(&instruction);
  if (!isNegative(instruction))
    return instruction.setOperand(1, emitSign(b, instruction.getType(), negativeNumber));
  llvm::Type *type = instruction.getType();
  llvm::Type *bits = type->getWithNewType(b.getIntNTy(type->getScalarSizeInBits()));
  llvm::Value *flipped = b.CreateXor(b.CreateBitCast(instruction.getOperand(0), bits),
                                     emitSign(b, bits, negativeNumber));
  instruction.replaceAllUsesWith(b.CreateBitCast(flipped, type));
  instruction.eraseFromParent();
}

void tw::spirv::negateBits(llvm::Module &module) {
  if (!hasBarriers(module))
    return;
  for (llvm::Function &function : module) {
    llvm::SmallVector<llvm::Instruction *> changes;
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isNegative(instruction) || changesSign(instruction))
        changes.push_back(&instruction);
    if (changes.empty())
      continue;
    llvm::Value *negativeNumber = emitNegativeNumber(function);
    for (llvm::Instruction *change : changes)
      rewrite(*change, negativeNumber);
  }
}
