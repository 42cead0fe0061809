// Facts of a tile along one dimension, and what operations of integers make of them.
#ifndef PASSES_ANALYSIS_AXISFACTS_H
#define PASSES_ANALYSIS_AXISFACTS_H
#include <cstdint>

namespace tw {

/// The change between neighbours along one dimension, for fixed other indices. Pointers count in
/// elements of their pointee.
struct AxisChange {
  enum Kind {
    Unknown,     // nothing is known
    Constant,    // always `step`; 0 means the tile does not vary along the dimension
    Affine,      // the same for all neighbours, but not known at compile time
    WrappedUnit, // 1, or less where a remainder wraps around to its start
  } kind = Unknown;
  int64_t step = 0;

  static AxisChange constant(int64_t step) { return {Constant, step}; }
  static AxisChange invariantIf(bool isInvariant) {
    return isInvariant ? constant(0) : AxisChange{};
  }
  bool isConstant() const { return kind == Constant; }
  bool isInvariant() const { return kind == Constant && step == 0; }
  bool isUnit() const { return kind == Constant && step == 1; }
  /// Returns true if neighbours are equally far apart.
  bool isEven() const { return kind == Constant || kind == Affine; }
  bool operator==(const AxisChange &) const = default;
};

/// Facts along one dimension, for every choice of the other indices. The numbers are powers of two.
/// A group of n are the elements [k * n, k * n + n) along the dimension. "Consecutive" is modulo
/// 2^bits of the integer: groups of at most `divisibility` never contain a wrap, wider ones may.
struct AxisFacts {
  int64_t run = 1;          // elements of a group of this size are consecutive
  int64_t divisibility = 1; // of the first element of each such group; of addresses, in bytes
  int64_t constancy = 1;    // elements of a group of this size are equal
  AxisChange change;
  bool operator==(const AxisFacts &) const = default;
};

/// Largest divisibility that is told apart: that of 0.
inline constexpr int64_t kMaxDivisibility = int64_t(1) << 40;

/// Returns the largest power of two that divides `value`, as far as facts tell them apart; of a
/// negative number too, by its two's complement.
int64_t powerOfTwoIn(uint64_t value);
/// Returns the divisibility of the first element of each group of `size`, where elements are
/// `bytes` apart.
int64_t divisibilityAt(const AxisFacts &axis, int64_t size, int64_t bytes = 1);
/// Returns what holds of two numbers, whichever of them it is; addresses of neighbours are `bytes`
/// apart.
AxisFacts meet(const AxisFacts &lhs, const AxisFacts &rhs, int64_t bytes);
/// Returns the facts of lhs + bytes * rhs, where neighbours in lhs are `bytes` apart.
AxisFacts sum(const AxisFacts &lhs, const AxisFacts &rhs, int64_t bytes);
AxisFacts difference(const AxisFacts &lhs, const AxisFacts &rhs);
/// Returns the facts of lhs * rhs, which has no runs.
AxisFacts product(const AxisFacts &lhs, const AxisFacts &rhs);
/// Returns the facts of lhs * factor.
AxisFacts scaled(const AxisFacts &lhs, int64_t factor);
/// Returns the size of groups of consecutive numbers that begin at a multiple of `step` and do not
/// reach the next.
int64_t groupsWithin(const AxisFacts &axis, int64_t step);
/// Returns the facts of lhs / divisor, rounded down: all of a group between two multiples of the
/// divisor are equal.
AxisFacts quotient(const AxisFacts &lhs, int64_t divisor, bool roundsDown);
/// Returns the facts of lhs modulo rhs: groups that no multiple of rhs divides stay consecutive. Of
/// negative numbers the remainders are negative, and the multiple belongs to the group before it.
AxisFacts remainder(const AxisFacts &lhs, const AxisFacts &rhs, bool roundsDown);

} // namespace tw
#endif
