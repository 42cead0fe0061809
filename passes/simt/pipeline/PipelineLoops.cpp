// The pass `pipeline-loops`: loops start the copies of later iterations' operands while they
// compute.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/pipeline/LoopPipeline.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The loop's own number of stages, or the module's.
static int64_t stagesOf(scf::ForOp loop, unsigned ofModule) {
  auto own = loop->getAttrOfType<IntegerAttr>(tile::kLoopNumStages);
  return own ? own.getInt() : ofModule;
}

/// What slots of all tiles that loops load would take: more than those of what is copied.
static uint64_t mostBytesOfSlots(ModuleOp module, unsigned numStages) {
  uint64_t bytes = 0;
  module.walk([&](tile::LoadOp load) {
    auto loop = load->getParentOfType<scf::ForOp>();
    Type type = load.getType();
    if (loop && hasLayout(type))
      bytes += uint64_t(std::max<int64_t>(0, stagesOf(loop, numStages))) *
               tile::numElementsOf(type) * tile::elementBytes(tile::elementTypeOf(type));
  });
  return bytes;
}

/// The buffers that the module's kernel will have when its loops are pipelined.
static std::vector<LiveBuffer> buffersWhenPipelined(ModuleOp copy, unsigned numStages) {
  ScopedDiagnosticHandler silent(copy.getContext(), [](mlir::Diagnostic &) { return success(); });
  PassManager pm(copy.getContext());
  PipelineLoopsOptions options;
  options.numStages = numStages;
  pm.addPass(createPipelineLoops(options));
  addStagingPasses(pm);
  if (failed(pm.run(copy)))
    return {};
  std::vector<LiveBuffer> buffers;
  for (auto kernel : copy.getOps<func::FuncOp>())
    llvm::append_range(buffers, findLiveBuffers(kernel));
  return buffers;
}

/// Whether the slots do not fit in shared memory, but do with one fewer of each tile.
static bool isFullByOne(ModuleOp module, tile::TargetAttr target, unsigned numStages) {
  uint64_t limit = target.getSharedBytes();
  // Half is left for other buffers, without a trial.
  if (mostBytesOfSlots(module, numStages) <= limit / 2)
    return false;
  OwningOpRef<ModuleOp> copy = module.clone();
  std::vector<LiveBuffer> buffers = buffersWhenPipelined(*copy, numStages);
  if (packedBytes(buffers) <= limit)
    return false;
  uint64_t slots = 1;
  for (LiveBuffer &buffer : buffers)
    slots = std::max<uint64_t>(slots, buffer.alloc.getSlots().value_or(1));
  return slots > 1 && packedBytes(withSlots(buffers, slots - 1)) <= limit;
}

namespace {
struct PipelineLoops : tw::impl::PipelineLoopsBase<PipelineLoops> {
  using PipelineLoopsBase::PipelineLoopsBase;

  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target)
      return;
    bool isFull = oneFewerWhereFull && isFullByOne(getOperation(), target, numStages);
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops) {
      bool isAsked = loop->hasAttr(tile::kLoopNumStages);
      int64_t stages = stagesOf(loop, numStages);
      if (stages < 2)
        continue;
      int64_t used = stages - isFull;
      auto pipeline = planPipeline(loop, isAsked, unsigned(std::max<int64_t>(used, 2)));
      if (pipeline && isFull)
        emitCodedRemark(loop, Code::PipelinedLoads)
            << "shared memory has no room for num_stages=" << stages
            << ": the loop is compiled as for " << used;
      if (pipeline && used >= 2)
        applyPipeline(*pipeline, unsigned(used));
    }
  }
};
} // namespace
