// A growing basis of a space of bit vectors, for the algebra of layouts.
#ifndef IR_LAYOUT_XORBASIS_H
#define IR_LAYOUT_XORBASIS_H
#include "llvm/ADT/SmallVector.h"
#include <cstdint>

namespace tw {

/// Independent vectors of bits under xor, in echelon form. Each remembers which of the inserted
/// vectors make it up (its `combination`), so that reducing a vector also solves for it.
class XorBasis {
public:
  struct Entry {
    uint64_t vector = 0;
    uint64_t combination = 0;
  };
  /// Returns the part of `vector` outside the space, and the combination that gives the part
  /// inside.
  Entry reduce(uint64_t vector) const;
  bool contains(uint64_t vector) const { return reduce(vector).vector == 0; }
  /// Adds a vector under the name `combination`; false if it was in the space already.
  bool insert(uint64_t vector, uint64_t combination = 0);
  unsigned size() const { return entries.size(); }

private:
  llvm::SmallVector<Entry> entries;
};

} // namespace tw
#endif
