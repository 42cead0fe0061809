#include "passes/simt/pipeline/AheadState.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw::simt;
using tw::tile::LoadOp;

SmallVector<Value> AheadState::flattened() const {
  SmallVector<Value> values;
  for (const auto &lists : {carried, waiting})
    for (const SmallVector<Value> &list : lists)
      llvm::append_range(values, list);
  return values;
}

/// A state of the same shape.
AheadState AheadState::withValues(ValueRange values) const {
  AheadState result = *this;
  for (auto *lists : {&result.carried, &result.waiting})
    for (SmallVector<Value> &list : *lists) {
      list.assign(values.begin(), values.begin() + list.size());
      values = values.drop_front(list.size());
    }
  return result;
}

void AheadState::enqueueLoaded(const LoopPipeline &pipeline, ArrayRef<IRMapping> mappings) {
  for (auto [early, tiles] : llvm::zip(pipeline.earlyLoads, waiting))
    if (Value loaded = mappings[early.lead].lookupOrNull(LoadOp(early.load).getResult())) {
      tiles.insert(tiles.begin(), loaded);
      tiles.truncate(std::min<size_t>(tiles.size(), early.depth));
    }
}
