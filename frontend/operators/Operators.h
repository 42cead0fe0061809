// Operators and subscripts: Python's meaning at compile time, operations of the language at run
// time.
#ifndef FRONTEND_OPERATORS_H
#define FRONTEND_OPERATORS_H
#include "frontend/emit/Emitter.h"
#include "frontend/values/OperatorTable.h"

namespace tw {

mlir::FailureOr<PyValue> emitBinary(Emitter &emitter, BinaryOperator op, const PyValue &lhs,
                                    const PyValue &rhs, const Node &site, const Node &lhsNode,
                                    const Node &rhsNode);
mlir::FailureOr<PyValue> emitUnary(Emitter &emitter, UnaryOperator op, const PyValue &operand,
                                   const Node &site, const Node &node);
mlir::FailureOr<PyValue> emitComparison(Emitter &emitter, Comparison op, const PyValue &lhs,
                                        const PyValue &rhs, const Node &site, const Node &lhsNode,
                                        const Node &rhsNode);
/// Returns true if sums, differences and products of integers are checked at the current place.
bool checksOverflowHere(Emitter &emitter);

/// `a and b or c`, `a < b <= c`.
mlir::FailureOr<PyValue> evalBoolOp(Emitter &emitter, const Node &node);
mlir::FailureOr<PyValue> evalCompare(Emitter &emitter, const Node &node);
/// `x[index]`.
mlir::FailureOr<PyValue> readSubscript(Emitter &emitter, const PyValue &base, const PyValue &index,
                                       const Node &node);

} // namespace tw
#endif
