// Tiles whose elements are all equal.
#ifndef IR_TILE_UNIFORM_H
#define IR_TILE_UNIFORM_H
#include "mlir/IR/Builders.h"

namespace tw::tile {

/// Returns the element of a tile whose elements are all equal, as far as its definition shows: a
/// splat's source, or a constant, which is made at the builder's place. Null for other tiles.
mlir::Value uniformScalar(mlir::OpBuilder &builder, mlir::Value tile);

} // namespace tw::tile
#endif
