// Matrices in shared memory as wgmma reads them: the fields of a descriptor, and where its pieces
// of 16 bytes are.
#ifndef BACKEND_WARPSIM_CORE_MATRIXDESCRIPTOR_H
#define BACKEND_WARPSIM_CORE_MATRIXDESCRIPTOR_H
#include "backend/warpsim/core/state/AsyncProducts.h"

namespace tw::warpsim {

/// The fields of a matrix descriptor (PTX ISA, "Matrix-descriptor" of wgmma), in bytes.
struct MatrixDescriptor {
  explicit MatrixDescriptor(uint64_t bits);
  uint32_t start, leading, stride;
  unsigned baseOffset;
  unsigned span; // pieces in a row of the swizzled pattern: 1 (no swizzle), 2, 4 or 8
  bool setsReservedBits;
};

/// The operand's extent along K is 32 bytes in every type.
constexpr unsigned kDepthBytes = 32, kMaxColumns = 256,
                   kMaxPieces = kMaxColumns * kDepthBytes / kMatrixPieceBytes;

/// Rows [begin, begin + count) of A, or columns of B. K-major: a piece has neighbors along K, else
/// (of 16-bit elements only) along the rows or columns.
struct MatrixPart {
  unsigned begin = 0, count = 0;
  bool isKMajor = true;
};

/// Addresses in shared memory, in the order in which the elements then lie: K-major by row or
/// column, else by K.
struct MatrixPieces {
  unsigned count = 0;
  std::array<uint32_t, kMaxPieces> at;
};
void findPieces(const MatrixDescriptor &descriptor, const MatrixPart &part, MatrixPieces &pieces);

} // namespace tw::warpsim
#endif
