// Rematerializes, behind loops with matrix instructions, what threads compute from their numbers.
// LLVM keeps what is computed before a loop in registers for what comes after it.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

using namespace llvm;
using namespace tw::amd;

namespace {
/// Copies to one block what threads have computed from their numbers far above it.
class Rematerialization {
public:
  Rematerialization(BasicBlock &block, Instruction &threadId, const SetVector<Instruction *> &known)
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

/// Returns the thread's number as a value that LLVM takes for another one, a move in each lane: it
/// would merge what is computed twice from the same.
Value *Rematerialization::opaqueId() {
  constexpr unsigned sameLane = 0xE4, allRows = 15, allBanks = 15; // quad_perm:[0,1,2,3]
  if (!id)
    id = builder.CreateIntrinsic(Intrinsic::amdgcn_update_dpp, {threadId.getType()},
                                 {&threadId, &threadId, builder.getInt32(sameLane),
                                  builder.getInt32(allRows), builder.getInt32(allBanks),
                                  builder.getTrue()});
  return id;
}

Value *Rematerialization::valueOf(Instruction *original) {
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

static IntrinsicInst *findThreadId(Function &function) {
  for (Instruction &instruction : function.getEntryBlock())
    if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
        call && call->getIntrinsicID() == Intrinsic::amdgcn_workitem_id_x)
      return call;
  return nullptr;
}

static bool hasProducts(const Loop &loop) {
  return any_of(loop.blocks(),
                [](const BasicBlock *block) { return hasMatrixInstruction(*block); });
}

namespace {
/// The loops of a function, and which of them have matrix instructions.
struct ProductLoops {
  explicit ProductLoops(LoopInfo &loops) : loops(loops) {
    for (Loop *loop : loops.getLoopsInPreorder())
      if (hasProducts(*loop))
        withProducts.insert(loop);
  }
  bool isInOne(const BasicBlock &block) const {
    return withProducts.contains(loops.getLoopFor(&block));
  }
  Loop *besideProducts(const BasicBlock &block) const;
  void addPreheaders(DominatorTree &dominators);

  LoopInfo &loops;
  SmallPtrSet<const Loop *, 4> withProducts;
};
} // namespace

/// Returns the outermost loop without products that has a block and is inside of a loop with them,
/// as a branch has that multiplies in another way; or null.
Loop *ProductLoops::besideProducts(const BasicBlock &block) const {
  Loop *loop = loops.getLoopFor(&block);
  if (!loop || withProducts.contains(loop))
    return nullptr;
  while (loop->getParentLoop() && !withProducts.contains(loop->getParentLoop()))
    loop = loop->getParentLoop();
  return loop->getParentLoop() ? loop : nullptr;
}

/// Gives each loop beside products a block of its own in front of it.
void ProductLoops::addPreheaders(DominatorTree &dominators) {
  for (Loop *loop : loops.getLoopsInPreorder())
    if (!loop->getLoopPreheader() && besideProducts(*loop->getHeader()) == loop)
      InsertPreheaderForLoop(loop, &dominators, &loops, /*MSSAU=*/nullptr,
                             /*PreserveLCSSA=*/false);
}

/// Returns the blocks that come after a loop with matrix instructions.
static SmallPtrSet<BasicBlock *, 16> blocksAfterProducts(Function &function,
                                                         const LoopInfo &loops) {
  SmallPtrSet<BasicBlock *, 16> reached;
  SmallVector<BasicBlock *> next;
  for (Loop *loop : loops)
    if (hasProducts(*loop))
      loop->getExitBlocks(next);
  while (!next.empty())
    if (BasicBlock *block = next.pop_back_val(); reached.insert(block).second)
      append_range(next, successors(block));
  return reached;
}

namespace {
/// Integers and addresses that follow from a thread's number, in front of loops
/// with products and in their order.
struct ComputedFromId {
  ComputedFromId(Instruction &threadId, const LoopInfo &loops, bool withDivisions);
  void add(Instruction &instruction, Instruction &threadId, bool withDivisions);

  SetVector<Instruction *> all;
  SmallPtrSet<Instruction *, 8> divided; // which of them take divisions
};
} // namespace

ComputedFromId::ComputedFromId(Instruction &threadId, const LoopInfo &loops, bool withDivisions) {
  Function &function = *threadId.getFunction();
  SmallPtrSet<BasicBlock *, 16> after = blocksAfterProducts(function, loops);
  for (BasicBlock *block : ReversePostOrderTraversal(&function))
    if (!loops.getLoopFor(block) && !after.contains(block))
      for (Instruction &instruction : *block)
        add(instruction, threadId, withDivisions);
}

void ComputedFromId::add(Instruction &instruction, Instruction &threadId, bool withDivisions) {
  bool isDivision = instruction.isIntDivRem();
  bool isCheap =
      isa<BinaryOperator, CastInst, CmpInst, SelectInst, GetElementPtrInst>(instruction) &&
      instruction.getType()->isIntOrPtrTy() && (withDivisions || !isDivision);
  if (!isCheap)
    return;
  bool isComputed = false;
  for (Value *operand : instruction.operands()) {
    auto *from = dyn_cast<Instruction>(operand);
    isComputed |= from == &threadId || (from && all.contains(from));
    isDivision |= from && divided.contains(from);
  }
  if (!isComputed)
    return;
  all.insert(&instruction);
  if (isDivision)
    divided.insert(&instruction);
}

/// Returns the block in which copies of a user's operands are computed: with `insideLoops` its own,
/// and else the one before its outermost loop, for users behind products. For loops beside products
/// it is the one before them. Null for users that keep their operands.
static BasicBlock *placeFor(BasicBlock &user, const ProductLoops &products,
                            const SmallPtrSetImpl<BasicBlock *> &after, bool insideLoops) {
  if (Loop *beside = products.besideProducts(user))
    return beside->getLoopPreheader();
  if (insideLoops)
    return products.isInOne(user) || after.contains(&user) ? &user : nullptr;
  Loop *loop = products.loops.getLoopFor(&user);
  BasicBlock *place = loop ? loop->getOutermostLoop()->getLoopPreheader() : &user;
  return after.contains(place) ? place : nullptr;
}

/// Gives users behind products and in loops beside them copies of what they need; with
/// `insideLoops` also users in loops with products.
static void rematerialize(Function &function, bool insideLoops) {
  IntrinsicInst *threadId = findThreadId(function);
  if (!threadId)
    return;
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  ProductLoops products(loops);
  products.addPreheaders(dominators);
  SmallPtrSet<BasicBlock *, 16> after = blocksAfterProducts(function, loops);
  // Values that take divisions are computed before loops in any case.
  ComputedFromId computed(*threadId, loops, /*withDivisions=*/insideLoops);
  DenseMap<BasicBlock *, std::unique_ptr<Rematerialization>> copies;
  for (Instruction *original : computed.all)
    for (Use &use : make_early_inc_range(original->uses())) {
      auto *user = cast<Instruction>(use.getUser());
      if (isa<PHINode>(user))
        continue;
      bool isInside = insideLoops && !computed.divided.contains(original);
      BasicBlock *place = placeFor(*user->getParent(), products, after, isInside);
      if (!place)
        continue;
      std::unique_ptr<Rematerialization> &copy = copies[place];
      if (!copy)
        copy = std::make_unique<Rematerialization>(*place, *threadId, computed.all);
      use.set(copy->valueOf(original));
    }
}

/// Returns true if a matrix instruction accumulates onto the result of another one in its block.
static bool continuesSum(const Instruction &instruction) {
  return any_of(instruction.operands(), [&](const Use &operand) {
    const auto *from = dyn_cast<Instruction>(operand);
    return from && from->getParent() == instruction.getParent() && isMatrixInstruction(*from) &&
           from->getType() == instruction.getType();
  });
}

/// Counts the registers of a block's accumulators and of the operands that its matrix instructions
/// have between two barriers: the scheduler reads these together.
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

void tw::amd::rematerializeAfterLargeProducts(Module &module) {
  constexpr unsigned numRegisters = 256; // that vector instructions name
  for (Function &function : module)
    if (any_of(function,
               [](const BasicBlock &block) { return registersOfProducts(block) >= numRegisters; }))
      rematerialize(function, /*insideLoops=*/false);
}

namespace {
/// The registers of a loop with matrix instructions.
struct LoopRegisters {
  unsigned inside = 0;  // of what the loop itself takes
  unsigned through = 0; // of addresses that only the code behind it takes
};
} // namespace

/// Returns the values of a function that follow from a thread's number: they are in vector
/// registers.
static SmallPtrSet<const Instruction *, 32> valuesOfLanes(Function &function,
                                                          Instruction &threadId) {
  SmallPtrSet<const Instruction *, 32> values = {&threadId};
  for (const BasicBlock *block : ReversePostOrderTraversal(&function))
    for (const Instruction &instruction : *block)
      if (any_of(instruction.operand_values(), [&](const Value *operand) {
            const auto *from = dyn_cast<Instruction>(operand);
            return from && values.contains(from);
          }))
        values.insert(&instruction);
  return values;
}

/// Counts the registers of an integer or address.
static unsigned registersOfWord(const Instruction &word) {
  return word.getDataLayout().getTypeSizeInBits(word.getType()).getFixedValue() / 32;
}

/// Counts the registers of addresses that are computed before a loop for accesses in it.
static unsigned registersOfAddresses(const Loop &loop,
                                     const SmallPtrSetImpl<const Instruction *> &values) {
  unsigned registers = 0;
  for (const Instruction *value : values)
    if (value->getType()->isIntOrPtrTy() && !loop.contains(value) &&
        any_of(value->users(), [&](const User *user) {
          return loop.contains(cast<Instruction>(user)) && !isa<PHINode>(user);
        }))
      registers += registersOfWord(*value);
  return registers;
}

static LoopRegisters registersOfLoop(const Loop &loop, const ComputedFromId &computed,
                                     const SmallPtrSetImpl<const Instruction *> &values) {
  LoopRegisters registers;
  for (const BasicBlock *block : loop.blocks())
    registers.inside =
        std::max(registers.inside, registersOfProducts(*block) + registersOfLoads(*block));
  registers.inside += registersOfAddresses(loop, values);
  for (const Instruction *instruction : computed.all) {
    bool isInside = false, isElsewhere = false;
    for (const User *user : instruction->users()) {
      isInside |= loop.contains(cast<Instruction>(user));
      isElsewhere |= cast<Instruction>(user)->getParent() != instruction->getParent();
    }
    if (isElsewhere && !isInside)
      registers.through += registersOfWord(*instruction);
  }
  return registers;
}

SmallVector<unsigned> tw::amd::readRegisterSteps(const Function &function) {
  SmallVector<StringRef> numbers;
  function.getFnAttribute(kRegisterSteps).getValueAsString().split(numbers, ',');
  SmallVector<unsigned> steps;
  for (StringRef number : numbers)
    if (unsigned step; !number.getAsInteger(10, step))
      steps.push_back(step);
  return steps;
}

/// Returns true if more programs fit at once without the values that live through a loop with
/// matrix instructions. LLVM takes about a sixteenth more or fewer registers than are counted here.
static bool isBetterWithout(Function &function, Instruction &threadId) {
  SmallVector<unsigned> steps = readRegisterSteps(function);
  DominatorTree dominators(function);
  LoopInfo loops(dominators);
  ComputedFromId computed(threadId, loops, /*withDivisions=*/false);
  SmallPtrSet<const Instruction *, 32> values = valuesOfLanes(function, threadId);
  return any_of(loops.getLoopsInPreorder(), [&](const Loop *loop) {
    if (!hasProducts(*loop))
      return false;
    LoopRegisters registers = registersOfLoop(*loop, computed, values);
    return any_of(steps, [&](unsigned step) {
      return registers.inside <= step && step + step / 16 < registers.inside + registers.through;
    });
  });
}

void tw::amd::rematerializeForOccupancy(Module &module) {
  for (Function &function : module) {
    IntrinsicInst *threadId =
        any_of(function, hasMatrixInstruction) ? findThreadId(function) : nullptr;
    if (threadId && isBetterWithout(function, *threadId))
      rematerialize(function, /*insideLoops=*/false);
  }
}

static void rematerializeEverywhere(Module &module, bool insideLoops) {
  for (Function &function : module)
    if (!function.isDeclaration())
      rematerialize(function, insideLoops);
}

void tw::amd::rematerializeBeforeLoops(Module &module) {
  rematerializeEverywhere(module, /*insideLoops=*/false);
}

void tw::amd::rematerializeInLoops(Module &module) {
  rematerializeEverywhere(module, /*insideLoops=*/true);
}
