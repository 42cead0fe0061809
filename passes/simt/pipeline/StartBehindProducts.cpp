// Moves the start of copies behind products that run by themselves.
#include "passes/simt/pipeline/LoopPipeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The products that run by themselves, from an operation on, behind which copies are started: the
/// first, or, of those that add to sums of the iteration before, all that follow each other. Those
/// that wait for their partial sums run beside nothing.
static SmallVector<MmaOp> productsToStartBehind(Operation *from) {
  SmallVector<MmaOp> products;
  for (Operation *op = from; op; op = op->getNextNode()) {
    bool isNeeding = llvm::any_of(op->getOperands(), [&](Value operand) {
      return llvm::is_contained(products, operand.getDefiningOp());
    });
    // Waits count the copies that were started before them.
    if (isNeeding || isa<AsyncWaitOp>(op))
      break;
    auto mma = dyn_cast<MmaOp>(op);
    if (!mma || !mma.getAsync())
      continue;
    if (mma.getPartialDepth())
      break;
    bool isAdding = isa<BlockArgument>(mma.getAcc());
    if (products.empty() || isAdding)
      products.push_back(mma);
    if (!isAdding)
      break;
  }
  return products;
}

void tw::simt::startBehindProducts(Operation *first, Operation *end, SlotsFreed freed) {
  SmallVector<MmaOp> products = productsToStartBehind(end);
  bool addsToSums = !products.empty() && isa<BlockArgument>(products.back().getAcc());
  if (freed == SlotsFreed::HereByBarrier || (freed == SlotsFreed::ByEarlierBarrier && addsToSums)) {
    OpBuilder builder(first);
    first = simt::BarrierOp::create(builder, first->getLoc(), /*warp=*/false);
  }
  if (products.empty())
    return;
  MmaOp last = products.back();
  Block *block = last->getBlock();
  block->getOperations().splice(std::next(last->getIterator()), block->getOperations(),
                                first->getIterator(), end->getIterator());
}
