// Values on their way from compile time to run time, and the reports of those that cannot go.
#ifndef FRONTEND_RUNTIMEVALUES_H
#define FRONTEND_RUNTIMEVALUES_H
#include "frontend/emit/Emitter.h"

namespace tw {

mlir::FailureOr<TypedValue> toRuntime(Emitter &emitter, const PyValue &value, const Node &node);
mlir::FailureOr<std::pair<TypedValue, TypedValue>> toRuntime(Emitter &emitter, const PyValue &lhs,
                                                             const Node &lhsNode,
                                                             const PyValue &rhs,
                                                             const Node &rhsNode);
/// The value as one truth value at run time.
mlir::FailureOr<mlir::Value> toCondition(Emitter &emitter, const PyValue &value, const Node &node);
/// Reports a condition that has no truth value, where it may never be evaluated.
mlir::LogicalResult checkTruth(Emitter &emitter, const TypedValue &condition, const Node &node);
/// The elements for iteration or unpacking, else an error.
mlir::FailureOr<std::vector<PyValue>> elementsOf(Emitter &emitter, const PyValue &value,
                                                 const Node &node);

/// The value, or the report of why there is none. Labels of the reason are at the operands.
mlir::FailureOr<PyValue> orReport(Emitter &emitter, TileOr result, const Node &site,
                                  llvm::ArrayRef<const Node *> operands);
mlir::FailureOr<PyValue> orReport(Emitter &emitter, OrReason<PyValue> result, const Node &site);

} // namespace tw
#endif
