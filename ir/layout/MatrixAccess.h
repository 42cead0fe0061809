// Reading tiles from shared memory by warps in matrices: of 8 rows of 16 bytes (`ldmatrix`), or of
// rows whose columns lanes get (`ds_read_b64_tr_b16`, `ds_load_tr16_b128`).
#ifndef IR_LAYOUT_MATRIXACCESS_H
#define IR_LAYOUT_MATRIXACCESS_H
#include "ir/layout/LinearLayout.h"

namespace tw {

/// The instructions by which a machine's warps read matrices.
enum class MatrixReads : uint8_t {
  None,
  Words,   // 8 rows of 16 bytes; each lane gets a 32-bit word, of one row or of two
  Columns, // by every 16 lanes rows of 16 elements; each addresses 8 bytes and gets the column of
           // its number: 4 elements of 16 bits, or 8 of 8 bits
  Columns8 // the same of 8 bits, in another order of rows; of 16 bits by every 8 lanes 8 rows of 8
           // elements: each addresses a row and gets a column
};
/// Returns true if reads give lanes columns of elements of 8 and of 16 bits.
inline bool areColumns(MatrixReads reads) {
  return reads == MatrixReads::Columns || reads == MatrixReads::Columns8;
}
/// Returns true if reads can turn elements of so many bytes: give lanes elements one below the
/// other in any buffer of rows.
inline bool canTurn(MatrixReads reads, int64_t elementBytes) {
  return elementBytes == 2 ? reads != MatrixReads::None : elementBytes == 1 && areColumns(reads);
}

/// How a warp reads its registers of a tile as matrices. Each lane gives the address of a row and
/// gets a 32-bit word of each matrix: the elements come word by word, matrix by matrix, access by
/// access.
struct MatrixAccess {
  /// Words are of two rows and one column of 16 bits instead of one row: a column is of one element
  /// or of two neighbours of 8 bits.
  bool transposed = false;
  unsigned numMatrices = 1; // of one access: 1, 2 or 4
  unsigned rowBytes = 16;   // that a lane addresses
  /// For each bit of an element's number in the order of their coming, the bit of its register.
  llvm::SmallVector<unsigned> registerBits;
  /// The rows that lanes address: registers are the elements of a row, then the accesses; lane 8 i
  /// + r has row r of matrix i. Of columns, rows are parts of `rowBytes`: as `simt.load_transposed`
  /// has them.
  LinearLayout rows;

  /// Returns the register of the element that comes as this number.
  uint32_t registerOf(uint32_t number) const;
};
/// The matrices as which `registers` can be read from any buffer that keeps their rows together.
/// None where the layout is not of such words.
std::optional<MatrixAccess> matrixAccess(const LinearLayout &registers, unsigned elementBytes,
                                         bool transposed);
/// The same by columns, of either kind.
std::optional<MatrixAccess> columnAccess(const LinearLayout &registers, unsigned elementBytes,
                                         MatrixReads reads = MatrixReads::Columns);
/// The access by which `registers` are read from `buffer`; none where no row is consecutive in it.
std::optional<MatrixAccess> matrixAccess(const LinearLayout &registers, const LinearLayout &buffer,
                                         unsigned elementBytes,
                                         MatrixReads reads = MatrixReads::Words);
/// A buffer through which `from` is written in wide accesses and `to` read as matrices; none where
/// `to` cannot be, or not without giving up the wide accesses of `from`. It has no bank conflicts
/// if matrices are of words; of those, whole rows are preferred. For columns, it is what
/// `copyBuffer` makes.
std::optional<LinearLayout> matrixBuffer(const LinearLayout &from, const LinearLayout &to,
                                         unsigned elementBytes, SharedBanks banks,
                                         MatrixReads reads = MatrixReads::Words);

} // namespace tw
#endif
