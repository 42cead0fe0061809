// mbarriers: arrivals, bytes and phases, and what threads learn by waiting (PTX ISA, "mbarrier").
#include "backend/warpsim/core/bulk/Remote.h"
#include "backend/warpsim/core/state/Origins.h"
#include <algorithm>

using namespace tw::warpsim;

// PTX ISA, "Contents of the mbarrier object".
constexpr uint32_t kMaxArrivals = (1u << 20) - 1;
constexpr int64_t kMaxBytes = (1 << 20) - 1;

static std::string nameOfMbarrier(const Cta &cta, uint32_t offset) {
  Request request;
  request.space = Space::Shared;
  request.at[0] = offset;
  return "mbarrier at " + describePlace(cta, request, 0).text;
}

std::string tw::warpsim::describeMbarrier(const Cta &cta, uint32_t offset) {
  auto found = cta.bulk.barriers.find(offset);
  if (found == cta.bulk.barriers.end())
    return nameOfMbarrier(cta, offset);
  const Mbarrier &barrier = found->second;
  return nameOfMbarrier(cta, offset) + " (phase " + std::to_string(barrier.phase) + ", " +
         std::to_string(barrier.pending) + " of " + std::to_string(barrier.expected) +
         " arrivals and " + std::to_string(barrier.bytes) + " bytes are pending)";
}

static void wake(Cta &cta, uint32_t offset) {
  cta.bulk.numVainRounds = 0;
  for (Warp &warp : cta.warps)
    if (warp.mbarrier == int32_t(offset)) {
      warp.mbarrier = -1;
      warp.state = WarpState::Ready;
    }
}

/// Returns true if a lane of the wait has told somebody of whom those who arrived knew.
static bool isKnown(const Cta &cta, const ParityWait &wait, const SharedKnowledge &arriving) {
  if (wait.epoch != cta.clocks.epoch())
    return true;
  const CtaKnowledge *known = partOf(arriving, cta.clocks.numberOfCta());
  if (!known || known->epoch != wait.epoch)
    return known && known->epoch > wait.epoch;
  for (LaneMask rest = wait.lanes; rest; rest &= rest - 1)
    if (known->clockOf(wait.warp * kWarpSize + unsigned(__builtin_ctz(rest))) >= wait.clock)
      return true;
  return false;
}

/// Reports waits by parity that another order of threads lets come after the end of this phase, for
/// which they would then take the one before. Warps that multiply together go on together.
static void reportLateWaits(Cta &cta, uint32_t offset, const Mbarrier &barrier) {
  auto isOrdered = [&](const ParityWait &wait) {
    return std::ranges::any_of(barrier.parityWaits, [&](const ParityWait &other) {
      bool isTogether =
          cta.products.isUsed && other.warp / kWarpsOfGroup == wait.warp / kWarpsOfGroup;
      return (isTogether || other.warp == wait.warp) && other.pc == wait.pc &&
             isKnown(cta, other, barrier.arriving);
    });
  };
  for (const ParityWait &wait : barrier.parityWaits)
    if (!isOrdered(wait))
      cta.report(Kind::MbarrierMisuse, cta.warps[wait.warp], unsigned(__builtin_ctz(wait.lanes)),
                 wait.pc, [&](Finding &finding) {
                   finding.message = "phase " + std::to_string(barrier.phase) + " of the " +
                                     nameOfMbarrier(cta, offset) +
                                     " may end before this wait for the phase before: nothing "
                                     "orders its arrivals behind the wait";
                 });
}

static void endPhaseIfOver(Cta &cta, uint32_t offset, Mbarrier &barrier) {
  if (barrier.pending || barrier.bytes)
    return;
  reportLateWaits(cta, offset, barrier);
  barrier.parityWaits.clear();
  ++barrier.phase;
  barrier.pending = barrier.expected;
  barrier.released = joined(barrier.released, barrier.arriving);
  barrier.arriving = nullptr;
  wake(cta, offset);
}

void tw::warpsim::addBytes(Cta &cta, uint32_t offset, int64_t bytes, const SharedKnowledge &known) {
  auto found = cta.bulk.barriers.find(offset);
  if (found == cta.bulk.barriers.end())
    return;
  found->second.bytes -= bytes;
  found->second.arriving = joined(found->second.arriving, known);
  endPhaseIfOver(cta, offset, found->second);
}

Mbarrier *tw::warpsim::findMbarrier(const BulkStep &step, uint32_t offset) {
  Cta &cta = step.cta;
  auto found = cta.bulk.barriers.find(offset);
  if (found == cta.bulk.barriers.end()) {
    step.report(Kind::MbarrierMisuse,
                "the " + nameOfMbarrier(cta, offset) + " is used without an init");
    return nullptr;
  }
  Mbarrier &barrier = found->second;
  bool isKnown = barrier.initEpoch != cta.clocks.epoch() ||
                 cta.clocks.knows(step.warp.index, step.lane, barrier.initWarp, barrier.initLane,
                                  barrier.initClock);
  if (!isKnown)
    step.report(Kind::MbarrierMisuse,
                "the " + nameOfMbarrier(cta, offset) +
                    " is used by a thread that nothing orders after its init: a barrier has to "
                    "come between",
                barrier.initPc);
  return &barrier;
}

static void noteWrite(const BulkStep &step, uint32_t offset) {
  forEachAccess(step, {offset, kMbarrierBytes}, Space::Shared, true, false,
                [&](const MemoryStep &memory, const Request &request) {
                  if (step.cta.launch.launch.options.checksRaces)
                    checkLane(memory, request, Strength::Weak, step.lane, nullptr);
                });
  step.cta.shared.markWritten(offset, kMbarrierBytes, true);
}

static void initialize(const BulkStep &step, uint32_t offset) {
  Cta &cta = step.cta;
  uint64_t count = step.read(step.instruction.sources[0], "the count of an mbarrier");
  if (count == 0 || count > kMaxArrivals)
    return step.report(Kind::MbarrierMisuse, "the " + nameOfMbarrier(cta, offset) +
                                                 " is to count " + std::to_string(count) +
                                                 " arrivals, not 1 to " +
                                                 std::to_string(kMaxArrivals));
  if (auto old = cta.bulk.barriers.find(offset); old != cta.bulk.barriers.end())
    step.report(Kind::MbarrierMisuse,
                "the " + nameOfMbarrier(cta, offset) +
                    " is initialized again without an inval between",
                old->second.initPc);
  noteWrite(step, offset);
  Mbarrier barrier;
  barrier.initPc = step.pc;
  barrier.initWarp = step.warp.index;
  barrier.initLane = step.lane;
  barrier.initEpoch = cta.clocks.epoch();
  barrier.initClock = cta.clocks.clock(step.warp.index);
  barrier.expected = barrier.pending = uint32_t(count);
  barrier.waits = std::make_shared<std::vector<PastWait>>();
  cta.bulk.barriers[offset] = std::move(barrier);
  cta.bulk.hasBarrier[offset / kBulkPieceBytes] = 1;
}

static void noteUse(const BulkStep &step, Mbarrier &barrier) {
  const Clocks &clocks = step.cta.clocks;
  MbarrierUse use = {step.pc, LaneMask(1) << step.lane, clocks.epoch(),
                     clocks.clock(step.warp.index)};
  MbarrierUse &last = barrier.uses[step.warp.index];
  if (last.pc == use.pc && last.epoch == use.epoch && last.clock == use.clock)
    use.lanes |= last.lanes;
  last = use;
}

/// Reports uses that another order of threads lets come after the inval: lanes of a warp that use a
/// barrier together are over when one of them is.
static void reportLateUses(const BulkStep &step, uint32_t offset, const Mbarrier &barrier) {
  const Clocks &clocks = step.cta.clocks;
  auto isKnown = [&](unsigned warp, const MbarrierUse &use) {
    for (LaneMask rest = use.lanes; rest; rest &= rest - 1)
      if (clocks.knows(step.warp.index, step.lane, warp, unsigned(__builtin_ctz(rest)), use.clock))
        return true;
    return use.epoch != clocks.epoch();
  };
  for (const auto &[warp, use] : barrier.uses)
    if (!isKnown(warp, use))
      step.report(Kind::MbarrierMisuse,
                  "the " + nameOfMbarrier(step.cta, offset) +
                      " is invalidated by a thread that nothing orders behind a use: a barrier has "
                      "to come between",
                  use.pc);
}

static void invalidate(const BulkStep &step, uint32_t offset) {
  const Mbarrier *barrier = findMbarrier(step, offset);
  if (!barrier)
    return;
  reportLateUses(step, offset, *barrier);
  checkRemoteArrivals(step, *barrier);
  BulkCopies &bulk = step.cta.bulk;
  bulk.barriers.erase(offset);
  noteWrite(step, offset);
  uint32_t first = offset / kBulkPieceBytes * kBulkPieceBytes;
  bulk.hasBarrier[offset / kBulkPieceBytes] =
      bulk.barriers.contains(first) || bulk.barriers.contains(first + kMbarrierBytes);
}

static void expect(const BulkStep &step, uint32_t offset, Mbarrier &barrier, int64_t bytes) {
  int64_t sum = barrier.bytes + bytes;
  if (sum > kMaxBytes || sum < -kMaxBytes)
    return step.report(Kind::MbarrierMisuse, "the " + nameOfMbarrier(step.cta, offset) +
                                                 " comes to expect " + std::to_string(sum) +
                                                 " bytes: it can count up to " +
                                                 std::to_string(kMaxBytes));
  barrier.bytes = sum;
}

static bool isDrop(Op op) { return op >= Op::MbarrierDrop && op <= Op::MbarrierDropNoComplete; }
static bool isExpecting(Op op) {
  return op == Op::MbarrierArriveExpect || op == Op::MbarrierDropExpect;
}
static bool mustNotComplete(Op op) {
  return op == Op::MbarrierArriveNoComplete || op == Op::MbarrierDropNoComplete;
}

/// Leaves what the thread knows to those who wait.
static void release(const BulkStep &step, Mbarrier &barrier) {
  Clocks &clocks = step.cta.clocks;
  if (step.instruction.order != Order::Relaxed)
    barrier.arriving =
        joined(barrier.arriving, clocks.snapshot(step.warp.index, step.lane).publish());
  clocks.advance(step.warp.index);
}

void tw::warpsim::arrive(const BulkStep &step, const BulkStep &there, uint32_t offset,
                         Mbarrier &barrier) {
  const Instruction &instruction = step.instruction;
  uint64_t number = instruction.sources.empty()
                        ? 1
                        : step.read(instruction.sources[0], "the operand of an arrival");
  uint64_t count = isExpecting(instruction.op) ? 1 : number;
  // The state: the phase, and what was pending before (its encoding is the machine's own).
  writeLane(instruction.results[0], step.warp.registers(), step.lane,
            uint64_t(barrier.phase) << 20 | barrier.pending, true);
  if (isExpecting(instruction.op))
    expect(there, offset, barrier, int64_t(number));
  if (count == 0 || count > barrier.pending)
    return step.report(Kind::MbarrierMisuse,
                       std::to_string(count) + " arrivals at the " +
                           nameOfMbarrier(there.cta, offset) + ", of which phase " +
                           std::to_string(barrier.phase) + " expects " +
                           std::to_string(barrier.pending) + " more",
                       barrier.initPc);
  release(step, barrier);
  barrier.pending -= uint32_t(count);
  if (isDrop(instruction.op))
    barrier.expected -= uint32_t(count);
  if (mustNotComplete(instruction.op) && !barrier.pending && !barrier.bytes)
    step.report(Kind::MbarrierMisuse, "an arrival with .noComplete ends the phase of the " +
                                          nameOfMbarrier(there.cta, offset));
  if (!barrier.pending && barrier.bytes < 0)
    step.report(Kind::MbarrierMisuse, std::to_string(-barrier.bytes) +
                                          " bytes more have come to the " +
                                          nameOfMbarrier(there.cta, offset) + " than it expects");
  endPhaseIfOver(there.cta, offset, barrier);
}

/// The copies of the thread are over, and it arrives. That they come at once is one of the orders
/// that PTX allows.
static void arriveAfterCopies(const BulkStep &step, uint32_t offset, Mbarrier &barrier) {
  executeAsyncWait(step.cta, step.warp, step.instruction, LaneMask(1) << step.lane, true);
  release(step, barrier);
  if (step.instruction.op == Op::AsyncArrive)
    return; // one more is pending, and comes
  if (barrier.pending == 0)
    return step.report(Kind::MbarrierMisuse, "more arrivals at the " +
                                                 nameOfMbarrier(step.cta, offset) +
                                                 " than it expects");
  --barrier.pending;
  endPhaseIfOver(step.cta, offset, barrier);
}

static bool isByParity(Op op) {
  return op == Op::MbarrierTestParity || op == Op::MbarrierTryParity;
}

/// Returns the phase that a thread waits for, by its state or by its parity: the one in progress or
/// the one before.
static std::optional<uint32_t> phaseOf(const BulkStep &step, uint32_t offset, Mbarrier &barrier) {
  uint64_t value = step.read(step.instruction.sources[0], "the phase to wait for");
  barrier.nextPhases.resize(step.cta.launch.numThreads);
  uint32_t next = barrier.nextPhases[step.warp.index * kWarpSize + step.lane];
  uint32_t phase = uint32_t(value >> 20);
  if (isByParity(step.instruction.op)) {
    phase = (barrier.phase & 1) == (value & 1) ? barrier.phase : barrier.phase - 1;
    // Whoever has seen phase n and waits for another parity than that means n + 1.
    bool isMissed =
        next && phase == barrier.phase && barrier.phase >= next + 2 && (next & 1) == (value & 1);
    if (!isMissed)
      return phase;
    phase = next;
  }
  if (phase == barrier.phase || phase + 1 == barrier.phase)
    return phase;
  step.report(Kind::MbarrierMisuse, "the thread waits for phase " + std::to_string(phase) +
                                        " of the " + nameOfMbarrier(step.cta, offset) +
                                        ", which is in phase " + std::to_string(barrier.phase) +
                                        ": it tells only of that one and the one before");
  return std::nullopt;
}

static void noteParityWait(const BulkStep &step, Mbarrier &barrier) {
  Clocks &clocks = step.cta.clocks;
  ParityWait wait = {step.pc, step.warp.index, LaneMask(1) << step.lane, clocks.epoch(),
                     clocks.clock(step.warp.index)};
  for (ParityWait &other : barrier.parityWaits)
    if (other.pc == wait.pc && other.warp == wait.warp && other.epoch == wait.epoch &&
        other.clock == wait.clock) {
      other.lanes |= wait.lanes;
      return;
    }
  barrier.parityWaits.push_back(wait);
}

/// Returns true if the phase is over; then the thread knows what its arrivals have released.
static bool isOver(const BulkStep &step, uint32_t offset, Mbarrier &barrier) {
  std::optional<uint32_t> phase = phaseOf(step, offset, barrier);
  if (!phase || *phase == barrier.phase)
    return false;
  if (isByParity(step.instruction.op))
    noteParityWait(step, barrier);
  if (barrier.phase == 0)
    return true; // a fresh barrier: the phase before its first counts as over
  barrier.nextPhases[step.warp.index * kWarpSize + step.lane] = barrier.phase;
  if (step.instruction.order == Order::Relaxed)
    return true;
  Clocks &clocks = step.cta.clocks;
  clocks.acquire(step.warp.index, step.lane, barrier.released);
  PastWait wait = {barrier.phase - 1, clocks.epoch(), clocks.clock(step.warp.index),
                   step.warp.index, LaneMask(1) << step.lane};
  std::vector<PastWait> &waits = *barrier.waits;
  if (!waits.empty() && waits.back().phase == wait.phase && waits.back().warp == wait.warp &&
      waits.back().epoch == wait.epoch && waits.back().clock == wait.clock)
    waits.back().lanes |= wait.lanes;
  else
    waits.push_back(wait);
  return true;
}

static void executeOne(const BulkStep &step, uint32_t offset, LaneMask &failing) {
  const Instruction &instruction = step.instruction;
  if (instruction.op == Op::MbarrierInit)
    return initialize(step, offset);
  if (instruction.op == Op::MbarrierInval)
    return invalidate(step, offset);
  Mbarrier *barrier = findMbarrier(step, offset);
  if (!barrier) {
    for (const Operand &result : instruction.results)
      writeLane(result, step.warp.registers(), step.lane, 1, true); // wait for nothing
    return;
  }
  noteUse(step, *barrier);
  if (instruction.op == Op::AsyncArrive || instruction.op == Op::AsyncArriveNoInc)
    return arriveAfterCopies(step, offset, *barrier);
  if (instruction.op == Op::MbarrierExpect)
    return expect(step, offset, *barrier,
                  int64_t(step.read(instruction.sources[0], "the bytes to expect")));
  if (instruction.op == Op::MbarrierComplete)
    return addBytes(step.cta, offset,
                    int64_t(step.read(instruction.sources[0], "the bytes that have come")),
                    nullptr);
  if (instruction.op <= Op::MbarrierDropNoComplete)
    return arrive(step, step, offset, *barrier);
  bool isDone = isOver(step, offset, *barrier);
  if (!isDone)
    failing |= LaneMask(1) << step.lane;
  writePredicate(instruction.results[0], step.warp.registers(), LaneMask(1) << step.lane,
                 isDone ? ~LaneMask(0) : 0, ~LaneMask(0));
  if (!isDone)
    step.warp.mbarrier = int32_t(offset);
}

static void countPending(Warp &warp, const Instruction &instruction, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t state = readLane(instruction.sources[0], warp.registers(), lane);
    bool isSet = setLanes(instruction.sources[0], warp.registers()) >> lane & 1;
    writeLane(instruction.results[0], warp.registers(), lane, state & kMaxArrivals, isSet);
  }
}

void tw::warpsim::executeMbarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                  LaneMask active) {
  if (instruction.op == Op::MbarrierPending)
    return countPending(warp, instruction, active);
  if (isByParity(instruction.op))
    cta.clocks.advance(warp.index); // what the warp has passed on before does not tell of the wait
  LaneMask failing = 0;
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    BulkStep step = {cta, warp, instruction, pc, unsigned(__builtin_ctz(rest))};
    std::optional<uint64_t> at = readAddress(step, instruction.address, "an mbarrier's address");
    if (std::optional<unsigned> rank = at ? rankOf(*at) : std::nullopt; rank && cta.isClustered())
      arriveRemotely(step, *rank, *at);
    else if (std::optional<uint32_t> offset =
                 resolveShared(step, instruction.address, kMbarrierBytes, kMbarrierBytes,
                               "the address of an mbarrier"))
      executeOne(step, *offset, failing);
  }
  // Others go on first: a loop of tests comes to nothing until they do.
  if (failing == active) {
    warp.state = WarpState::Waiting;
    warp.waitPc = pc;
  } else {
    warp.mbarrier = -1;
    if (instruction.op >= Op::MbarrierTest && instruction.op <= Op::MbarrierTryParity)
      cta.clocks.use(warp.index, false);
  }
}
