// Copies of boxes in a pipelined loop: by one of the program's threads, or by a loader.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/Boxes.h"
#include "passes/simt/pipeline/PipelineRewriter.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

void PipelineRewriter::copyBoxes(unsigned group, const IRMapping &mapping, Value exists, Value slot,
                                 IntegerAttr phase) {
  SmallVector<int32_t> maps;
  SmallVector<Value> coordinates, places;
  for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings)) {
    if (pipelined.group != group)
      continue;
    maps.push_back(addTensorMap(loop->getParentOfType<ModuleOp>(), pipelined.box));
    places.push_back(SlotOp::create(builder, loc, ring, slot, phase));
    for (Value coordinate : pipelined.coordinates)
      coordinates.push_back(mapping.lookupOrDefault(coordinate));
  }
  Value barrier = SlotOp::create(builder, loc, barriers[group], slot, phase);
  BoxCopyOp::create(builder, loc, maps, coordinates, places, barrier, exists);
}

/// Makes the barriers of all slots. What threads wrote where slots are is behind them as well.
void PipelineRewriter::makeBarriers() {
  for (unsigned group = 0; group < pipeline.numGroups(); ++group) {
    barriers.push_back(makePhases(builder, loc, depth.numSlots, /*count=*/1));
    if (pipeline.hasLoader)
      freed.push_back(makePhases(builder, loc, depth.numSlots, threadsOf(loop).warps));
  }
  FenceAsyncOp::create(builder, loc);
  if (pipeline.hasLoader)
    emitLoader();
  else
    simt::BarrierOp::create(builder, loc, /*warp=*/false);
}

/// Makes the barriers' memory free behind the loop, when no thread waits there any more.
void PipelineRewriter::dropBarriers() {
  simt::BarrierOp::create(builder, loc, /*warp=*/false);
  for (ArrayRef<Value> all : {ArrayRef(barriers), ArrayRef(freed)})
    for (Value barrier : all)
      PhaseDropOp::create(builder, loc, barrier, depth.numSlots);
}

/// Emits the loop of the loader: it waits for a slot to be free and starts the copies of the next
/// iteration.
void PipelineRewriter::emitLoader() {
  OpBuilder::InsertionGuard guard(builder);
  loop->getParentOfType<ModuleOp>()->setAttr(kLoaderWarps, builder.getI32IntegerAttr(1));
  auto loader = LoaderOp::create(builder, loc);
  builder.setInsertionPointToStart(&loader.getBody().emplaceBlock());
  const AheadStep &step = pipeline.steps.front();
  SmallVector<Value> inits = llvm::map_to_vector(
      step.carried, [&](unsigned number) -> Value { return loop.getInitArgs()[number]; });
  inits.append(2, slotNumber(0)); // the slot, the parity of its phase
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
    PhaseAwaitOp::create(builder, loc, free, parityOfSlot);
    copyBoxes(group, mapping, /*exists=*/{}, slot, /*phase=*/{});
  }
  SmallVector<Value> yielded = llvm::map_to_vector(step.carried, [&](unsigned number) {
    return mapping.lookupOrDefault(loop.getYieldedValues()[number]);
  });
  yielded.push_back(slotAfter(slot));
  yielded.push_back(parityAfter(parityOfSlot, slot));
  scf::YieldOp::create(builder, loc, yielded);
}

/// Lets the loader fill a slot of each ring.
void PipelineRewriter::release(Value slot, std::optional<int64_t> phase) {
  IntegerAttr number = phase ? builder.getI64IntegerAttr(*phase) : IntegerAttr();
  for (unsigned group = 0; group < pipeline.numGroups(); ++group) {
    auto place = [&](Value ring) -> Value {
      return SlotOp::create(builder, loc, ring, slot, number);
    };
    SmallVector<Value> places;
    for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings))
      if (pipelined.group == group)
        places.push_back(place(ring));
    ReleaseOp::create(builder, loc, places, place(barriers[group]), place(freed[group]));
  }
}
