// Estimates what it costs to have a tile in another layout: by moving it between threads, by
// computing it again, or by loading it again.
#include "passes/simt/layout/LayoutCost.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

static constexpr double kImpossible = std::numeric_limits<double>::infinity();
static constexpr double kIterationsOfLoop = 8;
static constexpr double kBarriers = 40; // waiting before and after data crosses between warps
static constexpr double kAccess = 16;   // an access to global memory that hits a cache
static constexpr double kShuffle = 4;
static constexpr double kTie = 1e-3; // of what decides between equal costs
/// The cost to a loop of loads that wait for data that crosses between warps: they cannot be
/// prefetched.
static constexpr double kWaitingLoad = 200;
/// Larger tiles are never read twice: that would cost bandwidth.
static constexpr int64_t kMaxReloadBytes = 4096;

/// How often a value is computed, with a guess for the iterations of a loop.
static double loopWeightOf(Value value) {
  double weight = 1;
  for (Operation *op = value.getParentRegion()->getParentOp(); op; op = op->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(op))
      weight *= kIterationsOfLoop;
  return weight;
}

/// Registers of 32 bits per thread.
static double wordsOf(Type tile, const LinearLayout &layout) {
  return layout.size(Place::Register) * elementBytes(elementTypeOf(tile)) / 4.0;
}

static double costOfMoving(Type tile, LayoutAttr from, LayoutAttr to) {
  const LinearLayout &source = from.getValue(), &target = to.getValue();
  if (target.registersFrom(source))
    return 0.1;
  if (target.isWithinWarpOf(source))
    return kShuffle * std::max<double>(target.size(Place::Register), wordsOf(tile, target));
  return kBarriers + 2 * (wordsOf(tile, source) + wordsOf(tile, target));
}

bool LayoutCost::feedsLoadOfLoop(Value tile) {
  auto [known, isNew] = knownToFeedLoads.try_emplace(tile, false);
  if (!isNew)
    return known->second;
  auto loop = tile.getParentRegion()->getParentOfType<LoopLikeOpInterface>();
  bool feeds = loop && llvm::any_of(tile.getUsers(), [&](Operation *user) {
                 if (isa<LoadOp>(user))
                   return user->getParentOfType<LoopLikeOpInterface>() == loop;
                 return (isRecomputable(user) || isa<ConvertLayoutOp>(user)) &&
                        llvm::any_of(user->getResults(),
                                     [&](Value result) { return feedsLoadOfLoop(result); });
               });
  return knownToFeedLoads[tile] = feeds;
}

/// Returns true if the tile is a loop's load that may be copied to shared memory ahead of its
/// iteration. It is then only read from there, in any layout, and the loop waits once for all
/// copies.
bool LayoutCost::isCopied(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  if (!load)
    return false;
  auto [known, isNew] = knownToBeCopied.try_emplace(tile, false);
  if (isNew) {
    known->second = targetOf(load) && !load.getIsVolatile() &&
                    load->getParentOfType<scf::ForOp>() && feedsMma(tile);
  }
  return known->second;
}

double LayoutCost::conversionCost(Value tile, LayoutAttr to) {
  if (isCopied(tile))
    return loopWeightOf(tile) * 2 * wordsOf(tile.getType(), to.getValue());
  double cost = costOfMoving(tile.getType(), choice.ownOf(tile), to);
  if (cost >= kBarriers && feedsLoadOfLoop(tile))
    cost += kWaitingLoad;
  return loopWeightOf(tile) * cost;
}

/// Instructions that one element takes.
static double instructionsOf(Operation *op) {
  if (isa<arith::ConstantOp, ShapeOp, JoinOp, SplitOp, HintOp>(op))
    return 0;
  bool isLong = op->getDialect()->getNamespace() == math::MathDialect::getDialectNamespace() ||
                isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
                    arith::RemFOp, arith::FloorDivSIOp>(op);
  return isLong ? 8 : 1;
}

double LayoutCost::recomputationCost(Value tile, LayoutAttr layout) {
  Operation *op = tile.getDefiningOp();
  double cost = 0;
  double instructions =
      loopWeightOf(tile) * instructionsOf(op) * layout.getValue().size(Place::Register);
  // With one user, the tile is computed there instead and not also in its own layout: then only
  // what else is equal decides by it.
  LayoutAttr own = choice.ownOf(tile);
  if (!own || numUses.lookup(tile) > 1)
    cost = instructions;
  else if (layout.getValue().size(Place::Register) > own.getValue().size(Place::Register))
    cost = kTie * instructions;
  for (Value operand : op->getOperands()) {
    if (!isa<RankedTensorType>(operand.getType()))
      continue;
    std::optional<LinearLayout> needed = operandLayout(op, layout.getValue());
    cost += needed ? costOf(operand, choice.attributeOf(*needed)) : kImpossible;
  }
  return cost;
}

/// Lines that the lanes of a warp touch in one access, when those that are not neighbours in memory
/// touch one each.
static double linesOf(const IndexFact &pointers, const LinearLayout &layout) {
  double lines = 1;
  for (uint32_t basis : layout.bases(Place::Lane)) {
    SmallVector<int64_t> steps = layout.coordinatesOf(basis);
    unsigned numSteps = llvm::count_if(steps, [](int64_t step) { return step != 0; });
    bool isNear = numSteps == 0;
    for (auto [axis, step] : llvm::zip(pointers.axes, steps))
      isNear |= numSteps == 1 && step != 0 && step < std::max(axis.run, axis.constancy);
    lines *= isNear ? 1 : 2;
  }
  return lines;
}

double LayoutCost::accessCost(Value ptr, Value mask, LayoutAttr layout) {
  // As many sectors of distant lines as a line has take as long as the line.
  double linesAtOnce = double(machine.lineBytes) / machine.sectorBytes;
  const LinearLayout &value = layout.getValue();
  Value pointers = choice.identify(ptr), condition = mask ? choice.identify(mask) : Value();
  unsigned vector = vectorAccess(facts, pointers, condition, value, 8 * machine.vectorBytes).vector;
  double lines = std::max(1.0, linesOf(facts.of(pointers), value) / linesAtOnce);
  return kAccess * lines * value.size(Place::Register) / vector;
}

double LayoutCost::reloadCost(LoadOp load, LayoutAttr layout) {
  Type type = load.getType();
  if (load.getIsVolatile() ||
      numElementsOf(type) * elementBytes(elementTypeOf(type)) > kMaxReloadBytes)
    return kImpossible;
  double cost = loopWeightOf(load) * accessCost(load.getPtr(), load.getMask(), layout);
  for (Value operand : load->getOperands())
    cost += costOf(operand, layout);
  return cost;
}

double LayoutCost::gatherCost(GatherOp gather, LayoutAttr layout) {
  return loopWeightOf(gather) * 2 * wordsOf(gather.getType(), layout.getValue()) +
         costOf(gather.getIndices(), layout);
}

double LayoutCost::costOf(Value tile, LayoutAttr layout) {
  tile = choice.identify(tile);
  LayoutAttr own = choice.ownOf(tile);
  if (own == layout)
    return 0;
  auto known = knownCosts.find({tile, layout});
  if (known != knownCosts.end())
    return known->second;
  Operation *op = tile.getDefiningOp();
  double cost = own ? conversionCost(tile, layout) : kImpossible;
  if (op && isRecomputable(op))
    cost = std::min(cost, recomputationCost(tile, layout));
  else if (auto load = dyn_cast_or_null<LoadOp>(op))
    cost = std::min(cost, reloadCost(load, layout));
  else if (auto gather = dyn_cast_or_null<GatherOp>(op))
    cost = std::min(cost, gatherCost(gather, layout));
  else if (!own)
    cost = 0; // a carried tile that is not decided yet
  knownCosts[{tile, layout}] = cost;
  return cost;
}

void LayoutCost::countUses(FunctionOpInterface function) {
  function->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      ++numUses[choice.identify(operand)];
  });
}
