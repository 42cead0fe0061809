// A choice of the launch that passes see among the features of `tile.target`.
#ifndef IR_TARGET_ROUNDING_H
#define IR_TARGET_ROUNDING_H
#include "llvm/ADT/StringRef.h"

namespace tw {

/// Sums and products of floats keep a rounding each: none becomes an FMA.
inline constexpr llvm::StringLiteral kSeparateRounding = "separate-rounding";

} // namespace tw
#endif
