// What reads have taught, as long as nothing but more reads has followed: one that is repeated has
// taught nothing.
#include "backend/warpsim/core/clocks/Clocks.h"
#include <algorithm>

using namespace tw::warpsim;

// Reads of one round of a loop that waits: of a row of flags, say. With more, all count.
constexpr size_t kMaxTrials = 16;

bool Clocks::isAnyOnTrial() const { return std::ranges::any_of(waves, &Wave::isOnTrial); }

/// Adds what a barrier teaches to what lanes knew before their reads.
void Clocks::teachTrials(Wave &wave, const SharedKnowledge &sure) {
  wave.isJoined |= !wave.trials.empty();
  for (Lane &before : wave.before)
    before.foreign = joined(before.foreign, sure);
}

void Clocks::confirm(unsigned number) {
  size_t begin = number * warpsPerWave * kWarpSize;
  size_t end = std::min<size_t>(begin + warpsPerWave * kWarpSize, lanes.size());
  for (size_t i = begin; i < end; ++i)
    lanes[i].sure = lanes[i].foreign;
  waves[number] = {};
}

/// The lane's latest read on trial, or null.
Clocks::Trial *Clocks::trialOf(unsigned warp, unsigned number) {
  std::vector<Trial> &trials = waves[warp / warpsPerWave].trials;
  auto found = std::find_if(trials.rbegin(), trials.rend(), [&](const Trial &each) {
    return each.read.warp == warp && (each.read.lanes >> number & 1);
  });
  return found == trials.rend() ? nullptr : &*found;
}

/// Gives a lane what its reads on trial have taught.
void Clocks::learnTaught(unsigned warp, unsigned number) {
  Lane &self = lane(warp, number);
  for (const Trial &trial : waves[warp / warpsPerWave].trials) {
    if (trial.read.warp != warp || !(trial.read.lanes >> number & 1))
      continue;
    const Lane &taught = trial.taught[number];
    if (taught.foreign)
      learnOwn(self, taught.foreign);
    self.foreign = joined(self.foreign, taught.foreign);
    self.seen = joined(self.seen, taught.seen);
    self.seenOfCta = joined(self.seenOfCta, taught.seenOfCta);
  }
}

/// Has the lanes of a wave know what they knew before its first read on trial, and what the reads
/// have taught. Lanes that have read nothing may have learned the same by a barrier.
void Clocks::recall(unsigned number) {
  Wave &wave = waves[number];
  unsigned first = number * warpsPerWave;
  unsigned end = std::min<unsigned>(first + warpsPerWave, unsigned(warpClocks.size()));
  SharedKnowledge ofReaders;
  for (unsigned i = 0; i < (end - first) * kWarpSize; ++i) {
    unsigned warp = first + i / kWarpSize, each = i % kWarpSize;
    if (!trialOf(warp, each))
      continue;
    Lane &self = lane(warp, each);
    const Lane &before = wave.before[i];
    self.foreign = before.foreign;
    self.seen = before.seen;
    self.seenOfCta = before.seenOfCta;
    if (!wave.isJoined && !wave.keepsOwn)
      self.known = before.known;
    learnTaught(warp, each);
    ofReaders = joined(ofReaders, self.foreign);
  }
  for (unsigned i = 0; wave.isJoined && i < (end - first) * kWarpSize; ++i)
    if (Lane &self = lane(first + i / kWarpSize, i % kWarpSize);
        !trialOf(first + i / kWarpSize, i % kWarpSize))
      self.foreign = joined(self.sure, ofReaders);
}

/// Returns true if all that `other` reads is read by `read`, too.
static bool repeats(const Clocks::Read &read, const Clocks::Read &other) {
  if (other.warp != read.warp || (other.lanes & ~read.lanes))
    return false;
  for (LaneMask rest = other.lanes; rest; rest &= rest - 1)
    if (unsigned i = unsigned(__builtin_ctz(rest)); other.addresses[i] != read.addresses[i])
      return false;
  return true;
}

void Clocks::beginRead(const Read &read) {
  unsigned number = read.warp / warpsPerWave;
  std::vector<Trial> &trials = waves[number].trials;
  if (auto found = std::ranges::find(trials, read, &Trial::read); found != trials.end()) {
    // Those after it at the same addresses belong to the round that is repeated, as in a loop that
    // the compiler has unrolled.
    trials.erase(std::remove_if(found, trials.end(),
                                [&](const Trial &each) { return repeats(read, each.read); }),
                 trials.end());
    trials.push_back({read, {}});
    return recall(number);
  }
  if (trials.size() == kMaxTrials)
    confirm(number);
  Wave &wave = waves[number];
  wave.isOnTrial = true;
  wave.before.resize(warpsPerWave * kWarpSize);
  for (LaneMask rest = read.lanes; rest; rest &= rest - 1) {
    unsigned i = unsigned(__builtin_ctz(rest));
    if (!trialOf(read.warp, i))
      wave.before[read.warp % warpsPerWave * kWarpSize + i] = lane(read.warp, i);
  }
  wave.trials.push_back({read, {}});
}
