#include "passes/simt/pipeline/LoaderRing.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/analysis/LoaderNeeds.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw::simt;

bool LoaderRing::canServe(LoopPipeline &next, unsigned slotsOfNext) {
  scf::ForOp loop = next.loop;
  if (loop->getBlock() != first->getBlock() || slotsOfNext != numSlots ||
      next.loads.size() != slots.size())
    return false;
  for (auto [pipelined, slot, group, axes] : llvm::zip(next.loads, slots, groups, sharedAxes))
    if (pipelined.slot != slot.getType() || pipelined.group != group ||
        pipelined.sharedAxes != axes)
      return false;
  for (Operation *op = first; op != loop; op = op->getNextNode())
    for (const PipelinedLoad &pipelined : next.loads)
      if (mayBeOverwritten(pipelined.load, op))
        return false;
  return true;
}

bool LoaderRing::canMoveOut() const {
  return numQuietLoops > 0 && isa<scf::ForOp>(first->getParentOp());
}

void LoaderRing::moveOut() {
  auto loop = cast<scf::ForOp>(first->getParentOp());
  for (Operation *op = first; op != behind;) {
    Operation *next = op->getNextNode();
    op->moveBefore(loop);
    op = next;
  }
  IRRewriter rewriter(loop.getContext());
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> inits;
  for (OpOperand *place : begin) // constants, of this loop or from around it
    inits.push_back(rewriter.clone(*place->get().getDefiningOp())->getResult(0));
  auto yieldPlaces = [&](OpBuilder &, Location, ArrayRef<BlockArgument>) {
    return SmallVector<Value>(end.begin(), end.end());
  };
  auto next = cast<scf::ForOp>(*loop.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yieldPlaces));
  unsigned own = next.getNumResults() - kPlaces;
  for (unsigned i = 0; i < kPlaces; ++i) {
    begin[i]->set(next.getRegionIterArg(own + i));
    begin[i] = &next.getInitArgsMutable()[own + i];
    end[i] = next.getResult(own + i);
  }
  Operation *place = next;
  for (Operation *drop : drops) {
    drop->moveAfter(place);
    place = drop;
  }
  behind = next;
  --numQuietLoops;
}
