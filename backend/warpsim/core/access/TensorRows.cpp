// Reads descriptors of the tensor data mover.
#include "backend/warpsim/core/access/TensorRows.h"
#include <algorithm>

using namespace tw::warpsim;

/// Returns `count` bits of a word, from `first` on.
static uint32_t bitsOf(uint32_t word, unsigned first, unsigned count) {
  return word >> first & uint32_t((uint64_t(1) << count) - 1);
}

unsigned TensorRows::pieceBytes() const {
  uint32_t all = rowBytes() | shared | interval | pad | 16;
  return all & (~all + 1);
}

TensorPiece TensorRows::pieceAt(uint32_t row, uint32_t byte) const {
  TensorPiece piece;
  piece.address = address + row * pitch * elementBytes + byte;
  piece.offset = placeOf(row * rowBytes() + byte);
  int64_t left = row < height ? int64_t(width) * elementBytes - byte : 0;
  piece.sourceBytes = unsigned(std::clamp<int64_t>(left, 0, pieceBytes()));
  return piece;
}

/// Returns what is wrong in the words, apart from the numbers; empty if nothing is.
static std::string mistakeInFlags(const TensorWords &words) {
  uint32_t form = words[4];
  if (bitsOf(words[3], 30, 2) != 2)
    return "has the type " + std::to_string(bitsOf(words[3], 30, 2)) + ", not that of a tensor, 2";
  if (bitsOf(words[0], 2, 30) != 0)
    return "gathers rows, which is not known here";
  if (bitsOf(words[3], 25, 5) != 0)
    return "has an address of more than 57 bits";
  if (bitsOf(form, 0, 16) != 0 || bitsOf(form, 18, 2) != 0 || bitsOf(form, 21, 1) != 0 ||
      bitsOf(words[5], 0, 16) != 0)
    return "has a mask of programs, a barrier or iterations, which are not known here";
  if (!bitsOf(form, 20, 1) && bitsOf(form, 22, 10) != 0)
    return "has numbers of a padding that it does not ask for";
  if (bitsOf(words[8], 16, 16) != 0 || bitsOf(words[10], 16, 16) != 0 || words[11] != 0)
    return "has a third dimension, but no groups of words that describe it";
  return "";
}

std::optional<TensorRows> tw::warpsim::decodeTensor(const TensorWords &words,
                                                    std::string &mistake) {
  if (bitsOf(words[0], 0, 2) == 0)
    return std::nullopt;
  mistake = mistakeInFlags(words);
  if (!mistake.empty())
    return std::nullopt;
  constexpr uint32_t bytesOfWord = 4;
  uint32_t form = words[4];
  TensorRows rows;
  rows.shared = words[1];
  rows.address = words[2] | uint64_t(bitsOf(words[3], 0, 25)) << 32;
  rows.elementBytes = 1u << bitsOf(form, 16, 2);
  if (bitsOf(form, 20, 1)) {
    rows.interval = bytesOfWord << (bitsOf(form, 22, 3) + 1);
    rows.pad = bytesOfWord * (bitsOf(form, 25, 7) + 1);
  }
  rows.width = words[5] >> 16 | words[6] << 16;
  rows.height = words[6] >> 16 | words[7] << 16;
  rows.columns = words[7] >> 16;
  rows.rows = bitsOf(words[8], 0, 16);
  rows.pitch = words[9] | uint64_t(bitsOf(words[10], 0, 16)) << 32;
  if (rows.columns == 0 || rows.rows == 0)
    mistake = "has a tile without elements";
  else if (rows.address % rows.elementBytes || rows.shared % rows.elementBytes)
    mistake = "has addresses that are not multiples of its elements' bytes";
  else if (rows.pieceBytes() < bytesOfWord)
    mistake = "has rows or places in shared memory that are not whole words, which is not known "
              "here";
  return mistake.empty() ? std::optional(rows) : std::nullopt;
}
