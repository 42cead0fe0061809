// The addresses of matrices in shared memory (PTX ISA, "Shared Memory Matrix Layout" of wgmma).
#include "backend/warpsim/core/matrix/MatrixDescriptor.h"

using namespace tw::warpsim;

// Rows (or columns) of 16 bytes that make a core matrix, and elements of 16 bits in one of them.
constexpr uint32_t kCoreRows = 8, kElementsOfPiece = 8;

/// Bits that belong to no field: [14, 16), [30, 32), [46, 49), [52, 62).
constexpr uint64_t kReservedBits =
    uint64_t(3) << 14 | uint64_t(3) << 30 | uint64_t(7) << 46 | uint64_t(0x3ff) << 52;

MatrixDescriptor::MatrixDescriptor(uint64_t bits)
    : start(uint32_t(bits & 0x3fff) << 4), leading(uint32_t(bits >> 16 & 0x3fff) << 4),
      stride(uint32_t(bits >> 32 & 0x3fff) << 4), baseOffset(unsigned(bits >> 49 & 7)),
      span(bits >> 62 ? 16u >> (bits >> 62) : 1), setsReservedBits((bits & kReservedBits) != 0) {}

/// Exchanges the pieces of a row by the number of the row, as far as the pattern goes.
static uint32_t swizzled(uint32_t address, unsigned span) {
  return address ^ ((address >> 7 & (span - 1)) << 4);
}

static void findKMajor(const MatrixDescriptor &descriptor, const MatrixPart &part,
                       MatrixPieces &pieces) {
  unsigned span = descriptor.span;
  uint32_t next = span == 1 ? descriptor.leading : kMatrixPieceBytes; // along K
  for (uint32_t row = part.begin; row < part.begin + part.count; ++row) {
    uint32_t at = descriptor.start + row % kCoreRows * kMatrixPieceBytes * span +
                  row / kCoreRows * descriptor.stride;
    pieces.at[pieces.count++] = swizzled(at, span);
    pieces.at[pieces.count++] = swizzled(at + next, span);
  }
}

static void findOther(const MatrixDescriptor &descriptor, const MatrixPart &part,
                      MatrixPieces &pieces) {
  unsigned span = descriptor.span;
  // Without a swizzle the two distances have each other's meaning.
  uint32_t alongK = span == 1 ? descriptor.leading : descriptor.stride;
  uint32_t acrossK = span == 1 ? descriptor.stride : descriptor.leading;
  uint32_t first = part.begin / kElementsOfPiece, last = first + part.count / kElementsOfPiece;
  for (uint32_t k = 0; k < kDepthBytes / 2; ++k)
    for (uint32_t piece = first; piece < last; ++piece) {
      uint32_t at = descriptor.start + piece % span * kMatrixPieceBytes + piece / span * acrossK +
                    k % kCoreRows * kMatrixPieceBytes * span + k / kCoreRows * alongK;
      pieces.at[pieces.count++] = swizzled(at, span);
    }
}

void tw::warpsim::findPieces(const MatrixDescriptor &descriptor, const MatrixPart &part,
                             MatrixPieces &pieces) {
  pieces.count = 0;
  if (part.isKMajor)
    findKMajor(descriptor, part, pieces);
  else
    findOther(descriptor, part, pieces);
}
