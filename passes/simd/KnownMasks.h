// Masks that constants decide: how far along a dimension every element is known to be taken.
#ifndef PASSES_SIMD_KNOWNMASKS_H
#define PASSES_SIMD_KNOWNMASKS_H
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tw::simd {

/// A comparison that is true for the first `count` indices of `dim`, whatever the others are.
struct KnownPrefix {
  mlir::Value test; // i1 tile
  int dim = -1;
  int64_t count = 0;
};

/// Comparisons that are true for the first `length` elements of a row, a number of the launch; none
/// where the length is null.
struct RowEnd {
  llvm::SmallVector<mlir::Value> tests;
  mlir::Value length;
};

/// The extent of a mask along one dimension: elements in front of `holds` pass all of its tests
/// that count along the dimension, and those from `ends` on fail one. Null if no test counts along
/// it.
struct MaskEnd {
  mlir::Value holds, ends;
};

/// The ends of a mask along every dimension. `areAll`: it has no other tests.
struct MaskEnds {
  llvm::SmallVector<MaskEnd> along;
  bool areAll = true;
};

/// The comparison of two tiles that change by constants from a constant on along one dimension, and
/// along no other; none where anything of it is known at run time only.
std::optional<KnownPrefix> knownPrefix(const IndexFacts &facts, mlir::Value test);

/// The length of the part, in whole steps, where the tests along a dimension are true.
int64_t knownLength(llvm::ArrayRef<KnownPrefix> prefixes, int dim, int64_t extent, int64_t step);

/// Adds the tests that are true for so many indices of a dimension.
void assumeKnown(llvm::ArrayRef<KnownPrefix> prefixes, int dim, int64_t length,
                 llvm::DenseSet<mlir::Value> &assumedTrue);

/// Returns the tiles that the trees read at their own coordinates only: tiles behind elementwise
/// operations, other than those that are also read behind a change of shape or a gather. `isKept`
/// returns true for tiles that are already in memory.
llvm::DenseSet<mlir::Value> tilesAtOwnPlaces(llvm::ArrayRef<mlir::Value> trees,
                                             llvm::function_ref<bool(mlir::Value)> isKept);

} // namespace tw::simd
#endif
