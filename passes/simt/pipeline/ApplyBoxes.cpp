// Copies of boxes in a pipelined loop: by one of the program's threads, or by a loader.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/simt/Boxes.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/pipeline/PipelineRewriter.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// `holds`: so do the conditions under which programs of a cluster copy for one another, and tiles
/// are copied whole.
void PipelineRewriter::copyBoxes(unsigned group, const IRMapping &mapping, Value exists, Value slot,
                                 IntegerAttr phase, bool holds) {
  SmallVector<int32_t> maps;
  SmallVector<Value> coordinates, places;
  SmallVector<int32_t> multicast;
  for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings)) {
    if (pipelined.group != group)
      continue;
    multicast.push_back(holds || !pipelined.isSharedIf ? pipelined.sharedAxes : 0);
    bool isWhole = pipelined.whole && (holds || !pipelined.isWholeIf);
    maps.push_back(
        addTensorMap(loop->getParentOfType<ModuleOp>(), isWhole ? pipelined.whole : pipelined.box));
    places.push_back(SlotOp::create(builder, pipelined.load.getLoc(), ring, slot, phase));
    for (auto [dim, coordinate] : llvm::enumerate(pipelined.coordinates)) {
      coordinates.push_back(mapping.lookupOrDefault(coordinate));
      if (isWhole && dim == 1)
        coordinates.push_back(slotNumber(0)); // the first slab
    }
  }
  Value barrier = SlotOp::create(builder, loc, barriers[group], slot, phase);
  DenseI32ArrayAttr copiedForAll;
  if (llvm::any_of(multicast, [](int32_t axes) { return axes != 0; }))
    copiedForAll = builder.getDenseI32ArrayAttr(multicast);
  BoxCopyOp::create(builder, loc, maps, coordinates, places, barrier, exists, copiedForAll);
}

/// Computes whether the conditions hold under which programs of a cluster share boxes, and tiles
/// are copied whole; null where there are none.
Value PipelineRewriter::whetherConditionsHold() {
  Value all;
  auto require = [&](arith::CmpIPredicate predicate, Value value, Value other) {
    Value holds = arith::CmpIOp::create(builder, loc, predicate, value, other);
    all = all ? arith::AndIOp::create(builder, loc, all, holds).getResult() : holds;
  };
  for (auto [value, divisor] : pipeline.conditions) {
    Value zero = integer(value.getType(), 0);
    require(arith::CmpIPredicate::sge, value, zero);
    if (divisor > 1)
      require(arith::CmpIPredicate::eq,
              arith::RemUIOp::create(builder, loc, value, integer(value.getType(), divisor)), zero);
  }
  Type wide = builder.getI64Type();
  for (const BoxBound &bound : pipeline.bounds) {
    Value end = arith::ExtUIOp::create(builder, loc, wide, bound.coordinate);
    end = arith::AddIOp::create(builder, loc, end, integer(wide, bound.width));
    require(arith::CmpIPredicate::sle, end, emitProduct(builder, loc, loop, bound.extent, wide));
  }
  return all;
}

/// Returns the warps that arrive when a slot is free: of all programs that it is copied to, which
/// lie along one of the sets of axes from here.
unsigned PipelineRewriter::warpsThatRelease() {
  std::array<int64_t, 3> extents = clusterOf(loop);
  SmallVector<int32_t> sets = pipeline.setsOfAxes();
  unsigned numPrograms = 0;
  for (int64_t rank = 0; rank < clusterSizeOf(loop); ++rank) {
    int32_t away = 0; // axes along which it is away from the program of rank 0
    int64_t number = rank;
    for (auto [axis, extent] : llvm::enumerate(extents)) {
      away |= int32_t(number % extent != 0) << axis;
      number /= extent;
    }
    numPrograms +=
        away == 0 || llvm::any_of(sets, [=](int32_t axes) { return (away & ~axes) == 0; });
  }
  return threadsOf(loop).warps * numPrograms;
}

/// Lets all warps of the program meet, `withOwn` loader or, in a cluster that copies for all, with
/// all of its loaders.
void PipelineRewriter::meetLoaders(bool withOwn) {
  bool isOfCluster = pipeline.multicasts();
  simt::BarrierOp::create(builder, loc, /*warp=*/false, withOwn || isOfCluster, isOfCluster);
}

/// Makes the barriers of all slots. What threads wrote where slots are is behind them as well.
void PipelineRewriter::makeBarriers() {
  for (unsigned group = 0; group < pipeline.numGroups(); ++group) {
    barriers.push_back(makePhases(builder, loc, depth.numSlots, /*count=*/1));
    if (pipeline.hasLoader)
      freed.push_back(makePhases(builder, loc, depth.numSlots, warpsThatRelease()));
  }
  FenceAsyncOp::create(builder, loc);
  meetLoaders(/*withOwn=*/pipeline.hasLoader);
}

/// Makes the barriers' memory free behind the loop, when no thread waits there any more, nor those
/// of a cluster arrive.
void PipelineRewriter::dropBarriers() {
  meetLoaders(/*withOwn=*/false);
  for (ArrayRef<Value> all : {ArrayRef(barriers), ArrayRef(freed)})
    for (Value barrier : all)
      PhaseDropOp::create(builder, loc, barrier, depth.numSlots);
}

/// Emits the loop of the loader: it waits for a slot to be free and starts the copies of the next
/// iteration.
scf::ForOp PipelineRewriter::emitLoader() {
  OpBuilder::InsertionGuard guard(builder);
  loop->getParentOfType<ModuleOp>()->setAttr(kLoaderWarps, builder.getI32IntegerAttr(1));
  SmallVector<Type> places(LoaderRing::kOfLoader, builder.getI32Type());
  auto loader = LoaderOp::create(builder, loc, places);
  builder.setInsertionPointToStart(&loader.getBody().emplaceBlock());
  Value holds = whetherConditionsHold();
  const AheadStep &step = pipeline.steps.front();
  SmallVector<Value> inits = llvm::map_to_vector(
      step.carried, [&](unsigned number) -> Value { return loop.getInitArgs()[number]; });
  if (shared)
    inits.append(shared->end.begin() + LoaderRing::kOfProgram, shared->end.end());
  else
    inits.append(LoaderRing::kOfLoader, slotNumber(0));
  auto copying = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                    loop.getStep(), inits);
  builder.setInsertionPointToStart(copying.getBody());
  ValueRange arguments = copying.getRegionIterArgs();
  Value slot = arguments.drop_back().back(), parityOfSlot = arguments.back();
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), copying.getInductionVar());
  for (auto [number, argument] : llvm::zip(step.carried, arguments))
    mapping.map(loop.getRegionIterArg(number), argument);
  for (Operation *op : step.operations)
    builder.clone(*op, mapping);
  for (unsigned group = 0; group < pipeline.numGroups(); ++group) {
    Value free = SlotOp::create(builder, loc, freed[group], slot, /*phase=*/IntegerAttr());
    PhaseAwaitOp::create(builder, loc, free, parityOfSlot, pipeline.multicasts());
    if (!holds) {
      copyBoxes(group, mapping, /*exists=*/{}, slot, /*phase=*/{});
      continue;
    }
    auto branch = scf::IfOp::create(builder, loc, holds, /*withElseRegion=*/true);
    for (Region &region : branch->getRegions()) {
      builder.setInsertionPointToStart(&region.front());
      copyBoxes(group, mapping, /*exists=*/{}, slot, /*phase=*/{},
                /*holds=*/&region == &branch.getThenRegion());
    }
    builder.setInsertionPointAfter(branch);
  }
  SmallVector<Value> yielded = llvm::map_to_vector(step.carried, [&](unsigned number) {
    return mapping.lookupOrDefault(loop.getYieldedValues()[number]);
  });
  yielded.push_back(slotAfter(slot));
  yielded.push_back(parityAfter(parityOfSlot, slot));
  scf::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointAfter(copying);
  simt::YieldOp::create(builder, loc, copying.getResults().take_back(LoaderRing::kOfLoader));
  return copying;
}

/// Lets the loader fill a slot of each ring.
void PipelineRewriter::release(Value slot, std::optional<int64_t> phase) {
  IntegerAttr number = phase ? builder.getI64IntegerAttr(*phase) : IntegerAttr();
  SmallVector<int32_t> sets = pipeline.setsOfAxes();
  for (unsigned group = 0; group < pipeline.numGroups(); ++group) {
    auto place = [&](Value ring) -> Value {
      return SlotOp::create(builder, loc, ring, slot, number);
    };
    SmallVector<Value> places;
    for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings))
      if (pipelined.group == group)
        places.push_back(place(ring));
    ReleaseOp::create(builder, loc, places, place(barriers[group]), place(freed[group]),
                      sets.empty() ? DenseI32ArrayAttr() : builder.getDenseI32ArrayAttr(sets));
  }
}

/// Makes the slots and their barriers, or takes those of a ring that serves the loop as well.
void PipelineRewriter::makeRing() {
  auto found = llvm::find_if(ofLoaders, [&](LoaderRing &ring) {
    return pipeline.hasLoader && ring.canServe(pipeline, depth.numSlots);
  });
  if (found != ofLoaders.end()) {
    shared = &*found;
    rings = shared->slots;
    barriers = shared->full;
    freed = shared->freed;
    return;
  }
  allocate();
  if (pipeline.isOfBoxes)
    makeBarriers();
}

/// Notes where the loop begins and ends in its ring, which is dropped behind it.
void PipelineRewriter::goOnInRing(scf::ForOp next, scf::ForOp copying) {
  std::array<OpOperand *, LoaderRing::kPlaces> begin;
  std::array<Value, LoaderRing::kPlaces> end;
  auto note = [&](scf::ForOp of, unsigned first, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      unsigned number = of.getNumResults() - count + i;
      begin[first + i] = &of.getInitArgsMutable()[number];
      end[first + i] = of.getResult(number);
    }
  };
  note(next, 0, LoaderRing::kOfProgram);
  note(copying, LoaderRing::kOfProgram, LoaderRing::kOfLoader);
  auto loader = copying->getParentOfType<LoaderOp>();
  llvm::copy(loader.getResults(), end.begin() + LoaderRing::kOfProgram);
  if (!shared) {
    dropBarriers();
    SmallVector<unsigned> groups =
        llvm::map_to_vector(pipeline.loads, [](const PipelinedLoad &load) { return load.group; });
    SmallVector<unsigned> sharedAxes = llvm::map_to_vector(
        pipeline.loads, [](const PipelinedLoad &load) { return load.sharedAxes; });
    SmallVector<Operation *> drops;
    for (Operation *op = next->getNextNode(); op != &*builder.getInsertionPoint();
         op = op->getNextNode())
      drops.push_back(op);
    ofLoaders.push_back({rings, groups, sharedAxes, barriers, freed, depth.numSlots,
                         rings.front().getDefiningOp(), loader, drops, begin, end,
                         pipeline.numQuietLoops});
    return;
  }
  shared->end = end;
  shared->numQuietLoops = std::min(shared->numQuietLoops, pipeline.numQuietLoops);
  Operation *place = next;
  for (Operation *drop : shared->drops) {
    drop->moveAfter(place);
    place = drop;
  }
}
