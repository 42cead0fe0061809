// Integers of as many bits as SPIR-V has. LLVM's passes make others, `trunc nuw i64 to i3` for
// example, and its back end computes in wider ones without cutting off what exceeds the bits.
#include "backend/spirv/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace tw;

/// The bits of the integers that stand for those of a type; 0: SPIR-V has these.
static unsigned widthFor(llvm::Type *type) {
  auto *integer = llvm::dyn_cast<llvm::IntegerType>(type->getScalarType());
  unsigned bits = integer ? integer->getBitWidth() : 1;
  if (bits == 1 || bits > 64)
    return 0;
  unsigned width = std::max(8u, unsigned(llvm::PowerOf2Ceil(bits)));
  return width == bits ? 0 : width;
}

namespace {
/// Rewrites one function. Each value of odd width has another, whose bits above are zero.
class Widening {
public:
  explicit Widening(llvm::Function &function) : function(function), b(function.getContext()) {}
  void run();

private:
  /// The value that stands for another; the value itself where it is legal.
  llvm::Value *wide(llvm::Value *value);
  /// The same with the sign in the bits above.
  llvm::Value *withSign(llvm::Value *value);
  llvm::Value *cut(llvm::Value *value, llvm::Type *type);
  llvm::Value *widenBinary(llvm::BinaryOperator &operation);
  llvm::Value *widenCast(llvm::CastInst &cast);
  llvm::Value *widen(llvm::Instruction &instruction);
  llvm::Value *useWide(llvm::Instruction &instruction);

  llvm::Function &function;
  llvm::IRBuilder<> b;
  llvm::DenseMap<llvm::Value *, llvm::Value *> widened;
};
} // namespace

static llvm::Type *wideType(llvm::Type *type) { return type->getWithNewBitWidth(widthFor(type)); }

llvm::Value *Widening::wide(llvm::Value *value) {
  if (!widthFor(value->getType()))
    return value;
  if (llvm::isa<llvm::Constant>(value))
    return b.CreateZExt(value, wideType(value->getType())); // folds
  return widened.lookup(value);
}

llvm::Value *Widening::withSign(llvm::Value *value) {
  unsigned width = widthFor(value->getType());
  llvm::Value *result = wide(value);
  if (!width || !result)
    return result;
  unsigned spare = width - value->getType()->getScalarSizeInBits();
  return b.CreateAShr(b.CreateShl(result, spare), spare);
}

/// Clears the bits that a type does not have.
llvm::Value *Widening::cut(llvm::Value *value, llvm::Type *type) {
  unsigned bits = type->getScalarSizeInBits();
  return b.CreateAnd(value,
                     llvm::APInt::getLowBitsSet(value->getType()->getScalarSizeInBits(), bits));
}

llvm::Value *Widening::widenBinary(llvm::BinaryOperator &operation) {
  llvm::Value *left = operation.getOperand(0), *right = operation.getOperand(1);
  const auto code = operation.getOpcode();
  bool isSigned = code == llvm::Instruction::AShr || code == llvm::Instruction::SDiv ||
                  code == llvm::Instruction::SRem;
  llvm::Value *first = isSigned ? withSign(left) : wide(left);
  llvm::Value *second = isSigned && code != llvm::Instruction::AShr ? withSign(right) : wide(right);
  if (!first || !second)
    return nullptr;
  return cut(b.CreateBinOp(code, first, second), operation.getType());
}

llvm::Value *Widening::widenCast(llvm::CastInst &cast) {
  llvm::Value *source = cast.getOperand(0);
  llvm::Type *type = cast.getType(), *result = widthFor(type) ? wideType(type) : type;
  bool isSigned = llvm::isa<llvm::SExtInst, llvm::SIToFPInst>(cast);
  llvm::Value *given = isSigned ? withSign(source) : wide(source);
  if (!given)
    return nullptr;
  llvm::Value *made = nullptr;
  if (llvm::isa<llvm::TruncInst, llvm::ZExtInst>(cast))
    made = b.CreateZExtOrTrunc(given, result);
  else if (llvm::isa<llvm::SExtInst>(cast))
    made = b.CreateSExtOrTrunc(given, result);
  else if (llvm::isa<llvm::UIToFPInst, llvm::SIToFPInst, llvm::FPToUIInst, llvm::FPToSIInst>(cast))
    made = b.CreateCast(cast.getOpcode(), given, result);
  return made && widthFor(type) ? cut(made, type) : made;
}

/// The wide value for one of odd width; null for what nothing here widens.
llvm::Value *Widening::widen(llvm::Instruction &instruction) {
  if (auto *operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction))
    return widenBinary(*operation);
  if (auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction))
    return widenCast(*cast);
  if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
    return b.CreatePHI(wideType(phi->getType()), phi->getNumIncomingValues());
  if (auto *select = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    llvm::Value *yes = wide(select->getTrueValue()), *no = wide(select->getFalseValue());
    return yes && no ? b.CreateSelect(select->getCondition(), yes, no) : nullptr;
  }
  if (auto *freeze = llvm::dyn_cast<llvm::FreezeInst>(&instruction)) {
    llvm::Value *value = wide(freeze->getOperand(0));
    return value ? cut(b.CreateFreeze(value), freeze->getType()) : nullptr;
  }
  auto *extremum = llvm::dyn_cast<llvm::MinMaxIntrinsic>(&instruction);
  if (!extremum)
    return nullptr;
  bool isSigned = extremum->isSigned();
  llvm::Value *left = isSigned ? withSign(extremum->getLHS()) : wide(extremum->getLHS());
  llvm::Value *right = isSigned ? withSign(extremum->getRHS()) : wide(extremum->getRHS());
  if (!left || !right)
    return nullptr;
  return cut(b.CreateBinaryIntrinsic(extremum->getIntrinsicID(), left, right), extremum->getType());
}

/// The value of a legal type that stands for one computed of odd widths; null where there is none.
llvm::Value *Widening::useWide(llvm::Instruction &instruction) {
  if (auto *cast = llvm::dyn_cast<llvm::CastInst>(&instruction))
    return widenCast(*cast);
  auto *comparison = llvm::dyn_cast<llvm::ICmpInst>(&instruction);
  if (!comparison)
    return nullptr;
  llvm::Value *left = comparison->getOperand(0), *right = comparison->getOperand(1);
  bool isSigned = comparison->isSigned();
  left = isSigned ? withSign(left) : wide(left);
  right = isSigned ? withSign(right) : wide(right);
  return left && right ? b.CreateICmp(comparison->getPredicate(), left, right) : nullptr;
}

void Widening::run() {
  llvm::SmallVector<llvm::PHINode *> phis;
  llvm::SmallVector<llvm::WeakTrackingVH> replaced;
  for (llvm::BasicBlock *block : llvm::ReversePostOrderTraversal<llvm::Function *>(&function))
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(*block)) {
      b.SetInsertPoint(&instruction);
      bool isOdd = widthFor(instruction.getType()) != 0;
      bool takesOdd = llvm::any_of(instruction.operands(), [](const llvm::Use &operand) {
        return widthFor(operand->getType()) != 0;
      });
      if (isOdd) {
        if (llvm::Value *value = widen(instruction)) {
          widened[&instruction] = value;
          replaced.push_back(&instruction);
          if (auto *phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
            phis.push_back(phi);
        }
      } else if (takesOdd) {
        if (llvm::Value *value = useWide(instruction)) {
          instruction.replaceAllUsesWith(value);
          replaced.push_back(&instruction);
        }
      }
    }
  for (llvm::PHINode *phi : phis)
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
      b.SetInsertPoint(phi->getIncomingBlock(i)->getTerminator());
      llvm::Value *value = wide(phi->getIncomingValue(i));
      auto *target = llvm::cast<llvm::PHINode>(widened[phi]);
      target->addIncoming(value ? value : llvm::PoisonValue::get(target->getType()),
                          phi->getIncomingBlock(i));
    }
  // The last ones first: phis may use each other, and have no other users by now.
  for (llvm::WeakTrackingVH &handle : llvm::reverse(replaced))
    if (auto *instruction = llvm::dyn_cast_or_null<llvm::Instruction>(handle)) {
      if (llvm::isa<llvm::PHINode>(instruction))
        instruction->replaceAllUsesWith(llvm::PoisonValue::get(instruction->getType()));
      if (instruction->use_empty())
        instruction->eraseFromParent();
    }
}

void tw::spirv::widenIntegers(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      Widening(function).run();
}
