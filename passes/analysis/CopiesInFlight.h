// Asynchronous copies from global to shared memory that a warp has started and not waited for.
#ifndef PASSES_ANALYSIS_COPIESINFLIGHT_H
#define PASSES_ANALYSIS_COPIESINFLIGHT_H
#include "ir/simt/Simt.h"
#include "llvm/ADT/DenseMap.h"

namespace tw {

/// Finds what is in flight at each wait of a lowered kernel. Copies complete in the order in which
/// a warp starts them, so that a machine that counts copies waits for a group by the number of
/// those that were started after it.
class CopiesInFlight {
public:
  explicit CopiesInFlight(mlir::Operation *kernel);

  /// Returns how many copies a warp has started, on every path at least, after the last group that
  /// `wait` is for. Copies in branches count where both sides start them.
  unsigned startedAfter(simt::AsyncWaitOp wait) const { return counts.lookup(wait); }

private:
  /// The least numbers of copies: those since the last commit, and those of the groups that were
  /// committed last, newest first. A group that a path has not committed has no number.
  struct State {
    unsigned open = 0;
    llvm::SmallVector<unsigned, 4> groups;

    void join(const State &other);
    bool operator==(const State &) const = default;
  };
  State afterBlock(mlir::Block &block, State state);
  State after(mlir::Operation *op, State state);
  State afterLoop(State state, llvm::function_ref<State(State)> afterIteration);

  unsigned mostPending = 0; // of all waits: older groups are never asked for
  llvm::DenseMap<mlir::Operation *, unsigned> counts;
};

} // namespace tw
#endif
