// What a descriptor of the tensor data mover of gfx1250 says: rows of an array in global memory,
// and where they go in shared memory (LLVM, "tensor_load_to_lds"; its fields as MLIR's AMDGPU
// dialect and Triton write them).
#ifndef BACKEND_WARPSIM_CORE_TENSORROWS_H
#define BACKEND_WARPSIM_CORE_TENSORROWS_H
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace tw::warpsim {

/// The groups 0 and 1 of a descriptor.
using TensorWords = std::array<uint32_t, 12>;

/// Bytes that follow each other in both memories. Those behind `sourceBytes` are outside of the
/// array, and become 0.
struct TensorPiece {
  uint64_t address = 0;
  uint32_t offset = 0; // from the first byte of the copy in shared memory
  unsigned sourceBytes = 0;
};

/// A tile of `rows` rows of `columns` elements, `pitch` elements apart, of an array that ends
/// `height` rows and `width` elements from its first one.
struct TensorRows {
  uint32_t shared = 0; // address
  uint64_t address = 0;
  uint32_t elementBytes = 1, columns = 0, rows = 0, width = 0, height = 0;
  uint64_t pitch = 0;
  uint32_t interval = 0, pad = 0; // bytes in shared memory, of which `pad` follow the others

  uint32_t rowBytes() const { return columns * elementBytes; }
  /// Returns where a byte of the tile lies behind the first.
  uint32_t placeOf(uint32_t byte) const { return byte + (interval ? byte / interval * pad : 0); }
  uint64_t sharedBytes() const { return uint64_t(placeOf(rows * rowBytes() - 1)) + 1; }
  /// Returns the bytes of the widest pieces that rows, places and padding are multiples of.
  unsigned pieceBytes() const;
  TensorPiece pieceAt(uint32_t row, uint32_t byte) const;
};

/// Reads a descriptor; none where it has no tile, or where it contradicts itself, as `mistake` then
/// says.
std::optional<TensorRows> decodeTensor(const TensorWords &words, std::string &mistake);

} // namespace tw::warpsim
#endif
