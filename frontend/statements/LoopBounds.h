// The bounds of a run-time `for` as an ascending loop.
#ifndef FRONTEND_LOOPBOUNDS_H
#define FRONTEND_LOOPBOUNDS_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// An ascending loop: from start to stop by a positive step. The loop variable is the counter, or
/// base + counter * stride.
struct Bounds {
  mlir::Value start, stop, step;
  mlir::Value base, stride; // null: the counter itself
  DType dtype;
};

mlir::FailureOr<Bounds> boundsOf(Emitter &emitter, const RangeValue &range, const Node &node);

} // namespace tw
#endif
