// Asynchronous copies from global to shared memory that a warp has started and not waited for.
#ifndef PASSES_ANALYSIS_COPIESINFLIGHT_H
#define PASSES_ANALYSIS_COPIESINFLIGHT_H
#include "ir/simt/Simt.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"

namespace tw {

/// Copies by what counts them: those of lanes, and those of arrays' rows by a warp.
struct CopyCounts {
  unsigned ofLanes = 0, ofArrays = 0;
  bool operator==(const CopyCounts &) const = default;
};

/// Finds what is in flight at each wait of a lowered kernel. Copies of a kind complete in the order
/// in which a warp starts them, so that a machine that counts copies waits for a group by the
/// number of those that were started after it.
class CopiesInFlight {
public:
  explicit CopiesInFlight(mlir::Operation *kernel);

  /// Returns how many copies a warp has started, on every path at least, after the last group that
  /// `wait` is for. Copies in branches count where both sides start them.
  CopyCounts startedAfter(simt::AsyncWaitOp wait) const { return counts.lookup(wait); }

private:
  llvm::DenseMap<mlir::Operation *, CopyCounts> counts;
};

/// Returns the operations of scheduled kernels that may be reached while a copy into a slot that
/// they access is in flight; the return of a kernel if any copy may be in flight there. A slot
/// whose number is not known is taken for a different one: errors may be missed, none is invented.
llvm::SetVector<mlir::Operation *> reachedInFlight(mlir::Operation *root);
/// The words of reports of them.
inline constexpr llvm::StringLiteral kReachedInFlight =
    "may be reached while a copy into its shared memory is in flight";

} // namespace tw
#endif
