// Finds the loops that split-loops-by-mask has made of one.
#include "passes/analysis/SplitLoops.h"
#include "ir/tile/Tile.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;

scf::ForOp tw::mainLoopOf(scf::ForOp rest) {
  if (!rest->hasAttr(tile::kLoopShort) || rest.getInitArgs().empty())
    return nullptr;
  auto main = rest.getInitArgs().front().getDefiningOp<scf::ForOp>();
  bool goesOn = main && main->getBlock() == rest->getBlock() &&
                main.getUpperBound() == rest.getLowerBound() && main.getStep() == rest.getStep() &&
                llvm::equal(main.getResults(), rest.getInitArgs()) &&
                llvm::all_of(main.getResults(), [](Value result) { return result.hasOneUse(); });
  return goesOn ? main : nullptr;
}
