// The passes from Tile IR to the LLVM dialect, in order.
#include "passes/Pipeline.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"

using namespace mlir;

void tw::addTilePasses(OpPassManager &pm) {
  pm.addPass(createSpreadHints());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createExpandDescriptors());
  pm.addPass(createCombineOps());
  pm.addPass(createRaisePointers());
  pm.addPass(createLoopInvariantCodeMotionPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Splits the loops that gain by it: those over products on SIMT machines, whose masks cost a
/// quarter of the instructions, and the others on SIMD machines, whose masked vectors are slow.
static void addLoopSplitting(OpPassManager &pm, bool ofProducts) {
  using namespace tw;
  SplitLoopsByMaskOptions loops;
  loops.products = ofProducts;
  pm.addPass(createSplitLoopsByMask(loops));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void tw::addSimdPasses(OpPassManager &pm, const SimdMachine &machine) {
  RefuseAssemblyOptions refused;
  refused.linksBitcode = true;
  pm.addPass(createRefuseAssembly(refused));
  addLoopSplitting(pm, /*ofProducts=*/false);
  LowerSimdOptions simd;
  simd.vectorBytes = machine.vectorBytes;
  simd.numRegisters = machine.numRegisters;
  simd.bf16DotIntrinsic = machine.bf16DotIntrinsic;
  pm.addPass(createLowerSimd(simd));
  pm.addPass(createPollLoops());
  pm.addPass(createCSEPass());
  ExpandMathOptions math;
  math.vectorBytes = machine.vectorBytes;
  pm.addPass(createExpandMath(math));
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createLowerToLlvm());
}

void tw::addStagingPasses(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createStageThroughShared());
  pm.addPass(createCSEPass());
  pm.addPass(createReloadOperands());
}

void tw::addSimtPasses(OpPassManager &pm, unsigned numWarps, unsigned numStages) {
  addLoopSplitting(pm, /*ofProducts=*/true);
  pm.addPass(createGrowExtents());
  // To laid-out.
  SelectMmaOptions matrices;
  matrices.numWarps = numWarps;
  pm.addPass(createSelectMma(matrices));
  AssignLayoutsOptions layouts;
  layouts.numWarps = numWarps;
  pm.addPass(createAssignLayouts(layouts));
  pm.addPass(createCoalesceAccesses());
  pm.addPass(createRemoveLayoutConversions());
  pm.addPass(createCSEPass());
  pm.addPass(createLoopInvariantCodeMotionPass());
  // To scheduled.
  PipelineLoopsOptions pipeline;
  pipeline.numStages = numStages;
  pipeline.oneFewerWhereFull = true;
  pm.addPass(createPipelineLoops(pipeline));
  addStagingPasses(pm);
  pm.addPass(createAllocateShared());
  pm.addPass(createInsertBarriers());
  // To lowered.
  pm.addPass(createLowerSimt());
  pm.addPass(createCSEPass());
  pm.addPass(createExpandSimtMath());
  // No canonicalization: LLVM does as much on its own IR, and here it costs more than all other
  // passes together, because each change in a loop sends it back to the loop's carried registers.
  pm.addPass(createCSEPass());
}

void tw::registerPasses() { registerTilewrightPasses(); }
