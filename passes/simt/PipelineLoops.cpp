// The pass `pipeline-loops`: loops start the copies of later iterations' operands while they
// compute.
#include "ir/target/TargetDesc.h"
#include "passes/Passes.h"
#include "passes/simt/LoopPipeline.h"

namespace tw {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
struct PipelineLoops : tw::impl::PipelineLoopsBase<PipelineLoops> {
  using PipelineLoopsBase::PipelineLoopsBase;

  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target || target.getAsyncCopyBytes().empty())
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      auto own = loop->getAttrOfType<IntegerAttr>(tile::kLoopNumStages);
      int64_t stages = own ? own.getInt() : numStages;
      if (stages < 2)
        continue;
      if (auto pipeline = planPipeline(loop, own != nullptr, unsigned(stages)))
        applyPipeline(*pipeline, unsigned(stages));
    }
  }
};
} // namespace
