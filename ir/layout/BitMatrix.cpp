// Linear algebra over GF(2) on matrices of up to 64 x 64 bits.
#include "ir/layout/LinearLayout.h"
#include "ir/layout/XorBasis.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cassert>

using namespace tw;

XorBasis::Entry XorBasis::reduce(uint64_t vector) const {
  Entry result{vector, 0};
  for (const Entry &entry : entries) {
    if ((result.vector & llvm::bit_floor(entry.vector)) == 0)
      continue;
    result.vector ^= entry.vector;
    result.combination ^= entry.combination;
  }
  return result;
}

bool XorBasis::insert(uint64_t vector, uint64_t combination) {
  Entry entry = reduce(vector);
  if (entry.vector == 0)
    return false;
  entry.combination ^= combination;
  entries.push_back(entry);
  return true;
}

/// The space of the columns; combinations are vectors x with Ax = the entry.
static XorBasis columnSpace(const BitMatrix &matrix) {
  assert(matrix.columns.size() <= 64 && "a vector of coefficients has 64 bits");
  XorBasis space;
  for (auto [index, column] : llvm::enumerate(matrix.columns))
    space.insert(column, uint64_t(1) << index);
  return space;
}

uint64_t BitMatrix::apply(uint64_t vector) const {
  uint64_t image = 0;
  for (auto [index, column] : llvm::enumerate(columns))
    if (vector >> index & 1)
      image ^= column;
  return image;
}

BitMatrix BitMatrix::operator*(const BitMatrix &right) const {
  BitMatrix product{numRows, {}};
  for (uint64_t column : right.columns)
    product.columns.push_back(apply(column));
  return product;
}

unsigned BitMatrix::rank() const { return columnSpace(*this).size(); }

llvm::SmallVector<uint64_t> BitMatrix::kernel() const {
  llvm::SmallVector<uint64_t> vectors;
  XorBasis space;
  for (auto [index, column] : llvm::enumerate(columns)) {
    uint64_t unit = uint64_t(1) << index;
    if (!space.insert(column, unit))
      vectors.push_back(space.reduce(column).combination ^ unit);
  }
  return vectors;
}

std::optional<uint64_t> BitMatrix::solve(uint64_t image) const {
  XorBasis::Entry rest = columnSpace(*this).reduce(image);
  if (rest.vector != 0)
    return std::nullopt;
  return rest.combination;
}

std::optional<BitMatrix> BitMatrix::inverse() const {
  if (columns.size() != numRows)
    return std::nullopt;
  XorBasis space = columnSpace(*this);
  if (space.size() != numRows)
    return std::nullopt;
  BitMatrix result{numRows, {}};
  for (unsigned row = 0; row < numRows; ++row)
    result.columns.push_back(space.reduce(uint64_t(1) << row).combination);
  return result;
}
