// The pass `await-products`: products that run by themselves are waited for where their results are
// needed, and before the barriers after which their operands may be overwritten.
#include "passes/Passes.h"
#include "passes/analysis/ProductsInFlight.h"

namespace tw {
#define GEN_PASS_DEF_AWAITPRODUCTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static void insertWait(Operation *place, const ProductWait &wait) {
  OpBuilder builder(place);
  ValueRange accumulators = wait.accumulators;
  auto op = MmaWaitOp::create(builder, place->getLoc(), accumulators.getTypes(), wait.pending,
                              accumulators);
  for (auto [value, done] : llvm::zip(accumulators, op.getResults()))
    value.replaceUsesWithIf(done, [&](OpOperand &use) {
      Operation *user = place->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return use.getOwner() != op && user && !user->isBeforeInBlock(op);
    });
}

namespace {
struct AwaitProducts : tw::impl::AwaitProductsBase<AwaitProducts> {
  void runOnOperation() override {
    for (auto kernel : getOperation().getOps<func::FuncOp>()) {
      if (kernel.isExternal())
        continue;
      ProductNeeds missing = missingWaits(kernel);
      for (Operation *op : missing.fences) {
        OpBuilder builder(op);
        FenceAsyncOp::create(builder, op->getLoc());
      }
      for (auto &[place, wait] : missing.waits)
        insertWait(place, wait);
    }
  }
};
} // namespace
