// Barriers in two parts (SPV_INTEL_split_barrier): a subgroup arrives after its last access of
// shared memory and waits before its next, and what lies in between runs while others arrive.
#include "backend/spirv/LowerSpirv.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tw;
using namespace tw::spirv;

namespace {
/// A run of operations without accesses of shared memory, beside a barrier or at the end of a loop.
struct FreeRun {
  Operation *end = nullptr; // the operation beyond it; null: the run reaches the block's start
  bool takesLong = false;   // it has a matrix product or an access of global memory
};
} // namespace

static bool isGlobalAccess(Operation *op) {
  return isa<simt::GlobalLoadOp, simt::GlobalStoreOp>(op);
}

/// Returns true if an operation and what it contains leave shared memory alone.
static bool isFree(Operation *op) {
  if (op->getNumRegions() == 0)
    return isGlobalAccess(op) || isa<simt::ShuffleOp>(op) || isMemoryEffectFree(op);
  if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return false;
  return !op->walk([&](Operation *inner) {
              return inner == op || isFree(inner) ? WalkResult::advance() : WalkResult::interrupt();
            }).wasInterrupted();
}

static bool takesLong(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        bool isLong = isGlobalAccess(inner) || isa<simt::MmaFragmentOp>(inner);
        return isLong ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Finds the run of free operations that ends in front of an operation.
static FreeRun runBefore(Operation *op) {
  FreeRun run;
  for (run.end = op->getPrevNode(); run.end && isFree(run.end); run.end = run.end->getPrevNode())
    run.takesLong |= takesLong(run.end);
  return run;
}

static bool isDivisible(Lowering &lowering, Operation *op) {
  auto barrier = dyn_cast<simt::BarrierOp>(op);
  return barrier && !barrier.getWarp() && !lowering.ordersGlobal.contains(barrier);
}

/// Finds the barrier that follows a loop with only free operations in between; null: there is none.
static Operation *barrierAfter(Lowering &lowering, Operation *loop) {
  Operation *op = loop->getNextNode();
  while (op && isFree(op))
    op = op->getNextNode();
  return op && isDivisible(lowering, op) ? op : nullptr;
}

/// Lets the subgroups arrive in the iteration before, and before the loop for the first one. After
/// the last iteration they have arrived at the barrier behind the loop, or at one of its own.
/// Returns the barrier behind the loop whose arrivals these are.
static Operation *splitAcrossIterations(Lowering &lowering, scf::ForOp loop,
                                        Operation *lastAccess) {
  OpBuilder &b = lowering.builder;
  b.setInsertionPoint(loop);
  emitBarrierPart(lowering, BarrierPart::Arrive);
  b.setInsertionPointAfter(lastAccess);
  emitBarrierPart(lowering, BarrierPart::Arrive);
  Operation *next = barrierAfter(lowering, loop);
  if (!next) {
    b.setInsertionPointAfter(loop);
    emitBarrierPart(lowering, BarrierPart::Wait);
  }
  return next;
}

void tw::spirv::splitBarriers(Lowering &lowering) {
  if (lowering.numWarps == 1)
    return;
  SmallVector<Operation *> barriers;
  lowering.kernel->walk([&](Operation *op) {
    if (isDivisible(lowering, op))
      barriers.push_back(op);
  });
  OpBuilder &b = lowering.builder;
  OpBuilder::InsertionGuard guard(b);
  llvm::SmallPtrSet<Operation *, 4> arrivedAt; // barriers at which a loop in front has arrived
  for (Operation *barrier : barriers) {
    lowering.loc = barrier->getLoc();
    bool hasArrived = arrivedAt.contains(barrier);
    FreeRun run = runBefore(barrier);
    if (auto loop = dyn_cast<scf::ForOp>(barrier->getParentOp()); loop && !hasArrived && !run.end) {
      FreeRun tail = runBefore(loop.getBody()->getTerminator());
      if (tail.end != barrier && (run.takesLong || tail.takesLong)) {
        arrivedAt.insert(splitAcrossIterations(lowering, loop, tail.end));
        hasArrived = true;
      }
    }
    if (!hasArrived && run.takesLong) {
      if (run.end)
        b.setInsertionPointAfter(run.end);
      else
        b.setInsertionPointToStart(barrier->getBlock());
      emitBarrierPart(lowering, BarrierPart::Arrive);
      hasArrived = true;
    }
    if (!hasArrived)
      continue;
    b.setInsertionPoint(barrier);
    emitBarrierPart(lowering, BarrierPart::Wait);
    barrier->erase();
  }
}
