// How one matrix product is computed, as data: register tiles, the instruction, and where operands
// are read and sums are stored.
#ifndef PASSES_SIMD_PRODUCT_DOTPLAN_H
#define PASSES_SIMD_PRODUCT_DOTPLAN_H
#include "passes/simd/SimdFunction.h"

namespace tw::simd {

/// An operand as the plan reads it: behind a conversion that the instruction does by itself.
struct DotOperand {
  mlir::Value tile;
  bool isUnsigned = false; // of integers
};

/// Where the micro-kernel reads an operand.
struct OperandPlace {
  enum class Kind {
    Copied,
    Buffer, // of a kept tile
    Memory, // of the user, as `load` has it; copied where its mask turns out not to be full
    Once,   // evaluated where it is multiplied, as one pass reads it
  };
  Kind kind = Kind::Copied;
  tile::LoadOp load;
};

struct DotPlan {
  DotOperand aSource, bSource;
  int64_t m, n, k;
  mlir::Type compute;            // of accumulators in registers
  mlir::Type operand;            // of operands in registers
  tile::ProductAttr instruction; // null: multiply and add
  int64_t group = 1;             // neighbours along k in one lane of an operand
  int64_t lanes;                 // accumulator lanes
  int64_t vectors;               // accumulator vectors per row of the register tile
  int64_t rows;                  // rows of the register tile

  int64_t panel() const { return lanes * vectors; }
  int64_t steps() const { return k / group; }
  /// Returns true if an instruction of vectors takes unsigned bytes and signed ones.
  bool isOfBytes() const {
    return instruction && !matrix && instruction.getSigns() == tile::Signs::US;
  }
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

  OperandPlace aPlace, bPlace;
  /// How many neighbours along m a copy of A reads at once, step by step; 0: it is made row by row.
  int64_t lanesAlongM = 0;
  /// B is contiguous along k: it is packed in blocks that are transposed in registers.
  bool packsAlongK = false;
};

/// Cuts a product for the instruction that takes the fewest cycles.
DotPlan planDot(tile::DotOp op, const SimdFunction &f);

/// Decides where the operands are read, once the buffers of kept tiles are known.
void placeOperands(DotPlan &plan, SimdFunction &f, size_t numBatch);

/// Returns the store that takes the elements of a product that no loop adds up, straight from
/// registers; it is done with the product. Null where they go to a buffer first.
tile::StoreOp storeOfProduct(SimdFunction &f, tile::DotOp op, const DotPlan &plan);

/// Returns the tiles that a store evaluates: elements, addresses, and the mask if there is one.
llvm::SmallVector<mlir::Value> treesOf(tile::StoreOp store);

} // namespace tw::simd
#endif
