// The pass `order-launches`: a kernel that may begin early waits before it could do harm.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/Passes.h"
#include "passes/analysis/LoaderNeeds.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_ORDERLAUNCHES
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using tile::OrderLaunchesOp;

/// Returns true if an operation may write memory that other launches see. What it reads is the
/// author's: weights, for example, that no launch writes.
static bool mayWrite(Operation *op) {
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return load.getIsVolatile();
  bool isElsewhere = isa<tile::PrintOp, tile::AssertOp, tile::AssumeOp, tile::MachineOp,
                         tile::BarrierOp, OrderLaunchesOp>(op);
  return op->getNumRegions() == 0 && !isElsewhere && !op->hasTrait<OpTrait::IsTerminator>() &&
         !isMemoryEffectFree(op);
}

/// Returns true if each program waits for the launches before its own, and writes nothing before.
static bool waitsInTime(func::FuncOp kernel) {
  for (Operation &op : kernel.getBody().front()) {
    if (awaitsLaunches(&op))
      return true;
    auto writes = [](Operation *inner) {
      return mayWrite(inner) ? WalkResult::interrupt() : WalkResult::advance();
    };
    if (op.walk(writes).wasInterrupted())
      return false;
  }
  return false;
}

static void waitAtStart(func::FuncOp kernel) {
  Operation *late = nullptr;
  kernel.walk([&](Operation *op) { late = awaitsLaunches(op) && !late ? op : late; });
  if (late)
    emitCodedRemark(late, Code::LaunchOrder)
        << "the kernel may write before it waits here, or not come here: with launch_pdl=True all "
           "of its programs wait at their start";
  OpBuilder builder = OpBuilder::atBlockBegin(&kernel.getBody().front());
  OrderLaunchesOp::create(builder, kernel.getLoc(), tile::LaunchOrder::Await);
}

namespace {
struct OrderLaunches : tw::impl::OrderLaunchesBase<OrderLaunches> {
  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!hasFeature(target, tile::Feature::DependentLaunches))
      getOperation().walk([](OrderLaunchesOp order) { order.erase(); });
    if (hasFeature(target, tile::Feature::EarlyLaunch))
      for (auto kernel : getOperation().getOps<func::FuncOp>())
        if (!waitsInTime(kernel))
          waitAtStart(kernel);
  }
};
} // namespace
