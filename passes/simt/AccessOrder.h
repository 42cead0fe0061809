// Which memory accesses of a kernel's threads are ordered, and what orders the others: the state of
// insert-barriers.
#ifndef PASSES_SIMT_ACCESSORDER_H
#define PASSES_SIMT_ACCESSORDER_H
#include "ir/simt/Simt.h"

namespace tw::simt {

/// What orders two accesses: nothing is needed, a barrier of each warp, or one of the CTA.
enum class Ordering { None, Warp, Cta };

/// The accesses that a barrier may still have to order, at one point of a kernel.
class PendingAccesses {
public:
  /// The barrier that `op` needs in front of it.
  Ordering neededBefore(mlir::Operation *op, unsigned numWarps) const;
  /// `op` was done.
  void add(mlir::Operation *op);
  /// A barrier was passed.
  void order(Ordering barrier);
  /// A loop begins its next iteration.
  void endIteration();
  /// Also what is pending on another path.
  void merge(const PendingAccesses &other);
  bool operator==(const PendingAccesses &other) const;

private:
  struct Access {
    mlir::Operation *op;
    bool isOrderedInWarp; // a barrier of each warp was passed since
    bool isOfEarlierIteration;
  };
  llvm::SmallVector<Access> accesses; // each operation once
};

} // namespace tw::simt
#endif
