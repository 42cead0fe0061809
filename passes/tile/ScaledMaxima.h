// Maxima of tiles that a loop multiplies by one factor: a softmax whose scores are scaled.
#ifndef PASSES_TILE_SCALEDMAXIMA_H
#define PASSES_TILE_SCALEDMAXIMA_H
#include "ir/tile/Tile.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <optional>

namespace tw {

/// max(s * factor), which is max(s) * factor, to the bit, where the factor is a positive normal
/// number: rounding keeps the order of numbers. Elements that a mask sets to minus infinity may be
/// among those of the maximum.
struct ScaledMaximum {
  tile::ReduceOp maximum;
  mlir::arith::MulFOp product;
  mlir::arith::SelectOp masked; // null where the product is not masked
  mlir::Value scores, factor;   // the factor is a scalar, which the loop does not change
};

/// Finds the maxima of a loop that need no multiplications where they are taken of scores: all else
/// that uses the products are exponentials of differences, which multiply by themselves.
llvm::SmallVector<ScaledMaximum> findScaledMaxima(mlir::scf::ForOp loop);

/// Returns whether a factor is known to be a positive normal number, or not to be one; nothing
/// where the launch decides.
std::optional<bool> isPositiveNormal(mlir::Value factor);

/// Takes the maximum of the scores and multiplies the rows' maxima: only right for a factor that is
/// a positive normal number.
void takeOfScores(ScaledMaximum maximum);

} // namespace tw
#endif
