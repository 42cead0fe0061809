// What reads have taught, as long as nothing but more reads has followed: one that is repeated has
// taught nothing.
#include "backend/warpsim/core/order/Clocks.h"
#include <algorithm>

using namespace tw::warpsim;

// Reads of one round of a loop that waits: of a row of flags, say. With more, all count.
constexpr size_t kMaxTrials = 16;

bool Clocks::isAnyOnTrial() const { return std::ranges::any_of(waves, &Wave::isOnTrial); }

/// What a barrier teaches has nothing to do with the reads before it.
void Clocks::teachTrials(Wave &wave, const SharedKnowledge &sure) {
  for (Trial &trial : wave.trials) {
    trial.isJoined = true;
    for (LaneMask rest = trial.read.lanes; rest; rest &= rest - 1) {
      SharedKnowledge &foreign = trial.before[__builtin_ctz(rest)].foreign;
      foreign = joined(foreign, sure);
    }
  }
}

void Clocks::confirm(unsigned number) {
  Wave &wave = waves[number];
  size_t begin = number * warpsPerWave * kWarpSize;
  size_t end = std::min<size_t>(begin + warpsPerWave * kWarpSize, lanes.size());
  for (size_t i = begin; i < end; ++i)
    lanes[i].sure = lanes[i].foreign;
  wave.isOnTrial = wave.hasAcquired = false;
  wave.trials.clear();
}

/// Takes lanes back to what they knew before a read. Others of the wave may have learned the same
/// by a barrier; those that have read something themselves are left alone.
void Clocks::forget(unsigned number, const Trial &trial) {
  std::vector<LaneMask> readers(warpClocks.size());
  for (const Trial &each : waves[number].trials)
    readers[each.read.warp] |= each.read.lanes;
  for (LaneMask rest = trial.read.lanes; rest; rest &= rest - 1) {
    unsigned i = unsigned(__builtin_ctz(rest));
    Lane &self = lane(trial.read.warp, i);
    const Lane &before = trial.before[i];
    self.foreign = before.foreign;
    self.seen = before.seen;
    self.seenOfCta = before.seenOfCta;
    if (!trial.isJoined && !trial.keepsOwn)
      self.known = before.known;
  }
  const SharedKnowledge &before = trial.before[__builtin_ctz(trial.read.lanes)].foreign;
  unsigned end = std::min<unsigned>((number + 1) * warpsPerWave, unsigned(warpClocks.size()));
  for (unsigned warp = number * warpsPerWave; trial.isJoined && warp < end; ++warp)
    for (LaneMask rest = ~readers[warp]; rest; rest &= rest - 1) {
      Lane &other = lane(warp, unsigned(__builtin_ctz(rest)));
      other.foreign = joined(other.sure, before);
    }
}

bool Clocks::repeatRead(const Read &read) {
  unsigned number = read.warp / warpsPerWave;
  std::vector<Trial> &trials = waves[number].trials;
  auto found = std::ranges::find(trials, read, &Trial::read);
  if (found != trials.end()) {
    forget(number, *found);
    // The reads after it belong to the round that is repeated.
    trials.erase(std::remove_if(found + 1, trials.end(),
                                [&](const Trial &each) {
                                  return each.read.warp == read.warp &&
                                         !(each.read.lanes & ~read.lanes);
                                }),
                 trials.end());
    return true;
  }
  if (trials.size() == kMaxTrials)
    confirm(number);
  waves[number].isOnTrial = true;
  Trial &trial = trials.emplace_back(Trial{read, {}});
  for (LaneMask rest = read.lanes; rest; rest &= rest - 1) {
    unsigned i = unsigned(__builtin_ctz(rest));
    trial.before[i] = lane(read.warp, i);
  }
  return false;
}

bool Clocks::hasRead(unsigned warp, unsigned number, uint64_t address) const {
  return std::ranges::any_of(waves[warp / warpsPerWave].trials, [&](const Trial &each) {
    return each.read.warp == warp && (each.read.lanes >> number & 1) &&
           each.read.addresses[number] == address;
  });
}
