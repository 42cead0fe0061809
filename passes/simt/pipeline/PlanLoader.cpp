// Decides whether a loader copies the boxes of a pipelined loop, how far it may run ahead, and
// which boxes the programs of a cluster copy for one another.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/ClusterFacts.h"
#include "passes/analysis/LoaderNeeds.h"
#include "passes/simt/Boxes.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/pipeline/LoopPipeline.h"
#include "passes/simt/product/AsyncOperands.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

/// Returns true if code of the user's may count the threads of a CTA, or wait for all of them:
/// those of a loader would be one too many.
static bool maySeeLoader(Operation *op) {
  if (auto assembly = dyn_cast<tile::InlineAsmOp>(op))
    return llvm::any_of(ArrayRef<StringRef>{"bar.", "barrier", "ntid"},
                        [&](StringRef word) { return assembly.getText().contains(word); });
  return isa<tile::ExternCallOp>(op) && !isMemoryEffectFree(op);
}

/// Returns why no loader can copy the boxes of a pipeline: it computes by itself where they begin.
static StringRef obstacleToLoader(LoopPipeline &pipeline) {
  scf::ForOp loop = pipeline.loop;
  if (!pipeline.isOfBoxes)
    return "the tiles are not boxes";
  if (threadsOf(loop).warps * 2 >= targetOf(loop).getMaxWarps())
    return "num_warps leave a loader no registers";
  if (pipeline.steps.size() > 1 ||
      llvm::any_of(pipeline.steps.front().operations, llvm::IsaPred<LoadOp>))
    return "it needs what the loop itself loads";
  if (loop->walk([](LoaderOp) { return WalkResult::interrupt(); }).wasInterrupted())
    return "a loop inside of it has one";
  auto kernel = loop->getParentOfType<FunctionOpInterface>();
  if (kernel
          .walk([](Operation *op) {
            return maySeeLoader(op) ? WalkResult::interrupt() : WalkResult::advance();
          })
          .wasInterrupted())
    return "assembly or bitcode of the kernel may count threads or wait for all of them";
  LoaderNeeds needs;
  auto need = [&](Value value) {
    if (!loop.getBodyRegion().isAncestor(value.getParentRegion()))
      needs.add(value);
  };
  needs.addControlOf(loop.getBody()->getTerminator());
  for (unsigned number : pipeline.steps.front().carried)
    need(loop.getInitArgs()[number]);
  for (Operation *op : pipeline.steps.front().operations)
    llvm::for_each(op->getOperands(), need);
  for (PipelinedLoad &pipelined : pipeline.loads)
    llvm::for_each(pipelined.coordinates, need);
  return needs.obstacle();
}

/// Counts the loops around from the innermost on, until one may write what is copied.
static unsigned countQuietLoops(LoopPipeline &pipeline) {
  unsigned count = 0;
  for (Operation *loop = pipeline.loop->getParentOp(); isa<scf::ForOp>(loop);
       loop = loop->getParentOp(), ++count)
    if (llvm::any_of(pipeline.loads, [&](const PipelinedLoad &pipelined) {
          return mayBeOverwritten(pipelined.load, loop);
        }))
      break;
  return count;
}

/// Lets a warp of its own start the copies of boxes where it can, unless the loop says no.
static void takeLoader(LoopPipeline &pipeline) {
  auto asked = pipeline.loop->getAttrOfType<IntegerAttr>(tile::kLoopWarpSpecialize);
  if (asked && asked.getInt() == 0)
    return;
  if (!boxCopyOf(targetOf(pipeline.loop)))
    return;
  StringRef obstacle = obstacleToLoader(pipeline);
  pipeline.hasLoader = obstacle.empty();
  pipeline.numQuietLoops = countQuietLoops(pipeline);
  if (!pipeline.hasLoader && (asked || pipeline.isOfBoxes))
    emitCodedRemark(pipeline.loop, Code::LoaderWarps)
        << "no warp of its own starts the copies of this loop: " << obstacle;
}

/// Divides a box among the programs of a cluster, if each gets whole slabs of it, or whole groups
/// of rows.
static bool divideBox(PipelinedLoad &pipelined, const OperandSlabs &slabs, int64_t numPrograms) {
  if (slabs.areDividedWhole(pipelined.slot.getShape(), numPrograms))
    return true;
  int64_t rows = pipelined.slot.getShape()[1 - slabs.dim];
  if (rows % (numPrograms * OperandSlabs::kRowsOfGroup) != 0)
    return false;
  TensorMapAttr map = pipelined.box;
  SmallVector<int64_t> box(map.getBox());
  box[1] = std::min(box[1], rows / numPrograms);
  pipelined.box = TensorMapAttr::get(map.getContext(), map.getArgument(), map.getElementType(),
                                     map.getExtents(), map.getStrides(), box, map.getSpanBytes());
  return true;
}

/// Lists sets of axes, as bits, along which a cluster has several programs, those of most programs
/// first.
static SmallVector<unsigned> axesOfCluster(scf::ForOp loop) {
  unsigned all = 0;
  for (auto [axis, extent] : llvm::enumerate(clusterOf(loop)))
    all |= unsigned(extent > 1) << axis;
  SmallVector<unsigned> sets;
  for (unsigned axes = all; axes; axes = (axes - 1) & all)
    sets.push_back(axes);
  llvm::sort(sets, [&](unsigned a, unsigned b) {
    int64_t programs = clusterSizeOf(loop, a), others = clusterSizeOf(loop, b);
    return programs > others || (programs == others && a < b);
  });
  return sets;
}

/// Lets programs of a cluster copy a box together, if all of them along some axes need it. Those of
/// the whole cluster may find it out when they run, all with the same result.
static bool shareBox(LoopPipeline &pipeline, PipelinedLoad &pipelined, const IndexFacts &facts) {
  scf::ForOp loop = pipeline.loop;
  auto share = [&](unsigned axes, Operation *asking) {
    std::array<int64_t, 3> programs = clusterOf(loop);
    for (auto [axis, extent] : llvm::enumerate(programs))
      extent = axes >> axis & 1 ? extent : 1;
    ClusterFacts shared(facts, programs, asking);
    if (!llvm::all_of(pipelined.coordinates,
                      [&](Value coordinate) { return shared.isShared(coordinate); }) ||
        !divideBox(pipelined, *slabsOfOperand(facts, pipelined.load), clusterSizeOf(loop, axes)))
      return false;
    pipelined.sharedAxes = axes;
    pipelined.isSharedIf = !shared.conditions().empty();
    llvm::append_range(pipeline.conditions, shared.conditions());
    return true;
  };
  SmallVector<unsigned> sets = axesOfCluster(loop);
  return llvm::any_of(sets, [&](unsigned axes) { return share(axes, /*asking=*/nullptr); }) ||
         share(sets.front(), loop);
}

/// Lets the programs of a cluster copy what all of them need once, for all: each a part.
static void takeMulticast(LoopPipeline &pipeline, const IndexFacts &facts) {
  scf::ForOp loop = pipeline.loop;
  if (clusterSizeOf(loop) == 1)
    return;
  StringRef obstacle;
  if (!pipeline.hasLoader)
    obstacle = "no warp of its own starts the copies of this loop";
  else if (!ClusterFacts(facts, clusterOf(loop)).isReachedTogether(loop))
    obstacle = "it is not known that all of them run this loop equally often";
  unsigned numShared = 0;
  bool isByAll = true;
  for (PipelinedLoad &pipelined : pipeline.loads)
    if (obstacle.empty() && shareBox(pipeline, pipelined, facts)) {
      ++numShared;
      isByAll &= clusterSizeOf(loop, pipelined.sharedAxes) == clusterSizeOf(loop);
    }
  if (obstacle.empty() && numShared == 0)
    obstacle = "no tile of this loop is known to be the same in all of them";
  if (numShared == 0)
    emitCodedRemark(loop, Code::Multicast) << "the programs of a cluster copy alone: " << obstacle;
  else
    emitCodedRemark(loop, Code::Multicast)
        << "the programs of a cluster copy the tiles of " << numShared << " of "
        << pipeline.loads.size() << (pipeline.loads.size() == 1 ? " load" : " loads")
        << " once for all of them" << (isByAll ? "" : " that need them")
        << (pipeline.conditions.empty() ? "" : ", where the order of programs lets them");
}

/// Copies all slabs of tiles at once, or those of a program's part, where rows are within their
/// arrays. A loader finds out in front of the loop, where the loop does not change it: how many
/// copies bring a part makes no difference to others of a cluster, but what is shared does.
static void takeWholeBoxes(LoopPipeline &pipeline, const IndexFacts &facts) {
  for (PipelinedLoad &pipelined : pipeline.loads) {
    std::optional<OperandSlabs> slabs =
        pipelined.box ? slabsOfOperand(facts, pipelined.load) : std::nullopt;
    if (!slabs)
      continue;
    ArrayRef<int64_t> shape = pipelined.slot.getShape();
    int64_t numSlabs =
        slabs->numSlabsOf(shape) / clusterSizeOf(pipeline.loop, pipelined.sharedAxes);
    pipelined.whole = mapOfSlabs(pipelined.box, numSlabs, shape[1 - slabs->dim]);
    if (!pipelined.whole || pipelined.hasWholeRows)
      continue;
    BoxBound bound{pipelined.coordinates.front(), shape[slabs->dim],
                   pipelined.box.getExtents().front()};
    pipelined.isWholeIf = pipeline.hasLoader && pipeline.conditions.empty() &&
                          pipeline.loop.isDefinedOutsideOfLoop(bound.coordinate);
    if (pipelined.isWholeIf)
      pipeline.bounds.push_back(bound);
    else
      pipelined.whole = nullptr;
  }
}

void tw::simt::planLoader(LoopPipeline &pipeline, const IndexFacts &facts) {
  takeLoader(pipeline);
  takeMulticast(pipeline, facts);
  takeWholeBoxes(pipeline, facts);
}
