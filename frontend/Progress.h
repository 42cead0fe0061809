// How far a walk has come: where it stands, and what bounds the work and the stack that a kernel
// may ask for.
#ifndef FRONTEND_PROGRESS_H
#define FRONTEND_PROGRESS_H
#include "mlir/IR/Builders.h"

namespace tw {

struct LoopFacts; // LoopDraft.h

/// Counts the operations that a builder makes.
struct OperationCounter : mlir::OpBuilder::Listener {
  void notifyOperationInserted(mlir::Operation *, mlir::OpBuilder::InsertPoint previous) override {
    count += !previous.isSet(); // not where an operation only moves
  }
  int64_t count = 0;
};

struct Progress {
  int64_t numUnrolled = 0; // iterations of unrolled loops so far
  int64_t numInlined = 0;  // calls so far
  OperationCounter operations;
  int branchDepth = 0;
  LoopFacts *loopFacts = nullptr; // of the run-time loop around the current place
  int combineDepth = 0; // combining functions of reductions and scans around the current place
  int syntaxDepth = 0;  // expressions and blocks around the current one, through calls
  /// Debug builds check sums, differences and products of integers, but those of the language's own
  /// library, and where this is set (`sanitize_overflow=False`).
  bool mayWrap = false;
};

} // namespace tw
#endif
