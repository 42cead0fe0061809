// What of a loop can run ahead of its iterations: copies of tiles into shared memory, and what
// their addresses are computed from.
#ifndef PASSES_SIMT_LOOPPIPELINE_H
#define PASSES_SIMT_LOOPPIPELINE_H
#include "ir/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <vector>

namespace tw::simt {

/// A load whose tile is copied into a ring of slots instead, in pieces of `vector` neighbours along
/// `dim`.
struct PipelinedLoad {
  tile::LoadOp load;
  SharedType slot;
  unsigned vector = 1, dim = 0;
};

struct LoopPipeline {
  mlir::scf::ForOp loop;
  std::vector<PipelinedLoad> loads;
  /// What computes the loads' addresses and masks, and the carried values that these need in the
  /// next iteration: in the order of the loop's body.
  llvm::SmallVector<mlir::Operation *> ahead;
  llvm::SmallVector<unsigned> carried; // numbers of those carried values
};

/// The loads of a loop that feed its matrix products, or all where the loop `isAsked` for. None
/// where nothing can run ahead.
std::optional<LoopPipeline> planPipeline(mlir::scf::ForOp loop, bool isAsked);
/// Rewrites the loop: `numStages` - 1 iterations are copied ahead.
void applyPipeline(LoopPipeline &pipeline, unsigned numStages);

} // namespace tw::simt
#endif
