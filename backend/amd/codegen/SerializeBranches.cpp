// Lets the two branches of a condition run one after the other, the second one with what the first
// one left of the values that a loop carries.
//
// LLVM gives a condition with two branches this shape in any case (its pass is "Structurize control
// flow"), also where all lanes agree. But it keeps the loop's values for the second branch beside
// the results of the first one: a loop whose accumulators change in both branches would need
// registers for them twice.
#include "backend/amd/codegen/MatrixInstructions.h"
#include "backend/amd/codegen/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <optional>

using namespace llvm;
using namespace tw::amd;

namespace {
/// A condition and its two branches, each with one entry and one exit.
struct Diamond {
  BasicBlock *condition;
  BasicBlock *second, *secondExit; // taken where the condition is true
  BasicBlock *first, *firstExit;
  BasicBlock *merge;
};
} // namespace

/// Returns true if what runs from a block on leaves it by one edge only: `exit` to `merge`.
static bool isBranch(BasicBlock *entry, BasicBlock *exit, BasicBlock *merge,
                     const DominatorTree &dominators) {
  SmallVector<BasicBlock *> blocks;
  dominators.getDescendants(entry, blocks);
  return dominators.dominates(entry, exit) && all_of(blocks, [&](BasicBlock *block) {
           return all_of(successors(block), [&](BasicBlock *next) {
             return next == merge ? block == exit : dominators.dominates(entry, next);
           });
         });
}

/// Finds the branches that meet at a block.
static std::optional<Diamond> diamondBefore(BasicBlock &merge, const DominatorTree &dominators) {
  SmallVector<BasicBlock *> exits(predecessors(&merge));
  if (exits.size() != 2 || exits[0] == exits[1])
    return std::nullopt;
  BasicBlock *condition = dominators.findNearestCommonDominator(exits[0], exits[1]);
  auto *end = dyn_cast<BranchInst>(condition->getTerminator());
  if (!end || !end->isConditional())
    return std::nullopt;
  BasicBlock *second = end->getSuccessor(0), *first = end->getSuccessor(1);
  if (!dominators.dominates(second, exits[0]))
    std::swap(exits[0], exits[1]);
  Diamond diamond{condition, second, exits[0], first, exits[1], &merge};
  bool isDiamond = second != first && second != &merge && first != &merge &&
                   isBranch(second, exits[0], &merge, dominators) &&
                   isBranch(first, exits[1], &merge, dominators);
  return isDiamond ? std::optional(diamond) : std::nullopt;
}

/// Returns the value that a loop carries into an iteration, whose next one a phi is; null for other
/// phis.
static PHINode *carriedAs(PHINode &next, const BasicBlock &condition, const LoopInfo &loops,
                          const DominatorTree &dominators) {
  for (User *user : next.users()) {
    auto *carried = dyn_cast<PHINode>(user);
    if (carried && loops.isLoopHeader(carried->getParent()) &&
        carried->getNumIncomingValues() == 2 &&
        dominators.dominates(carried->getParent(), &condition) &&
        loops.getLoopFor(carried->getParent())->contains(next.getParent()))
      return carried;
  }
  return nullptr;
}

/// Returns the registers of the values of a loop that both branches may change.
static unsigned registersOfCarried(const Diamond &diamond, const LoopInfo &loops,
                                   const DominatorTree &dominators) {
  unsigned registers = 0;
  for (PHINode &phi : diamond.merge->phis())
    if (carriedAs(phi, *diamond.condition, loops, dominators))
      registers += registersOf(phi);
  return registers;
}

/// Gives the second branch the value behind the first one.
static void serializeValue(PHINode &merged, PHINode *carried, BasicBlock &between,
                           const Diamond &diamond, const DominatorTree &dominators) {
  auto *value = PHINode::Create(merged.getType(), 2, "", between.begin());
  Value *before = carried;
  if (!carried)
    before = PoisonValue::get(merged.getType());
  value->addIncoming(before, diamond.condition);
  int edge = merged.getBasicBlockIndex(diamond.firstExit);
  value->addIncoming(merged.getIncomingValue(edge), diamond.firstExit);
  merged.setIncomingValue(edge, value);
  merged.setIncomingBlock(edge, &between);
  if (carried)
    carried->replaceUsesWithIf(value, [&](Use &use) {
      auto *user = cast<Instruction>(use.getUser());
      auto *phi = dyn_cast<PHINode>(user);
      BasicBlock *place = phi ? phi->getIncomingBlock(use) : user->getParent();
      bool isAtEntry = place == diamond.condition && user->getParent() == diamond.second;
      return isAtEntry || dominators.dominates(diamond.second, place);
    });
}

static void serialize(const Diamond &diamond, const LoopInfo &loops,
                      const DominatorTree &dominators) {
  auto *end = cast<BranchInst>(diamond.condition->getTerminator());
  BasicBlock *between =
      BasicBlock::Create(end->getContext(), "", end->getFunction(), diamond.second);
  for (PHINode &phi : diamond.merge->phis())
    serializeValue(phi, carriedAs(phi, *diamond.condition, loops, dominators), *between, diamond,
                   dominators);
  BranchInst::Create(diamond.second, diamond.merge, end->getCondition(), between);
  end->setSuccessor(0, between);
  diamond.second->replacePhiUsesWith(diamond.condition, between);
  diamond.firstExit->getTerminator()->replaceSuccessorWith(diamond.merge, between);
}

/// Finds branches between which too many registers would be held twice.
static std::optional<Diamond> findDiamond(Function &function, LoopInfo &loops,
                                          DominatorTree &dominators) {
  constexpr unsigned kMostTwice = 64; // a quarter of those that an instruction can name
  for (BasicBlock &block : function) {
    std::optional<Diamond> diamond = diamondBefore(block, dominators);
    if (diamond && loops.getLoopFor(&block) &&
        registersOfCarried(*diamond, loops, dominators) > kMostTwice)
      return diamond;
  }
  return std::nullopt;
}

void tw::amd::serializeBranches(Module &module) {
  for (Function &function : module)
    while (!function.isDeclaration()) {
      DominatorTree dominators(function);
      LoopInfo loops(dominators);
      std::optional<Diamond> diamond = findDiamond(function, loops, dominators);
      if (!diamond)
        break;
      serialize(*diamond, loops, dominators);
    }
}
