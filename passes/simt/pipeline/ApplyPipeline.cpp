// Rewrites a loop so that copies run ahead: a ring of slots in shared memory, filled iterations
// before they are read, by copies that run by themselves or through registers.
#include "ir/Diagnostic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "passes/simt/pipeline/PipelineRewriter.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

void PipelineRewriter::allocate() {
  for (const PipelinedLoad &pipelined : pipeline.loads) {
    LoadOp load = pipelined.load;
    SourceSpan span = spanOf(load.getLoc());
    std::string name = span.isKnown() ? "load of line " + std::to_string(span.line) : "load";
    rings.push_back(AllocSharedOp::create(builder, load.getLoc(), pipelined.slot, name,
                                          /*offset=*/nullptr,
                                          builder.getI64IntegerAttr(depth.numSlots)));
  }
}

/// The condition as a mask of every element of `like`, and with `mask`.
static Value maskWith(OpBuilder &b, Location loc, Value mask, Value exists, Type like) {
  auto type = withLayout(tile::withElementType(like, b.getI1Type()), layoutOf(like));
  Value all = tile::SplatOp::create(b, loc, type, exists);
  return mask ? Value(arith::AndIOp::create(b, loc, mask, all)) : all;
}

/// Computes whether an iteration, which may not exist, reaches the load.
Value PipelineRewriter::isReached(LoadOp load, const IRMapping &mapping, Value exists) {
  std::optional<SmallVector<Branch>> branches = branchesAround(loop, load);
  for (const Branch &branch : *branches) {
    Value taken = mapping.lookupOrDefault(branch.condition);
    if (!branch.isThen)
      taken = arith::XOrIOp::create(builder, loc, taken, integer(taken.getType(), 1));
    exists = arith::AndIOp::create(builder, loc, exists, taken);
  }
  return exists;
}

void PipelineRewriter::copy(const PipelinedLoad &pipelined, Value ring, const IRMapping &mapping,
                            Value exists, Value slot, std::optional<int64_t> phase) {
  LoadOp load = pipelined.load;
  OpBuilder::InsertionGuard guard(builder);
  if (!pipelined.array.empty())
    return copyArray(pipelined, ring, mapping, exists, slot, phase);
  Value mask = load.getMask() ? mapping.lookupOrDefault(load.getMask()) : Value();
  mask = maskWith(builder, load.getLoc(), mask, isReached(load, mapping, exists),
                  load.getPtr().getType());
  Value place = SlotOp::create(builder, load.getLoc(), ring, slot,
                               phase ? builder.getI64IntegerAttr(*phase) : IntegerAttr());
  if (pipeline.isThroughRegisters) {
    IRMapping ahead = mapping;
    auto early = cast<LoadOp>(builder.clone(*load, ahead));
    early.getMaskMutable().assign(mask);
    staged.push_back({early, place});
    return;
  }
  AsyncCopyOp::create(builder, load.getLoc(), mapping.lookupOrDefault(load.getPtr()), place, mask,
                      pipelined.vector, pipelined.dim, load.getCache(), load.getEvict());
}

/// Starts to copy rows of an array, if the iteration exists.
void PipelineRewriter::copyArray(const PipelinedLoad &pipelined, Value ring,
                                 const IRMapping &mapping, Value exists, Value slot,
                                 std::optional<int64_t> phase) {
  LoadOp load = pipelined.load;
  Value place = SlotOp::create(builder, load.getLoc(), ring, slot,
                               phase ? builder.getI64IntegerAttr(*phase) : IntegerAttr());
  SmallVector<Value> of = llvm::map_to_vector(
      pipelined.array, [&](Value operand) { return mapping.lookupOrDefault(operand); });
  ArrayCopyOp::create(builder, load.getLoc(), of[0], of[1], of[2], of[3], of[4], of[5], place,
                      pipelined.dim, exists);
}

void PipelineRewriter::commit() {
  if (!pipeline.isThroughRegisters && !pipeline.isOfBoxes)
    AsyncCommitOp::create(builder, loc);
}

void PipelineRewriter::storeStaged() {
  for (auto [tile, place] : staged)
    StoreSharedOp::create(builder, tile.getLoc(), tile, place);
  staged.clear();
}

/// Returns the values that are already computed for the step's operations: its own carried values,
/// and the tiles that steps ahead of it have loaded.
IRMapping PipelineRewriter::valuesOf(unsigned step, const AheadState &state, Value induction) {
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), induction);
  for (auto [number, value] : llvm::zip(pipeline.steps[step].carried, state.carried[step]))
    mapping.map(loop.getRegionIterArg(number), value);
  for (auto [early, waiting] : llvm::zip(pipeline.earlyLoads, state.waiting))
    if (early.lead > step && early.lead - step <= waiting.size())
      mapping.map(early.load.getResult(), waiting[early.lead - step - 1]);
  return mapping;
}

/// Computes what the step does in one iteration, and advances its carried values.
void PipelineRewriter::runStep(unsigned step, AheadState &state, AheadIteration iteration,
                               IRMapping &mapping) {
  for (Operation *op : pipeline.steps[step].operations) {
    Operation *clone = builder.clone(*op, mapping);
    auto load = dyn_cast<LoadOp>(clone);
    if (!load)
      continue;
    // An iteration that does not exist has no addresses to read from.
    builder.setInsertionPoint(clone);
    Value mask = isReached(cast<LoadOp>(op), mapping, iteration.exists);
    if (hasLayout(load.getPtr().getType()))
      mask = maskWith(builder, loc, load.getMask(), mask, load.getPtr().getType());
    else if (load.getMask())
      mask = arith::AndIOp::create(builder, loc, load.getMask(), mask);
    load.getMaskMutable().assign(mask);
    builder.setInsertionPointAfter(clone);
  }
  state.carried[step].clear();
  for (unsigned number : pipeline.steps[step].carried)
    state.carried[step].push_back(mapping.lookupOrDefault(loop.getYieldedValues()[number]));
}

/// Starts the copies of one iteration, if it `exists`: a group after the other, in the order in
/// which they are needed.
void PipelineRewriter::startCopies(const IRMapping &mapping, Value exists, Value slot,
                                   std::optional<int64_t> phase) {
  for (unsigned group = 0; pipeline.isOfBoxes && group < pipeline.numGroups(); ++group)
    copyBoxes(group, mapping, exists, slot,
              phase ? builder.getI64IntegerAttr(*phase) : IntegerAttr());
  if (pipeline.isOfBoxes)
    return;
  unsigned group = 0;
  for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings)) {
    if (pipelined.group != group)
      commit();
    group = pipelined.group;
    copy(pipelined, ring, mapping, exists, slot, phase);
  }
  commit();
}

/// Computes whether the loop has an iteration of this number, counted from 0. lower + number * step
/// < upper may overflow; the unsigned test (upper - lower - 1) / number >= step is equivalent and
/// cannot.
Value PipelineRewriter::hasIteration(int64_t number) {
  Value lower = loop.getLowerBound(), upper = loop.getUpperBound();
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, lower, upper);
  if (number == 0)
    return exists;
  Type type = lower.getType();
  Value reach = arith::SubIOp::create(builder, loc, upper, lower);
  reach = arith::SubIOp::create(builder, loc, reach, integer(type, 1));
  if (number > 1)
    reach = arith::DivUIOp::create(builder, loc, reach, integer(type, number));
  Value isNear =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::uge, reach, loop.getStep());
  return arith::AndIOp::create(builder, loc, exists, isNear);
}

/// Runs each step for the iterations that lie before the loop for it: step 0 for `distance()` of
/// them, each other one for one more than the step before it.
AheadState PipelineRewriter::prologue() {
  AheadState state;
  for (const AheadStep &step : pipeline.steps) {
    SmallVector<Value> &values = state.carried.emplace_back();
    for (unsigned number : step.carried)
      values.push_back(loop.getInitArgs()[number]);
  }
  state.waiting.resize(pipeline.earlyLoads.size());
  unsigned numSteps = pipeline.steps.size();
  int64_t count = distance() + numSteps - 1;
  SmallVector<AheadIteration> iterations;
  for (int64_t number = 0; number < count; ++number) {
    Value induction = loop.getLowerBound();
    if (number > 0)
      induction = arith::AddIOp::create(builder, loc, iterations.back().induction, loop.getStep());
    iterations.push_back({induction, hasIteration(number)});
  }
  for (int64_t time = -count; time < 0; ++time) {
    SmallVector<IRMapping> mappings(numSteps);
    // Loads before copies that wait for earlier ones.
    for (int64_t step = numSteps - 1; step >= 0; --step) {
      int64_t number = time + distance() + step;
      if (number < 0)
        continue;
      mappings[step] = valuesOf(step, state, iterations[number].induction);
      runStep(step, state, iterations[number], mappings[step]);
      if (step == 0)
        startCopies(mappings[0], iterations[number].exists, slotNumber(number), std::nullopt);
    }
    storeStaged();
    state.enqueueLoaded(pipeline, mappings);
  }
  return state;
}

/// Runs each step in the loop's body, for the iteration that is as far ahead as the step.
void PipelineRewriter::runAhead(AheadState &state, Value induction, ArrayRef<Value> bounds,
                                Value slot) {
  SmallVector<IRMapping> mappings(pipeline.steps.size());
  Value step = loop.getStep();
  for (auto [number, bound] : llvm::enumerate(bounds)) {
    Value steps =
        arith::MulIOp::create(builder, loc, step, integer(step.getType(), distance() + number));
    AheadIteration iteration;
    iteration.exists =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, induction, bound);
    iteration.induction = arith::AddIOp::create(builder, loc, induction, steps);
    mappings[number] = valuesOf(number, state, iteration.induction);
    runStep(number, state, iteration, mappings[number]);
    if (number == 0) {
      nextExists = iteration.exists;
      startCopies(mappings[0], iteration.exists, slot, distance());
    }
  }
  state.enqueueLoaded(pipeline, mappings);
}

/// Waits for a group of this iteration's copies, where those of `numStarted` later iterations were
/// started. What threads wrote themselves is ordered by insert-barriers.
void PipelineRewriter::waitForGroup(unsigned group, int64_t numStarted) {
  if (pipeline.isThroughRegisters)
    return;
  if (pipeline.isOfBoxes) {
    Value barrier =
        SlotOp::create(builder, loc, barriers[group], slotRead, builder.getI64IntegerAttr(0));
    PhaseAwaitOp::create(builder, loc, barrier, parity);
    return;
  }
  unsigned later = pipeline.numGroups() - 1 - group;
  AsyncWaitOp::create(builder, loc, later + numStarted * pipeline.numGroups());
  simt::BarrierOp::create(builder, loc, /*warp=*/false);
}

void PipelineRewriter::waitForLaterGroups() {
  unsigned group = 0;
  for (const PipelinedLoad &pipelined : pipeline.loads) {
    if (pipelined.group == group)
      continue;
    group = pipelined.group;
    builder.setInsertionPoint(firstUseOf(loop, pipelined.load));
    waitForGroup(group, distance());
  }
}

/// The operation before which a value is to be made: its first user, or the branch around it where
/// it has several in different ones.
static Operation *placeOf(scf::ForOp loop, Value value) {
  Block *block = (*value.user_begin())->getBlock();
  bool inOneBlock =
      llvm::all_of(value.getUsers(), [&](Operation *user) { return user->getBlock() == block; });
  if (!inOneBlock || !branchesAround(loop, *value.user_begin()))
    block = value.getDefiningOp()->getBlock();
  Operation *first = nullptr;
  for (Operation *user : value.getUsers()) {
    Operation *inBlock = block->findAncestorOpInBlock(*user);
    if (!first || inBlock->isBeforeInBlock(first))
      first = inBlock;
  }
  return first;
}

/// Users read the slot when they need it, in the layout that they want.
void PipelineRewriter::replaceLoad(const PipelinedLoad &pipelined, Value ring, Value slot) {
  LoadOp load = pipelined.load;
  auto replace = [&](Value value) {
    builder.setInsertionPoint(placeOf(loop, value));
    Value place = SlotOp::create(builder, load.getLoc(), ring, slot, builder.getI64IntegerAttr(0));
    value.replaceAllUsesWith(LoadSharedOp::create(builder, load.getLoc(), value.getType(), place));
  };
  for (Operation *user : llvm::make_early_inc_range(load->getUsers())) {
    auto conversion = dyn_cast<ConvertLayoutOp>(user);
    if (!conversion || conversion->use_empty())
      continue;
    replace(conversion);
    conversion.erase();
  }
  if (!load->use_empty())
    replace(load);
  load.erase();
}

/// Per step: the induction variable is below it where the iteration exists that the step runs for.
SmallVector<Value> PipelineRewriter::iterationBounds() {
  SmallVector<Value> bounds;
  for (size_t step = 0; step < pipeline.steps.size(); ++step) {
    int64_t number = distance() + step;
    Value steps = integer(loop.getStep().getType(), number);
    Value ahead = arith::MulIOp::create(builder, loc, loop.getStep(), steps);
    Value bound = arith::SubIOp::create(builder, loc, loop.getUpperBound(), ahead);
    bounds.push_back(
        arith::SelectOp::create(builder, loc, hasIteration(number), bound, loop.getLowerBound()));
  }
  return bounds;
}

/// Returns whether the ring begins again behind a slot.
Value PipelineRewriter::isLastSlot(Value slot) {
  Value one = arith::AddIOp::create(builder, loc, slot, slotNumber(1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, one,
                               slotNumber(depth.numSlots));
}

/// The slot of the next iteration.
Value PipelineRewriter::slotAfter(Value slot) {
  if (depth.numSlots == 1)
    return slot;
  if (alternates() || (pipeline.isOfBoxes && depth.numSlots == 2))
    return arith::XOrIOp::create(builder, loc, slot, slotNumber(1));
  Value one = arith::AddIOp::create(builder, loc, slot, slotNumber(1));
  return arith::SelectOp::create(builder, loc, isLastSlot(slot), slotNumber(0), one);
}

/// The parity of the next iteration's phase: all slots have one of the same parity in turn.
Value PipelineRewriter::parityAfter(Value parity, Value slot) {
  Value turns = depth.numSlots == 2
                    ? slot
                    : arith::ExtUIOp::create(builder, loc, builder.getI32Type(), isLastSlot(slot));
  return arith::XOrIOp::create(builder, loc, parity, turns);
}

/// Moves the loop's body behind what `next` does ahead, and yields that as well.
void PipelineRewriter::moveBody(scf::ForOp next, const AheadState &state, Value slot) {
  Block *body = next.getBody(), *old = loop.getBody();
  Value following = slotAfter(slot), parityFollowing;
  if (pipeline.isOfBoxes)
    parityFollowing = parityAfter(parity, slot);
  waitForLaterGroups();
  for (auto [pipelined, ring] : llvm::zip(pipeline.loads, rings))
    replaceLoad(pipelined, ring, slot);
  body->getOperations().splice(body->end(), old->getOperations());
  for (auto [before, after] : llvm::zip(old->getArguments(), body->getArguments()))
    before.replaceAllUsesWith(after);
  SmallVector<Value> yielded = state.flattened();
  yielded.push_back(following);
  if (!alternates())
    yielded.push_back(slot);
  if (parityFollowing)
    yielded.push_back(parityFollowing);
  Operation *yield = body->getTerminator();
  builder.setInsertionPoint(yield);
  storeStaged();
  yield->insertOperands(yield->getNumOperands(), yielded);
}

/// Lists what the loop carries at first: its own values, those that run ahead, the slots that are
/// read and written, and the parity of the phase.
SmallVector<Value> PipelineRewriter::initialValues(const AheadState &state) {
  SmallVector<Value> inits(loop.getInitArgs());
  llvm::append_range(inits, state.flattened());
  if (shared) {
    inits.append(shared->end.begin(), shared->end.begin() + LoaderRing::kOfProgram);
    return inits;
  }
  inits.push_back(slotNumber(0));
  if (!alternates())
    inits.push_back(slotNumber(depth.numSlots - 1));
  if (pipeline.isOfBoxes)
    inits.push_back(slotNumber(0));
  return inits;
}

void PipelineRewriter::run() {
  makeRing();
  AheadState state;
  SmallVector<Value> bounds;
  scf::ForOp copying; // of the loader
  if (pipeline.hasLoader) {
    for (int64_t number = 0; !shared && number < distance(); ++number)
      release(slotNumber(number), std::nullopt);
    copying = emitLoader();
  } else {
    state = prologue();
    bounds = iterationBounds();
  }
  SmallVector<Value> inits = initialValues(state);
  size_t numOwn = loop.getInitArgs().size();
  auto next = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                 loop.getStep(), inits);
  next->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  builder.setInsertionPointToStart(next.getBody());
  ArrayRef<BlockArgument> arguments = next.getRegionIterArgs();
  if (pipeline.isOfBoxes) {
    parity = arguments.back();
    arguments = arguments.drop_back();
  }
  Value slot = alternates() ? arguments.back() : arguments.end()[-2];
  slotRead = slot;
  Value written = alternates() ? slotAfter(slot) : Value(arguments.back());
  waitForGroup(0, distance() - 1);
  state = state.withValues(ValueRange(arguments).drop_front(numOwn));
  Operation *barrier = pipeline.isThroughRegisters ? nullptr : &next.getBody()->back();
  if (pipeline.hasLoader)
    release(written, distance());
  else
    runAhead(state, next.getInductionVar(), bounds, written);
  Operation *last = &next.getBody()->back();
  moveBody(next, state, slot);
  if (barrier)
    startBehindProducts(barrier->getNextNode(), last->getNextNode(),
                        pipeline.hasLoader   ? SlotsFreed::ByReleases
                        : pipeline.isOfBoxes ? SlotsFreed::HereByBarrier
                                             : SlotsFreed::ByEarlierBarrier);
  for (unsigned i = 0; i < numOwn; ++i)
    loop.getResult(i).replaceAllUsesWith(next.getResult(i));
  builder.setInsertionPointAfter(next);
  if (pipeline.hasLoader)
    goOnInRing(next, copying);
  else if (pipeline.isOfBoxes)
    dropBarriers();
  else if (!pipeline.isThroughRegisters)
    AsyncWaitOp::create(builder, loc, 0);
  emitCodedRemark(next, Code::PipelinedLoads)
      << "pipelined: the copies of " << pipeline.loads.size()
      << (pipeline.loads.size() == 1 ? " load" : " loads") << " run " << distance()
      << (distance() == 1 ? " iteration ahead" : " iterations ahead");
  loop.erase();
  if (alternates())
    unrollSlots(next, nextExists, depth.numSlots);
}

void tw::simt::applyPipeline(LoopPipeline &pipeline, PipelineDepth depth,
                             std::vector<LoaderRing> &rings) {
  PipelineRewriter(pipeline, depth, rings).run();
}
