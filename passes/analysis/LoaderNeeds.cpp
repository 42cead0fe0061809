// Walks back from the operands of loader regions.
#include "passes/analysis/LoaderNeeds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/PointerRoots.h"

using namespace mlir;
using namespace tw;
using tile::LoadOp;

/// Returns true if the program may learn here that other programs have written: by a scalar atomic
/// that acquires.
static bool acquires(tile::MemoryAccess access) {
  std::optional<tile::MemoryOrder> order = access.getAtomicOrder();
  return !tile::isTile(access.getPointers()) && !access->use_empty() &&
         (order == tile::MemoryOrder::Acquire || order == tile::MemoryOrder::AcqRel);
}

bool tw::mayBeOverwritten(LoadOp load, Operation *root) {
  WalkResult result = root->walk([&](tile::MemoryAccess access) -> WalkResult {
    bool isChanged = access.isOrdered() && mayAlias(load.getPtr(), access.getPointers());
    return isChanged || acquires(access) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

bool tw::awaitsLaunches(Operation *op) {
  auto order = dyn_cast<tile::OrderLaunchesOp>(op);
  return order && order.getOrder() == tile::LaunchOrder::Await;
}

/// Returns true if what a load of a scalar reads may change while the kernel runs: by the kernel,
/// by programs that it waits for, or by code of the user's.
static bool mayChange(LoadOp load) {
  auto kernel = load->getParentOfType<FunctionOpInterface>();
  WalkResult foreign = kernel->walk([](Operation *op) {
    bool hasEffects = isa<tile::InlineAsmOp, tile::ExternCallOp>(op) && !isMemoryEffectFree(op);
    return hasEffects ? WalkResult::interrupt() : WalkResult::advance();
  });
  return load.getIsVolatile() || load.getCache() == tile::CacheModifier::CV ||
         foreign.wasInterrupted() || mayBeOverwritten(load, kernel);
}

bool tw::meetsLoader(Operation *op) {
  auto barrier = dyn_cast<simt::BarrierOp>(op);
  return barrier && barrier.getLoader();
}

bool tw::isForLoader(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<simt::LoaderOp>(inner) || meetsLoader(inner) ? WalkResult::interrupt()
                                                                : WalkResult::advance();
      })
      .wasInterrupted();
}

static bool isFloat(Value value) { return isa<FloatType>(value.getType()); }

/// Why another warp cannot run an operation, apart from its operands.
static StringRef obstacleTo(Operation *op) {
  if (llvm::any_of(op->getOperands(), tile::isTile) || llvm::any_of(op->getResults(), tile::isTile))
    return "it needs a scalar that is computed from tiles";
  if (op->getNumRegions() != 0)
    return "it needs the result of a branch or of another loop";
  if (auto load = dyn_cast<LoadOp>(op))
    return mayChange(load) ? "it needs what the kernel, or a program that it waits for, may write"
                           : "";
  // Each role's code may fuse multiplications and additions in its own way; comparisons are exact.
  if (llvm::any_of(op->getResults(), isFloat) && !isa<arith::ConstantOp>(op))
    return "it needs a number that is computed from floats";
  return isMemoryEffectFree(op) ? "" : "it needs the result of what has other effects";
}

SmallVector<unsigned> LoaderNeeds::carriedOf(scf::ForOp loop) const {
  SmallVector<unsigned> numbers;
  for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs()))
    if (carried.contains(argument))
      numbers.push_back(number);
  return numbers;
}

/// Adds what a loop around the region carries: from before it, and from iteration to iteration.
void LoaderNeeds::addCarried(BlockArgument argument) {
  auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
  if (!loop)
    reason = "it needs a value that a loop around it carries, which is not counted";
  else if (tile::isTile(argument) || isFloat(argument))
    reason = "it needs a number that a loop around it computes from floats or tiles";
  if (!reason.empty() || !carried.insert(argument))
    return;
  add(loop.getTiedLoopInit(argument)->get());
  add(loop.getTiedLoopYieldedValue(argument)->get());
}

void LoaderNeeds::add(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    auto loop = dyn_cast<scf::ForOp>(owner);
    if (!isa<FunctionOpInterface>(owner) && !(loop && argument == loop.getInductionVar()))
      addCarried(argument);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!reason.empty() || operations.contains(op) || isa<simt::LoaderOp>(op))
    return;
  if (auto loop = dyn_cast<scf::ForOp>(op); loop && isForLoader(loop)) {
    addControlOf(loop.getBody()->getTerminator());
    return addCarried(loop.getTiedLoopRegionIterArg(cast<OpResult>(value)));
  }
  reason = obstacleTo(op);
  for (Value operand : op->getOperands())
    add(operand);
  operations.insert(op);
}

void LoaderNeeds::addControlOf(Operation *op) {
  for (Operation *parent = op->getParentOp(); !isa<FunctionOpInterface>(parent);
       parent = parent->getParentOp()) {
    auto loop = dyn_cast<scf::ForOp>(parent);
    auto branch = dyn_cast<scf::IfOp>(parent);
    if (!loop && !branch) {
      reason = "it is in a loop that is not counted";
      return;
    }
    if (branch)
      add(branch.getCondition());
    else
      for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
        add(bound);
  }
}

void LoaderNeeds::add(simt::LoaderOp loader) {
  addControlOf(loader);
  loader.getBody().walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!loader.getBody().isAncestor(operand.getParentRegion()) &&
          !isa<simt::SharedType>(operand.getType()))
        add(operand);
  });
}
