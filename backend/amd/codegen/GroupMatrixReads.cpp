// Moves reads of shared memory, and conversions of what was read, to the matrix instructions that
// need them. LLVM's scheduler knows how many registers there are, but reads all operands of a block
// first where nothing keeps it from that.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace tw::amd;

/// Returns true if an instruction reads shared memory, splits and joins what was read, or computes
/// addresses.
static bool isOfReads(const Instruction &instruction) {
  return isSharedRead(instruction) || isa<ExtractElementInst, InsertElementInst, ShuffleVectorInst,
                                          BitCastInst, GetElementPtrInst>(instruction);
}

using Instructions = SmallPtrSet<const Instruction *, 32>;

/// Returns true if an instruction computes its result from its operands alone, in each lane.
static bool isPure(const Instruction &instruction) {
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction))
    return !isMatrixInstruction(instruction) && !call->isConvergent() &&
           isSafeToSpeculativelyExecute(&instruction);
  return isOfReads(instruction) ||
         isa<BinaryOperator, UnaryOperator, CastInst, SelectInst, CmpInst>(instruction);
}

/// Finds the conversions of operands: what a block computes from its reads of shared memory alone,
/// and from values of other blocks. Products need them slice by slice.
static Instructions findConversions(const BasicBlock &block) {
  Instructions ofReads, conversions;
  for (const Instruction &instruction : block) {
    bool isOfRead = isSharedRead(instruction), isOfOther = !isPure(instruction);
    for (const Value *operand : instruction.operand_values()) {
      const auto *from = dyn_cast<Instruction>(operand);
      if (!from || from->getParent() != &block || isa<PHINode>(from))
        continue;
      (ofReads.contains(from) ? isOfRead : isOfOther) = true;
    }
    if (isSharedRead(instruction) || (isOfRead && !isOfOther))
      ofReads.insert(&instruction);
    if (isOfRead && !isOfOther && !isOfReads(instruction))
      conversions.insert(&instruction);
  }
  return conversions;
}

/// Returns for each instruction of a block the number of the one that it moves to: the first that
/// needs it, or for reads the first that they must stay above, if that comes before.
static SmallVector<unsigned> targetsOf(ArrayRef<Instruction *> instructions,
                                       const Instructions &conversions) {
  unsigned last = instructions.size() - 1, nextWrite = last;
  SmallVector<unsigned> targets(instructions.size());
  DenseMap<const Value *, unsigned> ofUsers; // by the value that they need
  for (unsigned number = last + 1; number-- > 0;) {
    Instruction *instruction = instructions[number];
    auto needed = ofUsers.find(instruction);
    targets[number] = number;
    bool maySink = isOfReads(*instruction) || conversions.contains(instruction);
    if (maySink && needed != ofUsers.end())
      targets[number] =
          isSharedRead(*instruction) ? std::min(needed->second, nextWrite) : needed->second;
    if (endsReads(*instruction))
      nextWrite = number;
    if (isa<PHINode>(instruction))
      continue;
    for (Value *operand : instruction->operands()) {
      unsigned &first = ofUsers.try_emplace(operand, last).first->second;
      first = std::min(first, targets[number]);
    }
  }
  return targets;
}

/// Moves reads and what is made of them down to their first users.
static void sinkReads(BasicBlock &block, const Instructions &conversions) {
  SmallVector<Instruction *> instructions;
  for (Instruction &instruction : block)
    instructions.push_back(&instruction);
  SmallVector<unsigned> targets = targetsOf(instructions, conversions);
  SmallVector<unsigned> order = to_vector(seq<unsigned>(0, instructions.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tuple(targets[a], targets[a] == a, a) < std::tuple(targets[b], targets[b] == b, b);
  });
  for (unsigned number : order)
    if (Instruction *instruction = instructions[number];
        !isa<PHINode>(instruction) && !instruction->isTerminator())
      instruction->moveBefore(block.getTerminator()->getIterator());
}

/// Counts the matrix instructions whose operands are read together: as many as hide the latency of
/// reads that other waves do not hide.
static constexpr unsigned kProductsOfGroup = 4;

/// Keeps the scheduler from moving reads above the matrix instructions of the group before.
static void separateGroups(BasicBlock &block) {
  unsigned count = 0;
  SmallVector<Instruction *> ends;
  for (Instruction &instruction : block)
    if (isMatrixInstruction(instruction) && ++count % kProductsOfGroup == 0)
      ends.push_back(&instruction);
  for (Instruction *end : ends) {
    IRBuilder<> builder(end->getNextNode());
    builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
  }
}

/// Returns true if an instruction may belong to the reads and operands of the products that follow
/// it, or orders reads.
static bool belongsToProducts(const Instruction &instruction, const Instructions &conversions) {
  return isOfReads(instruction) || conversions.contains(&instruction) ||
         isMatrixInstruction(instruction) || endsReads(instruction) ||
         isa<PHINode, IntrinsicInst>(instruction) || instruction.getType()->isIntOrIntVectorTy();
}

/// Keeps products behind all float arithmetic that stands before them, as in an attention: the
/// scheduler would begin them as soon as the first rows are ready, and the rest of the arithmetic
/// would find fewer instructions to be paired with (`v_dual_...`). Reads may go up.
static void beginProductsBehindArithmetic(BasicBlock &block, const Instructions &conversions) {
  constexpr unsigned kSharedReads = 0x100; // a mask of "llvm.amdgcn.sched.barrier"
  bool isBehindProducts = false, isBehindArithmetic = false;
  for (Instruction &instruction : block) {
    if (isMatrixInstruction(instruction)) {
      if (isBehindProducts && isBehindArithmetic) {
        IRBuilder<> builder(&instruction);
        builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {},
                                {builder.getInt32(kSharedReads)});
      }
      isBehindProducts = true;
      isBehindArithmetic = false;
    }
    isBehindArithmetic |= !belongsToProducts(instruction, conversions);
  }
}

void tw::amd::groupMatrixReads(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (hasMatrixInstruction(block)) {
        Instructions conversions = findConversions(block);
        sinkReads(block, conversions);
        separateGroups(block);
        beginProductsBehindArithmetic(block, conversions);
      }
}
