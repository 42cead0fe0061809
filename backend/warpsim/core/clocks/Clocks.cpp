// Vector clocks with epochs.
#include "backend/warpsim/core/clocks/Clocks.h"
#include <algorithm>

using namespace tw::warpsim;

static void joinVectors(ClockVector &into, const ClockVector &from) {
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

SharedKnowledge Snapshot::publish() const {
  auto own = std::make_shared<CtaKnowledge>();
  own->epoch = epoch;
  own->base = known;
  own->raised.emplace_back(thread, clock);
  auto result = std::make_shared<Knowledge>();
  result->reserve(foreign ? foreign->size() + 1 : 1);
  auto next = foreign ? foreign->begin() : result->end(), end = foreign ? foreign->end() : next;
  for (; next != end && next->first < cta; ++next)
    result->push_back(*next);
  result->emplace_back(cta, std::move(own));
  for (; next != end; ++next)
    if (next->first != cta)
      result->push_back(*next);
  return result;
}

void Clocks::reset(uint64_t number, unsigned numWarps, unsigned waveSize) {
  cta = uint32_t(number);
  // Epochs go on from CTA to CTA, so that records of the last one are stale without being cleared.
  ++currentEpoch;
  warpsPerWave = std::max(1u, waveSize / kWarpSize);
  warpClocks.assign(numWarps, 1);
  if (hasVectors || hasForeign || hasSeen || lanes.size() != numWarps * kWarpSize) {
    lanes.clear();
    lanes.resize(numWarps * kWarpSize);
  }
  waves.assign((numWarps + warpsPerWave - 1) / warpsPerWave, {});
  hasVectors = hasForeign = hasSeen = false;
  observed.clear();
  joinForeign = {};
  joinOwn = {};
}

bool Clocks::knows(unsigned warp, unsigned number, unsigned otherWarp, unsigned otherLane,
                   uint32_t clock) const {
  if (warp == otherWarp && number == otherLane)
    return true;
  const Lane &self = lane(warp, number);
  return self.known && (*self.known)[otherWarp * kWarpSize + otherLane] >= clock;
}

bool Clocks::knowsForeign(unsigned warp, unsigned number, uint32_t other, uint32_t epoch,
                          unsigned otherWarp, unsigned otherLane, uint32_t clock) const {
  const CtaKnowledge *part = partOf(lane(warp, number).foreign, other);
  if (!part || part->epoch < epoch)
    return false;
  return part->epoch > epoch || part->clockOf(otherWarp * kWarpSize + otherLane) >= clock;
}

template <typename Function>
static void forEachLane(const std::vector<LaneMask> &lanes, Function function) {
  for (unsigned warp = 0; warp < lanes.size(); ++warp)
    for (LaneMask rest = lanes[warp]; rest; rest &= rest - 1)
      function(warp, unsigned(__builtin_ctz(rest)));
}

std::shared_ptr<ClockVector> Clocks::unionOf(const std::vector<LaneMask> &participants) const {
  auto result = std::make_shared<ClockVector>(lanes.size());
  const ClockVector *last = nullptr;
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    const ClockVector *known = lane(warp, number).known.get();
    if (known && known != last)
      joinVectors(*result, *known);
    last = known;
  });
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    (*result)[warp * kWarpSize + number] = warpClocks[warp];
  });
  return result;
}

template <typename Pick>
SharedKnowledge Clocks::foreignUnion(const std::vector<LaneMask> &participants, Pick pick) const {
  SharedKnowledge result;
  const Knowledge *last = nullptr;
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    const SharedKnowledge &each = pick(warp, lane(warp, number));
    if (each.get() != last)
      result = joined(result, each);
    last = each.get();
  });
  return result;
}

SharedKnowledge Clocks::allOf(const std::vector<LaneMask> &participants) const {
  return foreignUnion(participants,
                      [](unsigned, const Lane &each) -> auto & { return each.foreign; });
}

SharedKnowledge Clocks::sureOf(const std::vector<LaneMask> &participants) const {
  return foreignUnion(participants, [](unsigned, const Lane &each) -> auto & { return each.sure; });
}

/// Returns the knowledge that a barrier which lets all lanes on teaches: a wave that has learned by
/// barriers only hands on what is sure, since whoever read the rest takes part and may have
/// forgotten it.
SharedKnowledge Clocks::handedOn(const std::vector<LaneMask> &participants) const {
  return foreignUnion(participants, [this](unsigned warp, const Lane &each) -> auto & {
    return waves[warp / warpsPerWave].hasAcquired ? each.foreign : each.sure;
  });
}

void Clocks::joinAll() {
  ++currentEpoch;
  std::fill(warpClocks.begin(), warpClocks.end(), 1); // clocks count within an epoch
  if (hasVectors)
    for (Lane &each : lanes)
      each.known = nullptr;
  hasVectors = false;
  bool isOnTrial = isAnyOnTrial();
  SharedKnowledge all, sure;
  if (hasForeign) {
    std::vector<LaneMask> everyone(warpClocks.size(), ~LaneMask(0));
    all = handedOn(everyone);
    sure = isOnTrial ? sureOf(everyone) : all;
    for (Lane &each : lanes) {
      each.foreign = all;
      each.sure = sure;
    }
  }
  for (Wave &wave : waves) {
    wave.isOnTrial = isOnTrial;
    teachTrials(wave, sure);
  }
}

void Clocks::joinLanes(const std::vector<LaneMask> &participants, const SharedKnowledge &arrivals) {
  // Others than these may have taught them what is on trial: it counts from here on.
  for (unsigned warp = 0; warp < participants.size(); ++warp)
    if (participants[warp])
      use(warp, false);
  joinWave(participants);
  if (!arrivals)
    return;
  hasForeign = true;
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    Lane &each = lane(warp, number);
    learnOwn(each, arrivals);
    each.sure = each.foreign = joinForeign(each.foreign, arrivals, joined);
  });
}

void Clocks::joinWave(const std::vector<LaneMask> &participants) {
  hasVectors = true;
  std::shared_ptr<ClockVector> known = unionOf(participants);
  SharedKnowledge all = hasForeign ? allOf(participants) : nullptr;
  SharedKnowledge sure = hasForeign && isAnyOnTrial() ? sureOf(participants) : all;
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    Lane &each = lane(warp, number);
    each.known = known;
    each.foreign = all;
    each.sure = sure;
  });
  for (unsigned warp = 0; warp < participants.size(); ++warp)
    if (participants[warp]) {
      teachTrials(waves[warp / warpsPerWave], sure);
      ++warpClocks[warp];
    }
}

void Clocks::joinWarp(unsigned warp, LaneMask mask) {
  Lane &first = lane(warp, __builtin_ctz(mask));
  bool isShared =
      first.known && mask == ~LaneMask(0) && !hasForeign && first.known.use_count() == kWarpSize;
  for (unsigned number = 1; isShared && number < kWarpSize; ++number)
    isShared = lane(warp, number).known == first.known;
  if (!isShared) {
    std::vector<LaneMask> lanesByWarp(warpClocks.size());
    lanesByWarp[warp] = mask;
    return joinWave(lanesByWarp);
  }
  // All 32 references are this warp's: the lanes know the same, and it can change in place.
  std::fill_n(first.known->begin() + warp * kWarpSize, kWarpSize, warpClocks[warp]);
  ++warpClocks[warp];
}

void Clocks::joinReleased(const std::vector<uint32_t> &released, const std::vector<LaneMask> &clean,
                          const std::vector<LaneMask> &everyone) {
  auto clocks = std::make_shared<ClockVector>(lanes.size());
  for (size_t i = 0; i < lanes.size(); ++i)
    (*clocks)[i] = released[i / kWarpSize];
  auto own = std::make_shared<CtaKnowledge>(CtaKnowledge{currentEpoch, std::move(clocks), {}});
  auto object = std::make_shared<Knowledge>(Knowledge{{cta, std::move(own)}});
  bool isOnTrial = isAnyOnTrial();
  SharedKnowledge all = hasForeign ? handedOn(clean) : nullptr;
  SharedKnowledge sure = isOnTrial ? sureOf(clean) : all;
  forEachLane(everyone, [&](unsigned warp, unsigned number) {
    Lane &each = lane(warp, number);
    learnOwn(each, object);
    bool isSure = each.sure == each.foreign && sure == all;
    each.foreign = joinForeign(each.foreign, all, joined);
    each.sure = isSure ? each.foreign : joined(each.sure, sure);
  });
  for (unsigned warp = 0; warp < warpClocks.size(); ++warp)
    advance(warp);
  for (Wave &wave : waves) {
    wave.isOnTrial = isOnTrial;
    teachTrials(wave, sure);
  }
}

Snapshot Clocks::snapshot(unsigned warp, unsigned number) const {
  const Lane &self = lane(warp, number);
  return {self.foreign, self.known, cta, currentEpoch, warp * kWarpSize + number, warpClocks[warp]};
}

/// Learns what is said of the lane's own CTA.
void Clocks::learnOwn(Lane &self, const SharedKnowledge &object) {
  const CtaKnowledge *part = partOf(object, cta);
  if (!part || part->epoch != currentEpoch)
    return;
  hasVectors = true;
  self.known = joinOwn(self.known, object, [&](const std::shared_ptr<ClockVector> &known, auto &) {
    auto result =
        known ? std::make_shared<ClockVector>(*known) : std::make_shared<ClockVector>(lanes.size());
    joinInto(*result, *part);
    return known && *result == *known ? known : result;
  });
}

void Clocks::acquire(unsigned warp, unsigned number, const SharedKnowledge &object) {
  if (!object)
    return;
  hasForeign = true;
  Lane &self = lane(warp, number);
  learnOwn(self, object);
  self.foreign = joinForeign(self.foreign, object, joined);
  Wave &wave = waves[warp / warpsPerWave];
  wave.isOnTrial = wave.hasAcquired = true;
  if (Trial *trial = trialOf(warp, number))
    trial->taught[number].foreign = joined(trial->taught[number].foreign, object);
}

void Clocks::assume(unsigned warp, unsigned number, const SharedKnowledge &object) {
  Lane &self = lane(warp, number);
  self = Lane();
  if (!object)
    return;
  hasForeign = true;
  learnOwn(self, object);
  self.foreign = self.sure = object;
}

void Clocks::see(unsigned warp, unsigned number, const SharedKnowledge &object, bool isOfCta) {
  if (!object)
    return;
  hasSeen = true;
  auto add = [&](Lane &to) {
    SharedKnowledge &seen = isOfCta ? to.seenOfCta : to.seen;
    seen = joined(seen, object);
  };
  add(lane(warp, number));
  if (Trial *trial = trialOf(warp, number))
    add(trial->taught[number]);
}

/// Turns what a fence acquires into what is known.
static SharedKnowledge takeSeen(SharedKnowledge &seen, SharedKnowledge &seenOfCta,
                                bool reachesGpu) {
  SharedKnowledge taken = std::exchange(seenOfCta, nullptr);
  return reachesGpu ? joined(taken, std::exchange(seen, nullptr)) : taken;
}

void Clocks::acquireSeen(unsigned warp, unsigned number, bool reachesGpu) {
  if (!hasSeen)
    return;
  auto acquireOf = [&](Lane &each) {
    each.foreign = joined(each.foreign, takeSeen(each.seen, each.seenOfCta, reachesGpu));
  };
  Wave &wave = waves[warp / warpsPerWave];
  for (Trial &trial : wave.trials)
    if (trial.read.warp == warp)
      acquireOf(trial.taught[number]);
  if (!wave.before.empty())
    acquireOf(wave.before[warp % warpsPerWave * kWarpSize + number]);
  Lane &self = lane(warp, number);
  SharedKnowledge taken = takeSeen(self.seen, self.seenOfCta, reachesGpu);
  if (!taken)
    return;
  hasForeign = wave.isOnTrial = wave.hasAcquired = true;
  learnOwn(self, taken);
  self.foreign = joined(self.foreign, taken);
}
