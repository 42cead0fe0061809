// The values that a pipelined loop computes ahead of its iterations.
#ifndef PASSES_SIMT_PIPELINE_AHEADSTATE_H
#define PASSES_SIMT_PIPELINE_AHEADSTATE_H
#include "mlir/IR/IRMapping.h"
#include "passes/simt/pipeline/LoopPipeline.h"

namespace tw::simt {

/// The values that are computed ahead of the iterations that need them.
struct AheadState {
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
      carried; // per step: its carried values in its next iteration
  llvm::SmallVector<llvm::SmallVector<mlir::Value>>
      waiting; // per early load: its tiles, the newest first

  llvm::SmallVector<mlir::Value> flattened() const;
  AheadState withValues(mlir::ValueRange values) const;
  /// Lets tiles that were loaded in this iteration wait from the next one on.
  void enqueueLoaded(const LoopPipeline &pipeline, llvm::ArrayRef<mlir::IRMapping> mappings);
};

} // namespace tw::simt
#endif
