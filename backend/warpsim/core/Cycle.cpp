// The cycle of a warp: fetch, guard, dispatch.
#include "backend/warpsim/core/Operations.h"
#include "backend/warpsim/core/access/Accesses.h"
#include "backend/warpsim/core/bulk/Bulk.h"
#include "backend/warpsim/core/matrix/MatrixOperations.h"
#include "backend/warpsim/core/matrix/WarpgroupOperations.h"
#include "backend/warpsim/core/order/Barriers.h"
#include "backend/warpsim/core/order/Clusters.h"
#include "backend/warpsim/core/state/Ordering.h"
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/core/wave/Wave.h"
#include <algorithm>
#include <optional>

using namespace tw::warpsim;

bool Cta::readGuard(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask &active) {
  if (instruction.guard.kind == Operand::Kind::None)
    return active != 0;
  WarpRegisters &registers = warp.registers();
  reportUnset(*this, warp, instruction.guard, pc, active, "the guard is a predicate that");
  LaneMask predicate = registers.predicates[instruction.guard.reg.number];
  active &= instruction.guard.isNegated ? ~predicate : predicate;
  return active != 0;
}

bool Cta::isFruitless(Warp &warp) const {
  if (warp.poll.fruitless < maxFruitlessReads)
    return false;
  warp.poll.fruitless = 0;
  ++warp.poll.turns;
  return true;
}

Stop Cta::advance(Warp &warp, uint64_t maxSteps, uint32_t maxFruitless) {
  maxFruitlessReads = maxFruitless;
  return runWarp(warp, maxSteps);
}

/// The other warps may wait for this one, so the whole CTA ends.
void Cta::stopAtLimit(Warp &warp, int32_t pc, LaneMask active, const char *who, uint64_t limit) {
  report(Kind::StepLimit, warp, unsigned(__builtin_ctz(active)), pc, [&](Finding &finding) {
    finding.message = std::string("the ") + who + " has run " + std::to_string(limit) +
                      " instructions: it may be in an endless loop";
  });
  launch.hasHitStepLimit = true;
  isStopped = true;
}

/// Every so many instructions: false when the CTA is to stop.
bool Cta::checkLimits(Warp &warp, int32_t pc, LaneMask active) {
  constexpr uint64_t kInstructionsBetweenPolls = 4096;
  const LaunchOptions &options = launch.launch.options;
  uint64_t total = launch.numSteps.fetch_add(clock - numTold) + clock - numTold;
  numTold = clock;
  if (clock > options.maxStepsPerCta)
    stopAtLimit(warp, pc, active, "CTA", options.maxStepsPerCta);
  else if (total > options.maxStepsPerLaunch)
    stopAtLimit(warp, pc, active, "launch", options.maxStepsPerLaunch);
  else
    nextPoll = clock + 1 +
               std::min({kInstructionsBetweenPolls, options.maxStepsPerCta - clock,
                         options.maxStepsPerLaunch - total});
  isStopped |= launch.interrupts.poll();
  return !isStopped;
}

/// Runs the plain instructions from here on, as far as the lanes stay together.
template <bool hasProducts> void Cta::runPlain(Warp &warp) {
  StackEntry &top = warp.stack.back();
  const Instruction *code = launch.program.code.data();
  WarpRegisters &registers = warp.registers();
  int32_t begin = top.pc, pc = begin;
  for (const Prepared *next = &launch.prepared[pc]; next->isPlain && pc != top.reconverge;
       ++next, ++pc) {
    if (hasProducts && next->touchesProduct)
      checkTouch(*this, warp, code[pc], pc, top.mask);
    next->handler(code[pc], registers, top.mask);
    ++executed[pc];
  }
  top.pc = pc;
  uint64_t count = uint64_t(pc - begin);
  clock += count;
  warp.steps += count;
  statistics.threadInstructions += count * uint64_t(__builtin_popcount(top.mask));
}

static Stop noteWait(Cta &cta, const Warp &warp, int32_t pc) {
  ++cta.counted[size_t(pc)].waits;
  cta.timeline.beginWait(warp.index, pc, cta.clock);
  return Stop::Blocked;
}

/// Turns to a path of the warp that can go on; where there is none, why the warp stops.
static std::optional<Stop> findPath(Cta &cta, Warp &warp) {
  bool isLeft = settle(warp);
  if (warp.exited != warp.notedExits)
    noteExit(cta, warp);
  if (!isLeft)
    return Stop::Ended;
  if (warp.stack.back().parkedAt < 0 || rotate(warp))
    return std::nullopt;
  warp.state = WarpState::Waiting;
  warp.barrier = warp.stack.back().parkedAt;
  warp.waitPc = warp.stack.back().pc - 1;
  return noteWait(cta, warp, warp.waitPc);
}

Stop Cta::runWarp(Warp &warp, uint64_t maxSteps) {
  timeline.beginTurn(warp.index, clock);
  Stop stop = runTurn(warp, maxSteps);
  timeline.endTurn(warp.index, clock);
  return stop;
}

Stop Cta::runTurn(Warp &warp, uint64_t maxSteps) {
  const Program &program = launch.program;
  uint64_t limit = launch.launch.options.maxStepsPerWarp, end = clock + maxSteps;
  while (true) {
    if (std::optional<Stop> stop = findPath(*this, warp)) {
      noteHalfStopped(*this, warp);
      return *stop;
    }
    StackEntry &top = warp.stack.back();
    if (launch.prepared[top.pc].isPlain) {
      launch.hasProducts ? runPlain<true>(warp) : runPlain<false>(warp);
      if (top.pc == top.reconverge)
        continue;
    }
    int32_t pc = top.pc;
    if (pc >= warp.frames.back()->function->end) {
      returnLanes(warp, program, top.mask); // the closing brace is a return
      continue;
    }
    if (launch.prepared[pc].sync != SyncStep::None) {
      if (!warp.passesSync)
        return Stop::AtSync;
      warp.passesSync = false;
    }
    const Instruction &instruction = program.code[pc];
    LaneMask active = top.mask;
    ++executed[pc];
    ++clock;
    if (++warp.steps > limit)
      stopAtLimit(warp, pc, active, "warp", limit);
    if (isStopped || (clock >= nextPoll && !checkLimits(warp, pc, active)))
      return Stop::Ended;
    bool isAny = readGuard(warp, instruction, pc, active);
    statistics.threadInstructions += uint64_t(__builtin_popcount(active));
    if (isAny && launch.prepared[pc].touchesProduct)
      checkTouch(*this, warp, instruction, pc, active);
    if (instruction.op == Op::Bra || !isAny) {
      if (instruction.op == Op::Bra)
        executeControl(warp, instruction, pc, active);
      else
        ++top.pc;
    } else if (Handler handler = launch.prepared[pc].handler) {
      handler(instruction, warp.registers(), active);
      ++top.pc;
      continue;
    } else {
      execute(warp, instruction, pc, active);
    }
    if (isStopped)
      return Stop::Ended;
    if (warp.state == WarpState::Waiting)
      return noteWait(*this, warp, pc);
    if (isFruitless(warp))
      return Stop::Fruitless;
    if (clock >= end)
      return Stop::Preempted;
  }
}

static void checkBranchIndex(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                             LaneMask active) {
  reportUnset(cta, warp, instruction.sources[0], pc, active, "the index of a branch");
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t index = readLane(instruction.sources[0], warp.registers(), lane);
    if (index < instruction.targets.size())
      continue;
    cta.report(Kind::BranchIndex, warp, lane, pc, [&](Finding &finding) {
      finding.message = "the index of a branch is " + std::to_string(index) + ", and there are " +
                        std::to_string(instruction.targets.size()) + " targets";
    });
  }
}

void Cta::executeControl(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active) {
  const Program &program = launch.program;
  switch (instruction.op) {
  case Op::Bra:
    if (active != 0 && active != warp.stack.back().mask) {
      ++statistics.divergentBranches;
      ++counted[size_t(pc)].divergentBranches;
    }
    return branch(warp, program, pc, active, active);
  case Op::BrxIdx:
    checkBranchIndex(*this, warp, instruction, pc, active);
    return branchIndexed(warp, program, pc, active);
  case Op::Exit:
    ++warp.stack.back().pc;
    return exitLanes(warp, active);
  case Op::Ret:
    ++warp.stack.back().pc;
    return returnLanes(warp, program, active);
  default: // a call
    if (instruction.callee >= 0)
      return callFunction(warp, program, pc, active);
    ++warp.stack.back().pc;
    return executeHostCall(*this, warp, instruction, pc, active);
  }
}

/// Where the driver has no function for failed assertions, kernels print which one it is, and trap.
static void stopAtTrap(Cta &cta, Warp &warp, int32_t pc, LaneMask active) {
  std::string failed = takeFailedAssertion(cta.printed);
  cta.report(failed.empty() ? Kind::Trap : Kind::Assertion, warp, unsigned(__builtin_ctz(active)),
             pc, [&](Finding &finding) {
               finding.message = failed.empty() ? "the kernel executes a trap" : failed;
             });
  cta.isStopped = true;
}

/// Matrix instructions and the copies that feed them.
static void executeMatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                          LaneMask active) {
  switch (instruction.op) {
  case Op::Ldmatrix:
    return executeLdmatrix(cta, warp, instruction, pc, active);
  case Op::Stmatrix:
    return executeStmatrix(cta, warp, instruction, pc, active);
  case Op::Movmatrix:
    return executeMovmatrix(cta, warp, instruction, pc, active);
  case Op::Mma:
    return executeMma(cta, warp, instruction, pc, active);
  case Op::AsyncCopy:
    ++cta.statistics.asyncCopies;
    return executeAsyncCopy(cta, warp, instruction, pc, active);
  case Op::AsyncCommit:
    return executeAsyncCommit(cta, warp, active);
  case Op::TensorToShared:
    ++cta.statistics.asyncCopies;
    return executeTensorToShared(cta, warp, instruction, pc, active);
  case Op::WarpgroupFence:
  case Op::WarpgroupMma:
  case Op::WarpgroupCommit:
  case Op::WarpgroupWait:
    return executeWarpgroup(cta, warp, instruction, pc, active);
  default:
    return executeAsyncWait(cta, warp, instruction, active, instruction.op == Op::AsyncWaitAll);
  }
}

static bool isOfMatrices(Op op) { return op >= Op::Ldmatrix && op <= Op::WarpgroupWait; }

/// Between two instructions, under random completion.
static void completeSomething(Cta &cta) {
  if (cta.async.numUnmoved)
    moveSomeCopies(cta);
  if (cta.products.numUncomputed)
    computeSomeProducts(cta);
  if (!cta.bulk.pending.empty())
    completeSome(cta);
}

static void executeOfWave(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                          LaneMask active) {
  if (instruction.op == Op::Wave)
    executeWave(cta, warp, instruction, pc, active);
  else if (instruction.op == Op::WaveLane)
    executeWaveLane(warp, instruction, active, cta.launch.program);
  else
    noteSignal(cta, warp);
}

static bool isOfBulk(Op op) { return op >= Op::MbarrierInitFence && op <= Op::BulkWaitRead; }

static bool isControl(Op op) {
  return op == Op::Bra || op == Op::BrxIdx || op == Op::Call || op == Op::Ret || op == Op::Exit;
}

/// Returns true for hints, and for what orders launches, which follow each other here.
static bool isWithoutEffect(Op op) {
  return op == Op::Prefetch || op == Op::TensorPrefetch || op == Op::TensorMapPrefetch ||
         op == Op::Nanosleep || op == Op::AwaitLaunches || op == Op::PermitLaunches ||
         op == Op::Discard || op == Op::Brkpt;
}

void Cta::execute(Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active) {
  if (isControl(instruction.op))
    return executeControl(warp, instruction, pc, active);
  timeline.addStep(warp.index, pc, clock);
  // Before the operation: one that waits is done when its warp goes on.
  ++warp.stack.back().pc;
  if (instruction.op >= Op::Wave)
    return executeOfWave(*this, warp, instruction, pc, active);
  if (launch.launch.options.completion == LaunchOptions::Completion::Random)
    completeSomething(*this);
  if (launch.launch.beginsEarly)
    noteLaunchOrder(*this, warp, instruction, pc, active);
  if (isOfMatrices(instruction.op))
    return executeMatrix(*this, warp, instruction, pc, active);
  if (instruction.op >= Op::ClusterArrive && instruction.op <= Op::Mapa)
    return executeOfCluster(*this, warp, instruction, pc, active);
  if (isOfBulk(instruction.op))
    return executeBulk(*this, warp, instruction, pc, active);
  switch (instruction.op) {
  case Op::Ld:
    return executeLoad(*this, warp, instruction, pc, active);
  case Op::St:
    return executeStore(*this, warp, instruction, pc, active);
  case Op::Atom:
  case Op::Red:
    return executeAtomic(*this, warp, instruction, pc, active);
  case Op::Membar:
  case Op::ProxyFence:
    return executeFence(*this, warp, instruction, active);
  case Op::BarSync:
  case Op::BarArrive:
  case Op::BarRed:
    return executeBarrier(*this, warp, instruction, pc, active);
  case Op::BarWarpSync:
    return executeWarpBarrier(*this, warp, instruction, pc, active);
  case Op::Shfl:
  case Op::Vote:
  case Op::Match:
  case Op::Activemask:
  case Op::Redux:
  case Op::Elect:
    return executeCollective(*this, warp, instruction, pc, active);
  case Op::MovSpecial:
    return executeSpecial(*this, warp, instruction, active);
  case Op::Trap:
    return stopAtTrap(*this, warp, pc, active);
  case Op::CreatePolicy: // a hint: its value means nothing here, but it is one
    for (LaneMask rest = active; rest; rest &= rest - 1)
      writeLane(instruction.results[0], warp.registers(), unsigned(__builtin_ctz(rest)), 0, true);
    return;
  default:
    if (isWithoutEffect(instruction.op))
      return;
    report(Kind::Unsupported, warp, unsigned(__builtin_ctz(active)), pc, [](Finding &finding) {
      finding.message = "the simulator cannot execute this instruction with these types";
    });
  }
}
