// Fences and barriers of waves. A barrier alone orders no memory (LLVM, AMDGPUUsage, "Memory
// Model"): what a warp did is handed on at a barrier if a fence before it releases that memory,
// with no access in between, and a warp takes it over by a fence that acquires after it. Fences may
// be of shared or of global memory only. Where all warps keep to that, the barrier begins an epoch,
// as PTX's do; else vectors of clocks hold what each warp has released.
#include "backend/warpsim/core/state/Ordering.h"
#include "backend/warpsim/core/wave/Wave.h"
#include <algorithm>

using namespace tw::warpsim;

static bool acquires(Order order) {
  return order == Order::Acquire || order == Order::AcqRel || order == Order::SeqCst;
}
static bool releases(Order order) {
  return order == Order::Release || order == Order::AcqRel || order == Order::SeqCst;
}

/// A fence of one half: it acquires what others released, and releases what the half has written.
static void fenceHalf(WarpCoverage &warp, unsigned index, Clocks &clocks, Order order) {
  if (acquires(order))
    warp.isUnacquired = false;
  if (!releases(order))
    return;
  if (warp.isDirty) {
    warp.isLate |= warp.hasSignalled;
    warp.releasedClock = clocks.clock(index);
    clocks.advance(index);
  }
  warp.isDirty = false;
  warp.hasReleased = true;
}

/// A fence of a wave reaches no further than its lanes. They access memory in lock step, but
/// compilers move accesses: it takes one fence that releases and one that acquires.
static void fenceMemory(const Wave &wave, bool isShared, Order order, bool isOfWave) {
  Clocks &clocks = wave.cta.clocksOf(isShared);
  std::vector<WarpCoverage> &warps = wave.cta.coverage.ofMemory[!isShared];
  bool isReleased = false; // either half: what one has written, the other may be the first to read
  for (unsigned half = 0; half < 2 && releases(order); ++half)
    isReleased |= wave.active[half] && warps[wave.halves[half]->index].isDirty;
  for (unsigned half = 0; half < 2; ++half) {
    if (!wave.active[half])
      continue;
    unsigned index = wave.halves[half]->index;
    WarpCoverage &warp = warps[index];
    warp.isReleasedToWave |= isReleased;
    if (acquires(order)) {
      warp.joinsWave |= warp.isReleasedToWave;
      warp.isReleasedToWave = false;
    }
    if (!isOfWave)
      fenceHalf(warp, index, clocks, order);
  }
}

void tw::warpsim::executeWaveFence(const Wave &wave, const Instruction &instruction) {
  bool isOfWave = instruction.scope == Scope::None;
  if (instruction.coversShared)
    fenceMemory(wave, true, instruction.order, isOfWave);
  if (!instruction.coversGlobal)
    return;
  fenceMemory(wave, false, instruction.order, isOfWave);
  // Of most kernels these fences are a barrier's, which has no accesses to order by itself.
  const Synchronization &sync = wave.cta.launch.sync;
  bool isVain = instruction.scope == Scope::Cta && !sync.ordersWithinCta;
  if (isOfWave || isVain || sync.interaction == Interaction::None)
    return;
  for (unsigned half = 0; half < 2; ++half)
    if (wave.active[half])
      executeFence(wave.cta, *wave.halves[half], instruction, wave.active[half]);
}

/// The lanes of a wave know of each other's accesses before a fence: lock step orders the fence
/// itself. Done when the next access asks, since mostly a barrier comes before that.
static void joinWave(Cta &cta, const Warp &warp, bool isShared) {
  Clocks &clocks = cta.clocksOf(isShared);
  std::vector<WarpCoverage> &warps = cta.coverage.ofMemory[!isShared];
  unsigned numHalves = std::max(1u, cta.launch.program.waveSize / kWarpSize);
  unsigned first = warp.index / numHalves * numHalves;
  unsigned end = std::min<unsigned>(first + numHalves, unsigned(warps.size()));
  bool isOnlyWave = first == 0 && end == warps.size();
  std::vector<LaneMask> lanes(warps.size());
  for (unsigned index = first; index < end; ++index) {
    warps[index].joinsWave = false;
    warps[index].releasedClock = isOnlyWave ? 0 : warps[index].releasedClock;
    lanes[index] = cta.warps[index].lanes;
  }
  if (isOnlyWave)
    clocks.joinAll();
  else
    clocks.joinWave(lanes);
}

bool tw::warpsim::noteAccess(Cta &cta, const Warp &warp, bool isShared) {
  WarpCoverage &coverage = cta.coverage.ofMemory[!isShared][warp.index];
  if (coverage.joinsWave)
    joinWave(cta, warp, isShared);
  coverage.isDirty = true;
  return coverage.isUnacquired;
}

/// Hands on what each warp has released, where some have done more than that.
static void joinReleased(Cta &cta, Clocks &clocks, const std::vector<WarpCoverage> &warps) {
  std::vector<uint32_t> released(warps.size());
  std::vector<LaneMask> clean(warps.size()), everyone(warps.size());
  for (unsigned index = 0; index < warps.size(); ++index) {
    const WarpCoverage &warp = warps[index];
    bool isClean = !warp.isDirty && !warp.isLate;
    released[index] = isClean       ? clocks.clock(index)
                      : warp.isLate ? warp.signalClock
                                    : warp.releasedClock;
    everyone[index] = cta.warps[index].lanes;
    clean[index] = isClean ? everyone[index] : 0;
  }
  clocks.joinReleased(released, clean, everyone);
}

void tw::warpsim::noteSignal(Cta &cta, const Warp &warp) {
  ++cta.coverage.numSignals[warp.index];
  for (bool isShared : {true, false}) {
    WarpCoverage &coverage = cta.coverage.ofMemory[!isShared][warp.index];
    uint32_t clock = cta.clocksOf(isShared).clock(warp.index);
    coverage.hasSignalled = true;
    coverage.signalClock = coverage.isDirty ? coverage.releasedClock : clock;
  }
}

void tw::warpsim::coverBarrier(Cta &cta) {
  for (bool isShared : {true, false}) {
    Clocks &clocks = cta.clocksOf(isShared);
    std::vector<WarpCoverage> &warps = cta.coverage.ofMemory[!isShared];
    bool isAny = std::ranges::any_of(warps, &WarpCoverage::hasReleased);
    if (!isAny)
      continue;
    bool isAll = std::ranges::none_of(
        warps, [](const WarpCoverage &warp) { return warp.isDirty || warp.isLate; });
    if (isAll)
      clocks.joinAll();
    else
      joinReleased(cta, clocks, warps);
    for (WarpCoverage &warp : warps) {
      warp.isUnacquired |= isAll;
      warp.hasReleased = warp.isLate;
      warp.hasSignalled = warp.isLate = false;
      warp.releasedClock = isAll ? 0 : warp.releasedClock;
      warp.joinsWave &= !isAll;
      warp.isReleasedToWave &= !isAll;
    }
  }
}
