// Reading tiles from shared memory by warps in matrices of 8 rows of 16 bytes (`ldmatrix`).
#ifndef IR_LAYOUT_MATRIXACCESS_H
#define IR_LAYOUT_MATRIXACCESS_H
#include "ir/layout/LinearLayout.h"

namespace tw {

/// How a warp reads its registers of a tile as matrices. Each lane gives the address of a row and
/// gets a 32-bit word of each matrix: the elements come word by word, matrix by matrix, access by
/// access.
struct MatrixAccess {
  /// Words are of two rows and one column of 16 bits instead of one row: a column is of one element
  /// or of two neighbours of 8 bits.
  bool transposed = false;
  unsigned numMatrices = 1; // of one access: 1, 2 or 4
  /// For each bit of an element's number in the order of their coming, the bit of its register.
  llvm::SmallVector<unsigned> registerBits;
  /// The rows that lanes address: registers are the elements of a row, then the accesses; lane 8 i
  /// + r has row r of matrix i.
  LinearLayout rows;
};
/// Bytes of a row.
inline constexpr unsigned kMatrixRowBytes = 16;

/// The matrices as which `registers` can be read from any buffer that keeps their rows together.
/// None where the layout is not of such words.
std::optional<MatrixAccess> matrixAccess(const LinearLayout &registers, unsigned elementBytes,
                                         bool transposed);
/// The access by which `registers` are read from `buffer`; none where no row is 16 bytes of it.
std::optional<MatrixAccess> matrixAccess(const LinearLayout &registers, const LinearLayout &buffer,
                                         unsigned elementBytes);
/// A buffer without bank conflicts through which `from` is written in wide accesses and `to` read
/// as matrices; none where `to` cannot be, or not without giving up the wide accesses of `from`.
/// Those of whole rows are preferred to those of words.
std::optional<LinearLayout> matrixBuffer(const LinearLayout &from, const LinearLayout &to,
                                         unsigned elementBytes, SharedBanks banks);

} // namespace tw
#endif
