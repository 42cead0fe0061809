// Which writes have passed a proxy fence.
#include "backend/warpsim/core/clocks/ProxyFences.h"
#include <algorithm>

using namespace tw::warpsim;

void ProxyFences::reset(const Clocks &clocks, unsigned numWarps) {
  ofWarp.resize(numWarps);
  for (std::vector<Fence> &fences : ofWarp)
    fences.clear();
  firstEpoch = clocks.epoch();
  summarizedEpoch = coveredEpoch = 0;
}

void ProxyFences::fence(Clocks &clocks, unsigned warp, LaneMask lanes) {
  // Lanes that know the same make one record.
  while (lanes) {
    Snapshot first = clocks.snapshot(warp, unsigned(__builtin_ctz(lanes)));
    LaneMask same = 0;
    for (LaneMask rest = lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      same |= LaneMask(clocks.snapshot(warp, lane).known == first.known) << lane;
    }
    ofWarp[warp].push_back({first.epoch, first.clock, same, first.known});
    lanes &= ~same;
  }
  clocks.advance(warp);
}

bool ProxyFences::isCoveredBy(const Clocks &clocks, unsigned warp, unsigned lane,
                              unsigned fenceWarp, const Fence &fence,
                              const PastWrite &write) const {
  auto isFenceOf = [&](unsigned fenceLane) {
    if (fence.epoch == clocks.epoch() &&
        !clocks.knows(warp, lane, fenceWarp, fenceLane, fence.clock))
      return false;
    bool isOwn = fenceWarp == write.warp && fenceLane == write.lane;
    uint32_t known = fence.known ? (*fence.known)[write.warp * kWarpSize + write.lane] : 0;
    return fence.epoch > write.epoch || write.clock <= (isOwn ? fence.clock : known);
  };
  if (fenceWarp == write.warp && (fence.lanes >> write.lane & 1) && isFenceOf(write.lane))
    return true;
  for (LaneMask rest = fence.lanes; rest; rest &= rest - 1)
    if (isFenceOf(unsigned(__builtin_ctz(rest))))
      return true;
  return false;
}

bool ProxyFences::covers(const Clocks &clocks, unsigned warp, unsigned lane,
                         const PastWrite &write) {
  if (coversForAll(clocks, write))
    return true;
  auto isCoveredByWarp = [&](unsigned other) {
    const std::vector<Fence> &fences = ofWarp[other];
    for (auto fence = fences.rbegin(); fence != fences.rend() && fence->epoch >= write.epoch;
         ++fence)
      if (isCoveredBy(clocks, warp, lane, other, *fence, write))
        return true;
    return false;
  };
  // Mostly the reader's or the writer's.
  if (isCoveredByWarp(warp) || isCoveredByWarp(write.warp))
    return true;
  for (unsigned other = 0; other < ofWarp.size(); ++other)
    if (isCoveredByWarp(other))
      return true;
  return false;
}

/// Looks for the last epoch before the present one that has fences.
void ProxyFences::summarize(const Clocks &clocks) {
  summarizedEpoch = clocks.epoch();
  coveredEpoch = 0;
  auto isPast = [&](const Fence &fence) { return fence.epoch < summarizedEpoch; };
  for (const std::vector<Fence> &fences : ofWarp) {
    auto last = std::find_if(fences.rbegin(), fences.rend(), isPast);
    if (last != fences.rend())
      coveredEpoch = std::max(coveredEpoch, last->epoch);
  }
  coveredClocks.assign(ofWarp.size(), 0);
  for (unsigned warp = 0; warp < ofWarp.size(); ++warp) {
    const std::vector<Fence> &fences = ofWarp[warp];
    for (auto fence = fences.rbegin(); fence != fences.rend() && fence->epoch >= coveredEpoch;
         ++fence)
      if (fence->epoch == coveredEpoch && fence->lanes == ~LaneMask(0))
        coveredClocks[warp] = std::max(coveredClocks[warp], fence->clock);
  }
}
