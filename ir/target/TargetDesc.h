// What passes may know of a GPU: the module attribute `tile.target`, filled by a target's
// `describe` or written by hand in a test.
#ifndef IR_TARGET_TARGETDESC_H
#define IR_TARGET_TARGETDESC_H
#include "ir/layout/SharedBanks.h"
#include "ir/tile/Tile.h"

namespace tw {

inline constexpr llvm::StringLiteral kTargetAttribute = "tile.target";

/// The description of the machine that a module is compiled for; null when it has none.
tile::TargetAttr targetOf(mlir::Operation *op);
/// Whether the machine has a feature. A null description has none.
bool hasFeature(tile::TargetAttr target, llvm::StringRef feature);

/// How a machine's warps access memory.
struct Machine {
  unsigned warpSize;    // lanes
  unsigned vectorBytes; // of the widest access of a lane
  unsigned lineBytes;   // that global memory delivers at once
  SharedBanks banks;
};
/// The machine of an operation's module, or a plain one where the module describes none, as tests
/// may.
Machine machineOf(mlir::Operation *op);

/// Warps read matrices of 8 rows of 16 bytes from shared memory (simt.load_matrix).
inline constexpr llvm::StringLiteral kLoadMatrix = "load-matrix";

} // namespace tw
#endif
