// What is known of the integers and pointers of a function: the facts behind wide accesses, vector
// loads, masks and loops. One data flow finds them all, on MLIR's solver.
#ifndef PASSES_ANALYSIS_INDEXFACTS_H
#define PASSES_ANALYSIS_INDEXFACTS_H
#include "passes/analysis/AxisFacts.h"
#include "passes/analysis/LinearForm.h"
#include "llvm/ADT/DenseMap.h"

namespace tw {

/// The facts of an integer or a pointer, or of a tile of them. Pointers count in bytes in `axes`'
/// divisibility, and in elements of their pointee in all else.
struct IndexFact {
  llvm::SmallVector<AxisFacts, 3> axes; // one per dimension; a scalar has one
  std::optional<int64_t> constant;      // every element, when known
  // As a signed number, by convention (IndexSigns.h); of a pointer, how far it is from the argument
  // that it comes from.
  bool isNonNegative = false;
  LinearForm form;
  bool operator==(const IndexFact &) const = default;
};

/// The least and the greatest that an integer, or an element of a tile, can be as a signed number.
struct IndexRange {
  int64_t least, greatest;
};

/// Finds the facts of all values of a function at the first question, and keeps them: the function
/// may not change between questions. They hold for every input, but for signs, which are
/// conventions: indices that start non-negative are taken to stay so when they are added and
/// multiplied, because an index that overflows is outside of every array anyway (IndexSigns.h;
/// passes/simt/Rationale.md, Signs).
class IndexFacts {
public:
  explicit IndexFacts(mlir::Operation *function) : function(function) {}

  const IndexFact &of(mlir::Value value) const;
  /// Returns how a tile changes along a dimension; a scalar does not.
  const AxisChange &along(mlir::Value tile, unsigned dim) const;
  /// Returns the range of an integer of at most 64 bits.
  IndexRange rangeOf(mlir::Value integer) const;
  /// Returns true if every element of an integer or a tile of integers is in [0, extent).
  bool isWithin(mlir::Value index, int64_t extent) const;

private:
  void findFacts() const;
  void findRanges() const;

  mlir::Operation *function;
  mutable llvm::DenseMap<mlir::Value, IndexFact> facts;
  mutable llvm::DenseMap<mlir::Value, IndexRange> ranges; // found at the first question for one
  mutable bool hasRanges = false;
};

} // namespace tw
#endif
