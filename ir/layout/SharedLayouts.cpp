// The layouts that tiles get in shared memory, and how threads access them.
#include "ir/layout/LinearLayout.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"
#include <cassert>

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;

LinearLayout tw::sharedLayout(ArrayRef<int64_t> shape, ArrayRef<int32_t> order) {
  return swizzledLayout(shape, order, /*vector=*/1, /*rowsPerPhase=*/1, /*phases=*/1);
}

LinearLayout tw::swizzledLayout(ArrayRef<int64_t> shape, ArrayRef<int32_t> order, unsigned vector,
                                unsigned rowsPerPhase, unsigned phases) {
  assert(order.size() == shape.size() && "the order names every dimension");
  LinearLayout whole(shape, {});
  LinearLayout::Bases offsets;
  unsigned numColumnBits = order.empty() ? 0 : whole.numBitsOf(order.front());
  for (int32_t dim : order) {
    for (unsigned bit = 0; bit < whole.numBitsOf(dim); ++bit) {
      uint32_t basis = 1u << (whole.firstBitOf(dim) + bit);
      if (offsets.size() >= numColumnBits) {
        uint64_t row = uint64_t(1) << (offsets.size() - numColumnBits);
        uint64_t column = row / rowsPerPhase % phases * vector;
        basis ^= uint32_t(column & (shape[order.front()] - 1)) << whole.firstBitOf(order.front());
      }
      offsets.push_back(basis);
    }
  }
  return LinearLayout(shape, {}).withPlace(Place::Offset, std::move(offsets));
}

/// The offset of each element of a buffer.
static BitMatrix offsetsIn(const LinearLayout &buffer) {
  std::optional<SmallVector<uint64_t>> inverse = buffer.rightInverse();
  assert(inverse && buffer.numInputBits() == buffer.numBits(Place::Offset) &&
         "a buffer holds every element at an offset");
  return {buffer.numInputBits(), std::move(*inverse)};
}

/// The offset that each bit of a place of `registers` adds.
static SmallVector<uint64_t> offsetsOf(const LinearLayout &registers, Place place,
                                       const BitMatrix &offsets) {
  return llvm::map_to_vector(registers.bases(place),
                             [&](uint32_t element) { return offsets.apply(element); });
}

/// The elements of the space that the bases of `registers` span which are neighbours from offset 0
/// on, 2^result.size() of them: for each bit of the offset, the register.
static SmallVector<uint32_t> neighbours(const LinearLayout &registers, const LinearLayout &buffer,
                                        const BitMatrix &offsets, unsigned maxVector) {
  BitMatrix held{offsets.numRows, offsetsOf(registers, Place::Register, offsets)};
  uint64_t movedByThreads = 0;
  for (Place place : {Place::Lane, Place::Warp, Place::Cta, Place::Step})
    for (uint64_t offset : offsetsOf(registers, place, offsets))
      movedByThreads |= offset;
  SmallVector<uint32_t> result;
  while (2u << result.size() <= maxVector) {
    uint64_t unit = uint64_t(1) << result.size();
    std::optional<uint64_t> reg = held.solve(unit);
    if (!reg || (movedByThreads & unit) || unit >= buffer.numElements())
      break;
    result.push_back(uint32_t(*reg));
  }
  return result;
}

SharedAccess tw::sharedAccess(const LinearLayout &registers, const LinearLayout &buffer,
                              unsigned maxVector) {
  BitMatrix elements = offsetsIn(buffer);
  SmallVector<uint32_t> inGroup = neighbours(registers, buffer, elements, maxVector);
  SmallVector<uint64_t> offsets = offsetsOf(registers, Place::Register, elements);
  XorBasis chosen;
  SmallVector<uint32_t> basis(inGroup);
  for (uint32_t reg : inGroup)
    chosen.insert(reg);
  for (unsigned bit = 0; bit < registers.numBits(Place::Register); ++bit) {
    uint32_t reg = 1u << bit;
    if (!chosen.insert(reg))
      continue;
    // A group begins at a multiple of its size.
    for (auto [low, neighbour] : llvm::enumerate(inGroup))
      if (offsets[bit] >> low & 1)
        reg ^= neighbour;
    basis.push_back(reg);
  }
  SharedAccess access{1u << inGroup.size(), {0}};
  for (uint32_t reg : basis)
    for (unsigned known = 0, size = access.registers.size(); known < size; ++known)
      access.registers.push_back(access.registers[known] ^ reg);
  return access;
}
