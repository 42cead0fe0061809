// What of a loop can run ahead of its iterations: copies of tiles into shared memory, and what
// their addresses are computed from.
#ifndef PASSES_SIMT_LOOPPIPELINE_H
#define PASSES_SIMT_LOOPPIPELINE_H
#include "ir/simt/Simt.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/ClusterFacts.h"
#include <set>
#include <vector>

namespace tw::simt {

/// A load whose tile is copied into a ring of slots instead: where the machine copies by itself, in
/// pieces of `vector` neighbours along `dim`, as a `box` that begins at `coordinates`, or as rows
/// along `dim` (of an `array`: operands of `array_copy`). Copies of a `group` are awaited together.
struct PipelinedLoad {
  tile::LoadOp load;
  SharedType slot;
  unsigned vector = 1, dim = 0, group = 0;
  TensorMapAttr box = {};
  llvm::SmallVector<mlir::Value> coordinates = {}, array = {};
  /// Axes of the cluster, as bits: programs side by side along them copy a part of the box each,
  /// for all of these; none where each copies the whole box for itself.
  unsigned sharedAxes = 0;
  bool isSharedIf = false;   // only where the pipeline's conditions hold
  bool hasWholeRows = false; // no row of a tile is partly within the array
  /// The array with one dimension more, over the slabs that a program copies: one copy brings them
  /// all. Null where slabs are copied one by one.
  TensorMapAttr whole = {};
  bool isWholeIf = false; // only where the tile is within the bounds of the pipeline
  /// Returns what the copy needs in its iteration.
  llvm::SmallVector<mlir::Value> sources() {
    if (box)
      return coordinates;
    return array.empty() ? llvm::SmallVector<mlir::Value>(load->getOperands()) : array;
  }
};

/// The part of an iteration that runs a given number of iterations early, in the order of the
/// loop's body: the addresses and masks of loads, and the carried values that these need in the
/// next iteration.
struct AheadStep {
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::SmallVector<unsigned> carried; // numbers of those carried values
};

/// A load from whose tile addresses are computed. Step `lead` loads it; its tile is carried from
/// there for `depth` iterations, at the end of which the lowest step that needs it runs.
struct EarlyLoad {
  tile::LoadOp load;
  unsigned lead = 1, depth = 1;
};

/// A condition that a loader finds out in front of the loop: `width` elements from a coordinate on
/// are within the extent of an array.
struct BoxBound {
  mlir::Value coordinate;
  int64_t width;
  LaunchProductAttr extent;
};

struct LoopPipeline {
  mlir::scf::ForOp loop;
  std::vector<PipelinedLoad> loads; // by group
  /// Step 0 starts the copies, each other one runs an iteration ahead of the step before it.
  std::vector<AheadStep> steps;
  std::vector<EarlyLoad> earlyLoads;
  /// The machine has no copies of its own: tiles are loaded into registers ahead, and written to
  /// their slots when the iteration's own work is done.
  bool isThroughRegisters = false;
  /// The machine's copies put what the lanes of a warp copy one after the other.
  bool isPacked = false;
  /// All tiles are boxes: one thread starts their copies, and phase barriers say when they are
  /// there.
  bool isOfBoxes = false;
  /// A warp of its own starts the copies of boxes.
  bool hasLoader = false;
  /// Conditions under which programs of a cluster have boxes in common.
  llvm::SmallVector<ClusterCondition> conditions;
  /// Bounds within which tiles are copied whole.
  llvm::SmallVector<BoxBound> bounds;
  /// How many of the loops around it write nothing that is copied, from the innermost on.
  unsigned numQuietLoops = 0;

  /// Returns true if loaders of a cluster copy for one another.
  bool multicasts() const {
    return std::any_of(loads.begin(), loads.end(),
                       [](const PipelinedLoad &load) { return load.sharedAxes != 0; });
  }

  /// Returns the sets of axes along which programs of a cluster share boxes, each once.
  llvm::SmallVector<int32_t> setsOfAxes() const {
    std::set<int32_t> sets;
    for (const PipelinedLoad &load : loads)
      if (load.sharedAxes != 0)
        sets.insert(int32_t(load.sharedAxes));
    return {sets.begin(), sets.end()};
  }

  unsigned numGroups() const { return loads.back().group + 1; }
};

/// A branch around an operation, which is in its `isThen` side.
struct Branch {
  mlir::Value condition;
  bool isThen = true;
};
/// The branches around an operation inside of the loop's body; none where another loop is around it
/// as well.
std::optional<llvm::SmallVector<Branch>> branchesAround(mlir::scf::ForOp loop, mlir::Operation *op);
/// The first operation of the loop's body that needs a load's tile, also in another layout.
mlir::Operation *firstUseOf(mlir::scf::ForOp loop, tile::LoadOp load);

/// Divides the operations that run `ahead` for the loads of a pipeline into its steps.
void planSteps(LoopPipeline &pipeline, llvm::ArrayRef<mlir::Operation *> ahead);
/// Lets a loader copy the boxes of a pipeline where it can, and programs of a cluster for one
/// another.
void planLoader(LoopPipeline &pipeline, const IndexFacts &facts);
/// Takes branches by what loops of loaders do not change in front of these loops, which are written
/// for each side.
void unswitchLoaders(mlir::ModuleOp module);
/// How all threads know that the slot has been read which copies overwrite next.
enum class SlotsFreed {
  ByEarlierBarrier, // in front of the copies
  HereByBarrier,    // which is to be made
  ByReleases        // which take the place of copies
};
/// Moves what runs ahead, from `first` to before `end`, behind products that run by themselves: the
/// machine multiplies while copies are started. Where these add to sums of the iteration before,
/// all wait there for the latter, which has read the slots: those of two iterations are in flight.
void startBehindProducts(mlir::Operation *first, mlir::Operation *end, SlotsFreed freed);

/// The loads of a loop that feed its matrix products, or all where the loop `isAsked` for. None
/// where nothing can run ahead.
std::optional<LoopPipeline> planPipeline(mlir::scf::ForOp loop, bool isAsked, unsigned numStages);
/// How many iterations are copied ahead, and the slots of each tile: one more, or as many where
/// tiles wait in registers.
struct PipelineDepth {
  unsigned numAhead = 1, numSlots = 2;
};
struct LoaderRing;
/// Rewrites the loop. One with a loader goes on in a ring that serves it, or makes one and adds it.
void applyPipeline(LoopPipeline &pipeline, PipelineDepth depth, std::vector<LoaderRing> &rings);
/// Unrolls a pipelined loop by its one or two slots, the first of which is its last carried value's
/// at first, if it has little beside its products. `exists` says in its body whether the next
/// iteration does.
void unrollSlots(mlir::scf::ForOp loop, mlir::Value exists, unsigned numSlots);

} // namespace tw::simt
#endif
