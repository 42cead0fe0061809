// The registers of a matrix instruction's operand, fragment by fragment.
#ifndef PASSES_SIMT_LOWERING_FRAGMENTS_H
#define PASSES_SIMT_LOWERING_FRAGMENTS_H
#include "ir/simt/MmaLayouts.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

namespace tw::simt {

/// The registers of one operand, fragment by fragment.
class Fragments {
public:
  Fragments(SimtFunction &f, mlir::Value tile, tile::MmaAttr instruction, MmaOperand operand)
      : layout(layoutOf(tile.getType())), values(f.registersOf(tile)),
        size(mmaFragment(instruction, operand).size(Place::Register)) {
    for (uint32_t first = 0; first < values.size(); first += size)
      firsts[layout.apply(Place::Register, first)] = first;
  }

  unsigned count() const { return values.size() / size; }
  /// The element at which this thread's part of the tile has a fragment.
  llvm::SmallVector<int64_t> start(unsigned fragment) const {
    return layout.coordinatesOf(layout.apply(Place::Register, fragment * size));
  }
  uint32_t firstAt(llvm::ArrayRef<int64_t> start) const {
    return firsts.lookup(layout.elementAt(start));
  }
  llvm::ArrayRef<mlir::Value> elementsAt(uint32_t first) const {
    return llvm::ArrayRef(values).slice(first, size);
  }
  llvm::MutableArrayRef<mlir::Value> elementsAt(uint32_t first) {
    return llvm::MutableArrayRef<mlir::Value>(values).slice(first, size);
  }
  const Registers &all() const { return values; }

private:
  LinearLayout layout;
  Registers values;
  unsigned size;
  llvm::DenseMap<uint32_t, uint32_t> firsts; // register by element
};

} // namespace tw::simt
#endif
