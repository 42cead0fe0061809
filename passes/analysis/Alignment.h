// What is known of the numbers in index and pointer tiles, group by group of neighbours: the facts
// behind wide accesses.
#ifndef PASSES_ANALYSIS_ALIGNMENT_H
#define PASSES_ANALYSIS_ALIGNMENT_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mlir {
class Operation;
}

namespace tw {

/// Facts along one dimension, for every choice of the other indices. All are powers of two. A group
/// of n are the elements [k * n, k * n + n) along the dimension. "Consecutive" is modulo 2^bits of
/// the integer: groups of at most `divisibility` never contain a wrap, wider ones may.
struct AxisAlignment {
  int64_t run = 1;          // elements of a group of this size are consecutive
  int64_t divisibility = 1; // of the first element of each such group; of addresses, in bytes
  int64_t constancy = 1;    // elements of a group of this size are equal
  bool operator==(const AxisAlignment &) const = default;
};

/// Facts of a tile, one entry per dimension; a scalar has one.
struct TileAlignment {
  llvm::SmallVector<AxisAlignment, 3> axes;
  std::optional<int64_t> constant; // every element, when known
  bool isNonNegative = false;      // as a signed number
  bool operator==(const TileAlignment &) const = default;
};

/// The facts of all values of a function, found by one walk; loops are walked until the facts that
/// their carried values keep are found. Indices that start non-negative are taken to stay so when
/// they are added and multiplied: an index that overflows is outside of every array anyway
/// (IndexSigns.h; passes/simt/Rationale.md, Signs).
class Alignment {
public:
  explicit Alignment(mlir::Operation *function);
  const TileAlignment &of(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, TileAlignment> facts;
};

/// Largest divisibility that is told apart: that of 0.
inline constexpr int64_t kMaxDivisibility = int64_t(1) << 40;

} // namespace tw
#endif
