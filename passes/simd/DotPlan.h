// How one matrix product is cut into register tiles, and its operands where the micro-kernel reads
// them.
#ifndef PASSES_SIMD_DOTPLAN_H
#define PASSES_SIMD_DOTPLAN_H
#include "passes/simd/SimdFunction.h"

namespace tw::simd {

/// An operand as the plan reads it: behind a conversion that the instruction does by itself.
struct DotOperand {
  mlir::Value tile;
  bool isUnsigned = false; // of integers
};

struct DotPlan {
  DotOperand aSource, bSource;
  int64_t m, n, k;
  mlir::Type compute;                          // of accumulators in registers
  mlir::Type operand;                          // of operands in registers
  const DotInstruction *instruction = nullptr; // null: multiply and add
  int64_t group = 1;                           // neighbours along k in one lane of an operand
  int64_t lanes;                               // accumulator lanes
  int64_t vectors;                             // accumulator vectors per row of the register tile
  int64_t rows;                                // rows of the register tile

  int64_t panel() const { return lanes * vectors; }
  int64_t steps() const { return k / group; }
  bool isInteger() const { return mlir::isa<mlir::IntegerType>(compute); }
  bool isOfBytes() const { return instruction && !matrix && operand.isInteger(8); }
  /// The shape of the matrix registers, if the product uses them: `lanes` and `rows` are still
  /// those of the accumulators.
  std::optional<MatrixShape> matrix;
  /// Operands of the same sign do not fit an instruction of an unsigned and a signed one: B is
  /// shifted by half its range, and the rows of A are summed up to take that back.
  bool shiftsB() const { return isOfBytes() && aSource.isUnsigned == bSource.isUnsigned; }
  /// Which of the instruction's operands, unsigned and signed, is B.
  bool isBFirst() const { return isOfBytes() && !aSource.isUnsigned; }
  /// One pass of the micro-kernel would read B: packing it would cost as much as using it.
  bool canUseBOnce() const { return m <= rows && !matrix; }
  bool usesBOnce = false; // and B lies along n
};

/// Cuts a product for the instruction that takes the fewest cycles. The plan refers to the
/// machine's instructions.
DotPlan planDot(tile::DotOp op, const SimdFunction &f);

/// Moves products to the stores that take their elements, and what the stores need besides in front
/// of loops that add up products, where nothing hinders. For a kernel that has no plan yet.
void sinkProducts(mlir::Operation *function);

/// Plans a loop that sums up a product taken by one store, which the loop's last step may do;
/// returns nullopt for other loops.
std::optional<ProductLoop> planProductLoop(SimdFunction &f, mlir::scf::ForOp loop);

/// Tells the user what a product makes of the machine's matrix unit, if that has one.
void remarkOnMatrices(SimdFunction &f, tile::DotOp op, const DotPlan &plan);
/// Adds up products in matrix registers, into `result`.
void emitMatrixProduct(SimdFunction &f, tile::DotOp op, const DotPlan &plan,
                       mlir::ArrayRef<mlir::Value> batch, const TileBuffer &result);

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
TileBuffer packB(SimdFunction &f, const DotPlan &plan, mlir::ArrayRef<mlir::Value> batch);
/// Returns true if B is contiguous along k, so that it is read along k and transposed in registers.
bool readsBAlongK(SimdFunction &f, const DotPlan &plan, size_t numBatch);
/// Columns of B as they lie in a panel, at a step along k.
mlir::Value loadBRow(SimdFunction &f, const DotPlan &plan, mlir::ArrayRef<mlir::Value> batch,
                     mlir::Value step, mlir::Value column, int64_t numColumns);
/// Computes what to add to each row to undo the shift of B: [m].
TileBuffer sumRows(SimdFunction &f, const DotPlan &plan, const DotRows &a);

/// acc + a * b.
mlir::Value multiplyAdd(SimdFunction &f, const DotPlan &plan, mlir::Value a, mlir::Value b,
                        mlir::Value acc);
/// A scalar or vector in another width of floats or of signed integers.
mlir::Value convertDotElements(SimdFunction &f, mlir::Value value, mlir::Type element);
/// Coordinates of an operand: the batch index, if any, then two more.
Coordinates matrixAt(mlir::ArrayRef<mlir::Value> batch, mlir::Value row, mlir::Value column,
                     int vectorDim = -1, int64_t lanes = 1);
mlir::Value addIndex(SimdFunction &f, mlir::Value index, int64_t offset);
mlir::Value scaleIndex(SimdFunction &f, mlir::Value index, int64_t factor);

} // namespace tw::simd
#endif
