// Which layout a buffer in shared memory has, by what its accesses cost, and whether a conversion
// goes through one at all.
#ifndef PASSES_SIMT_LAYOUT_BUFFERCHOICE_H
#define PASSES_SIMT_LAYOUT_BUFFERCHOICE_H
#include "ir/layout/MatrixAccess.h"
#include "ir/simt/Simt.h"
#include "ir/target/TargetDesc.h"

namespace tw::simt {

struct BufferChoice {
  /// For the machine of a module.
  explicit BufferChoice(mlir::Operation *module);

  /// Returns the layout of a buffer to which a tile in layout `from` is copied from global memory,
  /// and which is read in each of the layouts `to`. If the machine has no async copies, registers
  /// hold the tile on its way.
  LinearLayout ofCopy(mlir::Type from, llvm::ArrayRef<mlir::Type> to) const;
  /// The same for a tile that registers hold; of a scalar, one element.
  LinearLayout ofConversion(mlir::Type from, mlir::Type to) const;
  /// Returns the cost to a warp of reading each of `to` from a buffer.
  double costOfReads(const LinearLayout &buffer, llvm::ArrayRef<mlir::Type> to,
                     SharedPadding padding = {}) const;
  /// Returns the cost to a warp of writing a tile to a buffer.
  double costOfWrites(const LinearLayout &buffer, mlir::Type from) const;
  /// Returns the cost to a warp of a conversion through shared memory.
  double costOfConversion(mlir::Type from, mlir::Type to) const;
  /// Returns true if a conversion goes through shared memory: it must between warps, and within a
  /// warp it does where shuffles would take many more instructions.
  bool prefersShared(mlir::Type from, mlir::Type to) const;

  Machine machine;
  MatrixReads matrices;
  bool storesMatrices;
  bool copies;
};

/// Returns the matrix reads from shared memory that the warps of a target have.
MatrixReads matrixReadsOf(tile::TargetAttr target);

} // namespace tw::simt
#endif
