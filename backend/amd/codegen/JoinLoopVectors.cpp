// Joins the elements of vectors that a loop carries, each in a phi of its own, to phis of vectors.
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

/// Returns the elements that a chain of insertions gives a whole vector; none where they are not
/// known.
static SmallVector<Value *> elementsOf(InsertElementInst *last) {
  auto *type = cast<FixedVectorType>(last->getType());
  SmallVector<Value *> elements(type->getNumElements());
  Value *rest = last;
  while (auto *insert = dyn_cast<InsertElementInst>(rest)) {
    auto *index = dyn_cast<ConstantInt>(insert->getOperand(2));
    if (!index || index->uge(elements.size()))
      return {};
    if (Value *&element = elements[index->getZExtValue()]; !element)
      element = insert->getOperand(1);
    rest = insert->getOperand(0);
  }
  return is_contained(elements, nullptr) ? SmallVector<Value *>() : elements;
}

/// Returns the vector whose elements, in order, come into phis along an edge; null if there is
/// none.
static Value *vectorInto(ArrayRef<PHINode *> phis, unsigned edge, Type *type) {
  Value *vector = nullptr;
  for (auto [number, phi] : enumerate(phis)) {
    auto *extract = dyn_cast<ExtractElementInst>(phi->getIncomingValue(edge));
    auto *index = extract ? dyn_cast<ConstantInt>(extract->getIndexOperand()) : nullptr;
    if (!index || index->getValue() != number || (vector && vector != extract->getVectorOperand()))
      return nullptr;
    vector = extract->getVectorOperand();
  }
  return vector && vector->getType() == type ? vector : nullptr;
}

/// Builds a vector, at `place`, of the elements that come into phis along an edge.
static Value *joinBefore(Instruction *place, ArrayRef<PHINode *> phis, unsigned edge, Type *type) {
  IRBuilder<> builder(place);
  Value *vector = PoisonValue::get(type);
  for (auto [number, phi] : enumerate(phis))
    vector = builder.CreateInsertElement(vector, phi->getIncomingValue(edge), uint64_t(number));
  return vector;
}

/// Returns true if the phis are in one block and list its incoming edges in the same order.
static bool areOfOneBlock(ArrayRef<PHINode *> phis) {
  BasicBlock *block = phis.front()->getParent();
  return all_of(phis, [&](PHINode *phi) {
    return phi->getParent() == block && equal(phi->blocks(), phis.front()->blocks());
  });
}

/// Returns the vectors that phis of elements stand for, by edge; empty where no edge has one
/// already. A block has the same for each of its edges.
static SmallVector<Value *> incomingVectors(ArrayRef<PHINode *> phis, Type *type) {
  PHINode *first = phis.front();
  SmallVector<Value *> vectors;
  for (unsigned edge : seq<unsigned>(0, first->getNumIncomingValues()))
    vectors.push_back(vectorInto(phis, edge, type));
  if (all_of(vectors, [](Value *vector) { return !vector; }))
    return {};
  for (auto [edge, vector] : enumerate(vectors)) {
    BasicBlock *block = first->getIncomingBlock(edge);
    if (unsigned earlier = first->getBasicBlockIndex(block); earlier < edge)
      vector = vectors[earlier];
    else if (!vector)
      vector = joinBefore(block->getTerminator(), phis, edge, type);
  }
  return vectors;
}

/// Replaces phis, and the vector that is built of them, by one phi of vectors.
static void joinPhis(InsertElementInst *joined, ArrayRef<PHINode *> phis) {
  PHINode *first = phis.front();
  SmallVector<Value *> vectors = incomingVectors(phis, joined->getType());
  if (vectors.empty())
    return;
  IRBuilder<> builder(first);
  PHINode *whole = builder.CreatePHI(joined->getType(), vectors.size());
  for (auto [edge, vector] : enumerate(vectors))
    whole->addIncoming(vector, first->getIncomingBlock(edge));
  joined->replaceAllUsesWith(whole);
  builder.SetInsertPoint(first->getParent(), first->getParent()->getFirstInsertionPt());
  for (auto [number, phi] : enumerate(phis))
    phi->replaceAllUsesWith(builder.CreateExtractElement(whole, uint64_t(number)));
  for (PHINode *phi : phis)
    phi->eraseFromParent();
}

/// Returns the distinct phis that a vector is built of; empty where it has any other element.
static SmallVector<PHINode *> phisOf(InsertElementInst *joined) {
  SmallVector<PHINode *> phis;
  for (Value *element : elementsOf(joined))
    phis.push_back(dyn_cast<PHINode>(element));
  SmallPtrSet<PHINode *, 16> distinct(phis.begin(), phis.end());
  bool areUsable = !phis.empty() && !distinct.contains(nullptr) && distinct.size() == phis.size() &&
                   areOfOneBlock(phis);
  return areUsable ? phis : SmallVector<PHINode *>();
}

static void joinIn(Function &function) {
  SmallVector<InsertElementInst *> ends;
  for (Instruction &instruction : instructions(function))
    if (auto *insert = dyn_cast<InsertElementInst>(&instruction);
        insert && !(insert->hasOneUse() && isa<InsertElementInst>(insert->user_back())))
      ends.push_back(insert);
  for (InsertElementInst *end : ends)
    if (SmallVector<PHINode *> phis = phisOf(end); !phis.empty())
      joinPhis(end, phis);
}

void tw::amd::joinLoopVectors(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      joinIn(function);
}
