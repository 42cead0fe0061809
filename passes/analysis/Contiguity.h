// How the elements of index and pointer tiles change along a dimension: the facts behind vector
// loads, coalescing and mask splitting.
#ifndef PASSES_ANALYSIS_CONTIGUITY_H
#define PASSES_ANALYSIS_CONTIGUITY_H
#include "ir/tile/Tile.h"
#include "llvm/ADT/DenseMap.h"

namespace tw {

/// The change between neighbours along one dimension, for fixed other indices. Pointers count in
/// elements of their pointee.
struct AxisChange {
  enum Kind {
    Unknown,     // nothing is known
    Constant,    // always `step`; 0 means the tile does not vary along the dimension
    Affine,      // the same for all neighbours, but not known at compile time
    WrappedUnit, // 1, except where a remainder wraps around to its start
  } kind = Unknown;
  int64_t step = 0;

  static AxisChange constant(int64_t step) { return {Constant, step}; }
  bool isInvariant() const { return kind == Constant && step == 0; }
  bool isUnit() const { return kind == Constant && step == 1; }
  bool operator==(const AxisChange &) const = default;
};

/// Answers by walking definitions; facts never depend on the target.
class Contiguity {
public:
  AxisChange along(mlir::Value tile, unsigned dim);

private:
  AxisChange compute(mlir::Value tile, unsigned dim);
  AxisChange changeThrough(tile::ShapeOp shape, unsigned dim);
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, AxisChange> known;
};

} // namespace tw
#endif
