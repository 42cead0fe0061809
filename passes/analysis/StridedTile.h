// Tiles of indices and pointers as boxes of strided arrays: sums of scalars, with a step along each
// dimension.
#ifndef PASSES_ANALYSIS_STRIDEDTILE_H
#define PASSES_ANALYSIS_STRIDEDTILE_H
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tw {

/// Returns true if a launch gives an integer: it is an argument of the kernel.
bool isOfLaunch(mlir::Value value);

/// `factor` times scalars.
struct Monomial {
  int64_t factor = 1;
  llvm::SmallVector<mlir::Value, 2> leaves = {};
  /// The part of the factor by which the kernel has multiplied in 64 bits.
  int64_t wideFactor = 1;

  bool isConstant() const { return leaves.empty(); }
  /// Returns true if it may need more than 32 bits.
  bool isWide() const { return wideFactor != 1; }
  /// Returns true if a launch gives it, or it is a constant.
  bool isFixed() const { return llvm::all_of(leaves, isOfLaunch); }
  /// Returns true if it is known, of each of its numbers, not to be negative.
  bool isNonNegative(const IndexFacts &facts) const;
  /// Returns true if both have the same leaves, in any order.
  bool isAlike(const Monomial &other) const;
  /// Returns what it is a multiple of `divisor` by; none where it is not known to be one.
  std::optional<Monomial> dividedBy(const Monomial &divisor) const;
};

/// A sum of monomials that are not alike. Without any, it is 0.
class Polynomial {
public:
  Polynomial() = default;
  Polynomial(Monomial monomial) { add(std::move(monomial)); }
  static Polynomial ofConstant(int64_t value) { return Monomial{value}; }
  static Polynomial ofLeaf(mlir::Value leaf) { return Monomial{1, {leaf}}; }

  void add(Monomial monomial);
  void add(const Polynomial &other, int64_t sign = 1);
  /// Returns the only monomial; none of a sum of several, or 0.
  std::optional<Monomial> single() const;
  bool isZero() const { return monomials.empty(); }
  bool isOne() const;
  bool operator==(const Polynomial &other) const;
  const llvm::SmallVector<Monomial, 2> &all() const { return monomials; }

private:
  llvm::SmallVector<Monomial, 2> monomials;
};

/// An index along a dimension of a tile: `index` and the element's number along it. Without a
/// dimension, one that all elements have in common.
struct IndexLimit {
  std::optional<unsigned> dim;
  Polynomial index;
  Monomial extent; // which a launch gives
};

/// A tile, or a scalar, whose elements are `offset` and `steps` times their indices. As in
/// LinearForm, the sums are of unbounded integers: what the kernel computes in so many bits is
/// equal where nothing wraps.
struct StridedTile {
  mlir::Value base; // of pointers: the kernel's argument from which elements are counted
  Polynomial offset;
  llvm::SmallVector<Polynomial, 3> steps; // by dimension
  /// Indices whose remainder by the extent the kernel computes: beyond it, its elements are others.
  llvm::SmallVector<IndexLimit, 2> wraps = {};
};

/// Unit, on a loop whose counter is the upper bound at the end if another loop goes on from there:
/// there is a whole number of steps between the bounds.
inline constexpr llvm::StringLiteral kLoopWholeSteps = "tile.whole_steps";

/// Reads a tile or scalar as one; none where it is computed otherwise. What a loop adds to a scalar
/// it carries is read as a multiple of its counter. A scalar that is known not to be negative,
/// while what it is a sum of may be, is a leaf.
std::optional<StridedTile> stridedTileOf(const IndexFacts &facts, mlir::Value value);

/// Adds the limits that a mask is the conjunction of, `index < extent`. Returns false if it has
/// other conditions, too.
bool collectLimits(const IndexFacts &facts, mlir::Value mask,
                   llvm::SmallVectorImpl<IndexLimit> &limits);

} // namespace tw
#endif
