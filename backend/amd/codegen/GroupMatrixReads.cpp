// Moves reads of shared memory to the matrix instructions that need them. LLVM's scheduler knows
// how many registers there are, but reads all operands of a block first where nothing keeps it from
// that.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;
using namespace tw::amd;

/// Returns true if an instruction may sink to its first user: reads of shared memory, and the
/// instructions that split and join what they read or compute addresses.
static bool maySink(const Instruction &instruction) {
  return isSharedRead(instruction) || isa<ExtractElementInst, InsertElementInst, ShuffleVectorInst,
                                          BitCastInst, GetElementPtrInst>(instruction);
}

/// Returns for each instruction of a block the number of the one that it moves to: the first that
/// needs it, or for reads the first that they must stay above, if that comes before.
static SmallVector<unsigned> targetsOf(ArrayRef<Instruction *> instructions) {
  unsigned last = instructions.size() - 1, nextWrite = last;
  SmallVector<unsigned> targets(instructions.size());
  DenseMap<const Value *, unsigned> ofUsers; // by the value that they need
  for (unsigned number = last + 1; number-- > 0;) {
    Instruction *instruction = instructions[number];
    auto needed = ofUsers.find(instruction);
    targets[number] = number;
    if (maySink(*instruction) && needed != ofUsers.end())
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
static void sinkReads(BasicBlock &block) {
  SmallVector<Instruction *> instructions;
  for (Instruction &instruction : block)
    instructions.push_back(&instruction);
  SmallVector<unsigned> targets = targetsOf(instructions);
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
static bool belongsToProducts(const Instruction &instruction) {
  return maySink(instruction) || isMatrixInstruction(instruction) || endsReads(instruction) ||
         isa<PHINode, IntrinsicInst>(instruction) || instruction.getType()->isIntOrIntVectorTy();
}

/// Keeps products behind all float arithmetic that stands before them, as in an attention: the
/// scheduler would begin them as soon as the first rows are ready, and the rest of the arithmetic
/// would find fewer instructions to be paired with (`v_dual_...`). Reads may go up.
static void beginProductsBehindArithmetic(BasicBlock &block) {
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
    isBehindArithmetic |= !belongsToProducts(instruction);
  }
}

void tw::amd::groupMatrixReads(Module &module) {
  for (Function &function : module)
    for (BasicBlock &block : function)
      if (hasMatrixInstruction(block)) {
        sinkReads(block);
        separateGroups(block);
        beginProductsBehindArithmetic(block);
      }
}
