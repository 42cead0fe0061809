// The state that the parts of a loop's rewrite share: its rings of slots, and where it emits code.
#ifndef PASSES_SIMT_PIPELINE_PIPELINEREWRITER_H
#define PASSES_SIMT_PIPELINE_PIPELINEREWRITER_H
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/simt/pipeline/AheadState.h"
#include "passes/simt/pipeline/LoaderRing.h"

namespace tw::simt {

/// An iteration that a step runs for, which may not exist.
struct AheadIteration {
  mlir::Value induction, exists;
};

/// Rewrites one loop by its plan.
struct PipelineRewriter {
  PipelineRewriter(LoopPipeline &pipeline, PipelineDepth depth, std::vector<LoaderRing> &ofLoaders)
      : pipeline(pipeline), loop(pipeline.loop), depth(depth), ofLoaders(ofLoaders), builder(loop),
        loc(loop.getLoc()) {}

  void run();
  void allocate();
  mlir::Value hasIteration(int64_t number);
  llvm::SmallVector<mlir::Value> iterationBounds();
  mlir::IRMapping valuesOf(unsigned step, const AheadState &state, mlir::Value induction);
  void runStep(unsigned step, AheadState &state, AheadIteration iteration,
               mlir::IRMapping &mapping);
  void startCopies(const mlir::IRMapping &mapping, mlir::Value exists, mlir::Value slot,
                   std::optional<int64_t> phase);
  mlir::Value isReached(tile::LoadOp load, const mlir::IRMapping &mapping, mlir::Value exists);
  void copy(const PipelinedLoad &pipelined, mlir::Value ring, const mlir::IRMapping &mapping,
            mlir::Value exists, mlir::Value slot, std::optional<int64_t> phase);
  void copyArray(const PipelinedLoad &pipelined, mlir::Value ring, const mlir::IRMapping &mapping,
                 mlir::Value exists, mlir::Value slot, std::optional<int64_t> phase);
  void commit();
  void storeStaged();
  AheadState prologue();
  void runAhead(AheadState &state, mlir::Value induction, llvm::ArrayRef<mlir::Value> bounds,
                mlir::Value slot);
  void waitForGroup(unsigned group, int64_t numStarted);
  void waitForLaterGroups();
  void replaceLoad(const PipelinedLoad &pipelined, mlir::Value ring, mlir::Value slot);
  llvm::SmallVector<mlir::Value> initialValues(const AheadState &state);
  void moveBody(mlir::scf::ForOp next, const AheadState &state, mlir::Value slot);
  mlir::Value isLastSlot(mlir::Value slot);
  mlir::Value slotAfter(mlir::Value slot);
  mlir::Value parityAfter(mlir::Value parity, mlir::Value slot);
  // ApplyBoxes.cpp.
  void copyBoxes(unsigned group, const mlir::IRMapping &mapping, mlir::Value exists,
                 mlir::Value slot, mlir::IntegerAttr phase, bool holds = true);
  mlir::Value whetherConditionsHold();
  unsigned warpsThatRelease();
  void meetLoaders(bool withOwn);
  void makeBarriers();
  void dropBarriers();
  mlir::scf::ForOp emitLoader();
  void release(mlir::Value slot, std::optional<int64_t> phase);
  void makeRing();
  void goOnInRing(mlir::scf::ForOp next, mlir::scf::ForOp copying);

  /// Two slots take turns, or one is all there is: the one that is written is the next one.
  bool alternates() const {
    return (pipeline.isThroughRegisters || pipeline.isPacked) && depth.numSlots <= 2;
  }

  mlir::Value integer(mlir::Type type, int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, value));
  }
  mlir::Value slotNumber(int64_t value) { return integer(builder.getI32Type(), value); }
  int64_t distance() const { return depth.numAhead; }

  LoopPipeline &pipeline;
  mlir::scf::ForOp loop;
  PipelineDepth depth;
  std::vector<LoaderRing> &ofLoaders;
  LoaderRing *shared = nullptr; // that the loop goes on in
  mlir::OpBuilder builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> rings;    // per load
  llvm::SmallVector<mlir::Value> barriers; // of boxes: per group
  llvm::SmallVector<mlir::Value> freed;    // of a loader: per group
  mlir::Value slotRead, parity;            // in the loop: of its iteration
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>>
      staged; // tiles in registers, and where they will lie
  mlir::Value
      nextExists; // in the loop: whether there is an iteration whose copies are to be started
};

} // namespace tw::simt
#endif
