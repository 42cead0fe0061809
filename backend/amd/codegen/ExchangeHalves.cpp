// Builds words of halves of others by one instruction each, which machines have for bytes.
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

/// Returns true if a type is a vector of whole words, two elements each.
static bool isOfHalves(Type *type) {
  auto *vector = dyn_cast<FixedVectorType>(type);
  return vector && vector->getScalarSizeInBits() == 16 && vector->getNumElements() % 2 == 0;
}

namespace {
/// Half of a word of a vector.
struct Half {
  Value *vector = nullptr;
  unsigned element = 0;
  bool isUpper() const { return element % 2 != 0; }
};
} // namespace

/// Returns true if an instruction builds a vector from elements of other vectors.
static bool isRearrangement(const Value *value) {
  return isa<InsertElementInst, ShuffleVectorInst>(value);
}

/// Returns where an inserted element was extracted from; none where it is of no vector.
static Half sourceOf(Value *element) {
  auto *extract = dyn_cast<ExtractElementInst>(element);
  auto *index = extract ? dyn_cast<ConstantInt>(extract->getIndexOperand()) : nullptr;
  if (!index || index->getValue().getActiveBits() > 31)
    return {};
  return {extract->getVectorOperand(), unsigned(index->getZExtValue())};
}

/// Returns the same element one rearrangement before; none where that does not say it.
static Half before(Half half) {
  if (auto *shuffle = dyn_cast<ShuffleVectorInst>(half.vector)) {
    int taken = shuffle->getMaskValue(half.element);
    int count = int(cast<FixedVectorType>(shuffle->getOperand(0)->getType())->getNumElements());
    return taken < 0 ? Half()
                     : Half{shuffle->getOperand(taken < count ? 0 : 1), unsigned(taken % count)};
  }
  auto *insert = cast<InsertElementInst>(half.vector);
  auto *index = dyn_cast<ConstantInt>(insert->getOperand(2));
  if (!index)
    return {};
  return index->equalsInt(half.element) ? sourceOf(insert->getOperand(1))
                                        : Half{insert->getOperand(0), half.element};
}

/// Returns the element of a vector of words that an element comes from; none where it is not known.
static Half originOf(Half half) {
  while (half.vector && isRearrangement(half.vector))
    half = before(half);
  if (!half.vector || isa<Constant>(half.vector) || !isOfHalves(half.vector->getType()) ||
      half.element >= cast<FixedVectorType>(half.vector->getType())->getNumElements())
    return {};
  return half;
}

/// Returns the word that has a half.
static Value *wordOf(IRBuilder<> &builder, Half half) {
  unsigned count = cast<FixedVectorType>(half.vector->getType())->getNumElements() / 2;
  auto type = FixedVectorType::get(builder.getInt32Ty(), count);
  auto *cast = dyn_cast<BitCastInst>(half.vector);
  Value *words = cast && cast->getSrcTy() == type ? cast->getOperand(0)
                                                  : builder.CreateBitCast(half.vector, type);
  return builder.CreateExtractElement(words, uint64_t(half.element / 2));
}

/// Returns true if two halves already form one word.
static bool areOneWord(Half low, Half high) {
  return low.vector == high.vector && !low.isUpper() && high.element == low.element + 1;
}

/// Joins two halves by v_perm_b32 ("RDNA 4 Instruction Set Architecture", V_PERM_B32): each byte of
/// the selector names one of 8, of which the second operand is the lower 4.
static Value *join(IRBuilder<> &builder, Half low, Half high) {
  if (areOneWord(low, high))
    return wordOf(builder, low);
  uint32_t fromLow = low.isUpper() ? 0x0302 : 0x0100;
  uint32_t fromHigh = high.isUpper() ? 0x0706 : 0x0504;
  return builder.CreateIntrinsic(
      builder.getInt32Ty(), Intrinsic::amdgcn_perm,
      {wordOf(builder, high), wordOf(builder, low), builder.getInt32(fromHigh << 16 | fromLow)});
}

/// Returns the halves that a vector is built of, by pairs; none where some are not known, or all of
/// them are words already.
static SmallVector<std::pair<Half, Half>> pairsOf(Instruction *last) {
  SmallVector<std::pair<Half, Half>> pairs;
  bool areWords = true;
  for (unsigned word :
       seq<unsigned>(0, cast<FixedVectorType>(last->getType())->getNumElements() / 2)) {
    Half low = originOf({last, 2 * word}), high = originOf({last, 2 * word + 1});
    if (!low.vector || !high.vector)
      return {};
    areWords &= areOneWord(low, high);
    pairs.emplace_back(low, high);
  }
  return areWords ? SmallVector<std::pair<Half, Half>>() : pairs;
}

static void exchangeIn(Instruction *last) {
  SmallVector<std::pair<Half, Half>> pairs = pairsOf(last);
  if (pairs.empty())
    return;
  IRBuilder<> builder(last);
  Value *words = PoisonValue::get(FixedVectorType::get(builder.getInt32Ty(), pairs.size()));
  for (auto [number, halves] : enumerate(pairs))
    words = builder.CreateInsertElement(words, join(builder, halves.first, halves.second),
                                        uint64_t(number));
  // LLVM merges stores to neighbouring addresses element by element: here they are words.
  for (Use &use : make_early_inc_range(last->uses()))
    if (auto *store = dyn_cast<StoreInst>(use.getUser()))
      store->setOperand(use.getOperandNo(), words);
  if (!last->use_empty())
    last->replaceAllUsesWith(builder.CreateBitCast(words, last->getType()));
  RecursivelyDeleteTriviallyDeadInstructions(last);
}

void tw::amd::exchangeHalves(Module &module) {
  SmallVector<WeakVH> ends; // of which some are parts of others and go with them
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (isRearrangement(&instruction) && isOfHalves(instruction.getType()) &&
          !(instruction.hasOneUse() && isRearrangement(instruction.user_back())))
        ends.push_back(&instruction);
  for (WeakVH &end : ends)
    if (end)
      exchangeIn(cast<Instruction>(end));
}
