// Values of tiles at coordinates that have been computed already.
#ifndef PASSES_SIMD_MEMO_H
#define PASSES_SIMD_MEMO_H
#include "passes/simd/TilePlaces.h"
#include <compare>
#include <map>
#include <optional>
#include <vector>

namespace tw::simd {

/// An element or a vector of a tile. Constants of one value are one index, whichever operation made
/// them.
struct MemoKey {
  struct Index {
    std::optional<int64_t> constant;
    void *value; // null for constants
    auto operator<=>(const Index &) const = default;
  };
  void *tile;
  int vectorDim;
  int64_t lanes;
  std::vector<Index> index;
  auto operator<=>(const MemoKey &) const = default;
};
MemoKey memoKey(mlir::Value tile, const Coordinates &at); // Evaluate.cpp

using Memo = std::map<MemoKey, mlir::Value>;

/// A loop over vectors, in front of which uniform values are computed; null where one step needs no
/// loop.
struct Level {
  mlir::Operation *loop = nullptr;
  Memo uniform;
};

} // namespace tw::simd
#endif
