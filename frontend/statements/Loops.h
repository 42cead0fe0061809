// Loops: unrolled at compile time, or run-time loops with the names that their bodies change.
#ifndef FRONTEND_LOOPS_H
#define FRONTEND_LOOPS_H
#include "frontend/emit/Emitter.h"

namespace tw {

mlir::LogicalResult emitFor(Emitter &emitter, const Node &node);
mlir::LogicalResult emitWhile(Emitter &emitter, const Node &node);

} // namespace tw
#endif
