// Operands of matrix instructions of several warps, which lie in shared memory as they are.
#ifndef PASSES_SIMT_PRODUCT_ASYNCOPERANDS_H
#define PASSES_SIMT_PRODUCT_ASYNCOPERANDS_H
#include "ir/layout/OperandSlabs.h"
#include "ir/simt/Simt.h"
#include "passes/analysis/IndexFacts.h"

namespace tw::simt {

/// A tile that an operand is, itself or transposed, in whatever layout.
struct OperandSource {
  mlir::Value tile;
  bool isTransposed = false;
  /// The dimension of `tile` that is `dim` of the operand.
  unsigned dimOf(unsigned dim) const { return isTransposed ? 1 - dim : dim; }
};
/// Looks through conversions of layouts and transpositions of tiles of rank 2.
OperandSource sourceOf(mlir::Value operand);

/// The dimension along which a load's elements are neighbours in memory.
unsigned neighbourDim(const IndexFacts &facts, tile::LoadOp load);
/// Returns true if the instruction takes an operand whose rows in memory run along `dim` of its
/// own; `isA` says which operand it is.
bool takesRowsAlong(tile::AsyncMmaAttr instruction, bool isA, unsigned dim);

/// The slabs that the instruction reads a tile from, with rows along `dim` of it.
std::optional<OperandSlabs> slabsFor(tile::AsyncMmaAttr instruction, mlir::Type tile, unsigned dim);
/// The slabs of a loaded tile that products read as it is; none where none does.
std::optional<OperandSlabs> slabsOfOperand(const IndexFacts &facts, tile::LoadOp load);

} // namespace tw::simt
#endif
