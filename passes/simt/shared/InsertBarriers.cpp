// The pass `insert-barriers`: the fewest barriers that order all accesses of shared memory, those
// of global memory that may meet, and those around atomics of one thread that acquire or release it
// for the program.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"
#include "passes/simt/shared/AccessOrder.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tw {
#define GEN_PASS_DEF_INSERTBARRIERS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
/// Walks a kernel with the accesses that no barrier has ordered yet. A barrier goes right before
/// the access that needs it: there it orders the most of what came before, and one barrier serves
/// all.
struct BarrierPlan {
  BarrierPlan(Operation *function, unsigned numWarps) : facts(function), numWarps(numWarps) {}

  PendingAccesses walk(Block &block, PendingAccesses pending);
  PendingAccesses visit(Operation *op, PendingAccesses pending);
  PendingAccesses visitLoop(Operation *loop, PendingAccesses entry);
  PendingAccesses repeat(Operation *loop, const PendingAccesses &entry);
  PendingAccesses iterate(Operation *loop, const PendingAccesses &head, PendingAccesses &exit);
  size_t numPlannedIn(Operation *loop) const;
  uint64_t cost() const;
  Ordering strongest() const { return numWarps == 1 ? Ordering::Warp : Ordering::Cta; }

  IndexFacts facts;
  unsigned numWarps;
  llvm::SmallPtrSet<Operation *, 4> chosen;      // branches with a barrier in front of them
  llvm::DenseMap<Operation *, Ordering> planned; // barrier before the operation
};
} // namespace

/// One run of a loop's body. `exit` gets what is pending where the loop ends after it.
PendingAccesses BarrierPlan::iterate(Operation *loop, const PendingAccesses &head,
                                     PendingAccesses &exit) {
  if (auto whileLoop = dyn_cast<scf::WhileOp>(loop)) {
    exit = walk(*whileLoop.getBeforeBody(), head);
    return walk(*whileLoop.getAfterBody(), exit);
  }
  PendingAccesses end = walk(*cast<scf::ForOp>(loop).getBody(), head);
  exit = end;
  exit.merge(head); // no iteration at all
  return end;
}

/// Runs the body until what is pending at its start is known, and returns what is pending after it.
PendingAccesses BarrierPlan::repeat(Operation *loop, const PendingAccesses &entry) {
  static constexpr unsigned kExactRounds = 8;
  PendingAccesses head = entry, exit;
  for (unsigned round = 0;; ++round) {
    PendingAccesses next = iterate(loop, head, exit);
    next.beginNextIteration(loop);
    next.merge(entry);
    // Barriers make this shrink where it grew before; after a while, it may only grow.
    if (round >= kExactRounds)
      next.merge(head);
    if (next == head)
      break;
    head = std::move(next);
  }
  if (isa<scf::ForOp>(loop)) {
    PendingAccesses skipped = entry;
    skipped.merge(exit);
    return skipped;
  }
  return exit;
}

size_t BarrierPlan::numPlannedIn(Operation *loop) const {
  return llvm::count_if(planned,
                        [&](const auto &entry) { return loop->isProperAncestor(entry.first); });
}

/// A barrier that only orders what came before the loop is better in front of it, once.
PendingAccesses BarrierPlan::visitLoop(Operation *loop, PendingAccesses entry) {
  repeat(loop, {});
  size_t alone = numPlannedIn(loop);
  PendingAccesses exit = repeat(loop, entry);
  if (numPlannedIn(loop) == alone)
    return exit;
  planned[loop] = strongest();
  entry.order(planned[loop]);
  return repeat(loop, entry);
}

PendingAccesses BarrierPlan::visit(Operation *op, PendingAccesses pending) {
  planned.erase(op);
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return visitLoop(op, std::move(pending));
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    if (chosen.contains(op)) {
      planned[op] = strongest();
      pending.order(strongest());
    }
    PendingAccesses after = walk(*branch.thenBlock(), pending);
    after.merge(branch.elseBlock() ? walk(*branch.elseBlock(), pending) : pending);
    return after;
  }
  if (isa<LoaderOp>(op))
    return pending;
  if (auto barrier = dyn_cast<simt::BarrierOp>(op)) {
    pending.order(barrier.getWarp() ? Ordering::Warp : Ordering::Cta);
    return pending;
  }
  Ordering needed = pending.neededBefore(op, numWarps, facts);
  // One barrier serves all reads in a row, and each of them may then wait for its use.
  if (needed != Ordering::None)
    for (Operation *next = op->getNextNode(); isa<LoadSharedOp>(op) && isa<LoadSharedOp>(next);
         next = next->getNextNode())
      needed = std::max(needed, pending.neededBefore(next, numWarps, facts));
  if (needed != Ordering::None) {
    planned[op] = needed;
    pending.order(needed);
  }
  pending.add(op);
  return pending;
}

PendingAccesses BarrierPlan::walk(Block &block, PendingAccesses pending) {
  for (Operation &op : block)
    pending = visit(&op, std::move(pending));
  return pending;
}

/// Barriers by what they cost: those of the CTA twice, each loop runs eight times.
uint64_t BarrierPlan::cost() const {
  uint64_t sum = 0;
  for (auto [op, ordering] : planned) {
    unsigned depth = 0;
    for (Operation *parent = op->getParentOp(); parent; parent = parent->getParentOp())
      depth += isa<scf::ForOp, scf::WhileOp>(parent);
    sum += (ordering == Ordering::Cta ? 2 : 1) * (uint64_t(1) << std::min(3 * depth, 60u));
  }
  return sum;
}

/// A barrier in front of a branch may serve the branch and what follows it.
static void improveBranches(BarrierPlan &plan, Block &body) {
  static constexpr unsigned kMostTried = 32; // each one walks the kernel
  SmallVector<Operation *> branches;
  body.walk([&](scf::IfOp branch) { branches.push_back(branch); });
  uint64_t best = plan.cost();
  for (Operation *branch : ArrayRef(branches).take_front(kMostTried)) {
    plan.chosen.insert(branch);
    plan.walk(body, {});
    if (plan.cost() < best)
      best = plan.cost();
    else
      plan.chosen.erase(branch);
  }
  plan.walk(body, {});
}

static void insertBarriers(func::FuncOp kernel, unsigned numWarps) {
  BarrierPlan plan(kernel, numWarps);
  plan.walk(kernel.getBody().front(), {});
  improveBranches(plan, kernel.getBody().front());
  unsigned numCta = 0, numWarp = 0;
  for (auto [op, ordering] : plan.planned) {
    OpBuilder builder(op);
    simt::BarrierOp::create(builder, op->getLoc(), ordering == Ordering::Warp);
    ++(ordering == Ordering::Warp ? numWarp : numCta);
  }
  if (numCta + numWarp > 0)
    emitCodedRemark(kernel, Code::BarrierUse)
        << "barriers: " << numCta << " of the CTA, " << numWarp << " of warps were inserted";
}

namespace {
struct InsertBarriers : tw::impl::InsertBarriersBase<InsertBarriers> {
  void runOnOperation() override {
    auto warps = getOperation()->getAttrOfType<IntegerAttr>(kNumWarps);
    for (auto kernel : getOperation().getOps<func::FuncOp>())
      if (!kernel.isExternal())
        insertBarriers(kernel, warps ? warps.getInt() : 1);
  }
};
} // namespace
