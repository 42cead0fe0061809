// Draws layouts as grids of text.
#include "ir/layout/LayoutDiagram.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace tw;
using llvm::SmallVector;

/// Where one coordinate, packed with the registers lowest, is: "w0 l3 r1" or "o12".
static std::string placeText(const LinearLayout &layout, uint64_t coordinate) {
  static constexpr char kLetters[kNumPlaces] = {'r', 'l', 'w', 'c', 's', 'o'};
  std::string text;
  for (unsigned place = 0; place < kNumPlaces; ++place) {
    unsigned numBits = layout.numBits(Place(place));
    uint64_t number = coordinate & ((uint64_t(1) << numBits) - 1);
    coordinate >>= numBits;
    if (numBits > 0)
      text = kLetters[place] + std::to_string(number) + (text.empty() ? "" : " ") + text;
  }
  return text.empty() ? "all" : text;
}

static std::string cellText(const LinearLayout &layout, const BitMatrix &inverse,
                            uint32_t element) {
  std::string text = placeText(layout, inverse.apply(element));
  unsigned numCopyBits = layout.numInputBits() - inverse.columns.size();
  if (numCopyBits > 0)
    text += " x" + std::to_string(uint64_t(1) << numCopyBits);
  return text;
}

std::string tw::layoutDiagram(const LinearLayout &layout, unsigned maxRows, unsigned maxColumns) {
  std::optional<SmallVector<uint64_t>> images = layout.rightInverse();
  if (!images)
    return "(the layout leaves elements out)\n";
  BitMatrix inverse{layout.numInputBits(), *images};
  unsigned rank = layout.rank();
  uint64_t numColumns = rank > 0 ? layout.shape()[rank - 1] : 1;
  uint64_t numRows = rank > 1 ? layout.shape()[rank - 2] : 1;
  uint64_t shownRows = std::min<uint64_t>(numRows, maxRows);
  uint64_t shownColumns = std::min<uint64_t>(numColumns, maxColumns);
  SmallVector<std::string> cells;
  size_t width = 0;
  for (uint64_t row = 0; row < shownRows; ++row) {
    for (uint64_t column = 0; column < shownColumns; ++column) {
      cells.push_back(cellText(layout, inverse, uint32_t(row * numColumns + column)));
      width = std::max(width, cells.back().size());
    }
  }
  std::string result;
  llvm::raw_string_ostream stream(result);
  for (auto [index, cell] : llvm::enumerate(cells)) {
    bool isLast = (index + 1) % shownColumns == 0;
    stream << (isLast ? cell : cell + std::string(width - cell.size() + 2, ' '));
    if (isLast)
      stream << (shownColumns < numColumns ? "  ...\n" : "\n");
  }
  if (shownRows < numRows || shownColumns < numColumns)
    stream << "(" << numRows - shownRows << " more rows, " << numColumns - shownColumns
           << " more columns)\n";
  if (uint64_t pieces = layout.numElements() / (numRows * numColumns); pieces > 1)
    stream << "(the first of " << pieces << " pieces)\n";
  return result;
}
