// The passes from Tile IR to the LLVM dialect, in order.
#include "passes/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace tw;

void tw::addTilePasses(StagedPasses &passes) {
  passes.beginStage("tile-passes", "all accesses go through pointers and masks, and what does not "
                                   "change in a loop is computed before it");
  passes.addPass(createSpreadHints());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
  passes.addPass(createExpandDescriptors());
  passes.addPass(createCombineOps());
  passes.addPass(createRaisePointers());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

/// Splits the loops that gain by it: those over products on SIMT machines, whose masks cost a
/// quarter of the instructions, and the others on SIMD machines, whose masked vectors are slow.
static void addLoopSplitting(StagedPasses &passes, bool ofProducts) {
  SplitLoopsByMaskOptions loops;
  loops.products = ofProducts;
  passes.addPass(createSplitLoopsByMask(loops));
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

void tw::addSimdPasses(StagedPasses &passes, const std::string &machine) {
  RefuseAssemblyOptions refused;
  refused.linksBitcode = true;
  passes.addPass(createRefuseAssembly(refused));
  passes.addPass(createMergeProducts());
  addLoopSplitting(passes, /*ofProducts=*/false);
  passes.beginStage("lowered", "functions of scalars, vectors and loops: no tiles, and of math "
                               "functions only calls of a library");
  AttachTargetOptions target;
  target.target = machine;
  passes.addPass(createAttachTarget(target));
  passes.addPass(createLowerSimd());
  passes.addPass(createPollLoops());
  passes.addPass(createCSEPass());
  passes.addPass(createShareNests());
  passes.addPass(createExpandMath());
  passes.addPass(createCleanLowered());
  passes.addPass(createCSEPass());
  passes.beginStage("llvm-dialect", "the LLVM dialect only");
  passes.addPass(createLowerToLlvm());
  passes.addPass(createCarryBf16AsBits());
}

void tw::addStagingPasses(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createStageThroughShared());
  passes.addPass(createCSEPass());
  passes.addPass(createReloadOperands());
}

void tw::addSimtPasses(StagedPasses &passes, std::unique_ptr<Pass> describeTarget,
                       unsigned numWarps, unsigned numStages) {
  passes.beginStage("laid-out", "tiles have extents of powers of two, and each has a layout over "
                                "registers, lanes and warps");
  if (describeTarget)
    passes.addPass(std::move(describeTarget));
  passes.addPass(createOrderLaunches());
  ExpandHistogramsOptions histograms;
  histograms.numWarps = numWarps;
  passes.addPass(createExpandHistograms(histograms));
  addLoopSplitting(passes, /*ofProducts=*/true);
  passes.addPass(createMergeComparisons());
  passes.addPass(createPadExtents());
  SelectMmaOptions matrices;
  matrices.numWarps = numWarps;
  passes.addPass(createSelectMma(matrices));
  passes.addPass(createLoadBlocks());
  AssignLayoutsOptions layouts;
  layouts.numWarps = numWarps;
  passes.addPass(createAssignLayouts(layouts));
  passes.addPass(createCoalesceAccesses());
  layouts.emitsRemarks = true;
  passes.addPass(createAssignLayouts(layouts));
  passes.addPass(createCSEPass());
  passes.addPass(createLoopInvariantCodeMotionPass());
  passes.beginStage("scheduled", "data crosses warps through buffers that have their place in "
                                 "shared memory, in an order that barriers keep");
  passes.addPass(createChooseRegisters());
  PipelineLoopsOptions pipeline;
  pipeline.numStages = numStages;
  pipeline.oneFewerWhereFull = true;
  passes.addPass(createPipelineLoops(pipeline));
  addStagingPasses(passes.passes());
  passes.addPass(createOverlapProducts());
  passes.addPass(createDivideBuffers());
  passes.addPass(createAllocateShared());
  passes.addPass(createInsertBarriers());
  passes.addPass(createAwaitProducts());
  passes.beginStage("lowered", "the code of one thread: registers in place of tiles, formulas in "
                               "place of math functions");
  passes.addPass(createLowerSimt());
  passes.addPass(createCSEPass());
  passes.addPass(createExpandSimtMath());
  // No canonicalization: LLVM does as much on its own IR, and here it costs more than all other
  // passes together, because each change in a loop sends it back to the loop's carried registers.
  passes.addPass(createCSEPass());
}

namespace {
struct OptionalPass {
  llvm::StringLiteral name;
};
} // namespace

#define GET_OptionalPasses_IMPL
#include "passes/PassInputs.inc"

bool tw::isOptionalPass(llvm::StringRef pass) {
  return llvm::is_contained({"canonicalize", "cse", "loop-invariant-code-motion"}, pass) ||
         llvm::any_of(OptionalPasses, [&](const OptionalPass &row) { return row.name == pass; });
}

void tw::registerPasses() { registerTilewrightPasses(); }
