// The operands of one matrix product where its plan has them, the values of its elements, and
// products in matrix registers.
#ifndef PASSES_SIMD_PRODUCT_OPERANDS_H
#define PASSES_SIMD_PRODUCT_OPERANDS_H
#include "passes/simd/product/DotPlan.h"

namespace tw::simd {

/// How much of a product is computed: what lies behind adds nothing, or goes nowhere.
struct DotExtent {
  mlir::Value rows, panels, steps; // constants where it is all of them
  MaskEnds a, b;                   // of the operands, where they are loads
};
DotExtent emitExtent(SimdFunction &f, const DotPlan &plan, size_t numBatch, tile::StoreOp store);

/// Operand A [m, steps]: packed, or where the user has it.
struct DotRows {
  mlir::Value base, rowBytes; // from a row to the next
  int64_t stepBytes;          // from a step along k to the next
};
DotRows placeA(SimdFunction &f, const DotPlan &plan, mlir::ArrayRef<mlir::Value> batch,
               const DotExtent &needed);

/// Operand B: packed, or where the user has it.
struct DotColumns {
  mlir::Value base, panelBytes, stepBytes; // from a panel to the next, from a step along k
};
DotColumns placeB(SimdFunction &f, const DotPlan &plan, mlir::ArrayRef<mlir::Value> batch,
                  const DotExtent &needed);

/// Operand B in panels of `panel()` columns: [n / panel, steps, panel * group], the neighbours
/// along k interleaved.
TileBuffer packB(SimdFunction &f, const DotPlan &plan, mlir::ArrayRef<mlir::Value> batch,
                 const DotExtent &needed);
/// Columns of B as they lie in a panel, at a step along k.
mlir::Value loadBRow(SimdFunction &f, const DotPlan &plan, mlir::ArrayRef<mlir::Value> batch,
                     mlir::Value step, mlir::Value column, int64_t numColumns);
/// Computes what to add to each row to undo the shift of B: [m].
TileBuffer sumRows(SimdFunction &f, const DotPlan &plan, const DotRows &a);

/// An element of an operand, or a vector of them, in the type that the micro-kernel takes.
mlir::Value convertOperand(SimdFunction &f, const DotPlan &plan, const DotOperand &source,
                           mlir::Value value);
/// Vectors of equally many lanes as one: lane 0 of each, then lane 1 of each ...
mlir::Value interleave(SimdFunction &f, mlir::ArrayRef<mlir::Value> vectors);
/// The first row of a load as it lies, and the bytes to the next.
std::pair<mlir::Value, mlir::Value> rowsOf(SimdFunction &f, tile::LoadOp load,
                                           mlir::ArrayRef<mlir::Value> batch);
/// The same; none where the mask is not known to be full here.
std::optional<std::pair<mlir::Value, mlir::Value>> readInPlace(SimdFunction &f, tile::LoadOp load,
                                                               mlir::ArrayRef<mlir::Value> batch);
/// Emits a test that a mask holds for `count` elements along a dimension; returns null if nothing
/// tests it.
mlir::Value holdsFor(SimdFunction &f, const MaskEnd &end, mlir::Value count);
/// Emits the conjunction of tests, of which null ones hold.
mlir::Value both(SimdFunction &f, mlir::Value x, mlir::Value y);

/// Adds up products in matrix registers, into `result`.
void emitMatrixProduct(SimdFunction &f, tile::DotOp op, const DotPlan &plan,
                       mlir::ArrayRef<mlir::Value> batch, const TileBuffer &result);
/// Tells the user what a product makes of the machine's matrix unit, if that has one.
void remarkOnMatrices(SimdFunction &f, tile::DotOp op, const DotPlan &plan);

/// acc + a * b.
mlir::Value multiplyAdd(SimdFunction &f, const DotPlan &plan, mlir::Value a, mlir::Value b,
                        mlir::Value acc);
/// A scalar or vector in another width of floats or of signed integers.
mlir::Value convertDotElements(SimdFunction &f, mlir::Value value, mlir::Type element);
/// Coordinates of an operand: the batch index, if any, then two more.
Coordinates matrixAt(mlir::ArrayRef<mlir::Value> batch, mlir::Value row, mlir::Value column,
                     int vectorDim = -1, int64_t lanes = 1);

} // namespace tw::simd
#endif
