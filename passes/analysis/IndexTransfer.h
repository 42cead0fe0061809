// Facts of an operation's result from those of its operands: the transfer functions of
// `IndexFacts`.
#ifndef PASSES_ANALYSIS_INDEXTRANSFER_H
#define PASSES_ANALYSIS_INDEXTRANSFER_H
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tw {

using FactOf = llvm::function_ref<const IndexFact &(mlir::Value)>;

/// Returns what is known of a value by its type.
IndexFact unknownFact(mlir::Value value);
/// Returns what holds of two values of the type of `result`, which is one of them.
IndexFact meet(const IndexFact &lhs, const IndexFact &rhs, mlir::Value result);
/// Returns true if a scalar is a leaf of the sums of an operation: all are, but those of the loop
/// around it.
bool isLeafFor(mlir::Operation *op, mlir::Value operand);
/// Returns the sum behind the one result of an operation, whose other facts are known.
LinearForm formOf(mlir::Operation *op, const IndexFact &fact, FactOf of);
/// Returns the facts of the one result of an operation without regions.
IndexFact factOfResult(mlir::Operation *op, FactOf of);

} // namespace tw
#endif
