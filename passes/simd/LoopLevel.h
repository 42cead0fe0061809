// The scope of a loop body inside a nest, for roots that write their own loops.
#ifndef PASSES_SIMD_LOOPLEVEL_H
#define PASSES_SIMD_LOOPLEVEL_H
#include "passes/simd/SimdFunction.h"

namespace tw::simd {

/// The body of a loop over vectors: uniform values are computed in front of it. Restores the memo.
class LoopLevel {
public:
  LoopLevel(SimdFunction &f, mlir::Value index);
  ~LoopLevel();
  LoopLevel(const LoopLevel &) = delete;

private:
  SimdFunction &f;
  SimdFunction::Memo before;
};

} // namespace tw::simd
#endif
