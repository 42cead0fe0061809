// How the layouts of an operation's operands and results determine one another, and the layouts
// that machines like.
#ifndef PASSES_SIMT_LAYOUTRULES_H
#define PASSES_SIMT_LAYOUTRULES_H
#include "ir/simt/Simt.h"
#include <optional>

namespace tw::simt {

/// The threads of a program.
struct Threads {
  unsigned lanes, warps = 4;
  unsigned count() const { return lanes * warps; }
};
/// Lanes by the module's target, warps by `simt.num_warps`.
Threads threadsOf(mlir::Operation *op);

/// Reports (TW0313) a number of warps that no program can have.
mlir::LogicalResult checkNumWarps(mlir::Operation *op, unsigned numWarps);

/// Row-major, one element per lane at a time.
LinearLayout plainLayout(llvm::ArrayRef<int64_t> shape, Threads threads);
/// How accesses to a tile are spread over threads.
struct AccessSpread {
  llvm::ArrayRef<int32_t> order; // dimensions, fastest in memory first
  unsigned vector;               // neighbours of the fastest dimension that a lane holds
  unsigned lanesOfLine;          // lanes whose vectors fill a line of memory
  std::optional<unsigned> axis;  // along which the tile is folded: no warps there if possible
};
/// The lanes of a warp cover the fastest dimension first, and warps take the slowest dimensions,
/// where reductions along rows stay within a warp. When another dimension than the fastest is
/// folded, the lanes cover whole lines only, to leave the rest of the fastest dimension to warps.
LinearLayout accessLayout(llvm::ArrayRef<int64_t> shape, const AccessSpread &spread,
                          Threads threads);
/// Returns the layout of the accumulator of a product computed by scalar multiply-adds: square
/// register tiles, so that each operand element that a lane reads is reused most often; warps along
/// rows.
LinearLayout dotLayout(llvm::ArrayRef<int64_t> shape, Threads threads);
/// `layout` with no warp's basis along `axis`, for scans: they change places with registers of
/// other dimensions; where these do not suffice, warps hold copies, and each lane neighbours along
/// the axis.
LinearLayout withoutWarpsAlong(const LinearLayout &layout, unsigned axis);
/// `layout` with the smallest steps along `axis` in registers, and larger ones in lanes and warps;
/// of lanes, in those behind the first `lanesBefore`.
LinearLayout withNeighboursAlong(const LinearLayout &layout, unsigned axis, unsigned lanesBefore);

/// Operations that compute each element from scalars and elements of other tiles, without memory:
/// they can run in any layout, also again.
bool isRecomputable(mlir::Operation *op);
/// Returns true if all elements are the number 0.
bool isZeroTile(mlir::Value tile);
/// Returns true if the value reaches a matrix instruction as an operand, after operations that can
/// be rematerialized.
bool feedsMma(mlir::Value tile);
/// The dimension of an operand of matrix instructions along which they sum, and what they take
/// elements as.
struct OperandDepth {
  unsigned dim;
  mlir::Type element;
};
/// None where that is none of the tile's dimensions.
std::optional<OperandDepth> depthOfOperand(mlir::Value tile);
/// Returns true if the operation, or one in its regions, computes products of tiles.
bool containsProduct(mlir::Operation *op);

/// The layout that an operand must have for a result in `result`, for recomputable operations; none
/// when data would have to move within the operation.
std::optional<LinearLayout> operandLayout(mlir::Operation *op, const LinearLayout &result);
/// A result's layout that needs no movement when the operand is in `operand`.
std::optional<LinearLayout> resultLayout(mlir::Operation *op, const LinearLayout &operand);

} // namespace tw::simt
#endif
