// Splits very large functions at the blocks that every path visits, so that LLVM takes linear time.
#include "backend/codegen/ModulePasses.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/CodeExtractor.h"

using namespace tw;

// Costs count instructions. A block costs more than what is in it: the analyses are per block.
static constexpr int64_t kCostOfBlock = 20;
// Smaller functions stay whole, so that nothing changes for kernels of usual sizes.
static constexpr int64_t kPartsOfLarge = 8;

static int64_t costOf(const llvm::BasicBlock &block) {
  return kCostOfBlock + int64_t(block.size());
}

static int64_t costOf(const llvm::Function &function) {
  int64_t cost = 0;
  for (const llvm::BasicBlock &block : function)
    cost += costOf(block);
  return cost;
}

/// Moves every allocation to the function's first block: elsewhere LLVM does not know its size.
static void hoistAllocations(llvm::Function &function) {
  llvm::BasicBlock &entry = function.getEntryBlock();
  for (llvm::BasicBlock &block : function)
    for (llvm::Instruction &instruction : llvm::make_early_inc_range(block))
      if (auto alloca = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
          alloca && llvm::isa<llvm::Constant>(alloca->getArraySize()))
        alloca->moveBefore(entry, entry.getFirstInsertionPt());
}

/// Cuts blocks that are longer than a part, from their ends: a cut moves what is behind it.
static void cutBlock(llvm::BasicBlock &block, int64_t costOfPart) {
  llvm::SmallVector<llvm::BasicBlock::iterator> cuts;
  int64_t length = 0;
  for (auto i = block.getFirstInsertionPt(); i != block.end(); ++i)
    if (!llvm::isa<llvm::AllocaInst>(*i) && ++length % (costOfPart / 2) == 0)
      cuts.push_back(i);
  for (llvm::BasicBlock::iterator cut : llvm::reverse(cuts))
    block.splitBasicBlock(cut);
}

namespace {
using Blocks = llvm::SmallVector<llvm::BasicBlock *, 0>;

struct Part {
  Blocks blocks;   // the first dominates the others
  bool isRepeated; // by a loop around it, so that a buffer may keep what the last iteration wrote
};

/// Finds the parts of a function.
class Parts {
public:
  Parts(llvm::Function &function, int64_t costOfPart)
      : dominators(function), loops(dominators), costOfPart(costOfPart) {
    Blocks ends;
    for (llvm::BasicBlock &block : function)
      if (llvm::isa<llvm::ReturnInst>(block.getTerminator()) &&
          dominators.isReachableFromEntry(&block))
        ends.push_back(&block);
    collect(function.getEntryBlock(), ends, nullptr);
  }

  llvm::SmallVector<Part> found;

private:
  void collect(llvm::BasicBlock &first, llvm::ArrayRef<llvm::BasicBlock *> ends,
               const llvm::Loop *loop);
  Blocks spineOf(llvm::BasicBlock &first, llvm::ArrayRef<llvm::BasicBlock *> ends,
                 const llvm::Loop *loop);
  Blocks between(llvm::BasicBlock *begin, llvm::BasicBlock *end, const llvm::Loop *loop);
  void collectInLoops(const Blocks &segment, const llvm::Loop *around);

  llvm::DominatorTree dominators;
  llvm::LoopInfo loops;
  int64_t costOfPart;
};
} // namespace

/// Returns the blocks of a loop's body, or of a function, that every pass through it goes by, in
/// order.
Blocks Parts::spineOf(llvm::BasicBlock &first, llvm::ArrayRef<llvm::BasicBlock *> ends,
                      const llvm::Loop *loop) {
  llvm::BasicBlock *last = nullptr;
  for (llvm::BasicBlock *end : ends)
    last = last ? dominators.findNearestCommonDominator(last, end) : end;
  Blocks spine;
  for (; last; last = dominators.getNode(last)->getIDom()->getBlock()) {
    if (loops.getLoopFor(last) == loop)
      spine.push_back(last);
    if (last == &first)
      break;
  }
  return Blocks(llvm::reverse(spine));
}

/// Returns the blocks that `begin` dominates and `end` does not, within the loop.
Blocks Parts::between(llvm::BasicBlock *begin, llvm::BasicBlock *end, const llvm::Loop *loop) {
  Blocks blocks, open = {begin};
  while (!open.empty()) {
    llvm::BasicBlock *block = open.pop_back_val();
    if (block == end || (loop && !loop->contains(block)))
      continue;
    blocks.push_back(block);
    for (llvm::DomTreeNode *child : *dominators.getNode(block))
      open.push_back(child->getBlock());
  }
  return blocks;
}

static int64_t costOf(const Blocks &blocks) {
  int64_t cost = 0;
  for (llvm::BasicBlock *block : blocks)
    cost += costOf(*block);
  return cost;
}

void Parts::collectInLoops(const Blocks &segment, const llvm::Loop *around) {
  for (llvm::BasicBlock *block : segment) {
    llvm::Loop *loop = loops.getLoopFor(block);
    if (!loop || loop->getHeader() != block || loop->getParentLoop() != around)
      continue;
    llvm::SmallVector<llvm::BasicBlock *> latches;
    loop->getLoopLatches(latches);
    collect(*block, latches, loop);
  }
}

/// Joins what lies between consecutive blocks of the spine to parts. The first and the last block
/// stay: one has the allocations or the loop's phis, the other leaves.
void Parts::collect(llvm::BasicBlock &first, llvm::ArrayRef<llvm::BasicBlock *> ends,
                    const llvm::Loop *loop) {
  Blocks spine = spineOf(first, ends, loop), part;
  int64_t cost = 0;
  auto finishPart = [&] {
    if (cost >= costOfPart / 2)
      found.push_back({std::move(part), loop != nullptr});
    part.clear();
    cost = 0;
  };
  for (size_t i = 0; i + 1 < spine.size(); ++i) {
    Blocks segment = between(spine[i], spine[i + 1], loop);
    int64_t more = costOf(segment);
    if (i == 0 || more > 2 * costOfPart) {
      finishPart();
      collectInLoops(segment, loop);
      continue;
    }
    llvm::append_range(part, segment);
    cost += more;
    if (cost >= costOfPart)
      finishPart();
  }
  finishPart();
}

/// Moves buffers that only these blocks use to the first of them.
static void sinkAllocations(llvm::Function &function, const Blocks &part) {
  llvm::SmallPtrSet<llvm::BasicBlock *, 32> members(llvm::from_range, part);
  for (llvm::Instruction &instruction : llvm::make_early_inc_range(function.getEntryBlock())) {
    auto isInPart = [&](llvm::User *user) {
      return members.contains(llvm::cast<llvm::Instruction>(user)->getParent());
    };
    if (llvm::isa<llvm::AllocaInst>(instruction) && !instruction.use_empty() &&
        llvm::all_of(instruction.users(), isInPart))
      instruction.moveBefore(*part.front(), part.front()->getFirstInsertionPt());
  }
}

static void split(llvm::Function &function, int64_t costOfPart) {
  hoistAllocations(function);
  for (llvm::BasicBlock &block : llvm::make_early_inc_range(function))
    cutBlock(block, costOfPart);
  Parts parts(function, costOfPart);
  for (const Part &part : parts.found)
    if (!part.isRepeated)
      sinkAllocations(function, part.blocks);
  llvm::CodeExtractorAnalysisCache cache(function);
  for (const Part &part : parts.found) {
    // Values travel by memory: no convention of calls has all vectors, masks among them.
    llvm::CodeExtractor extractor(part.blocks, /*DT=*/nullptr, /*AggregateArgs=*/true, nullptr,
                                  nullptr, nullptr, /*AllowVarArgs=*/false, /*AllowAlloca=*/true);
    if (llvm::Function *moved = extractor.extractCodeRegion(cache))
      hoistAllocations(*moved);
  }
}

void tw::splitLargeFunctions(llvm::Module &module, int64_t costOfPart) {
  llvm::SmallVector<llvm::Function *> large;
  for (llvm::Function &function : module)
    if (costOf(function) > kPartsOfLarge * costOfPart)
      large.push_back(&function);
  for (llvm::Function *function : large)
    split(*function, costOfPart);
}
