// Which results of index arithmetic are non-negative, beyond what the operands' signs say.
#ifndef PASSES_ANALYSIS_INDEXSIGNS_H
#define PASSES_ANALYSIS_INDEXSIGNS_H
#include "passes/analysis/IndexTransfer.h"

namespace tw {

/// Returns true if sums and products of such integers are indices, which are taken not to overflow.
bool isIndexWide(mlir::Type type);
/// The product of two numbers from 0, where it is not a hash or a random number.
bool isProductNonNegative(mlir::Operation *product, FactOf of);
/// (x + (n - 1)) / n of numbers from 0: by an n of 0 it is 0.
bool isRoundedUpQuotient(mlir::Operation *quotient, FactOf of);
/// Returns true if a difference of non-negative numbers is x - x % n or x - x / n * n, or if it
/// counts programs from the last one.
bool isDifferenceNonNegative(mlir::Operation *difference, FactOf of);
/// Returns true if a minimum is the size of a group of rows of programs: min(rows - group * size,
/// size), where group is a quotient. It is negative only in programs behind the last row, which no
/// grid has: like a sum that overflows, this is assumed not to happen.
bool isGroupSize(mlir::Operation *minimum, FactOf of);

/// Constants up to this are sizes of tiles and distances between rows; products with larger ones
/// are hashes and random numbers, which are meant to wrap.
inline constexpr int64_t kLargestIndexFactor = int64_t(1) << 24;

} // namespace tw
#endif
