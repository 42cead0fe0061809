// Takes branches out of the loops of loaders: one that goes the same way in each iteration is taken
// once, in front of the loop, which is written for each of its sides.
#include "mlir/IR/BuiltinOps.h"
#include "passes/simt/pipeline/LoopPipeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Returns true if a branch in the body of a loop is about effects alone, and the loop does not
/// change its condition.
static bool isFixed(scf::ForOp loop, scf::IfOp branch) {
  return branch.getNumResults() == 0 && loop.isDefinedOutsideOfLoop(branch.getCondition());
}

/// Puts one side of each branch by a condition in the place of the branch.
static void takeSide(scf::ForOp loop, Value condition, bool isThen) {
  for (scf::IfOp branch : llvm::make_early_inc_range(loop.getBody()->getOps<scf::IfOp>())) {
    if (branch.getCondition() != condition || !isFixed(loop, branch))
      continue;
    if (Block *side = isThen ? branch.thenBlock() : branch.elseBlock()) {
      side->getTerminator()->erase();
      loop.getBody()->getOperations().splice(branch->getIterator(), side->getOperations());
    }
    branch.erase();
  }
}

static void unswitch(scf::ForOp loop, Value condition) {
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto around = scf::IfOp::create(builder, loc, loop.getResultTypes(), condition,
                                  /*withElseRegion=*/true);
  for (Region &side : around->getRegions()) {
    builder.setInsertionPointToStart(&side.front());
    auto copy = cast<scf::ForOp>(builder.clone(*loop));
    takeSide(copy, condition, /*isThen=*/&side == &around.getThenRegion());
    if (loop.getNumResults() != 0)
      scf::YieldOp::create(builder, loc, copy.getResults());
  }
  loop.replaceAllUsesWith(around.getResults());
  loop.erase();
}

void tw::simt::unswitchLoaders(ModuleOp module) {
  SmallVector<scf::ForOp> loops;
  module.walk([&](LoaderOp loader) { llvm::append_range(loops, loader.getOps<scf::ForOp>()); });
  for (scf::ForOp loop : loops) {
    auto branches = loop.getBody()->getOps<scf::IfOp>();
    auto found = llvm::find_if(branches, [&](scf::IfOp branch) { return isFixed(loop, branch); });
    if (found != branches.end())
      unswitch(loop, (*found).getCondition());
  }
}
