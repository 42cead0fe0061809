// The layouts that tiles get in registers: blocked ones and repeated matrix fragments.
#include "ir/layout/LinearLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Covers a tile from its first element on, dimension by dimension.
class Tiling {
public:
  explicit Tiling(ArrayRef<int64_t> shape) : probe(shape, {}), covered(shape.size(), 0) {}

  /// The next power of two along `dim`, or 0 where the tile ends before.
  uint32_t next(unsigned dim) {
    unsigned bit = covered[dim]++;
    return bit < probe.numBitsOf(dim) ? 1u << (probe.firstBitOf(dim) + bit) : 0;
  }
  /// Lays `count` pieces side by side along `dim`; those beyond the tile are copies.
  void spread(LinearLayout::Bases &bases, unsigned dim, int64_t count) {
    assert(llvm::isPowerOf2_64(count) && "counts are powers of two");
    for (unsigned bit = 0; bit < llvm::Log2_64(count); ++bit)
      bases.push_back(next(dim));
  }
  /// Covers the rest of `dim`.
  void fill(LinearLayout::Bases &bases, unsigned dim) {
    while (covered[dim] < probe.numBitsOf(dim))
      bases.push_back(next(dim));
  }
  void skip(unsigned dim, unsigned numBits) { covered[dim] += numBits; }

private:
  LinearLayout probe;
  SmallVector<unsigned> covered;
};
} // namespace

LinearLayout tw::blockedLayout(ArrayRef<int64_t> shape, ArrayRef<int64_t> perLane,
                               ArrayRef<int64_t> lanes, ArrayRef<int64_t> warps,
                               ArrayRef<int32_t> order) {
  assert(order.size() == shape.size() && "the order names every dimension");
  Tiling tiling(shape);
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  LinearLayout::Bases &registers = bases[unsigned(Place::Register)];
  for (int32_t dim : order)
    tiling.spread(registers, dim, std::min(perLane[dim], shape[dim]));
  for (int32_t dim : order)
    tiling.spread(bases[unsigned(Place::Lane)], dim, lanes[dim]);
  for (int32_t dim : order)
    tiling.spread(bases[unsigned(Place::Warp)], dim, warps[dim]);
  for (int32_t dim : order)
    tiling.fill(registers, dim);
  return LinearLayout(shape, std::move(bases));
}

LinearLayout tw::tiledLayout(const LinearLayout &fragment, ArrayRef<int64_t> shape,
                             ArrayRef<int64_t> warps) {
  assert(fragment.rank() <= shape.size() && warps.size() == shape.size());
  unsigned leading = shape.size() - fragment.rank();
  Tiling tiling(shape);
  LinearLayout whole(shape, {});
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (Place place : {Place::Register, Place::Lane}) {
    for (uint32_t basis : fragment.bases(place)) {
      SmallVector<int64_t> coordinates(leading, 0);
      llvm::append_range(coordinates, fragment.coordinatesOf(basis));
      bases[unsigned(place)].push_back(whole.elementAt(coordinates));
    }
  }
  for (unsigned dim = 0; dim < fragment.rank(); ++dim) {
    assert(fragment.shape()[dim] <= shape[leading + dim] && "the fragment fits into the tile");
    tiling.skip(leading + dim, fragment.numBitsOf(dim));
  }
  for (unsigned dim = shape.size(); dim-- > 0;)
    tiling.spread(bases[unsigned(Place::Warp)], dim, warps[dim]);
  for (unsigned dim = shape.size(); dim-- > 0;)
    tiling.fill(bases[unsigned(Place::Register)], dim);
  return LinearLayout(shape, std::move(bases));
}
