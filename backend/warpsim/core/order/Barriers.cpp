// The named barriers of a CTA and the barrier of a warp's lanes.
#include "backend/warpsim/core/order/Barriers.h"
#include "backend/warpsim/core/order/Clusters.h"
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/core/wave/Wave.h"

using namespace tw::warpsim;

namespace {
/// The request of one warp to a barrier.
struct Arrival {
  unsigned id = 0;
  unsigned expectedWarps = 0;
  bool waits = true, isOfAll = true;
};
} // namespace

static void reportMisuse(Cta &cta, Warp &warp, int32_t pc, LaneMask active,
                         const std::string &message) {
  cta.report(Kind::BarrierMisuse, warp, unsigned(__builtin_ctz(active)), pc,
             [&](Finding &finding) { finding.message = message; });
}

/// The second half of a barrier in two parts needs the first.
static void checkSignal(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                        LaneMask active) {
  if (instruction.order != Order::Acquire)
    return;
  unsigned &numSignals = cta.coverage.numSignals[warp.index];
  if (numSignals == 0)
    reportMisuse(cta, warp, pc, active, "the wave waits at a barrier without having signalled it");
  else
    --numSignals;
}

static bool isReduction(const Instruction &instruction) { return instruction.op == Op::BarRed; }

/// How many warps the barrier is to wait for, where the instruction says so.
static void readExpected(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                         LaneMask active, Arrival &arrival) {
  arrival.isOfAll = false;
  unsigned lane = unsigned(__builtin_ctz(active));
  uint64_t count = readLane(instruction.sources[1], warp.registers(), lane);
  if (count == 0 || count % kWarpSize != 0 || count / kWarpSize > cta.launch.numWarps)
    return reportMisuse(cta, warp, pc, active,
                        "barrier " + std::to_string(arrival.id) + " is to wait for " +
                            std::to_string(count) +
                            " threads: not a multiple of 32 up to the CTA's " +
                            std::to_string(cta.launch.numThreads));
  arrival.expectedWarps = unsigned(count / kWarpSize);
}

/// Reads and checks the operands: the barrier's number and how many threads it waits for.
static bool readArrival(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                        LaneMask active, Arrival &arrival) {
  size_t numSources = instruction.sources.size() - (isReduction(instruction) ? 1 : 0);
  unsigned lane = unsigned(__builtin_ctz(active));
  for (size_t i = 0; i < numSources; ++i)
    reportUnset(cta, warp, instruction.sources[i], pc, active,
                i ? "the number of threads of a barrier" : "the number of a barrier");
  uint64_t id = numSources ? readLane(instruction.sources[0], warp.registers(), lane) : 0;
  if (id >= cta.barriers.size()) {
    reportMisuse(cta, warp, pc, active,
                 "barrier " + std::to_string(id) + " does not exist: a CTA has 16");
    return false;
  }
  arrival.id = unsigned(id);
  arrival.waits = instruction.op != Op::BarArrive;
  arrival.expectedWarps = cta.launch.numWarps;
  if (numSources >= 2)
    readExpected(cta, warp, instruction, pc, active, arrival);
  return true;
}

static void checkAgreement(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                           LaneMask active, const Arrival &arrival) {
  const Barrier &barrier = cta.barriers[arrival.id];
  std::string name = "barrier " + std::to_string(arrival.id);
  if (barrier.expectedWarps == 0)
    return;
  if (barrier.expectedWarps != arrival.expectedWarps)
    reportMisuse(cta, warp, pc, active,
                 name + " is used with " + std::to_string(arrival.expectedWarps * kWarpSize) +
                     " threads while others wait at it with " +
                     std::to_string(barrier.expectedWarps * kWarpSize));
  if (barrier.isReduction != isReduction(instruction))
    reportMisuse(cta, warp, pc, active, name + " is used by a reduction and by another operation");
  if (barrier.arrived[warp.index] & active)
    reportMisuse(cta, warp, pc, active, "the warp arrives at " + name + " twice");
}

static void begin(Barrier &barrier, const Arrival &arrival, bool isReduction, unsigned numWarps) {
  barrier.expectedWarps = arrival.expectedWarps;
  barrier.isReduction = isReduction;
  barrier.isOfAll = arrival.isOfAll;
  barrier.arrived.assign(numWarps, 0);
  barrier.receivers.assign(numWarps, 0);
  barrier.reducePc.assign(numWarps, -1);
}

static void writeReduction(Cta &cta, const Barrier &barrier, Warp &warp) {
  int32_t pc = barrier.reducePc[warp.index];
  if (pc < 0)
    return;
  const Instruction &instruction = cta.launch.program.code[pc];
  LaneMask lanes = barrier.arrived[warp.index];
  bool all = barrier.numTrue == barrier.numLanes, any = barrier.numTrue != 0;
  if (instruction.combine != Bool::Popc) {
    bool result = instruction.combine == Bool::And ? all : any;
    writePredicate(instruction.results[0], warp.registers(), lanes, result ? lanes : 0, lanes);
    return;
  }
  for (LaneMask rest = lanes; rest; rest &= rest - 1)
    writeLane(instruction.results[0], warp.registers(), unsigned(__builtin_ctz(rest)),
              barrier.numTrue, true);
}

static void unpark(Warp &warp, unsigned id) {
  for (StackEntry &entry : warp.stack)
    if (entry.parkedAt == int(id))
      entry.parkedAt = -1;
  if (warp.state == WarpState::Waiting)
    warp.state = WarpState::Ready;
}

/// Everybody has arrived: memory is ordered, results are written, waiting warps go on.
/// What happened before the barrier happens before what follows it.
static void order(Cta &cta, const Barrier &barrier) {
  bool isWhole = barrier.arrivedWarps == cta.launch.numWarps;
  for (const Warp &warp : cta.warps)
    isWhole &= barrier.receivers[warp.index] == warp.lanes;
  if (cta.launch.program.isAmdgcn)
    coverBarrier(cta);
  else if (isWhole)
    cta.clocks.joinAll();
  else
    cta.clocks.joinLanes(barrier.receivers, barrier.arrivals);
}

static void complete(Cta &cta, unsigned id) {
  Barrier &barrier = cta.barriers[id];
  order(cta, barrier);
  for (Warp &warp : cta.warps)
    if (barrier.receivers[warp.index]) {
      if (barrier.isReduction)
        writeReduction(cta, barrier, warp);
      unpark(warp, id);
    }
  barrier.expectedWarps = barrier.arrivedWarps = 0;
  barrier.numTrue = barrier.numLanes = 0;
  barrier.arrivals = nullptr;
  ++cta.statistics.barriers;
}

/// Completes a barrier that waits for nobody any more. Threads that have exited are not missing at
/// a barrier of all threads (PTX ISA, exit); a barrier with a count waits for that many.
static void completeIfAllThere(Cta &cta, unsigned id) {
  const Barrier &barrier = cta.barriers[id];
  unsigned numThere = barrier.arrivedWarps;
  for (const Warp &warp : cta.warps)
    numThere += barrier.isOfAll && !warp.present() && !barrier.arrived[warp.index];
  if (numThere >= barrier.expectedWarps)
    complete(cta, id);
}

/// Lanes that arrive one part after the other (barrier.sync without .aligned) wait on the stack
/// until all of their warp are there.
static bool park(Barrier &barrier, Warp &warp, unsigned id, LaneMask active) {
  barrier.parked.resize(barrier.arrived.size());
  LaneMask &parked = barrier.parked[warp.index];
  parked |= active;
  warp.stack.back().parkedAt = int8_t(id);
  if (warp.present() & ~parked)
    return false;
  parked = 0;
  return true;
}

static void addPredicate(Barrier &barrier, Warp &warp, const Instruction &instruction, int32_t pc,
                         LaneMask active) {
  LaneMask values = readPredicate(instruction.sources.back(), warp.registers());
  barrier.numTrue += unsigned(__builtin_popcount(values & active));
  barrier.numLanes += unsigned(__builtin_popcount(active));
  barrier.reducePc[warp.index] = pc;
}

/// Records that the accesses of the lanes so far are before the barrier; accesses while others wait
/// are not.
static void leaveKnowledge(Cta &cta, Barrier &barrier, Warp &warp, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1)
    barrier.arrivals = joined(
        barrier.arrivals, cta.clocks.snapshot(warp.index, unsigned(__builtin_ctz(rest))).publish());
  cta.clocks.advance(warp.index);
}

void tw::warpsim::executeBarrier(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                 LaneMask active) {
  LaneMask missing = warp.present() & ~active;
  if (instruction.isAligned && missing)
    cta.report(Kind::DivergentBarrier, warp, unsigned(__builtin_ctz(missing)), pc,
               [&](Finding &finding) {
                 finding.message = "the warp has diverged at an aligned barrier: this thread is "
                                   "elsewhere or masked off";
               });
  checkSignal(cta, warp, instruction, pc, active);
  Arrival arrival;
  if (!readArrival(cta, warp, instruction, pc, active, arrival))
    return;
  checkAgreement(cta, warp, instruction, pc, active, arrival);
  Barrier &barrier = cta.barriers[arrival.id];
  if (barrier.expectedWarps == 0)
    begin(barrier, arrival, isReduction(instruction), cta.launch.numWarps);
  if (isReduction(instruction))
    reportUnset(cta, warp, instruction.sources.back(), pc, active, "the predicate of a barrier");
  if (isReduction(instruction))
    addPredicate(barrier, warp, instruction, pc, active);
  barrier.arrived[warp.index] |= active;
  if (arrival.waits)
    barrier.receivers[warp.index] |= active;
  else
    leaveKnowledge(cta, barrier, warp, active);
  bool isWarpThere = instruction.isAligned || park(barrier, warp, arrival.id, active);
  if (!isWarpThere)
    return;
  if (arrival.waits) {
    warp.state = WarpState::Waiting;
    warp.barrier = int8_t(arrival.id);
    warp.waitPc = pc;
  }
  ++barrier.arrivedWarps;
  completeIfAllThere(cta, arrival.id);
  noteHalfStopped(cta, warp);
}

void tw::warpsim::noteExit(Cta &cta, Warp &warp) {
  warp.notedExits = warp.exited;
  for (unsigned id = 0; id < cta.barriers.size(); ++id) {
    Barrier &barrier = cta.barriers[id];
    if (barrier.expectedWarps == 0)
      continue;
    LaneMask parked = warp.index < barrier.parked.size() ? barrier.parked[warp.index] : 0;
    if (parked && !(warp.present() & ~parked)) {
      barrier.parked[warp.index] = 0;
      ++barrier.arrivedWarps;
    }
    completeIfAllThere(cta, id);
  }
  completeClusterBarrier(*cta.cluster);
}

static void checkGroup(Cta &cta, Warp &warp, int32_t pc, LaneMask active, LaneMask mask,
                       LaneMask group) {
  if (LaneMask outside = group & ~mask)
    cta.report(
        Kind::BadMembermask, warp, unsigned(__builtin_ctz(outside)), pc, [](Finding &finding) {
          finding.message = "the thread executes an operation whose membermask leaves it out";
        });
  if (LaneMask other = mask & active & ~group)
    cta.report(Kind::BadMembermask, warp, unsigned(__builtin_ctz(other)), pc, [](Finding &finding) {
      finding.message = "threads of a warp give different membermasks: this one is "
                        "named by another thread's mask, and gives another one";
    });
  if (LaneMask missing = mask & warp.present() & ~active)
    cta.report(Kind::DivergentCollective, warp, unsigned(__builtin_ctz(missing)), pc,
               [](Finding &finding) {
                 finding.message =
                     "the membermask names this thread, which does not take part: the "
                     "warp has diverged";
               });
}

MemberGroup tw::warpsim::takeGroup(Cta &cta, Warp &warp, const Operand &members, int32_t pc,
                                   LaneMask active, LaneMask &rest) {
  LaneMask group = rest;
  LaneMask mask = LaneMask(readLane(members, warp.registers(), unsigned(__builtin_ctz(rest))));
  if (members.kind == Operand::Kind::Immediate && mask == ~LaneMask(0) && active == ~LaneMask(0)) {
    rest = 0;
    return {group, group};
  }
  reportUnset(cta, warp, members, pc, rest, "the membermask");
  for (LaneMask left = rest; left; left &= left - 1) {
    unsigned lane = unsigned(__builtin_ctz(left));
    if (LaneMask(readLane(members, warp.registers(), lane)) != mask)
      group &= ~(LaneMask(1) << lane);
  }
  checkGroup(cta, warp, pc, active, mask, group);
  rest &= ~group;
  return {group, mask & group};
}

void tw::warpsim::executeWarpBarrier(Cta &cta, Warp &warp, const Instruction &instruction,
                                     int32_t pc, LaneMask active) {
  for (LaneMask rest = active; rest;) {
    MemberGroup group = takeGroup(cta, warp, instruction.sources[0], pc, active, rest);
    if (group.members)
      cta.clocks.joinWarp(warp.index, group.members);
  }
}
