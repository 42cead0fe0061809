// Calls of whatever can be called; jit functions and closures are inlined.
#ifndef FRONTEND_CALLS_H
#define FRONTEND_CALLS_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// Emits a frame's body and answers what it returns.
mlir::FailureOr<PyValue> emitFunctionBody(Emitter &emitter, std::shared_ptr<Frame> callee,
                                          const Node &site);
/// A nested function or a lambda.
mlir::FailureOr<PyValue> makeClosure(Emitter &emitter, const Node &node);

} // namespace tw
#endif
