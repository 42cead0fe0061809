// Integers and addresses as exact sums of other values.
#ifndef PASSES_ANALYSIS_LINEARFORM_H
#define PASSES_ANALYSIS_LINEARFORM_H
#include "mlir/IR/Value.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace tw {

/// The sum of `factor * leaf` over `terms`, plus, from element to element, anything from `low` to
/// `high`; `first` in the first element. Addresses count in elements of their pointee. It is a sum
/// of unbounded integers: what the kernel computes in so many bits is equal only where nothing
/// wraps and no negative number is extended with zeros. A sum without terms always holds.
///
/// A leaf is a scalar, or a tile that is not a sum: an element of the sum contains some element of
/// the leaf. Scalars that are defined outside of the loop around the sum are leaves too, whatever
/// they are made of.
struct LinearForm {
  struct Term {
    mlir::Value leaf;
    int64_t factor;
    bool operator==(const Term &) const = default;
  };
  llvm::SmallVector<Term, 2> terms;
  int64_t first = 0, low = 0, high = 0;

  static LinearForm ofLeaf(mlir::Value leaf) { return {{{leaf, 1}}}; }
  static LinearForm ofConstant(int64_t value) { return {{}, value, value, value}; }
  /// Returns true for one number, which is known.
  bool isConstant() const { return terms.empty() && low == high; }
  bool isLeaf(mlir::Value value) const {
    return terms.size() == 1 && terms[0].leaf == value && terms[0].factor == 1 && !low && !high;
  }
  bool operator==(const LinearForm &) const = default;
};

/// Returns a constant, unless it needs more than 60 bits: sums of a few of them do not wrap.
std::optional<int64_t> integerOf(mlir::Value value);

/// Returns the bits of an integer, or of the elements of a tile; an index or address has 64.
unsigned integerBits(mlir::Type type);

/// Scalars of 64 bits are taken as numbers of so many bits.
inline constexpr unsigned kWideScalarBits = 40;

/// Returns lhs + sign * rhs, where every number of it stays small enough to be computed in 64 bits.
std::optional<LinearForm> combine(const LinearForm &lhs, const LinearForm &rhs, int64_t sign);
std::optional<LinearForm> scaled(LinearForm form, int64_t factor);

} // namespace tw
#endif
