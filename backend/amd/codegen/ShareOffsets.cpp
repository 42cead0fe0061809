// Finds offsets of buffer accesses that are sums of the same values and differ by constants, and
// computes each from the first where it is needed.
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"
#include <map>

using namespace llvm;
using namespace llvm::PatternMatch;

/// Bounds the constants that instructions of all generations add to an offset: 12 bits.
static constexpr uint32_t kConstants = 4096;

namespace {
/// A number of 32 bits as a sum that wraps around: values, each with its factor, and a constant.
struct OffsetSum {
  std::map<Value *, uint32_t> factors;
  uint32_t constant = 0;
};

/// An access's offset, with its sum's constant. One that a mask may replace is of no element where
/// the mask is false, and may lie before the buffer: an instruction must not add a constant to it.
struct Offset {
  Instruction *value;
  uint32_t constant;
  bool isMasked;
};
} // namespace

/// Adds a value times a factor to a sum.
static void addTo(OffsetSum &sum, Value *value, uint32_t factor, unsigned depth) {
  Value *a, *b;
  const APInt *constant;
  constexpr unsigned most = 8; // of sums and products in one another
  if (match(value, m_APInt(constant))) {
    sum.constant += factor * uint32_t(constant->getZExtValue());
  } else if (depth < most && (match(value, m_Add(m_Value(a), m_Value(b))) ||
                              match(value, m_DisjointOr(m_Value(a), m_Value(b))))) {
    addTo(sum, a, factor, depth + 1);
    addTo(sum, b, factor, depth + 1);
  } else if (depth < most && match(value, m_Xor(m_Value(a), m_SignMask()))) {
    sum.constant += factor << 31; // the highest bit: a sum has the same
    addTo(sum, a, factor, depth + 1);
  } else if (depth < most && match(value, m_Shl(m_Value(a), m_APInt(constant))) &&
             constant->ult(32)) {
    addTo(sum, a, factor << constant->getZExtValue(), depth + 1);
  } else if (depth < most && match(value, m_Mul(m_Value(a), m_APInt(constant)))) {
    addTo(sum, a, factor * uint32_t(constant->getZExtValue()), depth + 1);
  } else {
    sum.factors[value] += factor;
  }
}

/// Returns the use of an access's offset in vector registers, or in the choice that a mask makes of
/// it and an offset beyond the bounds.
static Use *offsetOf(Instruction &instruction) {
  auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return nullptr;
  unsigned number;
  switch (call->getIntrinsicID()) {
  case Intrinsic::amdgcn_raw_ptr_buffer_load:
    number = 1;
    break;
  case Intrinsic::amdgcn_raw_ptr_buffer_store:
    number = 2;
    break;
  default:
    return nullptr;
  }
  Use *use = &call->getArgOperandUse(number);
  if (auto *choice = dyn_cast<SelectInst>(use->get());
      choice && choice->hasOneUse() && isa<Constant>(choice->getFalseValue()))
    use = &choice->getOperandUse(1);
  return isa<Instruction>(use->get()) ? use : nullptr;
}

/// Returns the first known offset that dominates the other's user, and that the other exceeds by a
/// constant of instructions; null if there is none.
static const Offset *findShared(ArrayRef<Offset> known, const Offset &other,
                                const Instruction *user, const DominatorTree &dominators) {
  for (const Offset &offset : known)
    if (other.constant - offset.constant < kConstants && (other.isMasked || !offset.isMasked) &&
        dominators.dominates(offset.value, user))
      return &offset;
  return nullptr;
}

static void shareOffsets(Function &function) {
  DominatorTree dominators(function);
  std::map<std::map<Value *, uint32_t>, SmallVector<Offset>> known;
  ReversePostOrderTraversal<Function *> blocks(&function);
  SmallVector<WeakTrackingVH> replaced;
  for (BasicBlock *block : blocks)
    for (Instruction &instruction : *block) {
      Use *use = offsetOf(instruction);
      if (!use)
        continue;
      auto *value = cast<Instruction>(use->get());
      OffsetSum sum;
      addTo(sum, value, 1, 0);
      SmallVector<Offset> &offsets = known[sum.factors];
      auto *user = cast<Instruction>(use->getUser());
      Offset offset{value, sum.constant, isa<SelectInst>(user)};
      const Offset *shared = findShared(offsets, offset, user, dominators);
      if (!shared)
        offsets.push_back(offset);
      if (!shared || shared->value == value)
        continue;
      IRBuilder<> builder(user);
      use->set(builder.CreateAdd(shared->value, builder.getInt32(sum.constant - shared->constant)));
      replaced.push_back(value);
    }
  RecursivelyDeleteTriviallyDeadInstructionsPermissive(replaced);
}

void tw::amd::shareOffsets(Module &module) {
  for (Function &function : module)
    if (!function.isDeclaration())
      ::shareOffsets(function);
}
