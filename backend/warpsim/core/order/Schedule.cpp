// Which warp of a CTA runs next where no warp sees the order, and when the CTA has ended.
#include "backend/warpsim/core/access/Accesses.h"
#include "backend/warpsim/core/bulk/Bulk.h"
#include "backend/warpsim/core/order/Clusters.h"
#include "backend/warpsim/core/state/Machine.h"
#include "backend/warpsim/core/state/Ordering.h"
#include <algorithm>

using namespace tw::warpsim;
using Schedule = LaunchOptions::Schedule;

// A warp of a plain schedule goes on until it waits; this bounds a turn all the same.
constexpr uint64_t kLongSlice = 1 << 20, kMaxRandomSlice = 48;

uint64_t Cta::sliceLength() {
  if (launch.launch.options.schedule == Schedule::Random)
    return 1 + random() % kMaxRandomSlice;
  return kLongSlice;
}

/// A warp that is ready, or null.
Warp *Cta::nextWarp() {
  unsigned count = launch.numWarps, start = lastWarp + 1;
  Schedule schedule = launch.launch.options.schedule;
  if (schedule == Schedule::Random)
    start = unsigned(random() % count);
  for (unsigned i = 0; i < count; ++i) {
    unsigned index = (start + i) % count;
    if (schedule == Schedule::Greedy)
      index = i;
    else if (schedule == Schedule::Reverse)
      index = count - 1 - i;
    if (warps[index].state == WarpState::Ready) {
      lastWarp = index;
      return &warps[index];
    }
  }
  return nullptr;
}

void Cta::run() {
  maxFruitlessReads = ~uint32_t(0);
  do
    while (Warp *warp = isStopped ? nullptr : nextWarp())
      runWarp(*warp, sliceLength());
  while (!hasEnded());
}

void Cta::runTogether(Cluster &cluster) {
  Schedule schedule = cluster.ctas.front()->launch.launch.options.schedule;
  std::vector<Cta *> order = cluster.ctas;
  if (schedule == Schedule::Reverse)
    std::ranges::reverse(order);
  bool isStopped = false;
  auto runReady = [&] {
    bool hasRun = false;
    if (schedule == Schedule::Random)
      std::ranges::shuffle(order, order.front()->random);
    for (Cta *cta : order)
      while (Warp *warp = isStopped ? nullptr : cta->nextWarp()) {
        cta->maxFruitlessReads = ~uint32_t(0);
        warp->passesSync = hasRun = true;
        cta->runWarp(*warp, cta->sliceLength());
        isStopped |= cta->isStopped;
        if (schedule == Schedule::Random)
          break;
      }
    return hasRun;
  };
  while (runReady() || (!isStopped && goOnAtMbarriers(cluster)))
    continue;
  for (Cta *cta : order) {
    cta->isStopped |= isStopped;
    cta->hasEnded();
  }
}

bool Cta::hasEnded() {
  bool isReadyAny = false, isWaitingAny = false;
  for (const Warp &warp : warps) {
    isReadyAny |= warp.state == WarpState::Ready;
    isWaitingAny |= warp.state == WarpState::Waiting;
  }
  if (!isStopped && isReadyAny)
    return false;
  if (!isStopped && isWaitingAny && (isAnyReady(*cluster) || goOnAtMbarriers(*cluster)))
    return false;
  if (!isStopped && isWaitingAny)
    reportDeadlock();
  if (!isStopped) {
    reportAsyncLeaks(*this);
    reportProductLeaks(*this);
    endBulk(*this);
    if (launch.launch.beginsEarly)
      reportLaunchOrder(*this);
  }
  return true;
}

bool Cta::rotateSpinners() {
  bool hasRotated = false;
  for (Warp &warp : warps)
    if (warp.state == WarpState::Ready && warp.poll.turns > 0 && !warp.stack.empty())
      hasRotated |= rotate(warp);
  return hasRotated;
}

static std::string describeWait(const Cta &cta, const Warp &warp) {
  std::string text = "warp " + std::to_string(warp.index);
  if (warp.state == WarpState::Done)
    return text + " has exited";
  if (warp.state == WarpState::Ready)
    return text + " spins at line " +
           std::to_string(cta.launch.program.code[warp.stack.back().pc].line);
  if (warp.mbarrier >= 0)
    return text + " waits at line " + std::to_string(cta.launch.program.code[warp.waitPc].line) +
           " for the " + describeMbarrier(cta, uint32_t(warp.mbarrier));
  if (warp.awaitsCluster)
    return text + " waits at line " + std::to_string(cta.launch.program.code[warp.waitPc].line) +
           " for the barrier of its cluster";
  if (warp.barrier < 0)
    return text + " waits at line " + std::to_string(cta.launch.program.code[warp.waitPc].line) +
           " for the rest of its wave";
  const Barrier &barrier = cta.barriers[warp.barrier];
  return text + " waits at line " + std::to_string(cta.launch.program.code[warp.waitPc].line) +
         " for barrier " + std::to_string(warp.barrier) + " (" +
         std::to_string(barrier.arrivedWarps) + " of " + std::to_string(barrier.expectedWarps) +
         " warps have arrived)";
}

void Cta::reportDeadlock() {
  std::string text = "no warp can go on:";
  for (const Warp &warp : warps)
    text += (warp.index ? "; " : " ") + describeWait(*this, warp);
  for (Warp &warp : warps) {
    if (warp.state == WarpState::Done)
      continue;
    int32_t pc = warp.state == WarpState::Waiting ? warp.waitPc : warp.stack.back().pc;
    unsigned lane = unsigned(__builtin_ctz(warp.present() ? warp.present() : 1));
    report(Kind::Deadlock, warp, lane, pc, [&](Finding &finding) { finding.message = text; });
  }
  isStopped = true;
}
