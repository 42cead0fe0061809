// Lets the two waves of a SIMD take turns at memory and at products: four of a program's eight
// waves run half a step behind the others.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <optional>

using namespace llvm;
using namespace tw::amd;

// Each step of a loop is cut into phases: memory, products, memory, products, ... with a barrier of
// all waves behind each. One group of waves passes one barrier more in front of the loop and the
// other one behind it, so that in each phase one group multiplies while the other accesses memory.
//
// This keeps the order of accesses of shared memory that the loop's own barriers make. Call what
// stands between two of these a segment. The last phase of a segment is one of products, so that
// the group in front begins the next segment's accesses one phase after the other group's last
// access of this one; accesses of one segment may overlap, as they may without phases. A wave waits
// for its reads and writes at the end of each memory phase, and there, at the end of the last one
// of a segment, for the copies that it would await in front of the next segment.

namespace {
/// A barrier of a loop, and the instructions behind it up to the next one.
struct Segment {
  WorkGroupBarrier begin;
  SmallVector<Instruction *> body;
  unsigned firstSlice = 0, numSlices = 0;

  unsigned lastSlice() const { return firstSlice + numSlices - 1; }
};

/// A loop of one block whose waves can take turns. Its products are cut into slices by their place
/// in a sum: slice `i` is multiplied in phase 2 i + 1, and phase 2 i reads its operands, unless
/// they were read before.
class Turns {
public:
  explicit Turns(BasicBlock &loop) : loop(loop) {}
  bool plan();
  void apply();

private:
  bool findSegments();
  bool isOrdered(const Segment &segment) const;
  bool cutIntoSlices();
  bool cutProducts(unsigned number, unsigned numFollowers);
  std::optional<unsigned> phaseOf(Instruction *instruction, const Segment &segment) const;
  bool assignPhases();
  bool fitsInRegisters() const;
  void cloneBarrier(Instruction *before);
  void moveBarrier(const WorkGroupBarrier &barrier);
  void emitPhase(unsigned phase);
  void passOneMore(Instruction *before, bool isInFront);

  BasicBlock &loop;
  BasicBlock *before = nullptr, *behind = nullptr;
  SmallVector<Segment> segments;
  unsigned numSlices = 0;
  DenseMap<Instruction *, unsigned> sliceOf; // of products
  DenseMap<Instruction *, unsigned> phases;
  WorkGroupBarrier pattern; // of which others are clones
};
} // namespace

static constexpr unsigned kWaves = 8, kLanes = 64, kWavesInFront = kWaves / 2;

/// Finds the barriers of the loop and what stands between them. What stands in front of the first
/// one goes behind it: it may not access shared memory. Loads to registers may, as the wait for
/// copies bounds the number of copies alone: LLVM moves such loads over it, too.
bool Turns::findSegments() {
  SmallVector<Instruction *> head;
  for (Instruction &instruction : loop) {
    if (isa<PHINode>(instruction) || instruction.isTerminator())
      continue;
    if (intrinsicOf(instruction) == Intrinsic::amdgcn_s_barrier) {
      std::optional<WorkGroupBarrier> barrier =
          matchBarrier(instruction, Intrinsic::amdgcn_s_waitcnt);
      if (!barrier)
        return false;
      segments.push_back({*barrier, {}});
    }
    (segments.empty() ? head : segments.back().body).push_back(&instruction);
  }
  if (segments.empty() || any_of(head, [](Instruction *each) {
        return isDirectCopy(*each) || isSharedRead(*each) || isSharedWrite(*each);
      }))
    return false;
  segments.front().body.insert(segments.front().body.begin(), head.begin(), head.end());
  for (const Segment &each : segments)
    for (Segment &other : segments)
      erase_if(other.body, [&](Instruction *instruction) {
        return instruction == each.begin.copies || is_contained(each.begin.parts(), instruction);
      });
  pattern = segments.front().begin;
  return all_of(segments, [&](const Segment &each) { return isOrdered(each); });
}

/// Returns true if a wave starts its copies before it reads, and writes after that, and does
/// nothing else that has an effect.
bool Turns::isOrdered(const Segment &segment) const {
  bool hasRead = false, hasWritten = false;
  for (Instruction *each : segment.body) {
    if (each->isAtomic() || each->isVolatile())
      return false;
    if (isDirectCopy(*each)) {
      if (hasRead || hasWritten)
        return false;
    } else if (isSharedRead(*each)) {
      if (hasWritten)
        return false;
      hasRead = true;
    } else if (isSharedWrite(*each)) {
      hasWritten = true;
    } else if (!isGlobalLoad(*each) &&
               (each->mayReadOrWriteMemory() || each->mayHaveSideEffects())) {
      return false;
    }
  }
  return true;
}

/// Cuts the products of a segment into slices by the number of products before them in the same
/// sum. The segments behind it that have none get one slice each.
bool Turns::cutProducts(unsigned number, unsigned numFollowers) {
  DenseMap<Value *, unsigned> depths;
  unsigned depth = 0;
  for (Instruction *each : segments[number].body)
    if (isMatrixInstruction(*each)) {
      unsigned &own = depths[each];
      for (Value *operand : each->operands())
        if (auto found = depths.find(operand); found != depths.end() && operand != each)
          own = std::max(own, found->second + 1);
      depth = std::max(depth, own + 1);
    }
  unsigned count = 2 * (numFollowers + 1);
  if (depth < count)
    return false;
  for (auto [product, own] : depths)
    sliceOf[cast<Instruction>(product)] = numSlices + own * count / depth;
  segments[number].firstSlice = numSlices;
  segments[number].numSlices = count - numFollowers;
  for (unsigned i = 1; i <= numFollowers; ++i) {
    segments[number + i].firstSlice = numSlices + count - numFollowers + i - 1;
    segments[number + i].numSlices = 1;
  }
  numSlices += count;
  return true;
}

bool Turns::cutIntoSlices() {
  auto hasProducts = [](const Segment &segment) {
    return any_of(segment.body, [](Instruction *each) { return isMatrixInstruction(*each); });
  };
  for (unsigned number = 0; number < segments.size();) {
    if (!hasProducts(segments[number]))
      return false;
    unsigned next = number + 1;
    while (next < segments.size() && !hasProducts(segments[next]))
      ++next;
    if (!cutProducts(number, next - number - 1))
      return false;
    number = next;
  }
  return true;
}

/// Returns the phase that an instruction belongs to; none if something needs it before. The phases
/// of what uses it are known.
std::optional<unsigned> Turns::phaseOf(Instruction *instruction, const Segment &segment) const {
  unsigned needed = 2 * numSlices - 1;
  for (User *user : instruction->users())
    if (auto found = phases.find(dyn_cast<Instruction>(user)); found != phases.end())
      needed = std::min(needed, found->second);
  unsigned phase = needed & ~1u; // operands are ready before products begin
  if (isMatrixInstruction(*instruction))
    phase = 2 * sliceOf.lookup(instruction) + 1;
  else if (isDirectCopy(*instruction) || isGlobalLoad(*instruction))
    phase = 2 * segment.firstSlice;
  else if (isSharedWrite(*instruction))
    phase = 2 * segment.lastSlice();
  else if (isSharedRead(*instruction))
    phase = std::min(phase, 2 * segment.lastSlice());
  bool isEarly = isSharedRead(*instruction) && phase < 2 * segment.firstSlice;
  return phase > needed || isEarly ? std::nullopt : std::optional(phase);
}

bool Turns::assignPhases() {
  for (const Segment &segment : reverse(segments))
    for (Instruction *each : reverse(segment.body)) {
      std::optional<unsigned> phase = phaseOf(each, segment);
      if (!phase)
        return false;
      phases[each] = *phase;
    }
  return true;
}

/// Counts the registers of the sums that a loop carries.
static unsigned registersOfSums(BasicBlock &loop) {
  unsigned registers = 0;
  for (PHINode &each : loop.phis())
    if (any_of(each.users(),
               [](User *user) { return isMatrixInstruction(*cast<Instruction>(user)); }))
      registers += registersOf(each);
  return registers;
}

/// Returns true if each SIMD holds two waves: those of one program. The registers that the sums of
/// its loop take, and its shared memory, leave no room for a second one.
static bool isAlone(BasicBlock &loop) {
  Function &function = *loop.getParent();
  std::string threads = std::to_string(kWaves * kLanes);
  if (function.getFnAttribute("amdgpu-flat-work-group-size").getValueAsString() !=
      threads + "," + threads)
    return false;
  unsigned sums = registersOfSums(loop);
  SmallVector<unsigned> steps = readRegisterSteps(function);
  return sums &&
         count_if(steps, [&](unsigned step) { return step > sums && step != steps.back(); }) < 2;
}

/// Returns true if the registers hold the sums, the tiles on their way to shared memory, and the
/// operands of the memory phase that reads most.
bool Turns::fitsInRegisters() const {
  constexpr unsigned ofThread = 256, forAddresses = 40;
  unsigned tiles = 0;
  SmallVector<unsigned> operands(2 * numSlices);
  for (auto [instruction, phase] : phases)
    if (isSharedRead(*instruction))
      operands[phase] += registersOf(*instruction);
    else if (isGlobalLoad(*instruction))
      tiles += registersOf(*instruction);
  return registersOfSums(loop) + tiles + *max_element(operands) <= ofThread - forAddresses;
}

bool Turns::plan() {
  auto *branch = dyn_cast<BranchInst>(loop.getTerminator());
  if (!branch || !branch->isConditional() || !is_contained(successors(&loop), &loop) ||
      !isAlone(loop))
    return false;
  for (BasicBlock *each : predecessors(&loop))
    if (each != &loop) {
      if (before)
        return false;
      before = each;
    }
  behind = branch->getSuccessor(branch->getSuccessor(0) == &loop);
  return before && behind != &loop && findSegments() && cutIntoSlices() && assignPhases() &&
         fitsInRegisters();
}

void Turns::cloneBarrier(Instruction *before) {
  for (Instruction *each : pattern.parts())
    each->clone()->insertBefore(before->getIterator());
}

void Turns::moveBarrier(const WorkGroupBarrier &barrier) {
  for (Instruction *each : barrier.parts())
    each->moveBefore(loop.getTerminator()->getIterator());
}

/// Moves the instructions of a phase to the end of the loop. Products run with priority over the
/// other wave's instructions.
void Turns::emitPhase(unsigned phase) {
  IRBuilder<> builder(loop.getTerminator());
  auto hint = [&](Intrinsic::ID id, IntegerType *type, unsigned value) {
    builder.CreateIntrinsic(id, {}, {ConstantInt::get(type, value)});
  };
  bool hasProducts = phase % 2;
  hint(Intrinsic::amdgcn_sched_barrier, builder.getInt32Ty(), 0);
  if (hasProducts)
    hint(Intrinsic::amdgcn_s_setprio, builder.getInt16Ty(), 1);
  for (const Segment &segment : segments)
    for (Instruction *each : segment.body)
      if (phases.lookup(each) == phase)
        each->moveBefore(loop.getTerminator()->getIterator());
  if (hasProducts)
    hint(Intrinsic::amdgcn_s_setprio, builder.getInt16Ty(), 0);
  hint(Intrinsic::amdgcn_sched_barrier, builder.getInt32Ty(), 0);
}

/// Makes one of the groups of waves pass one more barrier.
void Turns::passOneMore(Instruction *before, bool isInFront) {
  IRBuilder<> builder(before);
  Value *thread =
      builder.CreateIntrinsic(builder.getInt32Ty(), Intrinsic::amdgcn_workitem_id_x, {});
  Value *first =
      builder.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {thread->getType()}, {thread});
  Value *bound = builder.getInt32(kWavesInFront * kLanes);
  Value *isConcerned =
      isInFront ? builder.CreateICmpULT(first, bound) : builder.CreateICmpUGE(first, bound);
  cloneBarrier(
      SplitBlockAndInsertIfThen(isConcerned, before->getIterator(), /*Unreachable=*/false));
}

void Turns::apply() {
  moveBarrier(segments.front().begin);
  for (unsigned number = 0; number < segments.size(); ++number) {
    const Segment &segment = segments[number];
    bool isLast = number + 1 == segments.size();
    const WorkGroupBarrier &next = segments[isLast ? 0 : number + 1].begin;
    for (unsigned slice = segment.firstSlice; slice <= segment.lastSlice(); ++slice) {
      bool isEnd = slice == segment.lastSlice();
      emitPhase(2 * slice);
      if (isEnd && next.copies)
        next.copies->moveBefore(loop.getTerminator()->getIterator());
      cloneBarrier(loop.getTerminator());
      emitPhase(2 * slice + 1);
      if (!isEnd)
        cloneBarrier(loop.getTerminator());
    }
    if (!isLast)
      moveBarrier(next);
  }
  Instruction *front = SplitEdge(before, &loop)->getTerminator();
  if (Instruction *copies = segments.front().begin.copies)
    copies->clone()->insertBefore(front->getIterator());
  passOneMore(front, /*isInFront=*/false);
  passOneMore(SplitEdge(&loop, behind)->getTerminator(), /*isInFront=*/true);
}

void tw::amd::alternateWaves(Module &module) {
  for (Function &function : module) {
    SmallVector<BasicBlock *> blocks;
    for (BasicBlock &block : function)
      blocks.push_back(&block);
    for (BasicBlock *block : blocks)
      if (Turns turns(*block); turns.plan())
        turns.apply();
  }
}
