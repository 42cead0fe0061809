// Facts along one dimension through one operation of integers.
#ifndef PASSES_ANALYSIS_AXISALIGNMENT_H
#define PASSES_ANALYSIS_AXISALIGNMENT_H
#include "passes/analysis/Alignment.h"

namespace tw {

/// The largest power of two that divides `value`, as far as facts tell them apart; of a negative
/// number too, by its two's complement.
int64_t powerOfTwoIn(uint64_t value);
/// The divisibility of the first element of each group of `size`, where elements are `bytes` apart.
int64_t divisibilityAt(const AxisAlignment &axis, int64_t size, int64_t bytes = 1);
/// What holds of two numbers, whichever of them it is; addresses of neighbours are `bytes` apart.
AxisAlignment meet(const AxisAlignment &lhs, const AxisAlignment &rhs, int64_t bytes);
/// lhs + bytes * rhs, where neighbours in lhs are `bytes` apart.
AxisAlignment sum(const AxisAlignment &lhs, const AxisAlignment &rhs, int64_t bytes);
AxisAlignment difference(const AxisAlignment &lhs, const AxisAlignment &rhs);
/// lhs * rhs: no runs.
AxisAlignment scaled(const AxisAlignment &lhs, const AxisAlignment &rhs);
/// Groups of consecutive numbers that begin at a multiple of `step` and do not reach the next.
int64_t groupsWithin(const AxisAlignment &axis, int64_t step);
/// Floor of lhs / divisor: all of a group between two multiples of the divisor are equal.
AxisAlignment quotient(const AxisAlignment &lhs, int64_t divisor, bool roundsDown);
/// lhs modulo rhs: groups that no multiple of rhs divides stay consecutive. Of negative numbers the
/// remainders are negative, and the multiple belongs to the group before it.
AxisAlignment remainder(const AxisAlignment &lhs, const AxisAlignment &rhs, bool roundsDown);

} // namespace tw
#endif
