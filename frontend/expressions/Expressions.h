// Expressions: compile-time values are computed, run-time values become operations.
#ifndef FRONTEND_EXPRESSIONS_H
#define FRONTEND_EXPRESSIONS_H
#include "frontend/emit/Emitter.h"

namespace tw {

mlir::FailureOr<PyValue> eval(Emitter &emitter, const Node &node);
/// An error where expressions and blocks are nested too deeply to walk any further.
mlir::LogicalResult checkDepth(Emitter &emitter, const Node &node);

} // namespace tw
#endif
