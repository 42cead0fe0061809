// Tiles that repeat a scalar, or the elements of a smaller tile.
#ifndef IR_TILE_REPEATED_H
#define IR_TILE_REPEATED_H
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"

namespace tw::tile {

/// Returns the element of a tile whose elements are all equal, as far as its definition shows: a
/// splat's source, or a constant, which is made at the builder's place. Null for other tiles.
mlir::Value uniformScalar(mlir::OpBuilder &builder, mlir::Value tile);

/// Returns true for a splat and for a constant of equal elements.
bool isUniform(mlir::Value tile);

/// Returns a tile for which `isUniform` is true with another shape.
mlir::Value reshapeUniform(mlir::OpBuilder &builder, mlir::Value uniform,
                           llvm::ArrayRef<int64_t> shape);

/// A tile made of a smaller one. Dimension `d` is dimension `dims[d]` of the smaller tile, maybe
/// repeated, or one that it lacks (-1).
struct Enlarged {
  mlir::Value source;
  llvm::SmallVector<int64_t> dims;
  bool operator==(const Enlarged &) const = default;
};

/// Returns what was enlarged to a tile, or the tile itself.
Enlarged enlargedFrom(mlir::Value tile);
/// Returns the same for a tile whose dimensions stand for others.
Enlarged enlargedFrom(Enlarged tile);

} // namespace tw::tile
#endif
