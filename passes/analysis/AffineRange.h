// Integers of a loop as exact sums: what all elements of a tile are in each iteration.
#ifndef PASSES_ANALYSIS_AFFINERANGE_H
#define PASSES_ANALYSIS_AFFINERANGE_H
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace tw {

/// The sum of `factor * scalar` over `terms`, plus `slope` times the number of the iteration
/// (counted from 0), plus, from element to element, anything from `low` to `high`. It is a sum of
/// unbounded integers: what the kernel computes in so many bits is equal only where nothing wraps.
struct AffineRange {
  struct Term {
    mlir::Value scalar; // defined before the loop
    int64_t factor;
  };
  llvm::SmallVector<Term> terms;
  int64_t slope = 0;
  int64_t low = 0, high = 0;

  bool isConstant() const { return terms.empty() && slope == 0 && low == high; }
};

/// A value that must stay inside [min, max] in all iterations for the sums to be exact.
struct RangeGuard {
  AffineRange range;
  int64_t min, max;
};

/// Scalars of 64 bits are taken as numbers of so many bits; a guard says so.
inline constexpr unsigned kWideScalarBits = 40;

/// lhs + sign * rhs, where every number of it stays small enough to be computed in 64 bits.
std::optional<AffineRange> combine(const AffineRange &lhs, const AffineRange &rhs, int64_t sign);

/// Reads values of one loop, and collects what their sums rely on.
class AffineRanges {
public:
  explicit AffineRanges(mlir::scf::ForOp loop) : loop(loop) {}

  /// The sum behind an integer or a tile of integers; nothing where no such sum is known.
  std::optional<AffineRange> of(mlir::Value value);
  /// Requires that a value is at least 0 in all iterations.
  void requireNonNegative(const AffineRange &range);

  llvm::ArrayRef<RangeGuard> getGuards() const { return guards; }

private:
  std::optional<AffineRange> compute(mlir::Value value);
  std::optional<AffineRange> ofArgument(mlir::BlockArgument argument);
  std::optional<AffineRange> ofProduct(mlir::Value lhs, mlir::Value rhs);
  AffineRange leaf(mlir::Value scalar);
  std::optional<AffineRange> fitting(std::optional<AffineRange> range, mlir::Type type);

  mlir::scf::ForOp loop;
  llvm::DenseMap<mlir::Value, std::optional<AffineRange>> known;
  llvm::SmallVector<RangeGuard> guards;
};

} // namespace tw
#endif
