// Where each element of a tile lives: a linear map over GF(2) from hardware coordinates to
// elements. Theory: Linear Layouts, arXiv 2505.23819.
#ifndef IR_LAYOUT_LINEARLAYOUT_H
#define IR_LAYOUT_LINEARLAYOUT_H
#include "ir/layout/SharedBanks.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tw {

/// A coordinate of a thread, of the iteration of a loop (`Step`), or of an element in a shared
/// buffer (`Offset`).
enum class Place : uint8_t { Register, Lane, Warp, Cta, Step, Offset };
inline constexpr unsigned kNumPlaces = 6;
llvm::StringRef nameOf(Place place); // "register", ...

/// Extents are powers of two. An element is named by its row-major index, so its bits are those of
/// the last dimension first; xor of indices is xor of coordinates. The element at a coordinate is
/// the xor of the bases of the coordinate's 1 bits. A basis of 0 means replication: flipping that
/// bit of the coordinate leads to another copy of the same element.
class LinearLayout {
public:
  using Bases = llvm::SmallVector<uint32_t, 8>;
  LinearLayout() = default;
  /// The bases of each place, lowest bit first.
  LinearLayout(llvm::ArrayRef<int64_t> shape, std::array<Bases, kNumPlaces> bases);

  llvm::ArrayRef<int64_t> shape() const { return extents; }
  unsigned rank() const { return extents.size(); }
  uint32_t numElements() const;
  llvm::ArrayRef<uint32_t> bases(Place place) const { return places[unsigned(place)]; }
  unsigned numBits(Place place) const { return places[unsigned(place)].size(); }
  uint32_t size(Place place) const { return 1u << numBits(place); }
  bool operator==(const LinearLayout &) const = default;

  /// The part of the element's index that one coordinate contributes.
  uint32_t apply(Place place, uint32_t coordinate) const;
  uint32_t element(uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta = 0) const;
  llvm::SmallVector<int64_t> coordinatesOf(uint32_t element) const;
  uint32_t elementAt(llvm::ArrayRef<int64_t> coordinates) const;
  /// The bits of an element's index that belong to a dimension: [first, first + count).
  unsigned firstBitOf(unsigned dim) const;
  unsigned numBitsOf(unsigned dim) const;
  uint32_t maskOf(unsigned dim) const;

  /// Every element has a copy. A layout of registers must be surjective.
  bool isSurjective() const;
  /// No element has two copies.
  bool isInjective() const;
  /// The bits of a place that only select among copies: with registers, lanes, warps and CTAs in
  /// this order, those whose basis depends on earlier ones. The coordinates with all these bits 0
  /// hold every element exactly once: they are the owners.
  uint32_t freeBits(Place place) const;

  // Layouts of other tiles that need no data movement. Bases keep their order.
  LinearLayout reshaped(llvm::ArrayRef<int64_t> shape) const;   // same elements, row-major
  LinearLayout transposed(llvm::ArrayRef<int32_t> order) const; // result dim i is dim order[i]
  LinearLayout withDimCollapsed(unsigned dim) const; // extent becomes 1: its bits become 0
  LinearLayout withoutDim(unsigned dim) const; // collapsed and dropped: of a reduction's result
  LinearLayout withoutFreeRegisters() const;   // registers that only repeat others are dropped
  LinearLayout withPlace(Place place, Bases bases) const;

  /// For each register of this layout, the register of `source` in the same lane, warp and CTA that
  /// holds the same element; none when some element is elsewhere: then data has to move.
  std::optional<llvm::SmallVector<uint32_t>> registersFrom(const LinearLayout &source) const;
  /// Returns true if a conversion from `source` moves data between lanes of one warp at most.
  bool isWithinWarpOf(const LinearLayout &source) const;

  // Composition and inversion as maps of all coordinate bits (register bits lowest, then lane,
  // warp, cta, offset) to element bits.
  unsigned numInputBits() const;
  /// A coordinate (packed as above, free bits 0) for each element bit: the right inverse; none if
  /// not surjective.
  std::optional<llvm::SmallVector<uint64_t>> rightInverse() const;
  /// The map coordinate of this -> packed coordinate of `other` that holds the same element, as one
  /// image per input bit of this: `other^-1 * this`. None if `other` is not surjective.
  std::optional<llvm::SmallVector<uint64_t>> composedWithInverseOf(const LinearLayout &other) const;
  /// This layout as `quotient` copies of `divisor` side by side: divisor's bases come first in
  /// every place, and the rest lies outside its extent. None when it is not such a product.
  std::optional<LinearLayout> dividedBy(const LinearLayout &divisor) const;

  /// `register = [[0, 1], [0, 2]] lane = [[1, 0]]` with coordinates per basis; places without bits
  /// are left out.
  std::string text() const;

private:
  llvm::SmallVector<int64_t> extents;
  std::array<Bases, kNumPlaces> places;
};

/// Matrices over GF(2) as columns of up to 64 bits: the algebra below layouts.
struct BitMatrix {
  unsigned numRows = 0;
  llvm::SmallVector<uint64_t> columns;
  uint64_t apply(uint64_t vector) const;
  BitMatrix operator*(const BitMatrix &right) const;
  unsigned rank() const;
  llvm::SmallVector<uint64_t> kernel() const;          // a basis of {x : Ax = 0}
  std::optional<uint64_t> solve(uint64_t image) const; // some x with Ax = image
  std::optional<BitMatrix> inverse() const;
};

/// Each lane holds `perLane` neighbours per dimension, lanes and warps tile the rest; dimensions in
/// `order`, fastest first. The pattern repeats over registers where the tile is larger, and lanes
/// and warps hold copies where it is smaller.
LinearLayout blockedLayout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> perLane,
                           llvm::ArrayRef<int64_t> lanes, llvm::ArrayRef<int64_t> warps,
                           llvm::ArrayRef<int32_t> order);
/// A matrix fragment of one warp (a layout of registers and lanes over the instruction's extents)
/// repeated over a tile: warps side by side per dimension first, then registers.
LinearLayout tiledLayout(const LinearLayout &fragment, llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<int64_t> warps);
/// A buffer in shared memory: dimensions in `order`, fastest first, without gaps.
LinearLayout sharedLayout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int32_t> order);
/// The same with rows of the fastest dimension permuted: groups of `vector` elements are xored with
/// (row / rowsPerPhase) % phases.
LinearLayout swizzledLayout(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int32_t> order,
                            unsigned vector, unsigned rowsPerPhase, unsigned phases);
/// A buffer through which `from` is written and `to` is read in the widest accesses and with the
/// fewest bank conflicts. `elementBytes` is that of an element in memory.
LinearLayout conflictFreeLayout(const LinearLayout &from, const LinearLayout &to,
                                unsigned elementBytes, SharedBanks banks);
/// The same for readers to whom the order of registers matters: their first registers, as many as
/// one access moves, are neighbours in their order.
LinearLayout readOrderLayout(const LinearLayout &from, const LinearLayout &to,
                             unsigned elementBytes, SharedBanks banks);
/// How many consecutive elements (a power of two) each lane can access at once in a buffer:
/// registers 0..n-1, after a permutation given by `registers`, are at offsets n*k..n*k+n-1.
struct SharedAccess {
  unsigned vector = 1;                   // elements per access
  llvm::SmallVector<uint32_t> registers; // in access order: groups of `vector` registers
};
SharedAccess sharedAccess(const LinearLayout &registers, const LinearLayout &buffer,
                          unsigned maxVector);
/// Transfers that one access of each group costs, over the fewest possible: 1.0 is free of
/// conflicts.
double bankConflicts(const LinearLayout &registers, const LinearLayout &buffer, SharedUse use,
                     unsigned elementBytes, SharedBanks banks, SharedPadding padding = {});

} // namespace tw
#endif
