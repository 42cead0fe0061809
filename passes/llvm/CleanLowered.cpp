// The pass `clean-lowered`: MLIR's canonicalization, at a cost that grows with the code as written
// by lower-simd, where thousands of operations stand in one loop.
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/FoldUtils.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_CLEANLOWERED
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;

/// Folds each operation without regions once, operands before their uses. The driver of patterns
/// asks after each fold whether the loops around are still of use, by looking at all that is in
/// them: with these folds done, it has few left.
static void foldInOrder(ModuleOp module) {
  SmallVector<Operation *> operations;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getNumRegions() == 0 && op->getNumResults() > 0)
      operations.push_back(op);
  });
  OperationFolder folder(module.getContext());
  for (Operation *op : operations)
    if (matchPattern(op, m_Constant()))
      folder.insertKnownConstant(op);
    else
      (void)folder.tryToFold(op);
}

/// The patterns by which MLIR canonicalizes what its context has.
static FrozenRewritePatternSet canonicalizations(MLIRContext &context) {
  RewritePatternSet patterns(&context);
  for (Dialect *dialect : context.getLoadedDialects())
    dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName op : context.getRegisteredOperations())
    op.getCanonicalizationPatterns(patterns, &context);
  return FrozenRewritePatternSet(std::move(patterns));
}

namespace {
struct CleanLowered : tw::impl::CleanLoweredBase<CleanLowered> {
  LogicalResult initialize(MLIRContext *context) override {
    patterns = canonicalizations(*context);
    return success();
  }

  void runOnOperation() override {
    foldInOrder(getOperation());
    // Control flow is structured still, so that there are no blocks to simplify. What one sweep
    // leaves, LLVM finds.
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true)
        .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
        .setMaxIterations(1);
    (void)applyPatternsGreedily(getOperation(), patterns, config);
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
