// Unrolls the loops of LLVM IR that are short and of a fixed number of iterations.
#include "backend/codegen/UnrollShortLoops.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"
#include "llvm/Transforms/Utils/UnrollLoop.h"

using namespace tw;

// Half of the threshold of LLVM's -O2, by which attention would be 7 % longer to compile and as
// fast, and what the branch back and its test count for.
static constexpr uint64_t kMostInstructions = 80, kBranchInstructions = 2;

namespace {
/// The analyses that unrolling keeps up to date.
struct LoopAnalyses {
  LoopAnalyses(llvm::Function &function, llvm::FunctionAnalysisManager &analyses)
      : loops(analyses.getResult<llvm::LoopAnalysis>(function)),
        dominators(analyses.getResult<llvm::DominatorTreeAnalysis>(function)),
        evolution(analyses.getResult<llvm::ScalarEvolutionAnalysis>(function)),
        costs(analyses.getResult<llvm::TargetIRAnalysis>(function)),
        assumptions(analyses.getResult<llvm::AssumptionAnalysis>(function)),
        remarks(analyses.getResult<llvm::OptimizationRemarkEmitterAnalysis>(function)) {}
  llvm::LoopInfo &loops;
  llvm::DominatorTree &dominators;
  llvm::ScalarEvolution &evolution;
  llvm::TargetTransformInfo &costs;
  llvm::AssumptionCache &assumptions;
  llvm::OptimizationRemarkEmitter &remarks;
};
} // namespace

/// Returns true if the back edge depends on a comparison with a constant. This check costs nothing,
/// unlike computing the number of iterations.
static bool endsAtConstant(const llvm::Loop &loop) {
  const llvm::BasicBlock *latch = loop.getLoopLatch();
  auto *branch = latch ? llvm::dyn_cast<llvm::BranchInst>(latch->getTerminator()) : nullptr;
  if (!branch || !branch->isConditional())
    return false;
  auto *test = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  return test && llvm::isa<llvm::ConstantInt>(test->getOperand(1));
}

/// Instructions that are in the code of every iteration, unlike addresses: no estimate is lower.
static uint64_t countInstructions(const llvm::Loop &loop) {
  uint64_t count = 0;
  for (const llvm::BasicBlock *block : loop.blocks())
    for (const llvm::Instruction &instruction : *block)
      count += instruction.mayReadOrWriteMemory() ||
               llvm::isa<llvm::BinaryOperator, llvm::ShuffleVectorInst>(instruction);
  return count;
}

/// How often a loop that is worth unrolling runs; 0 for the others.
static unsigned unrolledIterations(llvm::Loop &loop, LoopAnalyses &analyses) {
  if (!loop.isInnermost() || !endsAtConstant(loop) ||
      llvm::hasUnrollTransformation(&loop) == llvm::TM_SuppressedByUser)
    return 0;
  // Few loops come as far as the estimate, which costs the most.
  const uint64_t least = countInstructions(loop);
  if (least >= kMostInstructions)
    return 0;
  const uint64_t count = analyses.evolution.getSmallConstantTripCount(&loop);
  if (count == 0 || count * least >= kMostInstructions)
    return 0;
  llvm::SmallPtrSet<const llvm::Value *, 1> noAssumptions;
  llvm::UnrollCostEstimator estimate(&loop, analyses.costs, noAssumptions, kBranchInstructions);
  if (!estimate.canUnroll())
    return 0;
  const uint64_t body = estimate.getRolledLoopSize() - kBranchInstructions;
  return count * body + kBranchInstructions < kMostInstructions ? count : 0;
}

static bool unroll(llvm::Loop &loop, LoopAnalyses &analyses) {
  const unsigned count = unrolledIterations(loop, analyses);
  if (count == 0)
    return false;
  llvm::simplifyLoop(&loop, &analyses.dominators, &analyses.loops, &analyses.evolution,
                     &analyses.assumptions, /*MSSAU=*/nullptr, /*PreserveLCSSA=*/false);
  llvm::formLCSSARecursively(loop, analyses.dominators, &analyses.loops, &analyses.evolution);
  llvm::UnrollLoopOptions options{};
  options.Count = count;
  return llvm::UnrollLoop(&loop, options, &analyses.loops, &analyses.evolution,
                          &analyses.dominators, &analyses.assumptions, &analyses.costs,
                          &analyses.remarks,
                          /*PreserveLCSSA=*/true) != llvm::LoopUnrollResult::Unmodified;
}

llvm::PreservedAnalyses UnrollShortLoops::run(llvm::Function &function,
                                              llvm::FunctionAnalysisManager &analyses) {
  LoopAnalyses results(function, analyses);
  // Outer loops first: taken from the end, each loop comes after those inside of it, which may be
  // gone by then, and none of those in front of it is.
  llvm::SmallVector<llvm::Loop *> order = results.loops.getLoopsInPreorder();
  bool hasChanged = false;
  for (llvm::Loop *loop : llvm::reverse(order))
    hasChanged |= unroll(*loop, results);
  if (!hasChanged)
    return llvm::PreservedAnalyses::all();
  llvm::PreservedAnalyses preserved;
  preserved.preserve<llvm::DominatorTreeAnalysis>();
  preserved.preserve<llvm::LoopAnalysis>();
  return preserved;
}
