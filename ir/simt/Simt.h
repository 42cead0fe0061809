// The `simt` dialect's C++ classes, and questions about the layouts of tiles.
#ifndef IR_SIMT_SIMT_H
#define IR_SIMT_SIMT_H
#include "ir/tile/Tile.h"

#include "ir/simt/SimtDialect.h.inc"
#include "ir/simt/SimtEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/simt/SimtAttributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/simt/SimtTypes.h.inc"
#define GET_OP_CLASSES
#include "ir/simt/SimtOps.h.inc"

namespace tw::simt {

using tile::hasLayout;
using tile::LayoutAttr;
using tile::layoutOf;
using tile::reducedType;
using tile::withLayout;

/// Module attribute: warps of a CTA behind those of the program (i32), of which the first is the
/// kernel's loader. None where it has no loader.
inline constexpr llvm::StringLiteral kLoaderWarps = "simt.loader_warps";
/// Module attributes: warps of a program (i32), set by assign-layouts; bytes of shared memory of a
/// program (i64), set by allocate-shared; its named buffers (array of [name, offset, bytes]).
inline constexpr llvm::StringLiteral kNumWarps = "simt.num_warps";
inline constexpr llvm::StringLiteral kSharedBytes = "simt.shared_bytes";
inline constexpr llvm::StringLiteral kSharedBuffers = "simt.shared_buffers";
/// Module attribute: the kernel's tensor maps (array of #simt.tensor_map), by number, which it gets
/// behind its arguments.
inline constexpr llvm::StringLiteral kTensorMaps = "simt.tensor_maps";
/// Module attribute: the programs of a cluster along each axis of the grid (array<i64: x, y, z>),
/// set by describe-target. Without it, each program is alone.
inline constexpr llvm::StringLiteral kCluster = "simt.cluster";
/// The most products that a wait leaves in flight: more than anyone starts meanwhile.
inline constexpr unsigned kMostProductsLeft = 7;
/// Unit attribute of the lowered kernel's llvm.func.
inline constexpr llvm::StringLiteral kKernel = "simt.kernel";

/// Returns the warps of a CTA behind those of the program.
unsigned extraWarpsOf(mlir::Operation *op);
/// Returns the programs of a cluster along each axis of the grid.
std::array<int64_t, 3> clusterOf(mlir::Operation *op);
/// Returns the programs of a cluster, or those of them side by side along some `axes` (bits).
int64_t clusterSizeOf(mlir::Operation *op, unsigned axes = ~0u);
/// Returns the tensor maps of an operation's module.
llvm::ArrayRef<mlir::Attribute> tensorMapsOf(mlir::Operation *op);

/// The type of the partial results that `partial_reduce` of `tile` along `axis` yields: one element
/// per piece of the axis that warps hold, the pieces in the order of the warp's bases along the
/// axis. Null when a lane's or warp's basis runs along the axis and another dimension at once.
mlir::RankedTensorType partiallyReducedType(mlir::Type tile, unsigned axis);
/// The bits of the warp's number that select pieces of `axis`: whose bases run along it and select
/// no copy, in the order of their bases.
llvm::SmallVector<unsigned> warpBitsAlong(const LinearLayout &layout, unsigned axis);

} // namespace tw::simt
#endif
