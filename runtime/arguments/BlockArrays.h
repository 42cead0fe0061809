// Limits of arrays that a machine loads blocks of, which the compiler and launches check.
#ifndef RUNTIME_ARGUMENTS_BLOCKARRAYS_H
#define RUNTIME_ARGUMENTS_BLOCKARRAYS_H
#include <cstdint>

/// Limits of SPV_INTEL_2d_block_io: addresses of arrays are multiples of `kBaseBytes`, rows have
/// `kLeastRowBytes` at least, and blocks begin in a row at a multiple of `kPlaceBytes`. Bytes of a
/// row, of its distance to the next, and numbers of rows are below `kLimit`.
namespace tw::block {
inline constexpr int64_t kBaseBytes = 64, kLeastRowBytes = 64, kPlaceBytes = 4, kLimit = 1 << 24;
} // namespace tw::block
#endif
