// Shortens the lives of values around matrix instructions. LLVM's scheduler knows how many
// registers there are, but reads all operands of a block first where nothing keeps it from that;
// and it keeps what is computed before a loop for what comes after it.
#include "backend/amd/codegen/EaseRegisters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"

using namespace llvm;

static constexpr unsigned kSharedSpace = 3;

static bool isMatrixInstruction(const Instruction &instruction) {
  const auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (!call)
    return false;
  StringRef name = call->getCalledFunction()->getName();
  return name.contains(".wmma.") || name.contains(".mfma.");
}

static bool hasMatrixInstruction(const BasicBlock &block) {
  return any_of(block, isMatrixInstruction);
}

//===-- Reads -------------------------------------------------------------------------------===//

static bool isSharedRead(const Instruction &instruction) {
  const auto *load = dyn_cast<LoadInst>(&instruction);
  return load && load->isSimple() && load->getPointerAddressSpace() == kSharedSpace;
}

/// Returns true if an instruction may sink to its first user: reads of shared memory, and the
/// instructions that split and join what they read or compute addresses.
static bool maySink(const Instruction &instruction) {
  return isSharedRead(instruction) || isa<ExtractElementInst, InsertElementInst, ShuffleVectorInst,
                                          BitCastInst, GetElementPtrInst>(instruction);
}

static bool isBarrier(const CallInst &call) {
  switch (call.getIntrinsicID()) {
  case Intrinsic::amdgcn_s_barrier:
  case Intrinsic::amdgcn_s_barrier_signal:
  case Intrinsic::amdgcn_s_barrier_wait:
    return true;
  default:
    return false;
  }
}

/// Returns true if reads must stay above an instruction: it may write, or it orders writes of other
/// waves. Writes of a read's own wave are in program order without it.
static bool endsReads(const Instruction &instruction) {
  if (const auto *fence = dyn_cast<FenceInst>(&instruction))
    return fence->getSyncScopeID() != instruction.getContext().getOrInsertSyncScopeID("wavefront");
  const auto *call = dyn_cast<IntrinsicInst>(&instruction);
  if (call && call->getIntrinsicID() == Intrinsic::amdgcn_wave_barrier)
    return false;
  if (call && isBarrier(*call))
    return true;
  return instruction.mayWriteToMemory();
}

/// For each instruction of a block the number of the one that it moves to: the first that needs it,
/// or for reads the first that they must stay above, if that comes before.
static SmallVector<unsigned> placesOf(ArrayRef<Instruction *> instructions) {
  unsigned last = instructions.size() - 1, nextWrite = last;
  SmallVector<unsigned> places(instructions.size());
  DenseMap<const Value *, unsigned> ofUsers; // by the value that they need
  for (unsigned number = last + 1; number-- > 0;) {
    Instruction *instruction = instructions[number];
    auto needed = ofUsers.find(instruction);
    places[number] = number;
    if (maySink(*instruction) && needed != ofUsers.end())
      places[number] =
          isSharedRead(*instruction) ? std::min(needed->second, nextWrite) : needed->second;
    if (endsReads(*instruction))
      nextWrite = number;
    if (isa<PHINode>(instruction))
      continue;
    for (Value *operand : instruction->operands()) {
      unsigned &first = ofUsers.try_emplace(operand, last).first->second;
      first = std::min(first, places[number]);
    }
  }
  return places;
}

/// Moves reads and what is made of them down to where they are needed.
static void sinkReads(BasicBlock &block) {
  SmallVector<Instruction *> instructions;
  for (Instruction &instruction : block)
    instructions.push_back(&instruction);
  SmallVector<unsigned> places = placesOf(instructions);
  SmallVector<unsigned> order = to_vector(seq<unsigned>(0, instructions.size()));
  llvm::sort(order, [&](unsigned a, unsigned b) {
    return std::tuple(places[a], places[a] == a, a) < std::tuple(places[b], places[b] == b, b);
  });
  for (unsigned number : order)
    if (Instruction *instruction = instructions[number];
        !isa<PHINode>(instruction) && !instruction->isTerminator())
      instruction->moveBefore(block.getTerminator()->getIterator());
}

/// Matrix instructions whose operands are read together: as many as hide the time of reads that
/// other waves do not hide.
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

/// Keeps products behind all arithmetic with floats that stands before them, as in an attention:
/// the scheduler begins them as soon as the first rows are ready, and what is left of the
/// arithmetic finds fewer instructions to be paired with (`v_dual_...`). Reads may go up.
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

//===-- After loops --------------------------------------------------------------------------===//

namespace {
/// Computes again, in one block, what threads have computed from their numbers far above it.
class Recomputation {
public:
  Recomputation(BasicBlock &block, Instruction &threadId, const SetVector<Instruction *> &known)
      : builder(&block, block.getFirstInsertionPt()), threadId(threadId), known(known) {}

  Value *valueOf(Instruction *original);

private:
  Value *opaqueId();

  IRBuilder<> builder;
  Instruction &threadId;
  const SetVector<Instruction *> &known;
  DenseMap<Instruction *, Value *> copies;
  Value *id = nullptr;
};
} // namespace

/// The thread's number, as a value that LLVM takes for another one, a move in each lane: it would
/// join what is computed twice from the same.
Value *Recomputation::opaqueId() {
  constexpr unsigned sameLane = 0xE4, allRows = 15, allBanks = 15; // quad_perm:[0,1,2,3]
  if (!id)
    id = builder.CreateIntrinsic(Intrinsic::amdgcn_update_dpp, {threadId.getType()},
                                 {&threadId, &threadId, builder.getInt32(sameLane),
                                  builder.getInt32(allRows), builder.getInt32(allBanks),
                                  builder.getTrue()});
  return id;
}

Value *Recomputation::valueOf(Instruction *original) {
  if (original == &threadId)
    return opaqueId();
  if (Value *copy = copies.lookup(original))
    return copy;
  SmallVector<Value *> operands;
  for (Value *operand : original->operands()) {
    auto *from = dyn_cast<Instruction>(operand);
    operands.push_back(from && (known.contains(from) || from == &threadId) ? valueOf(from)
                                                                           : operand);
  }
  Instruction *copy = original->clone();
  for (auto [index, operand] : enumerate(operands))
    copy->setOperand(index, operand);
  builder.Insert(copy);
  return copies[original] = copy;
}

namespace {
/// Integers and addresses that follow from a thread's number, in the order of the block.
struct ComputedFromId {
  ComputedFromId(Instruction &threadId, bool withDivisions);

  SetVector<Instruction *> all;
  SmallPtrSet<Instruction *, 8> divided; // which of them take divisions
};
} // namespace

ComputedFromId::ComputedFromId(Instruction &threadId, bool withDivisions) {
  for (Instruction &instruction : *threadId.getParent()) {
    bool isDivision = instruction.isIntDivRem();
    bool isCheap =
        isa<BinaryOperator, CastInst, CmpInst, SelectInst, GetElementPtrInst>(instruction) &&
        instruction.getType()->isIntOrPtrTy() && (withDivisions || !isDivision);
    if (!isCheap)
      continue;
    bool isComputed = false;
    for (Value *operand : instruction.operands()) {
      auto *from = dyn_cast<Instruction>(operand);
      isComputed |= from == &threadId || (from && all.contains(from));
      isDivision |= from && divided.contains(from);
    }
    if (!isComputed)
      continue;
    all.insert(&instruction);
    if (isDivision)
      divided.insert(&instruction);
  }
}

static IntrinsicInst *findThreadId(Function &function) {
  for (Instruction &instruction : function.getEntryBlock())
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
        call && call->getIntrinsicID() == Intrinsic::amdgcn_workitem_id_x)
      return call;
  return nullptr;
}

/// The block in which a user's operands are computed: its own, or the one before its outermost
/// loop.
static BasicBlock *placeFor(Instruction &user, const LoopInfo &loops, bool insideLoops) {
  Loop *loop = insideLoops ? nullptr : loops.getLoopFor(user.getParent());
  return loop ? loop->getOutermostLoop()->getLoopPreheader() : user.getParent();
}

/// Blocks that come after a loop with matrix instructions.
static SmallPtrSet<BasicBlock *, 16> blocksAfterProducts(Function &function,
                                                         const LoopInfo &loops) {
  SmallPtrSet<BasicBlock *, 16> reached;
  SmallVector<BasicBlock *> next;
  for (Loop *loop : loops)
    if (any_of(loop->blocks(), [](BasicBlock *block) { return hasMatrixInstruction(*block); }))
      loop->getExitBlocks(next);
  while (!next.empty())
    if (BasicBlock *block = next.pop_back_val(); reached.insert(block).second)
      append_range(next, successors(block));
  return reached;
}

static void recomputeAfterLoops(Function &function, bool insideLoops) {
  IntrinsicInst *threadId = findThreadId(function);
  if (!threadId)
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  SmallPtrSet<BasicBlock *, 16> after = blocksAfterProducts(function, loops);
  // What is divided is computed before loops in any case.
  ComputedFromId computed(*threadId, /*withDivisions=*/insideLoops);
  DenseMap<BasicBlock *, std::unique_ptr<Recomputation>> recomputations;
  for (Instruction *original : computed.all)
    for (Use &use : make_early_inc_range(original->uses())) {
      auto *user = cast<Instruction>(use.getUser());
      if (!after.contains(user->getParent()) || isa<PHINode>(user))
        continue;
      bool isInside = insideLoops && !computed.divided.contains(original);
      BasicBlock *place = placeFor(*user, loops, isInside);
      if (!place || !after.contains(place))
        continue;
      std::unique_ptr<Recomputation> &again = recomputations[place];
      if (!again)
        again = std::make_unique<Recomputation>(*place, *threadId, computed.all);
      use.set(again->valueOf(original));
    }
}

//===-- How many registers -------------------------------------------------------------------===//

static unsigned registersOf(const Value &value) {
  constexpr unsigned registerBits = 32;
  return value.getType()->getPrimitiveSizeInBits().getFixedValue() / registerBits;
}

/// Returns true if a matrix instruction accumulates onto the result of another one in its block.
static bool continuesSum(const Instruction &instruction) {
  return any_of(instruction.operands(), [&](const Use &operand) {
    const auto *from = dyn_cast<Instruction>(operand);
    return from && from->getParent() == instruction.getParent() && isMatrixInstruction(*from) &&
           from->getType() == instruction.getType();
  });
}

/// Registers of a block's sums and of the operands that its matrix instructions have between two
/// barriers: the scheduler reads these together.
static unsigned registersOfProducts(const BasicBlock &block) {
  unsigned sums = 0, operands = 0, mostOperands = 0;
  SmallPtrSet<const Value *, 32> read;
  for (const Instruction &instruction : block) {
    if (endsReads(instruction) && !isMatrixInstruction(instruction)) {
      read.clear();
      operands = 0;
    }
    if (!isMatrixInstruction(instruction))
      continue;
    if (!continuesSum(instruction))
      sums += registersOf(instruction);
    for (const Value *operand : instruction.operand_values())
      if (operand->getType()->isVectorTy() && operand->getType() != instruction.getType() &&
          read.insert(operand).second)
        operands += registersOf(*operand);
    mostOperands = std::max(mostOperands, operands);
  }
  return sums + mostOperands;
}

void tw::amd::recomputeBehindProducts(Module &module) {
  constexpr unsigned numRegisters = 256; // that vector instructions name
  for (Function &function : module)
    if (any_of(function,
               [](const BasicBlock &block) { return registersOfProducts(block) >= numRegisters; }))
      recomputeAfterLoops(function, /*insideLoops=*/false);
}

void tw::amd::easeRegisters(Module &module, bool insideLoops) {
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    recomputeAfterLoops(function, insideLoops);
    for (BasicBlock &block : function)
      if (hasMatrixInstruction(block)) {
        sinkReads(block);
        separateGroups(block);
        beginProductsBehindArithmetic(block);
      }
  }
}
