// Accesses of loops whose places can be told from those of the first iteration.
#ifndef BACKEND_AMD_ADDRESSES_STEADYACCESSES_H
#define BACKEND_AMD_ADDRESSES_STEADYACCESSES_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace tw::amd {

/// Which values of loops, counters and carried ones, lead into an argument's memory in each
/// iteration: an access without a mask shows it, and that the loop ends where the memory does.
class SteadyAccesses {
public:
  explicit SteadyAccesses(mlir::Operation *kernel);
  bool contains(mlir::BlockArgument value, mlir::BlockArgument argument) const {
    return steady.contains({value, argument});
  }
  /// Returns true if a pointer plus a value that a loop carries is accessed in each iteration.
  bool isAccessed(mlir::Value pointer, mlir::BlockArgument carried) const {
    return added.contains({carried, pointer});
  }

private:
  using Pairs = llvm::DenseSet<std::pair<mlir::Value, mlir::Value>>;
  Pairs steady; // values with arguments
  Pairs added;  // values with the pointers that they are added to
};

/// Returns true if an access in a block, where it is made at all, is made in the first iteration:
/// its mask is the same in all iterations, or ends with the counter. Otherwise the first address
/// may be far from memory.
bool beginsAtOnce(mlir::BlockArgument loopValue, mlir::Block *block, mlir::Value mask);

} // namespace tw::amd
#endif
