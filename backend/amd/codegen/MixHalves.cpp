// Fuses sums with numbers extended from f16 that nothing else needs in f32.
#include "backend/amd/codegen/Passes.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {
/// A sum or difference: `left` + `right`, or `left` - `right`.
struct Sum {
  BinaryOperator *op = nullptr;
  BinaryOperator *product = nullptr; // that the sum is fused with, if one
  unsigned side = 0;                 // on which the product is, or else a half
  bool isDifference() const { return op->getOpcode() == Instruction::FSub; }
};
} // namespace

static unsigned lanesOf(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector ? vector->getNumElements() : 1;
}

/// Returns the extension of an f16 that a value is; null for others.
static FPExtInst *asWidened(Value *value) {
  auto *widened = dyn_cast<FPExtInst>(value);
  bool isMixed = widened && widened->getType()->getScalarType()->isFloatTy() &&
                 widened->getSrcTy()->getScalarType()->isHalfTy();
  return isMixed && lanesOf(widened->getType()) <= 2 ? widened : nullptr;
}

static bool isSum(Instruction &instruction) {
  return (instruction.getOpcode() == Instruction::FAdd ||
          instruction.getOpcode() == Instruction::FSub) &&
         instruction.getType()->getScalarType()->isFloatTy() && lanesOf(instruction.getType()) <= 2;
}

/// Returns the product that LLVM fuses with a sum; null if there is none.
static BinaryOperator *fusedProduct(Instruction &sum) {
  for (Value *operand : sum.operands()) {
    auto *product = dyn_cast<BinaryOperator>(operand);
    if (product && product->getOpcode() == Instruction::FMul && product->hasOneUse() &&
        product->hasAllowContract() && sum.hasAllowContract())
      return product;
  }
  return nullptr;
}

/// Returns true if an instruction can read the float16 operand of an extension directly.
static bool takesHalf(Instruction &user) {
  if (isSum(user))
    return true;
  auto *sum = user.hasOneUse() ? dyn_cast<Instruction>(*user.user_begin()) : nullptr;
  return sum && isSum(*sum) && fusedProduct(*sum) == &user;
}

/// Returns true if all users of an extended number can read the float16 directly and are in its
/// block: instructions are selected block by block.
static bool isOnlyMixed(FPExtInst &widened) {
  return all_of(widened.users(), [&](User *user) {
    auto &instruction = *cast<Instruction>(user);
    return instruction.getParent() == widened.getParent() && takesHalf(instruction);
  });
}

static bool isMixedOperand(Value *value) {
  FPExtInst *widened = asWidened(value);
  return widened && isOnlyMixed(*widened);
}

/// Returns one lane of a value, without the vector where that is known.
static Value *laneOf(IRBuilder<> &builder, Value *value, unsigned lane) {
  if (!value->getType()->isVectorTy())
    return value;
  if (FPExtInst *widened = asWidened(value))
    return builder.CreateFPExt(laneOf(builder, widened->getOperand(0), lane), builder.getFloatTy());
  if (Value *known = findScalarElement(value, lane))
    return known;
  return builder.CreateExtractElement(value, uint64_t(lane));
}

/// Returns one lane of the sum as a fused product and sum. The right side of a difference is
/// negated.
static Value *fusedLane(IRBuilder<> &builder, const Sum &sum, Value *one, unsigned lane) {
  Value *product = sum.op->getOperand(sum.side), *added = sum.op->getOperand(1 - sum.side);
  Value *factor = one;
  if (sum.product) {
    product = sum.product->getOperand(0);
    factor = laneOf(builder, sum.product->getOperand(1), lane);
  }
  product = laneOf(builder, product, lane);
  added = laneOf(builder, added, lane);
  Value *&right = sum.side == 0 ? added : product;
  if (sum.isDifference())
    right = builder.CreateFNeg(right);
  return builder.CreateIntrinsic(Intrinsic::fma, {builder.getFloatTy()}, {product, factor, added},
                                 FMFSource(sum.op));
}

/// Puts the results of single sums in the place of a pair; truncates them one by one where the pair
/// is only truncated.
static void replacePair(IRBuilder<> &builder, BinaryOperator *sum, ArrayRef<Value *> lanes) {
  auto *narrowed = sum->hasOneUse() ? dyn_cast<FPTruncInst>(*sum->user_begin()) : nullptr;
  Instruction *replaced = narrowed ? static_cast<Instruction *>(narrowed) : sum;
  builder.SetInsertPoint(replaced);
  Value *pair = PoisonValue::get(replaced->getType());
  for (auto [number, lane] : enumerate(lanes)) {
    Value *element =
        narrowed ? builder.CreateFPTrunc(lane, narrowed->getType()->getScalarType()) : lane;
    pair = builder.CreateInsertElement(pair, element, uint64_t(number));
  }
  replaced->replaceAllUsesWith(pair);
  if (narrowed)
    narrowed->eraseFromParent();
}

static void mix(const Sum &sum, Value *one) {
  IRBuilder<> builder(sum.op);
  SmallVector<Value *, 2> lanes;
  for (unsigned lane = 0; lane < lanesOf(sum.op->getType()); ++lane)
    lanes.push_back(fusedLane(builder, sum, one, lane));
  if (sum.op->getType()->isVectorTy())
    replacePair(builder, sum.op, lanes);
  else
    sum.op->replaceAllUsesWith(lanes.front());
}

/// Returns true if a sum is to be replaced. LLVM finds fused products and sums of single numbers by
/// itself.
static bool isToBeMixed(Instruction &instruction, Sum &sum) {
  if (!isSum(instruction))
    return false;
  Value *left = instruction.getOperand(0), *right = instruction.getOperand(1);
  sum = {cast<BinaryOperator>(&instruction), fusedProduct(instruction)};
  if (!sum.product) {
    sum.side = isMixedOperand(left) ? 0 : 1;
    return isMixedOperand(left) || isMixedOperand(right);
  }
  sum.side = sum.product == left ? 0 : 1;
  return instruction.getType()->isVectorTy() && (isMixedOperand(sum.side == 0 ? right : left) ||
                                                 any_of(sum.product->operands(), isMixedOperand));
}

static void mixHalvesOf(Function &function) {
  SmallVector<Sum> sums;
  for (Instruction &instruction : instructions(function)) {
    Sum sum;
    if (isToBeMixed(instruction, sum))
      sums.push_back(sum);
  }
  if (sums.empty())
    return;
  IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
  Value *one = builder.CreateIntrinsic(Intrinsic::arithmetic_fence, {builder.getFloatTy()},
                                       {ConstantFP::get(builder.getFloatTy(), 1.0)});
  for (const Sum &sum : sums)
    mix(sum, one);
  for (const Sum &sum : sums) {
    sum.op->eraseFromParent();
    if (sum.product)
      sum.product->eraseFromParent();
  }
}

void tw::amd::mixHalves(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      mixHalvesOf(function);
}
