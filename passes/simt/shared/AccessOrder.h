// Which memory accesses of a kernel's threads are ordered, and what orders the others: the state of
// insert-barriers.
#ifndef PASSES_SIMT_ACCESSORDER_H
#define PASSES_SIMT_ACCESSORDER_H
#include "ir/simt/Simt.h"
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace tw::simt {

/// The barrier that orders two accesses: none is needed, one of each warp, or one of the CTA.
enum class Ordering { None, Warp, Cta };

/// The accesses that a barrier may still have to order, at one point of a kernel.
class PendingAccesses {
public:
  /// The barrier that `op` needs in front of it.
  Ordering neededBefore(mlir::Operation *op, unsigned numWarps, const IndexFacts &facts) const;
  /// Marks accesses in an iteration of the loop as accesses of an earlier iteration.
  void beginNextIteration(mlir::Operation *loop);
  /// `op` was done.
  void add(mlir::Operation *op);
  /// A barrier was passed.
  void order(Ordering barrier);
  /// Also what is pending on another path.
  void merge(const PendingAccesses &other);
  bool operator==(const PendingAccesses &other) const;

  struct Access {
    mlir::Operation *op;
    bool isOrderedInWarp = false; // a barrier of each warp was passed since
    // The loops that went on since to another iteration, where their pointers may be others.
    llvm::SmallPtrSet<mlir::Operation *, 2> loops = {};
    // An asynchronous copy that nothing has waited for: no barrier orders it with what takes its
    // buffer's place. A barrier was passed: its own buffer's slots are in order, as the loop that
    // copies waits for them.
    bool isInFlight = false, isPastBarrier = false;
  };

private:
  llvm::SmallVector<Access> accesses; // each operation once
};

} // namespace tw::simt
#endif
