// Orders the steps of loops whose operands are copied directly to shared memory: copies first, and
// reads of operands among the matrix instructions.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace {
/// The instructions between two barriers of a block, counted.
struct Step {
  unsigned copies = 0, reads = 0, products = 0;
  bool copiesArrays = false;  // by the tensor data mover: such copies are of no group
  Instruction *end = nullptr; // the first instruction of what waits before the next barrier
};

/// Groups of instructions, as sched.group.barrier names them (LLVM, "AMDGPU usage").
enum Group : uint32_t { kProducts = 8, kCopies = 0x20, kReads = 0x100 };
} // namespace

static void add(const Instruction &instruction, Step &step) {
  step.copies += tw::amd::isDirectCopy(instruction);
  step.copiesArrays |= tw::amd::intrinsicOf(instruction) == Intrinsic::amdgcn_tensor_load_to_lds_d2;
  step.reads += tw::amd::isSharedRead(instruction);
  step.products += tw::amd::isMatrixInstruction(instruction);
}

/// Orders a step by groups: copies in turn with the first reads, each of which fills the wait state
/// between a copy and the setting of its place (M0). A quarter of the reads then runs ahead of the
/// products, and the others stand among the first three quarters of these, so that none is waited
/// for at once.
static void order(const Step &step) {
  IRBuilder<> builder(step.end);
  auto group = [&](Group kind, unsigned size) {
    if (size)
      builder.CreateIntrinsic(
          Intrinsic::amdgcn_sched_group_barrier, {},
          {builder.getInt32(kind), builder.getInt32(size), builder.getInt32(0)});
  };
  unsigned inTurn = std::min(step.copies, step.reads), left = step.reads - inTurn;
  for (unsigned i = 0; i < step.copies; ++i) {
    group(kCopies, 1);
    group(kReads, i < inTurn);
  }
  unsigned ahead = std::min(left, step.reads / 4), spread = std::max(1u, step.products * 3 / 4);
  group(kReads, ahead);
  left -= ahead;
  for (unsigned i = 0, read = 0; i < step.products; ++i) {
    group(kProducts, 1);
    unsigned until = std::min(left, (i + 1) * left / spread);
    group(kReads, until - read);
    read = until;
  }
  builder.CreateIntrinsic(Intrinsic::amdgcn_sched_barrier, {}, {builder.getInt32(0)});
}

static bool isWait(Intrinsic::ID id) {
  return id == Intrinsic::amdgcn_s_waitcnt || id == Intrinsic::amdgcn_s_wait_dscnt ||
         id == Intrinsic::amdgcn_s_wait_asynccnt || id == Intrinsic::amdgcn_s_wait_tensorcnt;
}

/// Returns the first of the fences and waits in front of a barrier or a block's end.
static Instruction *beforeWaits(Instruction *end) {
  for (Instruction *last = end->getPrevNode(); last; last = last->getPrevNode()) {
    if (!isa<FenceInst>(last) && !isWait(tw::amd::intrinsicOf(*last)))
      break;
    end = last;
  }
  return end;
}

/// Adds a block's steps: what stands behind a barrier and has copies and products.
static void addSteps(BasicBlock &block, SmallVectorImpl<Step> &steps) {
  std::optional<Step> step; // none in front of the first barrier
  for (Instruction &instruction : block) {
    bool isBarrier = tw::amd::intrinsicOf(instruction) == Intrinsic::amdgcn_s_barrier;
    bool isEnd = isBarrier || instruction.isTerminator();
    if (isEnd && step && (step->copies || step->copiesArrays) && step->products) {
      step->end = beforeWaits(&instruction);
      steps.push_back(*step);
    }
    if (isBarrier)
      step = Step();
    else if (step)
      add(instruction, *step);
  }
}

void tw::amd::scheduleSteps(Module &module) {
  SmallVector<Step> steps;
  for (Function &function : module)
    for (BasicBlock &block : function)
      addSteps(block, steps);
  for (const Step &step : steps)
    order(step);
}
