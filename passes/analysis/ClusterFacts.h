// Which scalars are the same in all programs of a cluster: where boxes begin that one copy can
// bring to all of them, and how often loops run.
#ifndef PASSES_ANALYSIS_CLUSTERFACTS_H
#define PASSES_ANALYSIS_CLUSTERFACTS_H
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/DenseMap.h"

namespace tw {

/// A fact that programs find out when they run: that a scalar is not negative, and a multiple.
/// All programs of the cluster find the same.
struct ClusterCondition {
  mlir::Value value;
  int64_t divisor = 1;
};

/// Proves that programs of a cluster, which are neighbours in the grid, compute the same value.
/// Example: with two programs along axis 0, `program_id(1)` is the same in both, `program_id(0)` is
/// not, and `program_id(0) // 4` is. So is `program_id(0) // n` under the condition that n is even.
class ClusterFacts {
public:
  /// Conditions are of scalars that are known in front of `asking`; there are none without it.
  ClusterFacts(const IndexFacts &facts, std::array<int64_t, 3> cluster,
               mlir::Operation *asking = nullptr)
      : facts(facts), cluster(cluster), asking(asking) {}

  /// Returns true if all programs of a cluster are known to compute the same scalar.
  bool isShared(mlir::Value value) { return spreadOf(value) == 1; }
  /// Returns true if all programs of a cluster are known to reach an operation equally often: loops
  /// and branches around it, and `loop` itself, go by what they share.
  bool isReachedTogether(mlir::Operation *op);
  /// Returns what all answers so far take for granted.
  llvm::ArrayRef<ClusterCondition> conditions() const { return asked; }

private:
  int64_t spreadOf(mlir::Value value);
  int64_t spreadOfArgument(mlir::BlockArgument argument);
  int64_t spreadOfLoop(mlir::scf::ForOp loop);
  bool isMultiple(mlir::Value value, int64_t divisor) const;
  bool isOrMayBe(mlir::Value value, int64_t divisor);
  int64_t spreadOfResult(mlir::Operation *op);
  int64_t spreadOfQuotient(mlir::Value dividend, mlir::Value divisor, bool isRemainder);

  const IndexFacts &facts;
  std::array<int64_t, 3> cluster;
  mlir::Operation *asking;
  llvm::SmallVector<ClusterCondition> asked;
  /// 1: the same. n > 1: programs have values from k n to k n + n - 1, with the same k. 0: unknown.
  llvm::DenseMap<mlir::Value, int64_t> spreads;
};

} // namespace tw
#endif
