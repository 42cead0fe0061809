// Layouts as linear maps over GF(2): their elements, their copies and their relations to one
// another.
#include "ir/layout/LinearLayout.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cassert>

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;

llvm::StringRef tw::nameOf(Place place) {
  static constexpr llvm::StringLiteral names[kNumPlaces] = {"register", "lane", "warp",
                                                            "cta",      "step", "offset"};
  return names[unsigned(place)];
}

LinearLayout::LinearLayout(ArrayRef<int64_t> shape, std::array<Bases, kNumPlaces> bases)
    : extents(shape), places(std::move(bases)) {
  assert(llvm::all_of(shape, [](int64_t extent) { return llvm::isPowerOf2_64(extent); }) &&
         "extents are powers of two");
  assert(llvm::all_of(places,
                      [&](const Bases &of) {
                        return llvm::all_of(of, [&](uint32_t b) { return b < numElements(); });
                      }) &&
         "bases are elements of the tile");
}

//===-- Elements -----------------------------------------------------------------------------===//

uint32_t LinearLayout::numElements() const {
  uint32_t product = 1;
  for (int64_t extent : extents)
    product *= uint32_t(extent);
  return product;
}

uint32_t LinearLayout::apply(Place place, uint32_t coordinate) const {
  uint32_t element = 0;
  for (auto [bit, basis] : llvm::enumerate(bases(place)))
    if (coordinate >> bit & 1)
      element ^= basis;
  return element;
}

uint32_t LinearLayout::element(uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta) const {
  return apply(Place::Register, reg) ^ apply(Place::Lane, lane) ^ apply(Place::Warp, warp) ^
         apply(Place::Cta, cta);
}

SmallVector<int64_t> LinearLayout::coordinatesOf(uint32_t element) const {
  SmallVector<int64_t> coordinates(rank());
  for (unsigned dim = rank(); dim-- > 0;) {
    coordinates[dim] = element & uint32_t(extents[dim] - 1);
    element >>= numBitsOf(dim);
  }
  return coordinates;
}

uint32_t LinearLayout::elementAt(ArrayRef<int64_t> coordinates) const {
  assert(coordinates.size() == rank() && "a coordinate per dimension");
  uint32_t element = 0;
  for (auto [coordinate, extent] : llvm::zip_equal(coordinates, extents))
    element = element * uint32_t(extent) + uint32_t(coordinate);
  return element;
}

unsigned LinearLayout::firstBitOf(unsigned dim) const {
  unsigned bit = 0;
  for (unsigned later = dim + 1; later < rank(); ++later)
    bit += numBitsOf(later);
  return bit;
}

unsigned LinearLayout::numBitsOf(unsigned dim) const { return llvm::Log2_64(extents[dim]); }

uint32_t LinearLayout::maskOf(unsigned dim) const {
  return uint32_t(extents[dim] - 1) << firstBitOf(dim);
}

//===-- Copies -------------------------------------------------------------------------------===//

unsigned LinearLayout::numInputBits() const {
  unsigned bits = 0;
  for (const Bases &of : places)
    bits += of.size();
  return bits;
}

/// The bases of all places, in the order of packed coordinates.
static BitMatrix matrixOf(const LinearLayout &layout) {
  BitMatrix matrix{unsigned(llvm::Log2_32(layout.numElements())), {}};
  for (unsigned place = 0; place < kNumPlaces; ++place)
    llvm::append_range(matrix.columns, layout.bases(Place(place)));
  return matrix;
}

bool LinearLayout::isSurjective() const {
  BitMatrix matrix = matrixOf(*this);
  return matrix.rank() == matrix.numRows;
}

bool LinearLayout::isInjective() const { return matrixOf(*this).rank() == numInputBits(); }

uint32_t LinearLayout::freeBits(Place place) const {
  XorBasis space;
  for (unsigned earlier = 0; earlier < unsigned(place); ++earlier)
    for (uint32_t basis : places[earlier])
      space.insert(basis);
  uint32_t free = 0;
  for (auto [bit, basis] : llvm::enumerate(bases(place)))
    if (!space.insert(basis))
      free |= 1u << bit;
  return free;
}

//===-- Layouts of other tiles ---------------------------------------------------------------===//

/// The layout of a tile of `shape` whose elements are named by `rename` of the old names.
template <typename Rename>
static LinearLayout renamed(const LinearLayout &layout, ArrayRef<int64_t> shape, Rename rename) {
  std::array<LinearLayout::Bases, kNumPlaces> bases;
  for (unsigned place = 0; place < kNumPlaces; ++place)
    for (uint32_t basis : layout.bases(Place(place)))
      bases[place].push_back(rename(basis));
  return LinearLayout(shape, std::move(bases));
}

LinearLayout LinearLayout::reshaped(ArrayRef<int64_t> shape) const {
  LinearLayout result = *this;
  result.extents.assign(shape.begin(), shape.end());
  assert(result.numElements() == numElements() && "a reshape keeps the number of elements");
  return result;
}

LinearLayout LinearLayout::transposed(ArrayRef<int32_t> order) const {
  SmallVector<int64_t> shape;
  for (int32_t dim : order)
    shape.push_back(extents[dim]);
  return renamed(*this, shape, [&](uint32_t element) {
    SmallVector<int64_t> coordinates = coordinatesOf(element);
    uint32_t result = 0;
    for (int32_t dim : order)
      result = result << numBitsOf(dim) | uint32_t(coordinates[dim]);
    return result;
  });
}

LinearLayout LinearLayout::withDimCollapsed(unsigned dim) const {
  SmallVector<int64_t> shape(extents);
  shape[dim] = 1;
  return renamed(*this, shape, [&](uint32_t element) {
    uint64_t above = uint64_t(element) >> (firstBitOf(dim) + numBitsOf(dim));
    uint32_t below = element & ((1u << firstBitOf(dim)) - 1);
    return uint32_t(above << firstBitOf(dim)) | below;
  });
}

LinearLayout LinearLayout::withoutDim(unsigned dim) const {
  LinearLayout result = withDimCollapsed(dim);
  result.extents.erase(result.extents.begin() + dim);
  return result;
}

LinearLayout LinearLayout::withoutFreeRegisters() const {
  uint32_t free = freeBits(Place::Register);
  Bases kept;
  for (auto [bit, basis] : llvm::enumerate(bases(Place::Register)))
    if ((free >> bit & 1) == 0)
      kept.push_back(basis);
  return withPlace(Place::Register, std::move(kept));
}

LinearLayout LinearLayout::withPlace(Place place, Bases bases) const {
  LinearLayout result = *this;
  result.places[unsigned(place)] = std::move(bases);
  return result;
}

//===-- Relations ----------------------------------------------------------------------------===//

/// Returns what flipping bit `bit` of a place adds; a bit that the place lacks leads to a copy.
static uint32_t basisAt(const LinearLayout &layout, Place place, unsigned bit) {
  return bit < layout.numBits(place) ? layout.bases(place)[bit] : 0;
}

/// Returns true if the parts that `place` adds to elements in the two layouts differ by vectors of
/// `space` only.
static bool differsWithin(const XorBasis &space, const LinearLayout &left,
                          const LinearLayout &right, Place place) {
  unsigned numBits = std::max(left.numBits(place), right.numBits(place));
  return llvm::all_of(llvm::seq(numBits), [&](unsigned bit) {
    return space.contains(basisAt(left, place, bit) ^ basisAt(right, place, bit));
  });
}

std::optional<SmallVector<uint32_t>> LinearLayout::registersFrom(const LinearLayout &source) const {
  // With one register for all lanes and warps, these have to add the same in both layouts.
  XorBasis none;
  for (Place place : {Place::Lane, Place::Warp, Place::Cta})
    if (!differsWithin(none, *this, source, place))
      return std::nullopt;
  XorBasis held;
  for (auto [bit, basis] : llvm::enumerate(source.bases(Place::Register)))
    held.insert(basis, uint64_t(1) << bit);
  SmallVector<uint32_t> registers(1, 0);
  for (uint32_t basis : bases(Place::Register)) {
    XorBasis::Entry rest = held.reduce(basis);
    if (rest.vector != 0)
      return std::nullopt;
    for (unsigned known = 0, size = registers.size(); known < size; ++known)
      registers.push_back(registers[known] ^ uint32_t(rest.combination));
  }
  return registers;
}

bool LinearLayout::isWithinWarpOf(const LinearLayout &source) const {
  XorBasis warpHolds;
  for (Place place : {Place::Register, Place::Lane})
    for (uint32_t basis : source.bases(place))
      warpHolds.insert(basis);
  return llvm::all_of(bases(Place::Register), [&](uint32_t b) { return warpHolds.contains(b); }) &&
         llvm::all_of(bases(Place::Lane), [&](uint32_t b) { return warpHolds.contains(b); }) &&
         differsWithin(warpHolds, *this, source, Place::Warp) &&
         differsWithin(warpHolds, *this, source, Place::Cta);
}

std::optional<SmallVector<uint64_t>> LinearLayout::rightInverse() const {
  BitMatrix matrix = matrixOf(*this);
  XorBasis reached;
  for (auto [bit, image] : llvm::enumerate(matrix.columns))
    reached.insert(image, uint64_t(1) << bit);
  SmallVector<uint64_t> coordinates;
  for (unsigned bit = 0; bit < matrix.numRows; ++bit) {
    XorBasis::Entry rest = reached.reduce(uint64_t(1) << bit);
    if (rest.vector != 0)
      return std::nullopt;
    coordinates.push_back(rest.combination);
  }
  return coordinates;
}

std::optional<SmallVector<uint64_t>>
LinearLayout::composedWithInverseOf(const LinearLayout &other) const {
  assert(other.numElements() == numElements() && "both layouts are of the same tile");
  std::optional<SmallVector<uint64_t>> inverse = other.rightInverse();
  if (!inverse)
    return std::nullopt;
  return (BitMatrix{other.numInputBits(), *inverse} * matrixOf(*this)).columns;
}

std::optional<LinearLayout> LinearLayout::dividedBy(const LinearLayout &divisor) const {
  if (divisor.rank() != rank())
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (auto [extent, part] : llvm::zip_equal(extents, divisor.extents)) {
    if (part > extent)
      return std::nullopt;
    shape.push_back(extent / part);
  }
  std::array<Bases, kNumPlaces> quotient;
  for (unsigned place = 0; place < kNumPlaces; ++place) {
    ArrayRef<uint32_t> parts = divisor.places[place];
    if (parts.size() > places[place].size())
      return std::nullopt;
    for (auto [bit, basis] : llvm::enumerate(places[place])) {
      SmallVector<int64_t> coordinates = coordinatesOf(basis);
      if (bit < parts.size()) {
        if (coordinates != divisor.coordinatesOf(parts[bit]))
          return std::nullopt;
        continue;
      }
      uint32_t copy = 0;
      for (unsigned dim = 0; dim < rank(); ++dim) {
        if (coordinates[dim] % divisor.extents[dim] != 0)
          return std::nullopt;
        copy = copy * uint32_t(shape[dim]) + uint32_t(coordinates[dim] / divisor.extents[dim]);
      }
      quotient[place].push_back(copy);
    }
  }
  return LinearLayout(shape, std::move(quotient));
}

//===-- Text ---------------------------------------------------------------------------------===//

std::string LinearLayout::text() const {
  std::string result;
  llvm::raw_string_ostream stream(result);
  llvm::ListSeparator space(" ");
  for (unsigned place = 0; place < kNumPlaces; ++place) {
    if (places[place].empty())
      continue;
    stream << space << nameOf(Place(place)) << " = [";
    llvm::interleaveComma(places[place], stream, [&](uint32_t basis) {
      stream << '[';
      llvm::interleaveComma(coordinatesOf(basis), stream);
      stream << ']';
    });
    stream << ']';
  }
  return result;
}
