// Keeps the code generator from cutting the amounts of shifts to 32 bits.
#include "backend/nvidia/codegen/BoundShifts.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;
using namespace llvm::PatternMatch;

static constexpr unsigned kAmountBits = 32; // of shifts in PTX

/// Returns true if one side of the choice shifts, by `amount` or its low bits.
static bool shiftsBy(SelectInst &choice, Value *amount) {
  auto shifts = [&](Value *value) {
    return match(value, m_LogicalShift(m_Value(), m_TruncOrSelf(m_Specific(amount))));
  };
  return shifts(choice.getTrueValue()) || shifts(choice.getFalseValue());
}

/// Chooses and shifts by the smaller one of the amount and the width, which 32 bits hold.
static void boundShift(SelectInst &choice, ICmpInst &test, Value *amount) {
  uint64_t width = choice.getType()->getScalarSizeInBits();
  IRBuilder<> builder(&choice);
  Value *bounded = builder.CreateBinaryIntrinsic(Intrinsic::umin, amount,
                                                 ConstantInt::get(amount->getType(), width));
  choice.setCondition(builder.CreateICmp(test.getPredicate(), bounded, test.getOperand(1)));
  for (unsigned side : {1, 2}) {
    Value *base = nullptr;
    auto *shift = dyn_cast<BinaryOperator>(choice.getOperand(side));
    if (!shift || !match(shift, m_LogicalShift(m_Value(base), m_TruncOrSelf(m_Specific(amount)))))
      continue;
    Value *by = builder.CreateTrunc(bounded, shift->getType());
    choice.setOperand(side, builder.CreateBinOp(shift->getOpcode(), base, by));
  }
}

void tw::nvidia::boundShifts(Module &module) {
  for (Function &function : module)
    for (Instruction &instruction : make_early_inc_range(instructions(function))) {
      auto *choice = dyn_cast<SelectInst>(&instruction);
      auto *test = choice ? dyn_cast<ICmpInst>(choice->getCondition()) : nullptr;
      Value *amount = test ? test->getOperand(0) : nullptr;
      if (!amount || !amount->getType()->isIntOrIntVectorTy() || !test->isUnsigned() ||
          !shiftsBy(*choice, amount))
        continue;
      KnownBits known = computeKnownBits(amount, module.getDataLayout());
      if (known.countMaxActiveBits() > kAmountBits)
        boundShift(*choice, *test, amount);
    }
}
