// The pass `pipeline-loops`: loops start the copies of later iterations' operands while they
// compute.
#include "ir/Diagnostic.h"
#include "ir/target/Processor.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Passes.h"
#include "passes/Pipeline.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/JoinRests.h"
#include "passes/simt/LayoutRules.h"
#include "passes/simt/layout/AsyncCopies.h"
#include "passes/simt/pipeline/LoaderRing.h"
#include "runtime/codes/Codes.h"

namespace tw {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Returns the loop's own number of stages, or the module's.
static int64_t wantedStagesOf(scf::ForOp loop, unsigned ofModule) {
  auto own = loop->getAttrOfType<IntegerAttr>(tile::kLoopNumStages);
  return own ? own.getInt() : ofModule;
}

/// Returns the same; 1 of a short loop for which no loader can copy.
static int64_t stagesOf(scf::ForOp loop, unsigned ofModule) {
  bool isAlone = loop->hasAttr(tile::kLoopShort) && !boxCopyOf(targetOf(loop));
  return isAlone ? 1 : wantedStagesOf(loop, ofModule);
}

/// Returns the bytes that stages of all tiles loaded in loops would take: more than the stages of
/// the tiles that are copied.
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

/// Returns true if all tiles that a loop loads would be copied as boxes of arrays, which end where
/// masks do.
static bool areBoxes(scf::ForOp loop, unsigned numStages) {
  ScopedDiagnosticHandler silent(loop.getContext(), [](mlir::Diagnostic &) { return success(); });
  std::optional<LoopPipeline> plan =
      planPipeline(loop, loop->hasAttr(tile::kLoopNumStages), numStages);
  auto isBox = [](const PipelinedLoad &load) { return load.box || !load.array.empty(); };
  return plan && llvm::all_of(plan->loads, isBox) && plan->loads.size() == countTileLoads(loop);
}

namespace {
/// The resources that a module's kernel takes when its loops are pipelined.
struct PipelinedUse {
  std::vector<LiveBuffer> buffers;
  unsigned registers = 0; // of tiles, in the loop that takes the most
};
} // namespace

static std::vector<LiveBuffer> buffersOf(ModuleOp staged) {
  std::vector<LiveBuffer> buffers;
  for (auto kernel : staged.getOps<func::FuncOp>())
    llvm::append_range(buffers, findLiveBuffers(kernel));
  return buffers;
}

/// Returns the bytes of shared memory that a kernel takes when its buffers have so many slots at
/// most, and what is larger than its loops need is divided.
static uint64_t dividedBytes(ModuleOp staged, int64_t mostSlots) {
  OwningOpRef<ModuleOp> copy = staged.clone();
  copy->walk([=](AllocSharedOp alloc) {
    if (alloc.getSlots())
      alloc.setSlots(std::min(int64_t(*alloc.getSlots()), mostSlots));
  });
  PassManager pm(copy->getContext());
  pm.addPass(createDivideBuffers());
  return packedBytes(succeeded(pm.run(*copy)) ? buffersOf(*copy) : buffersOf(staged));
}

/// Runs the passes up to staged data on a copy, without a word; `options` where its loops are still
/// to be pipelined.
static PipelinedUse useWhenStaged(ModuleOp copy, std::optional<PipelineLoopsOptions> options) {
  ScopedDiagnosticHandler silent(copy.getContext(), [](mlir::Diagnostic &) { return success(); });
  PassManager pm(copy.getContext());
  if (options)
    pm.addPass(createPipelineLoops(*options));
  addStagingPasses(pm);
  if (failed(pm.run(copy)))
    return {};
  PipelinedUse use{buffersOf(copy)};
  copy.walk([&](scf::ForOp loop) { use.registers = std::max(use.registers, registersIn(loop)); });
  return use;
}

/// Returns the registers of the addresses of a loop's loads, one for each access.
static unsigned registersOfAddresses(scf::ForOp loop, const IndexFacts &facts,
                                     const Machine &machine) {
  unsigned count = 0;
  loop->walk([&](tile::LoadOp load) {
    if (!hasLayout(load.getType()))
      return;
    VectorAccess access = vectorAccess(facts, load.getPtr(), load.getMask(),
                                       layoutOf(load.getPtr().getType()), 8 * machine.vectorBytes);
    count += access.registers.size() / access.vector;
  });
  return count;
}

/// Returns the most registers that a loop of a staged module takes, with operands of its products
/// and addresses.
static unsigned registersOfLoops(ModuleOp staged) {
  Machine machine = machineOf(staged);
  unsigned most = 0;
  for (auto kernel : staged.getOps<func::FuncOp>()) {
    IndexFacts facts(kernel);
    kernel.walk([&](scf::ForOp loop) {
      most = std::max(most, registersIn(loop) + registersOfOperands(loop) +
                                registersOfAddresses(loop, facts, machine));
    });
  }
  return most;
}

namespace {
/// How the slots of a module's loops go with what the target has.
struct SlotRoom {
  bool isFullByOne = false;     // they do not fit, but do with one fewer of each tile
  bool hasRegistersFor = false; // tiles that are loaded ahead can wait in registers meanwhile
  bool lacksRegisters = false;  // for tiles that are loaded ahead, beside all else in a loop
  bool oneHoldsMore = false;    // a processor holds more programs if each has one slot
};
} // namespace

/// The registers that instructions name.
static constexpr unsigned kNamedRegisters = 256;

/// Registers for tiles that wait beside sums. Of more than instructions name, as where sums have
/// registers of their own, tiles would be moved to and fro, and spilled.
static unsigned registersForWaiting(tile::TargetAttr target) {
  unsigned available = registersForTiles(target), held = target.getRegisters() - available;
  return std::min(available, kNamedRegisters - std::min(held, kNamedRegisters));
}

/// Returns true if a processor that holds fewer warps of a staged kernel with two slots than the
/// largest program has holds more with one, as its memory is full and its registers are not.
/// Another barrier an iteration costs less than waits that no other warp fills.
static bool holdsMoreByOne(ModuleOp staged, unsigned registers, tile::TargetAttr target) {
  std::optional<Processor> processor = processorOf(staged);
  if (!processor)
    return false;
  unsigned warps = unsigned(threadsOf(staged).count() / target.getWarpSize());
  registers = std::min(registers + target.getSpareRegisters(), target.getRegisters());
  auto programsOf = [&](uint64_t bytes) {
    return processor->programsThatFit(warps, registers, bytes);
  };
  unsigned two = programsOf(dividedBytes(staged, 2));
  return two * warps < target.getMaxWarps() && programsOf(/*bytes=*/0) > two &&
         programsOf(dividedBytes(staged, 1)) > two;
}

/// Returns true if operands of products in loops may wait in registers until there is a slot.
static bool mayWaitInRegisters(ModuleOp module, tile::TargetAttr target) {
  return !laneCopyOf(target) && !packedCopyOf(target) &&
         module
             ->walk([](MmaOp mma) {
               return mma->getParentOfType<scf::ForOp>() ? WalkResult::interrupt()
                                                         : WalkResult::advance();
             })
             .wasInterrupted();
}

/// Finds out how slots go with shared memory, and tiles that wait in registers with those.
static SlotRoom findRoom(ModuleOp module, tile::TargetAttr target, unsigned numStages) {
  uint64_t limit = target.getSharedBytes();
  bool isThroughRegisters = mayWaitInRegisters(module, target);
  // Half is left for other buffers, without a trial.
  if (mostBytesOfSlots(module, numStages) <= limit / 2 && !isThroughRegisters)
    return {};
  OwningOpRef<ModuleOp> copy = module.clone();
  PipelineLoopsOptions options;
  options.numStages = numStages;
  PipelinedUse use = useWhenStaged(*copy, options);
  SlotRoom room;
  unsigned registers = isThroughRegisters ? registersOfLoops(*copy) : 0;
  // Code that spills in a loop takes many times as long.
  room.lacksRegisters = registers > registersForLoops(target);
  if (packedBytes(use.buffers) <= limit) {
    // Where instructions name all registers, tiles wait in them with two slots as with one. LLVM
    // takes up to a sixteenth more than are counted.
    bool canWait = use.registers <= registersForWaiting(target) ||
                   (target.getRegisters() <= kNamedRegisters &&
                    registers + registers / 16 <= target.getRegisters());
    room.oneHoldsMore = isThroughRegisters && canWait && holdsMoreByOne(*copy, registers, target);
    return room;
  }
  uint64_t slots = 1;
  for (LiveBuffer &buffer : use.buffers)
    slots = std::max<uint64_t>(slots, buffer.alloc.getSlots().value_or(1));
  room.isFullByOne = slots > 1 && packedBytes(withSlots(use.buffers, slots - 1)) <= limit;
  room.hasRegistersFor = use.registers <= registersForWaiting(target);
  return room;
}

namespace {
/// The loops of a module as they were pipelined.
struct PipelinedLoops {
  /// Iterations that masks were split off for, which no loader copies for.
  struct Rest {
    scf::ForOp loop;
    std::string obstacle;
  };

  std::vector<LoaderRing> rings;
  SmallVector<Location> withLoader;
  SmallVector<Rest> rests;
};
} // namespace

/// Plans a loop; a short one only where a loader copies for it.
static std::optional<LoopPipeline> planFor(scf::ForOp loop, unsigned numStages,
                                           PipelinedLoops &loops) {
  bool isAsked = loop->hasAttr(tile::kLoopNumStages);
  if (!loop->hasAttr(tile::kLoopShort))
    return planPipeline(loop, isAsked, numStages);
  std::string obstacle;
  ScopedDiagnosticHandler listener(loop.getContext(), [&](mlir::Diagnostic &remark) {
    std::optional<Code> code = codeOf(remark);
    if (obstacle.empty() && (code == Code::BoxCopies || code == Code::LoaderWarps))
      obstacle = StringRef(remark.str()).split(": ").second.str();
    return success();
  });
  std::optional<LoopPipeline> pipeline = planPipeline(loop, isAsked, numStages);
  if (pipeline && pipeline->hasLoader)
    return pipeline;
  if (!obstacle.empty())
    loops.rests.push_back({loop, std::move(obstacle)});
  return std::nullopt;
}

/// Says of the iterations that a loop computes masks in why they have no loader, where it has one
/// for the others.
static void explainRests(const PipelinedLoops &loops) {
  for (const auto &[loop, obstacle] : loops.rests)
    if (llvm::is_contained(loops.withLoader, loop->getLoc()))
      emitCodedRemark(loop, Code::LoaderWarps)
          << "in the iterations that compute masks, threads load the tiles of this loop: "
          << obstacle;
}

/// Says of a loop why it has fewer stages than it was to have.
static void explainFewer(scf::ForOp loop, int64_t stages, int64_t used, bool sharesSlot,
                         SlotRoom room) {
  auto remark = emitCodedRemark(loop, Code::PipelinedLoads);
  if (room.lacksRegisters)
    remark << "registers have no room for tiles of the next iteration";
  else if (room.isFullByOne)
    remark << "shared memory has no room for num_stages=" << stages;
  else
    remark << "a processor holds more programs if they take less shared memory";
  remark << ": the loop ";
  if (sharesSlot)
    remark << "writes tiles to the slot of those before, when these have been read";
  else
    remark << "is compiled as for " << used;
}

/// Pipelines a loop of so many stages, or fewer where shared memory or registers are full. Where
/// that leaves one slot, tiles on their way through registers wait there until it has been read.
static void pipelineLoop(scf::ForOp loop, int64_t stages, SlotRoom room, PipelinedLoops &loops) {
  int64_t used = room.lacksRegisters ? 1 : stages - room.isFullByOne;
  auto pipeline = planFor(loop, unsigned(std::max<int64_t>(used, 2)), loops);
  if (!pipeline)
    return;
  if (pipeline->hasLoader)
    loops.withLoader.push_back(loop.getLoc());
  bool sharesSlot = pipeline->isThroughRegisters && !room.lacksRegisters &&
                    (room.oneHoldsMore || (used == 1 && room.hasRegistersFor));
  if (used < stages || sharesSlot)
    explainFewer(loop, stages, used, sharesSlot, room);
  // Tiles wait in registers for one iteration, however many slots there are.
  if (pipeline->isThroughRegisters)
    used = std::min<int64_t>(used, 2);
  if (sharesSlot)
    applyPipeline(*pipeline, {.numAhead = 1, .numSlots = 1}, loops.rings);
  else if (used >= 2)
    applyPipeline(*pipeline, {.numAhead = unsigned(used - 1), .numSlots = unsigned(used)},
                  loops.rings);
}

/// Lets loaders run ahead into the next iterations of the loops around theirs, if the rings then
/// fit beside what these loops have between.
static void runAheadOfLoops(ModuleOp module, std::vector<LoaderRing> &rings, uint64_t limit) {
  if (llvm::none_of(rings, [](const LoaderRing &ring) { return ring.canMoveOut(); }))
    return;
  OwningOpRef<ModuleOp> before = module.clone();
  SmallVector<Location> places;
  for (LoaderRing &ring : rings)
    while (ring.canMoveOut()) {
      places.push_back(ring.first->getParentOp()->getLoc());
      ring.moveOut();
    }
  OwningOpRef<ModuleOp> copy = module.clone();
  if (packedBytes(useWhenStaged(*copy, std::nullopt).buffers) <= limit)
    return;
  module.getBodyRegion().takeBody(before->getBodyRegion());
  module.walk([&](scf::ForOp loop) {
    if (llvm::is_contained(places, loop.getLoc()))
      emitCodedRemark(loop, Code::LoaderWarps)
          << "no copies run ahead of an iteration of this loop: shared memory has no room for "
             "their slots beside what the iteration puts there";
  });
}

namespace {
struct PipelineLoops : tw::impl::PipelineLoopsBase<PipelineLoops> {
  using PipelineLoopsBase::PipelineLoopsBase;

  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target)
      return;
    bool copiesBoxes = boxCopyOf(target) || arrayCopyOf(target);
    SmallVector<scf::ForOp> all;
    getOperation().walk([&](scf::ForOp loop) { all.push_back(loop); });
    for (scf::ForOp loop : all)
      if (int64_t stages = wantedStagesOf(loop, numStages); stages >= 2 && copiesBoxes)
        joinRest(loop, [&] { return areBoxes(loop, unsigned(stages)); });
    SlotRoom room;
    if (oneFewerWhereFull)
      room = findRoom(getOperation(), target, numStages);
    all.clear();
    getOperation().walk([&](scf::ForOp loop) { all.push_back(loop); });
    PipelinedLoops loops;
    for (scf::ForOp loop : all)
      if (int64_t stages = stagesOf(loop, numStages); stages >= 2)
        pipelineLoop(loop, stages, room, loops);
    explainRests(loops);
    runAheadOfLoops(getOperation(), loops.rings, target.getSharedBytes());
    unswitchLoaders(getOperation());
  }
};
} // namespace
