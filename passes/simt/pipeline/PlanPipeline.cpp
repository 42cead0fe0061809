// Finds the loads of a loop that can be copied ahead of the iteration that needs them.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "passes/analysis/LoaderNeeds.h"
#include "passes/simt/Boxes.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/layout/BufferChoice.h"
#include "passes/simt/pipeline/LoopPipeline.h"
#include "passes/simt/pipeline/PlanArrays.h"
#include "passes/simt/product/AsyncOperands.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

namespace {
struct Planner {
  Planner(scf::ForOp loop, tile::TargetAttr target, IndexFacts &facts, bool asBoxes)
      : loop(loop), target(target), buffers(loop->getParentOfType<ModuleOp>()), facts(facts),
        asBoxes(asBoxes) {
    loop.walk([&](Operation *op) { awaitsInLoop |= awaitsLaunches(op); });
  }

  std::optional<LoopPipeline> plan(bool isAsked);
  void collectProducts(bool isAsked);
  bool addAhead(Value value);
  bool addAhead(const BoxPlace &place);
  bool addBranchesAround(LoadOp load);
  StringRef obstacleTo(Operation *op);
  bool addAheadOperation(Operation *op);
  bool isThroughRegisters() const { return !laneCopyOf(target) && !packs; }
  std::optional<LinearLayout> packedSlot(LoadOp load);
  LinearLayout slotOf(LoadOp load);
  bool findPieces(PipelinedLoad &pipelined);
  std::optional<PipelinedLoad> tryLoad(LoadOp load);
  std::optional<PipelinedLoad> tryArray(LoadOp load);
  void planCopies(LoopPipeline &pipeline);
  std::optional<BoxPlace> boxOf(LoadOp load);
  bool isFixed(const Polynomial &coordinate);
  bool takeBoxes(LoopPipeline &pipeline);

  scf::ForOp loop;
  tile::TargetAttr target;
  BufferChoice buffers;
  IndexFacts &facts;
  bool asBoxes;                        // all of them, or none: threads need no pieces to copy
  llvm::SetVector<Operation *> wanted; // loads that feed products
  llvm::SetVector<Operation *> ahead;  // what computes their addresses and masks
  llvm::SetVector<unsigned> carried;   // numbers of the carried values that this needs
  llvm::DenseMap<Operation *, PipelinedLoad> arrays; // wanted loads that warps copy as rows
  bool awaitsInLoop = false;                         // waits for earlier launches
  bool packs = false; // the machine copies all wanted tiles lane after lane
  StringRef obstacle; // why the load that was tried last stays in its iteration
};
} // namespace

//===-- Which loads --------------------------------------------------------------------------===//

std::optional<SmallVector<Branch>> tw::simt::branchesAround(scf::ForOp loop, Operation *op) {
  SmallVector<Branch> branches;
  for (; op->getBlock() != loop.getBody(); op = op->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
    if (!branch)
      return std::nullopt;
    branches.push_back({branch.getCondition(), op->getBlock() == branch.thenBlock()});
  }
  return branches;
}

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
    if (branchesAround(loop, op) && hasLayout(op->getResult(0).getType()))
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
    if (isa<MmaOp, tile::DotOp>(op)) {
      constexpr unsigned accumulator = 2;
      for (OpOperand &operand : op->getOpOperands())
        if (operand.getOperandNumber() != accumulator)
          collectLoads(loop, operand.get(), seen, wanted);
    }
    if (isAsked && isa<LoadOp>(op) && branchesAround(loop, op) &&
        hasLayout(op->getResult(0).getType()))
      wanted.insert(op);
  });
}

//===-- What runs ahead ----------------------------------------------------------------------===//

/// Returns true if data crosses between warps: operations that wait for such data are not moved to
/// an earlier iteration.
static bool crossesWarps(Operation *op) {
  if (isa<tile::ReduceOp, tile::ScanOp>(op))
    return true;
  auto conversion = dyn_cast<ConvertLayoutOp>(op);
  return conversion &&
         !layoutOf(conversion.getType()).isWithinWarpOf(layoutOf(conversion.getSource().getType()));
}

/// Why an operation, apart from its operands, cannot run in an iteration before its own.
StringRef Planner::obstacleTo(Operation *op) {
  if (isa<MmaOp, tile::DotOp>(op))
    return "its address or mask is computed from a product of its iteration";
  if (crossesWarps(op))
    return "its address or mask needs data that crosses between warps";
  if (!branchesAround(loop, op) || op->getNumRegions() != 0)
    return "its address or mask is the result of a branch or of another loop";
  if (auto load = dyn_cast<LoadOp>(op)) {
    if (load.getIsVolatile())
      return "it is volatile, or its address is";
    if (awaitsInLoop)
      return "the loop waits for the launches before this one";
    if (mayBeOverwritten(load, loop))
      return "the loop, or a program that it waits for, may write what is read";
    return "";
  }
  return isMemoryEffectFree(op) ? ""
                                : "its address or mask is computed from what has other effects";
}

bool Planner::addAheadOperation(Operation *op) {
  if (ahead.contains(op))
    return true;
  obstacle = obstacleTo(op);
  if (!obstacle.empty())
    return false;
  auto load = dyn_cast<LoadOp>(op);
  if (load && !addBranchesAround(load))
    return false;
  for (Value operand : op->getOperands())
    if (!addAhead(operand))
      return false;
  ahead.insert(op);
  return true;
}

/// A load in a branch is one of the iterations that take the branch.
bool Planner::addBranchesAround(LoadOp load) {
  return llvm::all_of(*branchesAround(loop, load),
                      [&](const Branch &branch) { return addAhead(branch.condition); });
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

/// The same of where a box begins.
bool Planner::addAhead(const BoxPlace &place) {
  return llvm::all_of(place.coordinates, [&](const Polynomial &coordinate) {
    return llvm::all_of(coordinate.all(), [&](const Monomial &monomial) {
      return llvm::all_of(monomial.leaves, [&](Value leaf) { return addAhead(leaf); });
    });
  });
}

//===-- One load -----------------------------------------------------------------------------===//

/// The buffer that the machine copies the tile to lane after lane; none where it does not, or where
/// what is read from there costs more than after a way through registers.
std::optional<LinearLayout> Planner::packedSlot(LoadOp load) {
  if (!fillsWithZeros(load))
    return std::nullopt;
  std::optional<VectorAccess> pieces = packedPieces(facts, load.getPtr(), load.getMask(), target);
  if (!pieces)
    return std::nullopt;
  std::optional<LinearLayout> slot =
      packedBuffer(layoutOf(load.getType()), pieces->dim, pieces->vector);
  SmallVector<Type> reads = readTypesOf(load);
  if (!slot || buffers.costOfReads(*slot, reads) >
                   buffers.costOfReads(buffers.ofCopy(load.getType(), reads), reads))
    return std::nullopt;
  return slot;
}

/// The slot's layout: where instructions read it as it is, theirs.
LinearLayout Planner::slotOf(LoadOp load) {
  if (packs)
    return *packedSlot(load);
  if (std::optional<OperandSlabs> slabs = slabsOfOperand(facts, load))
    return bufferOf(*slabs, tile::shapeOf(load.getType()));
  return buffers.ofCopy(load.getType(), readTypesOf(load));
}

/// Finds the pieces in which the machine copies the tile, where it does so by itself.
bool Planner::findPieces(PipelinedLoad &pipelined) {
  if (isThroughRegisters())
    return true;
  LoadOp load = pipelined.load;
  if (!fillsWithZeros(load)) {
    obstacle = "copies fill masked elements with zeros, and its `other` is not 0";
    return false;
  }
  std::optional<VectorAccess> pieces =
      packs ? packedPieces(facts, load.getPtr(), load.getMask(), target)
            : asyncPieces(facts, load.getPtr(), load.getMask(), pipelined.slot, target);
  if (!pieces) {
    obstacle =
        "no 4 bytes are known to be consecutive, aligned and under one condition of its mask";
    return false;
  }
  pipelined.vector = pieces->vector;
  pipelined.dim = pieces->dim;
  return true;
}

std::optional<PipelinedLoad> Planner::tryLoad(LoadOp load) {
  obstacle = !firstUseOf(loop, load) ? "nothing needs it" : obstacleTo(load);
  if (!obstacle.empty())
    return std::nullopt;
  if (auto found = arrays.find(load); found != arrays.end())
    return found->second;
  LinearLayout layout = slotOf(load);
  PipelinedLoad pipelined{load, SharedType::get(load.getContext(), layout.shape(),
                                                tile::elementTypeOf(load.getType()),
                                                LayoutAttr::get(load.getContext(), layout))};
  if (!asBoxes && !findPieces(pipelined))
    return std::nullopt;
  // All or nothing: what was found so far stays as it is when something cannot run ahead.
  auto aheadBefore = ahead;
  auto carriedBefore = carried;
  bool areOperandsAhead =
      llvm::all_of(load->getOperands(), [&](Value operand) { return addAhead(operand); });
  if (areOperandsAhead && addBranchesAround(load))
    return pipelined;
  ahead = std::move(aheadBefore);
  carried = std::move(carriedBefore);
  return std::nullopt;
}

//===-- Rows of arrays -----------------------------------------------------------------------===//

/// Reads a load as one that warps copy as rows of an array, whose place can be computed ahead.
std::optional<PipelinedLoad> Planner::tryArray(LoadOp load) {
  obstacle = !firstUseOf(loop, load) ? "nothing needs it" : obstacleTo(load);
  if (obstacle.empty() && load->getBlock() != loop.getBody())
    obstacle = "it is in a branch";
  if (!obstacle.empty())
    return std::nullopt;
  std::optional<ArrayRows> rows = rowsOfLoad(facts, buffers, load, obstacle);
  if (!rows || !addAhead(rows->place))
    return std::nullopt;
  PipelinedLoad pipelined{load, rows->buffer};
  pipelined.dim = rows->dim;
  pipelined.array = emitRows(loop, load, *rows);
  return pipelined;
}

/// Decides how the tiles are copied. Lanes copy none lane after lane unless they do so with all
/// that warps do not copy; else all go through registers.
void Planner::planCopies(LoopPipeline &pipeline) {
  SmallVector<std::pair<Operation *, StringRef>> others;
  auto aheadBefore = ahead;
  auto carriedBefore = carried;
  if (arrayCopyOf(target) && !asBoxes)
    for (Operation *op : wanted) {
      if (std::optional<PipelinedLoad> array = tryArray(cast<LoadOp>(op)))
        arrays.try_emplace(op, *array);
      else
        others.push_back({op, obstacle});
    }
  packs = packedCopyOf(target) && llvm::all_of(wanted, [&](Operation *load) {
            return arrays.contains(load) || packedSlot(cast<LoadOp>(load)).has_value();
          });
  if (!packs) {
    arrays.clear();
    ahead = std::move(aheadBefore);
    carried = std::move(carriedBefore);
  }
  for (Operation *op : wanted)
    for (Value operand : arrays.lookup(op).array)
      addAhead(operand);
  for (auto [op, reason] : others)
    emitCodedRemark(op, Code::BoxCopies)
        << "threads copy this tile, in place of warps that copy rows of its array: " << reason;
  pipeline.isThroughRegisters = isThroughRegisters();
  pipeline.isPacked = packs;
}

//===-- Boxes --------------------------------------------------------------------------------===//

/// Reads a load as that of a box whose coordinates can be computed ahead.
std::optional<BoxPlace> Planner::boxOf(LoadOp load) {
  obstacle = "no product reads it as it is, or it is in a branch";
  std::optional<OperandSlabs> slabs = slabsOfOperand(facts, load);
  if (!slabs || load->getBlock() != loop.getBody())
    return std::nullopt;
  if (!fillsWithZeros(load) || load.getIsVolatile()) {
    obstacle = "its masked elements are not 0, or it is volatile";
    return std::nullopt;
  }
  std::optional<BoxPlace> source = boxOfLoad(facts, load, *slabs, obstacle);
  return source && addAhead(*source) ? source : std::nullopt;
}

/// Returns true if the loop does not change a coordinate.
bool Planner::isFixed(const Polynomial &coordinate) {
  return llvm::all_of(coordinate.all(), [&](const Monomial &monomial) {
    return llvm::all_of(monomial.leaves,
                        [&](Value leaf) { return loop.isDefinedOutsideOfLoop(leaf); });
  });
}

static constexpr llvm::StringLiteral kNoBoxes =
    "threads copy the tiles of this loop, in place of copies of boxes: ";

/// Copies all tiles of the pipeline as boxes, if the machine can and they are: then only where they
/// begin is computed ahead.
bool Planner::takeBoxes(LoopPipeline &pipeline) {
  if (!boxCopyOf(target))
    return false;
  auto aheadBefore = std::exchange(ahead, {});
  auto carriedBefore = std::exchange(carried, {});
  SmallVector<BoxPlace> sources;
  for (const PipelinedLoad &pipelined : pipeline.loads) {
    std::optional<BoxPlace> source = boxOf(pipelined.load);
    if (!source) {
      emitCodedRemark(pipelined.load, Code::BoxCopies) << kNoBoxes << obstacle;
      ahead = std::move(aheadBefore);
      carried = std::move(carriedBefore);
      return false;
    }
    sources.push_back(std::move(*source));
  }
  for (auto [pipelined, source] : llvm::zip(pipeline.loads, sources)) {
    pipelined.box = source.map;
    pipelined.hasWholeRows = source.hasWholeRows;
    for (const Polynomial &coordinate : source.coordinates) {
      OpBuilder builder = isFixed(coordinate) ? OpBuilder(loop) : OpBuilder(pipelined.load);
      pipelined.coordinates.push_back(
          emitCoordinate(builder, LoadOp(pipelined.load).getLoc(), coordinate));
      addAhead(pipelined.coordinates.back());
    }
  }
  return true;
}

//===-- Groups of copies ---------------------------------------------------------------------===//

Operation *tw::simt::firstUseOf(scf::ForOp loop, LoadOp load) {
  Operation *first = nullptr;
  auto visit = [&](Operation *user) {
    Operation *inBody = loop.getBody()->findAncestorOpInBlock(*user);
    if (!first || inBody->isBeforeInBlock(first))
      first = inBody;
  };
  for (Operation *user : load->getUsers())
    if (isa<ConvertLayoutOp>(user) && !user->use_empty())
      llvm::for_each(user->getUsers(), visit);
    else
      visit(user);
  return first;
}

/// Returns true if the operation multiplies what the iteration computes from a product.
static bool multipliesResults(scf::ForOp loop, Operation *op) {
  auto mma = dyn_cast<MmaOp>(op);
  SetVector<Operation *> makers;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *maker) { return loop->isProperAncestor(maker); };
  if (!mma)
    return false;
  for (Value operand : {mma.getA(), mma.getB()})
    (void)getBackwardSlice(operand, &makers, options);
  return llvm::any_of(makers, containsProduct);
}

/// Where copies run one iteration ahead only, what is needed after a product is waited for there:
/// its copies get the product's time as well. Each group costs a barrier, which copies that run
/// further ahead have no need of; but a loader's slots are free at different times where a product
/// is of another one's results (`overlap-products`).
static void groupByProducts(LoopPipeline &pipeline, unsigned numStages) {
  scf::ForOp loop = pipeline.loop;
  llvm::DenseMap<Operation *, unsigned> numbers; // of loads that are needed together, in order
  for (const PipelinedLoad &pipelined : pipeline.loads)
    numbers.try_emplace(pipelined.load, numbers.size());
  llvm::sort(pipeline.loads, [&](const PipelinedLoad &a, const PipelinedLoad &b) {
    Operation *first = firstUseOf(loop, a.load), *second = firstUseOf(loop, b.load);
    return first == second ? numbers[a.load] < numbers[b.load] : first->isBeforeInBlock(second);
  });
  if (pipeline.isThroughRegisters || pipeline.isPacked || (numStages != 2 && !pipeline.hasLoader))
    return;
  Operation *position = firstUseOf(loop, pipeline.loads.front().load);
  unsigned group = 0;
  for (PipelinedLoad &pipelined : pipeline.loads) {
    bool passesProduct = false;
    for (Operation *first = firstUseOf(loop, pipelined.load); position != first;
         position = position->getNextNode())
      passesProduct |= containsProduct(position);
    group += passesProduct && (numStages == 2 || multipliesResults(loop, position));
    pipelined.group = group;
  }
}

/// Lists the loads that can be copied ahead.
std::optional<LoopPipeline> Planner::plan(bool isAsked) {
  collectProducts(isAsked);
  LoopPipeline pipeline;
  pipeline.loop = loop;
  planCopies(pipeline);
  for (Operation *op : wanted)
    if (std::optional<PipelinedLoad> load = tryLoad(cast<LoadOp>(op)))
      pipeline.loads.push_back(*load);
    else if (asBoxes)
      return std::nullopt;
    else
      emitCodedRemark(op, Code::PipelinedLoads)
          << "this load is not copied ahead of the iterations that need it: " << obstacle;
  if (pipeline.loads.empty())
    return std::nullopt;
  pipeline.isOfBoxes = takeBoxes(pipeline);
  return asBoxes && !pipeline.isOfBoxes ? std::nullopt : std::optional(pipeline);
}

std::optional<LoopPipeline> tw::simt::planPipeline(scf::ForOp loop, bool isAsked,
                                                   unsigned numStages) {
  tile::TargetAttr target = targetOf(loop);
  IndexFacts facts(loop->getParentOfType<FunctionOpInterface>());
  Planner ofBoxes(loop, target, facts, /*asBoxes=*/true);
  Planner ofAll(loop, target, facts, /*asBoxes=*/false);
  Planner *planner = &ofBoxes;
  std::optional<LoopPipeline> pipeline;
  if (boxCopyOf(target)) {
    ScopedDiagnosticHandler silent(loop.getContext(), [](mlir::Diagnostic &) { return success(); });
    pipeline = ofBoxes.plan(isAsked);
  }
  if (!pipeline) {
    planner = &ofAll;
    pipeline = ofAll.plan(isAsked);
  }
  if (!pipeline) {
    if (boxCopyOf(target) && ofBoxes.obstacle != ofAll.obstacle)
      emitCodedRemark(loop, Code::BoxCopies) << kNoBoxes << ofBoxes.obstacle;
    return std::nullopt;
  }
  planSteps(*pipeline, planner->ahead.getArrayRef());
  planLoader(*pipeline, facts);
  groupByProducts(*pipeline, numStages);
  return pipeline;
}
