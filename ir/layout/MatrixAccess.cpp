// Finds the rows of matrices in the bits of a layout.
#include "ir/layout/MatrixAccess.h"
#include "ir/layout/CopyBuffers.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace tw;
using llvm::ArrayRef;
using llvm::SmallVector;

static constexpr unsigned kWordBytes = 4;
static constexpr unsigned kMatrixRowBytes = 16; // of matrices of words
static constexpr unsigned kColumnBytes = 2;     // of matrices that are transposed
static constexpr unsigned kLanesOfRowBits = 2;  // the lanes that share a row
static constexpr unsigned kRowBits = 3;         // the rows of a matrix
static constexpr unsigned kMostMatrixBits = 2;  // the matrices of one access

uint32_t MatrixAccess::registerOf(uint32_t number) const {
  uint32_t reg = 0;
  for (auto [from, to] : llvm::enumerate(registerBits))
    reg |= (number >> from & 1) << to;
  return reg;
}

/// The register bits with those of `first` in front.
static SmallVector<unsigned> withFirst(unsigned numBits, ArrayRef<unsigned> first) {
  SmallVector<unsigned> bits(first);
  for (unsigned bit = 0; bit < numBits; ++bit)
    if (!llvm::is_contained(first, bit))
      bits.push_back(bit);
  return bits;
}

/// The order of register bits in which plain words hold elements: neighbours of the first.
static SmallVector<unsigned> wordBitsFirst(const LinearLayout &registers, unsigned wordBits) {
  ArrayRef<uint32_t> held = registers.bases(Place::Register);
  SmallVector<unsigned> first;
  for (unsigned bit = 0; bit < wordBits; ++bit) {
    const uint32_t *found = llvm::find(held, held.front() << bit);
    if (found == held.end())
      return withFirst(held.size(), {});
    first.push_back(found - held.begin());
  }
  return withFirst(held.size(), first);
}

/// The order in which transposed words hold elements of one byte: first the neighbours in memory,
/// of which lanes hold the next. None where a lane holds none.
static std::optional<SmallVector<unsigned>> columnBitFirst(const LinearLayout &registers) {
  ArrayRef<uint32_t> held = registers.bases(Place::Register);
  uint32_t next = registers.bases(Place::Lane)[kLanesOfRowBits], neighbour = next >> 1;
  const uint32_t *found = llvm::find(held, neighbour);
  auto isAlong = [&](unsigned dim) { return (next & ~registers.maskOf(dim)) == 0; };
  auto reachesLowest = [&](unsigned dim) {
    return isAlong(dim) && (neighbour & registers.maskOf(dim)) != 0;
  };
  if (found == held.end() || llvm::none_of(llvm::seq(registers.rank()), reachesLowest))
    return std::nullopt;
  return withFirst(held.size(), unsigned(found - held.begin()));
}

std::optional<MatrixAccess> tw::matrixAccess(const LinearLayout &registers, unsigned elementBytes,
                                             bool transposed) {
  ArrayRef<uint32_t> lanes = registers.bases(Place::Lane);
  unsigned numRegisterBits = registers.numBits(Place::Register);
  if (elementBytes > kWordBytes || (transposed && elementBytes > kColumnBytes) ||
      lanes.size() != kLanesOfRowBits + kRowBits)
    return std::nullopt;
  unsigned wordBits = llvm::Log2_32(kWordBytes / elementBytes);
  if (numRegisterBits < wordBits)
    return std::nullopt;
  MatrixAccess access;
  access.transposed = transposed;
  unsigned columnBits = transposed ? llvm::Log2_32(kColumnBytes / elementBytes) : 0;
  std::optional<SmallVector<unsigned>> order =
      columnBits != 0 ? columnBitFirst(registers) : wordBitsFirst(registers, wordBits);
  if (!order)
    return std::nullopt;
  access.registerBits = *order;
  LinearLayout::Bases held;
  for (unsigned bit : access.registerBits)
    held.push_back(registers.bases(Place::Register)[bit]);

  // Of a word of one row, its elements and the lanes beside it are the row; transposed, they are
  // the rows' numbers, and the elements of a column and the other lanes are the row.
  ArrayRef<uint32_t> word = ArrayRef(held).take_front(wordBits);
  LinearLayout::Bases across(word.drop_front(columnBits)), down(word.take_front(columnBits));
  across.append(lanes.begin(), lanes.begin() + kLanesOfRowBits);
  down.append(lanes.begin() + kLanesOfRowBits, lanes.end());
  if (transposed)
    std::swap(across, down);

  ArrayRef<uint32_t> rest = ArrayRef(held).drop_front(wordBits);
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

// A lane's lowest register bits are the rows; the lane's lowest bits are elements of what a lane
// addresses, the next ones the parts of a row. A lane addresses as many elements as it gets, so
// there are as many rows.
std::optional<MatrixAccess> tw::columnAccess(const LinearLayout &registers, unsigned elementBytes,
                                             MatrixReads reads) {
  if (elementBytes > kColumnBytes)
    return std::nullopt;
  bool areSquares = reads == MatrixReads::Columns8 && elementBytes == kColumnBytes;
  MatrixAccess access;
  access.transposed = true;
  access.rowBytes = areSquares ? 16 : 8;
  const unsigned rowBits = llvm::Log2_32(access.rowBytes / elementBytes),
                 partBits = areSquares ? 0 : 4 - rowBits;
  // Rows that differ by lanes below those that address another part.
  const unsigned rowsBelow = reads == MatrixReads::Columns8 ? 2 : 0;
  ArrayRef<uint32_t> lanes = registers.bases(Place::Lane);
  ArrayRef<uint32_t> held = registers.bases(Place::Register);
  if (lanes.size() < rowBits + partBits || held.size() < rowBits)
    return std::nullopt;
  access.registerBits = withFirst(held.size(), {});
  LinearLayout::Bases inRow(lanes.take_front(rowBits)), addressed(held.take_front(rowsBelow));
  inRow.append(held.begin() + rowBits, held.end());
  llvm::append_range(addressed, lanes.slice(rowBits, partBits));
  llvm::append_range(addressed, held.take_front(rowBits).drop_front(rowsBelow));
  llvm::append_range(addressed, lanes.drop_front(rowBits + partBits));
  access.rows = registers.withPlace(Place::Register, std::move(inRow))
                    .withPlace(Place::Lane, std::move(addressed));
  return access;
}

/// Returns true if the rows that an access addresses are consecutive in a buffer.
static bool hasRowsIn(const MatrixAccess &access, const BitMatrix &offsets, unsigned elementBytes) {
  unsigned rowElements = access.rowBytes / elementBytes, inRowBits = llvm::Log2_32(rowElements);
  ArrayRef<uint32_t> held = access.rows.bases(Place::Register);
  for (unsigned bit = 0; bit < inRowBits; ++bit)
    if (offsets.apply(held[bit]) != uint64_t(1) << bit)
      return false;
  auto startsRow = [&](uint32_t basis) { return offsets.apply(basis) % rowElements == 0; };
  return llvm::all_of(held.drop_front(inRowBits), startsRow) &&
         llvm::all_of(access.rows.bases(Place::Lane), startsRow) &&
         llvm::all_of(access.rows.bases(Place::Warp), startsRow);
}

std::optional<MatrixAccess> tw::matrixAccess(const LinearLayout &registers,
                                             const LinearLayout &buffer, unsigned elementBytes,
                                             MatrixReads reads) {
  std::optional<SmallVector<uint64_t>> inverse = buffer.rightInverse();
  if (!inverse || reads == MatrixReads::None)
    return std::nullopt;
  BitMatrix offsets{buffer.numInputBits(), *inverse};
  for (bool transposed : {false, true}) {
    if (areColumns(reads) && !transposed)
      continue;
    std::optional<MatrixAccess> access = areColumns(reads)
                                             ? columnAccess(registers, elementBytes, reads)
                                             : matrixAccess(registers, elementBytes, transposed);
    if (access && hasRowsIn(*access, offsets, elementBytes))
      return access;
  }
  return std::nullopt;
}

/// How many of a row's elements, as a power of two, `from` writes at once; none of a row that it
/// writes in parts where it could write other neighbours, or more of them, at once.
static unsigned bitsWrittenAtOnce(const LinearLayout &from, ArrayRef<uint32_t> row) {
  ArrayRef<uint32_t> registers = from.bases(Place::Register);
  XorBasis written;
  for (uint32_t basis : registers)
    written.insert(basis);
  if (llvm::all_of(row, [&](uint32_t basis) { return written.contains(basis); }))
    return row.size();
  unsigned run = registers.empty() ? 0 : 1;
  while (run != 0 && run < registers.size() && registers[run] == registers[run - 1] << 1)
    ++run;
  return registers.take_front(run) == row.take_front(run) ? run : 0;
}

/// The same for accesses of one kind, with rows that are written in at least `fewestBits` at once.
static std::optional<LinearLayout> matrixBuffer(const LinearLayout &from, const LinearLayout &to,
                                                unsigned elementBytes, SharedBanks banks,
                                                bool transposed, unsigned fewestBits) {
  std::optional<MatrixAccess> access = matrixAccess(to, elementBytes, transposed);
  if (!access)
    return std::nullopt;
  unsigned inRowBits = llvm::Log2_32(kMatrixRowBytes / elementBytes);
  ArrayRef<uint32_t> row = access->rows.bases(Place::Register).take_front(inRowBits);
  unsigned atOnce = bitsWrittenAtOnce(from, row);
  if (atOnce < std::min(fewestBits, inRowBits))
    return std::nullopt;
  // Only the elements of a row are neighbours: they come first in both.
  LinearLayout writes =
      from.withPlace(Place::Register, LinearLayout::Bases(row.take_front(atOnce)));
  LinearLayout reads = access->rows.withPlace(Place::Register, LinearLayout::Bases(row));
  for (const LinearLayout &buffer : {swizzledRows(to.shape(), row.front(), elementBytes, banks),
                                     conflictFreeLayout(writes, reads, elementBytes, banks)}) {
    std::optional<MatrixAccess> chosen = matrixAccess(to, buffer, elementBytes);
    if (chosen && chosen->transposed == transposed &&
        bankConflicts(writes, buffer, SharedUse::Write, elementBytes, banks) == 1 &&
        bankConflicts(reads, buffer, SharedUse::Read, elementBytes, banks) == 1)
      return buffer;
  }
  return std::nullopt;
}

/// Columns come out of any buffer that keeps what a lane addresses of a row together.
static std::optional<LinearLayout> columnBuffer(const LinearLayout &from, const LinearLayout &to,
                                                unsigned elementBytes, SharedBanks banks,
                                                MatrixReads kind) {
  std::optional<MatrixAccess> access = columnAccess(to, elementBytes, kind);
  if (!access)
    return std::nullopt;
  ArrayRef<uint32_t> row = access->rows.bases(Place::Register)
                               .take_front(llvm::Log2_32(access->rowBytes / elementBytes));
  if (bitsWrittenAtOnce(from, row) < row.size())
    return std::nullopt;
  LinearLayout reads = access->rows.withPlace(Place::Register, LinearLayout::Bases(row));
  LinearLayout buffer = copyBuffer(from, reads, elementBytes, banks);
  if (!matrixAccess(to, buffer, elementBytes, kind))
    return std::nullopt;
  return buffer;
}

std::optional<LinearLayout> tw::matrixBuffer(const LinearLayout &from, const LinearLayout &to,
                                             unsigned elementBytes, SharedBanks banks,
                                             MatrixReads reads) {
  if (areColumns(reads))
    return columnBuffer(from, to, elementBytes, banks, reads);
  if (elementBytes > kMatrixRowBytes || reads == MatrixReads::None)
    return std::nullopt;
  for (unsigned fewestBytes : {kMatrixRowBytes, kWordBytes})
    for (bool transposed : {false, true}) {
      unsigned fewestBits = llvm::Log2_32(std::max(2u, fewestBytes / elementBytes));
      if (std::optional<LinearLayout> buffer =
              ::matrixBuffer(from, to, elementBytes, banks, transposed, fewestBits))
        return buffer;
    }
  return std::nullopt;
}
