// Names of facts about a kernel's arguments that only some passes read.
#ifndef IR_TILE_ARGUMENTFACTS_H
#define IR_TILE_ARGUMENTFACTS_H
#include "llvm/ADT/StringRef.h"

namespace tw::tile {

/// Unit: this integer is at least 0 as a signed number.
inline constexpr llvm::StringLiteral kArgNonNegative = "tile.non_negative";
/// Unit: offsets of 32 bits do not reach all of the memory behind this pointer.
inline constexpr llvm::StringLiteral kArgLarge = "tile.large";
/// Unit: no access is below this pointer, by the signs of indices (passes/simt/Rationale.md,
/// Signs).
inline constexpr llvm::StringLiteral kArgForward = "tile.forward";
/// Unit: this pointer is to a 0-d array, which its user may mean as a number.
inline constexpr llvm::StringLiteral kArgZeroDim = "tile.zero_dim";
/// Unit, on the kernel itself: machines that can look whether each access stays inside of the
/// memory of its argument do so.
inline constexpr llvm::StringLiteral kChecksAccesses = "tile.checks_accesses";

} // namespace tw::tile
#endif
