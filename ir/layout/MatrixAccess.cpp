// Finds the rows of matrices in the bits of a layout.
#include "ir/layout/MatrixAccess.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;

static constexpr unsigned kWordBytes = 4;
static constexpr unsigned kLanesOfRowBits = 2; // the lanes that share a row
static constexpr unsigned kRowBits = 3;        // the rows of a matrix
static constexpr unsigned kMostMatrixBits = 2; // the matrices of one access

std::optional<MatrixAccess> tw::matrixAccess(const LinearLayout &registers, unsigned elementBytes,
                                             bool transposed) {
  ArrayRef<uint32_t> held = registers.bases(Place::Register), lanes = registers.bases(Place::Lane);
  if (elementBytes > kWordBytes || (transposed && elementBytes != 2) ||
      lanes.size() != kLanesOfRowBits + kRowBits)
    return std::nullopt;
  unsigned wordBits = llvm::Log2_32(kWordBytes / elementBytes);
  if (held.size() < wordBits)
    return std::nullopt;
  // Of a word of one row, its elements and the lanes beside it are the row; transposed, they are
  // the rows' numbers, and the other lanes are the row.
  LinearLayout::Bases across(held.take_front(wordBits)), down(lanes.drop_front(kLanesOfRowBits));
  across.append(lanes.begin(), lanes.begin() + kLanesOfRowBits);
  if (transposed)
    std::swap(across, down);

  MatrixAccess access;
  access.transposed = transposed;
  ArrayRef<uint32_t> rest = held.drop_front(wordBits);
  unsigned matrixBits = std::min<unsigned>(kMostMatrixBits, rest.size());
  access.numMatrices = 1u << matrixBits;
  LinearLayout::Bases inRow(across), addressed(down);
  inRow.append(rest.begin() + matrixBits, rest.end());
  addressed.append(rest.begin(), rest.begin() + matrixBits);
  addressed.resize(lanes.size(), 0); // with fewer matrices, the other lanes' addresses do not count
  access.rows = registers.withPlace(Place::Register, std::move(inRow))
                    .withPlace(Place::Lane, std::move(addressed));
  return access;
}

std::optional<MatrixAccess> tw::matrixAccess(const LinearLayout &registers,
                                             const LinearLayout &buffer, unsigned elementBytes) {
  std::optional<SmallVector<uint64_t>> inverse = buffer.rightInverse();
  if (!inverse)
    return std::nullopt;
  BitMatrix offsets{buffer.numInputBits(), *inverse};
  unsigned rowElements = kMatrixRowBytes / elementBytes, inRowBits = llvm::Log2_32(rowElements);
  for (bool transposed : {false, true}) {
    std::optional<MatrixAccess> access = matrixAccess(registers, elementBytes, transposed);
    if (!access)
      continue;
    ArrayRef<uint32_t> held = access->rows.bases(Place::Register);
    bool isRow = true;
    for (unsigned bit = 0; bit < inRowBits; ++bit)
      isRow &= offsets.apply(held[bit]) == uint64_t(1) << bit;
    auto startsRow = [&](uint32_t basis) { return offsets.apply(basis) % rowElements == 0; };
    if (isRow && llvm::all_of(held.drop_front(inRowBits), startsRow) &&
        llvm::all_of(access->rows.bases(Place::Lane), startsRow) &&
        llvm::all_of(access->rows.bases(Place::Warp), startsRow))
      return access;
  }
  return std::nullopt;
}

/// Rows along the dimension of a matrix's row, in which 16 bytes change places by the row's number:
/// the common case, whose addresses cost least.
static LinearLayout swizzledRows(ArrayRef<int64_t> shape, ArrayRef<uint32_t> row,
                                 unsigned elementBytes) {
  LinearLayout whole(shape, {});
  SmallVector<int32_t> order;
  for (unsigned dim = shape.size(); dim-- > 0;)
    if (whole.maskOf(dim) & row.front())
      order.insert(order.begin(), int32_t(dim));
    else
      order.push_back(int32_t(dim));
  static constexpr int64_t kLineBytes = 128;
  int64_t rowBytes = std::max<int64_t>(kMatrixRowBytes, shape[order.front()] * elementBytes);
  int64_t inLine = std::min(rowBytes, kLineBytes) / kMatrixRowBytes;
  unsigned rowsPerPhase = unsigned(std::max<int64_t>(1, kLineBytes / rowBytes));
  return swizzledLayout(shape, order, kMatrixRowBytes / elementBytes, rowsPerPhase,
                        unsigned(inLine));
}

std::optional<LinearLayout> tw::matrixBuffer(const LinearLayout &from, const LinearLayout &to,
                                             unsigned elementBytes) {
  XorBasis written;
  for (uint32_t basis : from.bases(Place::Register))
    written.insert(basis);
  unsigned inRowBits = llvm::Log2_32(kMatrixRowBytes / elementBytes);
  for (bool transposed : {false, true}) {
    std::optional<MatrixAccess> access = matrixAccess(to, elementBytes, transposed);
    if (!access)
      continue;
    ArrayRef<uint32_t> row = access->rows.bases(Place::Register).take_front(inRowBits);
    if (!llvm::all_of(row, [&](uint32_t basis) { return written.contains(basis); }))
      continue;
    // Only the elements of a row are neighbours: they come first in both.
    LinearLayout::Bases vector(row);
    LinearLayout writes = from.withPlace(Place::Register, vector);
    LinearLayout reads = access->rows.withPlace(Place::Register, vector);
    for (const LinearLayout &buffer : {swizzledRows(to.shape(), row, elementBytes),
                                       conflictFreeLayout(writes, reads, elementBytes)})
      if (matrixAccess(to, buffer, elementBytes) &&
          bankConflicts(writes, buffer, elementBytes) == 1 &&
          bankConflicts(reads, buffer, elementBytes) == 1)
        return buffer;
  }
  return std::nullopt;
}
