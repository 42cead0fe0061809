// Facts of an operation's result from those of its operands: the transfer functions of `Alignment`.
#ifndef PASSES_ANALYSIS_ALIGNMENTTRANSFER_H
#define PASSES_ANALYSIS_ALIGNMENTTRANSFER_H
#include "passes/analysis/Alignment.h"

namespace tw {

/// What is known of every value of a type.
TileAlignment unknownAlignment(mlir::Type type);
/// What holds of two values of a type, whichever of them it is.
TileAlignment meet(const TileAlignment &lhs, const TileAlignment &rhs, mlir::Type type);
/// The facts of the one result of an operation without regions.
TileAlignment alignmentOfResult(mlir::Operation *op, const Alignment &alignment);

} // namespace tw
#endif
