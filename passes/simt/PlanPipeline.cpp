// Finds the loads of a loop that can be copied ahead of the iteration that needs them.
#include "ir/target/TargetDesc.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/simt/AsyncCopies.h"
#include "passes/simt/LoopPipeline.h"
#include "passes/simt/SharedStaging.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

namespace {
struct Planner {
  Planner(scf::ForOp loop, tile::TargetAttr target)
      : loop(loop), target(target), staging(loop->getParentOfType<ModuleOp>()),
        alignment(loop->getParentOfType<FunctionOpInterface>()) {}

  void collectProducts(bool isAsked);
  bool addAhead(Value value);
  bool addAheadOperation(Operation *op);
  std::optional<PipelinedLoad> tryLoad(LoadOp load);
  bool isOverwritten(LoadOp load);

  scf::ForOp loop;
  tile::TargetAttr target;
  Staging staging;
  Alignment alignment;
  llvm::SetVector<Operation *> wanted; // loads that feed products
  llvm::SetVector<Operation *> ahead;
  llvm::SetVector<unsigned> carried;
};
} // namespace

//===-- Which loads --------------------------------------------------------------------------===//

static bool isInnermostLoopOf(scf::ForOp loop, Operation *op) {
  return op->getParentOfType<LoopLikeOpInterface>().getOperation() == loop;
}

/// Collects the loads of the loop's body from which a product's operands are made.
static void collectLoads(scf::ForOp loop, Value value, llvm::SetVector<Operation *> &seen,
                         llvm::SetVector<Operation *> &loads) {
  Operation *op = value.getDefiningOp();
  if (!op || !loop->isProperAncestor(op) || !seen.insert(op))
    return;
  if (isa<LoadOp>(op)) {
    if (op->getBlock() == loop.getBody())
      loads.insert(op);
    return;
  }
  for (Value operand : op->getOperands())
    collectLoads(loop, operand, seen, loads);
}

void Planner::collectProducts(bool isAsked) {
  llvm::SetVector<Operation *> seen;
  loop.getBody()->walk([&](Operation *op) {
    if (!isInnermostLoopOf(loop, op))
      return;
    if (auto mma = dyn_cast<MmaOp>(op)) {
      collectLoads(loop, mma.getA(), seen, wanted);
      collectLoads(loop, mma.getB(), seen, wanted);
    }
    if (isAsked && isa<LoadOp>(op) && op->getBlock() == loop.getBody())
      wanted.insert(op);
  });
}

/// Whether the program may learn here that others have written: by a scalar atomic that acquires.
static bool acquires(Operation *op) {
  auto ofScalar = [](auto atomic) {
    tile::MemoryOrder order = atomic.getOrder();
    return !isa<RankedTensorType>(atomic.getType()) && !atomic->use_empty() &&
           (order == tile::MemoryOrder::Acquire || order == tile::MemoryOrder::AcqRel);
  };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<tile::AtomicRmwOp, tile::AtomicCasOp>(ofScalar)
      .Default([](Operation *) { return false; });
}

/// Whether the loop, or others that it waits for, may write what the load reads: then it cannot be
/// read early.
bool Planner::isOverwritten(LoadOp load) {
  WalkResult result = loop.getBody()->walk([&](Operation *op) -> WalkResult {
    if (acquires(op))
      return WalkResult::interrupt();
    if (isa<tile::StoreOp, tile::AtomicRmwOp, tile::AtomicCasOp>(op) &&
        mayAlias(load.getPtr(), op->getOperand(0)))
      return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return result.wasInterrupted();
}

//===-- What runs ahead ----------------------------------------------------------------------===//

bool Planner::addAheadOperation(Operation *op) {
  if (ahead.contains(op))
    return true;
  if (op->getBlock() != loop.getBody() || op->getNumRegions() != 0 ||
      isa<MmaOp, tile::DotOp, ConvertLayoutOp>(op))
    return false;
  auto load = dyn_cast<LoadOp>(op);
  if (load ? load.getIsVolatile() || isOverwritten(load) : !isMemoryEffectFree(op))
    return false;
  for (Value operand : op->getOperands())
    if (!addAhead(operand))
      return false;
  ahead.insert(op);
  return true;
}

bool Planner::addAhead(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody() || argument == loop.getInductionVar())
      return true;
    unsigned number = argument.getArgNumber() - 1;
    if (!carried.insert(number))
      return true;
    return addAhead(loop.getYieldedValues()[number]);
  }
  Operation *op = value.getDefiningOp();
  return !loop->isProperAncestor(op) || addAheadOperation(op);
}

//===-- One load -----------------------------------------------------------------------------===//

static bool isZero(Value other) {
  if (!other)
    return true;
  if (auto splat = other.getDefiningOp<tile::SplatOp>())
    other = splat.getSource();
  return matchPattern(other, m_Zero()) || matchPattern(other, m_PosZeroFloat());
}

std::optional<PipelinedLoad> Planner::tryLoad(LoadOp load) {
  if (!hasLayout(load.getType()) || load.getIsVolatile() || !isZero(load.getOther()) ||
      isOverwritten(load))
    return std::nullopt;
  // The buffer suits the first conversion: that to a product's operand.
  Type read = load.getType();
  for (Operation *user : load->getUsers())
    if (isa<ConvertLayoutOp>(user) && prefersShared(load.getType(), user->getResult(0).getType()))
      read = user->getResult(0).getType();
  LinearLayout layout = staging.bufferLayout(load.getType(), read);
  PipelinedLoad pipelined{load, SharedType::get(load.getContext(), layout.shape(),
                                                tile::elementTypeOf(load.getType()),
                                                LayoutAttr::get(load.getContext(), layout))};
  std::optional<VectorAccess> pieces =
      asyncPieces(alignment, load.getPtr(), load.getMask(), pipelined.slot, target);
  if (!pieces)
    return std::nullopt;
  pipelined.vector = pieces->vector;
  pipelined.dim = pieces->dim;
  // All or nothing: what was found so far stays as it is when something cannot run ahead.
  auto aheadBefore = ahead;
  auto carriedBefore = carried;
  if (addAhead(load.getPtr()) && (!load.getMask() || addAhead(load.getMask())))
    return pipelined;
  ahead = std::move(aheadBefore);
  carried = std::move(carriedBefore);
  return std::nullopt;
}

std::optional<LoopPipeline> tw::simt::planPipeline(scf::ForOp loop, bool isAsked) {
  Planner planner(loop, targetOf(loop));
  planner.collectProducts(isAsked);
  LoopPipeline pipeline;
  pipeline.loop = loop;
  for (Operation *op : planner.wanted)
    if (std::optional<PipelinedLoad> load = planner.tryLoad(cast<LoadOp>(op)))
      pipeline.loads.push_back(*load);
    else
      op->emitRemark("[TW0356] this load is not copied ahead of the iterations that need it");
  if (pipeline.loads.empty())
    return std::nullopt;
  pipeline.ahead = planner.ahead.takeVector();
  llvm::sort(pipeline.ahead, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  pipeline.carried = planner.carried.takeVector();
  return pipeline;
}
