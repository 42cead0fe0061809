// Positions in tiles, and where tiles and arguments lie in memory.
#ifndef PASSES_SIMD_TILEPLACES_H
#define PASSES_SIMD_TILEPLACES_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"

namespace tw::simd {

/// A position in a tile: an i64 index per dimension. With `vectorDim` >= 0 it stands for `lanes`
/// consecutive positions along that dimension.
struct Coordinates {
  llvm::SmallVector<mlir::Value> index;
  int vectorDim = -1;
  int64_t lanes = 1;
};

/// Row-major memory of one tile. i1 elements take a byte.
struct TileBuffer {
  mlir::Value base;
  llvm::SmallVector<int64_t> shape;
  mlir::Type element;
};

/// Where elements of some size in the memory of an argument may begin: at `count` addresses from
/// `first` on.
struct ElementPlaces {
  mlir::Value first, count;
};

} // namespace tw::simd
#endif
