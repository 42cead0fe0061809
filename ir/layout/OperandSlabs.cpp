// Makes and recognizes the buffers that matrix instructions of several warps read.
#include "ir/layout/OperandSlabs.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace tw;
using llvm::ArrayRef;

static constexpr unsigned kPieceBytes = 16;

std::optional<OperandSlabs> tw::slabsFor(ArrayRef<int64_t> shape, unsigned dim,
                                         unsigned elementBytes, unsigned mostSpanBytes) {
  if (shape.size() != 2 || shape[1 - dim] < int64_t(OperandSlabs::kRowsOfGroup))
    return std::nullopt;
  uint64_t rowBytes = uint64_t(shape[dim]) * elementBytes;
  if (rowBytes < kPieceBytes)
    return std::nullopt;
  unsigned span = unsigned(std::min<uint64_t>(mostSpanBytes, rowBytes));
  return OperandSlabs{dim, span, elementBytes, uint64_t(shape[1 - dim]) * span};
}

LinearLayout tw::bufferOf(const OperandSlabs &slabs, ArrayRef<int64_t> shape) {
  LinearLayout whole(shape, {});
  unsigned firstColumn = whole.firstBitOf(slabs.dim), firstRow = whole.firstBitOf(1 - slabs.dim);
  unsigned spanBits = llvm::Log2_32(slabs.spanBytes / slabs.elementBytes);
  unsigned pieceBits = llvm::Log2_32(kPieceBytes / slabs.elementBytes);
  // Address bit 7 and those above it, as many as a span has bits of pieces.
  unsigned firstOfSwizzle = llvm::Log2_32(128 / slabs.spanBytes);
  LinearLayout::Bases offsets;
  for (unsigned bit = 0; bit < spanBits; ++bit)
    offsets.push_back(1u << (firstColumn + bit));
  for (unsigned bit = 0; bit < whole.numBitsOf(1 - slabs.dim); ++bit) {
    uint32_t basis = 1u << (firstRow + bit);
    if (bit >= firstOfSwizzle && bit - firstOfSwizzle < spanBits - pieceBits)
      basis |= 1u << (firstColumn + pieceBits + bit - firstOfSwizzle);
    offsets.push_back(basis);
  }
  for (unsigned bit = spanBits; bit < whole.numBitsOf(slabs.dim); ++bit)
    offsets.push_back(1u << (firstColumn + bit));
  return whole.withPlace(Place::Offset, std::move(offsets));
}

std::optional<OperandSlabs> tw::slabsOf(const LinearLayout &buffer, unsigned elementBytes,
                                        unsigned mostSpanBytes) {
  for (unsigned dim : {0, 1})
    if (std::optional<OperandSlabs> slabs =
            slabsFor(buffer.shape(), dim, elementBytes, mostSpanBytes))
      if (bufferOf(*slabs, buffer.shape()) == buffer)
        return slabs;
  return std::nullopt;
}
