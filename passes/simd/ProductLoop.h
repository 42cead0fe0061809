// Products and the stores that take them; a loop that adds up products, whose sums go from
// registers to the user's memory in its last step.
#ifndef PASSES_SIMD_PRODUCTLOOP_H
#define PASSES_SIMD_PRODUCTLOOP_H
#include "ir/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace tw::simd {
struct SimdFunction;

struct ProductLoop {
  tile::DotOp product;
  mlir::OpResult sum; // of the loop
  tile::StoreOp store;
  /// Where the sums begin, if the first step computes that in registers; null where the slot that
  /// the loop carries has it.
  mlir::Value start;
  mlir::Value isFirst, isLast; // i1, of the step that is being written
};

/// Moves products to the stores that take their elements, and what the stores need besides in front
/// of loops that add up products, where nothing hinders. For a kernel that has no plan yet.
void sinkProducts(mlir::Operation *function);

/// Plans a loop that sums up a product taken by one store, which the loop's last step may do;
/// returns nullopt for other loops.
std::optional<ProductLoop> planProductLoop(SimdFunction &f, mlir::scf::ForOp loop);

} // namespace tw::simd
#endif
