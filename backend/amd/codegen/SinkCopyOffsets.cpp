// Widens offsets of asynchronous copies beside them, so that instructions take the 32 bits.
#include "backend/amd/codegen/GeneratorPasses.h"
#include "backend/amd/codegen/MatrixInstructions.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Pass.h"

using namespace llvm;

/// Returns the extension of 32 bits that is the only offset of a copy's address, and stands in
/// another block than the address; null where there is none.
static ZExtInst *findDistantOffset(const GetElementPtrInst *address) {
  if (!address || address->getNumIndices() != 1)
    return nullptr;
  auto *offset = dyn_cast<ZExtInst>(address->idx_begin()->get());
  bool isDistant = offset && offset->getParent() != address->getParent();
  return isDistant && offset->getSrcTy()->isIntegerTy(32) ? offset : nullptr;
}

static bool sinkOffsetsOf(Function &function) {
  bool isChanged = false;
  for (BasicBlock &block : function)
    for (Instruction &instruction : block) {
      if (!tw::amd::isDirectCopy(instruction))
        continue;
      auto *address = dyn_cast<GetElementPtrInst>(instruction.getOperand(0));
      ZExtInst *offset = findDistantOffset(address);
      if (!offset)
        continue;
      Instruction *beside = offset->clone();
      beside->insertBefore(address->getIterator());
      address->setOperand(1, beside);
      if (offset->use_empty())
        offset->eraseFromParent();
      isChanged = true;
    }
  return isChanged;
}

namespace {
class SinkCopyOffsets final : public FunctionPass {
public:
  static char ID;
  SinkCopyOffsets() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Widen offsets beside copies"; }
  bool runOnFunction(Function &function) override { return sinkOffsetsOf(function); }
};
} // namespace

char SinkCopyOffsets::ID = 0;

Pass *tw::amd::createSinkCopyOffsets() { return new SinkCopyOffsets; }
