// Compares scalars again beside each branch that takes the result of another block.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"

using namespace llvm;

/// Returns true if one scalar instruction makes this comparison when the operands are scalars.
static bool isOneInstruction(const ICmpInst &compare) {
  Type *type = compare.getOperand(0)->getType();
  return type->isIntegerTy(32) || (type->isIntegerTy(64) && compare.isEquality());
}

static bool isOfScalars(const ICmpInst &compare, const UniformityInfo &uniformity) {
  return all_of(compare.operands(),
                [&](const Use &operand) { return uniformity.isUniform(operand.get()); });
}

/// Returns the comparison of another block that a branch takes and may do itself; null where there
/// is none.
static ICmpInst *repeatable(const BranchInst *branch, const UniformityInfo &uniformity) {
  if (!branch || !branch->isConditional())
    return nullptr;
  auto *compare = dyn_cast<ICmpInst>(branch->getCondition());
  bool isRepeatable = compare && compare->getParent() != branch->getParent() &&
                      isOneInstruction(*compare) && isOfScalars(*compare, uniformity);
  return isRepeatable ? compare : nullptr;
}

static bool repeatConditionsOf(Function &function, const UniformityInfo &uniformity) {
  bool isChanged = false;
  for (BasicBlock &block : function) {
    auto *branch = dyn_cast<BranchInst>(block.getTerminator());
    ICmpInst *compare = repeatable(branch, uniformity);
    if (!compare)
      continue;
    Instruction *again = compare->clone();
    again->insertBefore(branch->getIterator());
    branch->setCondition(again);
    if (compare->use_empty())
      compare->eraseFromParent();
    isChanged = true;
  }
  return isChanged;
}

namespace {
class RepeatConditions final : public FunctionPass {
public:
  static char ID;
  RepeatConditions() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Repeat conditions beside branches"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<UniformityInfoWrapperPass>();
    usage.setPreservesAll(); // a comparison of scalars is a scalar, as what is not listed is
  }
  bool runOnFunction(Function &function) override {
    return repeatConditionsOf(function,
                              getAnalysis<UniformityInfoWrapperPass>().getUniformityInfo());
  }
};
} // namespace

char RepeatConditions::ID = 0;

Pass *tw::amd::createRepeatConditions() { return new RepeatConditions(); }
