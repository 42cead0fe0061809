// Names of facts about a kernel's arguments, as attributes of the arguments.
#ifndef IR_TILE_ARGUMENTFACTS_H
#define IR_TILE_ARGUMENTFACTS_H
#include "llvm/ADT/StringRef.h"

namespace tw::tile {

// kArgNonNegative, kArgDisjoint, kArgLarge, ... Unit: the fact is true.
#define TW_ARGUMENT_FACT(fact, kind, name, attribute, ...)                                         \
  inline constexpr llvm::StringLiteral kArg##fact = attribute;
#include "runtime/arguments/ArgumentFacts.def"
/// An integer that divides this number or address.
inline constexpr llvm::StringLiteral kArgDivisibility = "tile.divisibility";
/// Unit, of lowered kernels: no access is below this pointer, by the signs of indices
/// (passes/simt/Rationale.md, Signs).
inline constexpr llvm::StringLiteral kArgForward = "tile.forward";
/// Unit, on the kernel itself: machines that can look whether each access stays inside of the
/// memory of its argument do so.
inline constexpr llvm::StringLiteral kChecksAccesses = "tile.checks_accesses";

} // namespace tw::tile
#endif
