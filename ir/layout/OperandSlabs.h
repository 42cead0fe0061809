// Buffers of the operands that matrix instructions of several warps read from shared memory.
#ifndef IR_LAYOUT_OPERANDSLABS_H
#define IR_LAYOUT_OPERANDSLABS_H
#include "ir/layout/LinearLayout.h"
#include <optional>

namespace tw {

/// A matrix whose rows are divided into slabs, as matrix instructions of several warps and copies
/// of boxes know them. A slab holds `spanBytes` of every row, one row after the other, and slabs
/// follow each other. Pieces of 16 bytes change places inside a row by the row's number, as the
/// bank of an address does: address a lies at a ^ (((a >> 7) & (spanBytes / 16 - 1)) << 4). So
/// eight rows in a column are without bank conflicts, and slabs begin at multiples of `groupBytes`,
/// which eight rows take.
struct OperandSlabs {
  unsigned dim = 0; // along which a row runs
  unsigned spanBytes = 0;
  unsigned elementBytes = 0;
  uint64_t slabBytes = 0;

  static constexpr unsigned kRowsOfGroup = 8;
  uint64_t groupBytes() const { return kRowsOfGroup * uint64_t(spanBytes); }
  /// Returns where the element begins, in bytes, before pieces change places.
  uint64_t offsetOf(uint64_t row, uint64_t column) const {
    uint64_t bytes = column * elementBytes;
    return row * spanBytes + bytes / spanBytes * slabBytes + bytes % spanBytes;
  }
  int64_t numSlabsOf(llvm::ArrayRef<int64_t> shape) const {
    return shape[dim] * elementBytes / spanBytes;
  }
  /// Returns true if programs that share a tile can copy as many of its slabs each: else they copy
  /// as many rows of all slabs.
  bool areDividedWhole(llvm::ArrayRef<int64_t> shape, int64_t numPrograms) const {
    return numSlabsOf(shape) % numPrograms == 0;
  }
};

/// The slabs of a tile of rank 2 with rows along `dim` that span up to `mostSpanBytes`; none where
/// it has fewer than eight rows, or a row fewer than 16 bytes.
std::optional<OperandSlabs> slabsFor(llvm::ArrayRef<int64_t> shape, unsigned dim,
                                     unsigned elementBytes, unsigned mostSpanBytes);
LinearLayout bufferOf(const OperandSlabs &slabs, llvm::ArrayRef<int64_t> shape);
/// The slabs that a buffer consists of; none where it is another one.
std::optional<OperandSlabs> slabsOf(const LinearLayout &buffer, unsigned elementBytes,
                                    unsigned mostSpanBytes);

} // namespace tw
#endif
