// What passes may know of a machine: the module attribute `tile.target`, `#tile.target` of a GPU or
// `#tile.simd` of a CPU, set by a target or written by hand in a test.
#ifndef IR_TARGET_TARGETDESC_H
#define IR_TARGET_TARGETDESC_H
#include "ir/layout/SharedBanks.h"
#include "ir/tile/Tile.h"

namespace tw {

inline constexpr llvm::StringLiteral kTargetAttribute = "tile.target";
/// The module attribute that describes the same machine with more registers for each thread and
/// fewer threads, where a kernel may have either.
inline constexpr llvm::StringLiteral kLargerTargetAttribute = "tile.larger_target";

/// The description of the GPU that a module is compiled for; null when it has none.
tile::TargetAttr targetOf(mlir::Operation *op);
/// Returns true if the machine has a feature. A null description has none.
bool hasFeature(tile::TargetAttr target, tile::Feature feature);
bool hasFeature(tile::SimdAttr machine, tile::Feature feature);

/// The way to copy to shared memory beside the program that passes use: each lane says where its
/// bytes go, and waits by groups or counts. Null where the machine has none: data goes through
/// registers.
tile::CopyAttr laneCopyOf(tile::TargetAttr target);

/// The way to copy boxes of arrays, of which phase barriers count the bytes; null where the machine
/// has none.
tile::CopyAttr boxCopyOf(tile::TargetAttr target);
/// The way to copy boxes of arrays that warps wait for by counts; null where the machine has none.
tile::CopyAttr arrayCopyOf(tile::TargetAttr target);

/// How a machine's warps access memory.
struct Machine {
  unsigned warpSize;    // lanes
  unsigned vectorBytes; // of the widest access of a lane
  unsigned lineBytes;   // that global memory keeps together
  unsigned sectorBytes; // of a line, that it delivers at least
  SharedBanks banks;
};
/// The machine of an operation's module, or a plain one where the module describes none, as tests
/// may.
Machine machineOf(mlir::Operation *op);

/// The description of the CPU that a module is compiled for, or a plain one where it has none:
/// with 32 registers of 64 bytes and no instructions for products.
tile::SimdAttr simdMachineOf(mlir::Operation *op);

} // namespace tw
#endif
