// Vector clocks with epochs.
#include "backend/warpsim/core/order/Clocks.h"
#include <algorithm>

using namespace tw::warpsim;

static void joinVectors(std::vector<uint32_t> &into, const std::vector<uint32_t> &from) {
  if (into.size() < from.size())
    into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

uint32_t CtaKnowledge::clockOf(uint32_t thread) const {
  auto found = std::lower_bound(clocks.begin(), clocks.end(), std::pair(thread, 0u));
  return found != clocks.end() && found->first == thread ? found->second : 0;
}

void CtaKnowledge::join(const CtaKnowledge &other) {
  if (other.epoch < epoch)
    return;
  if (other.epoch > epoch) {
    *this = other;
    return;
  }
  if (other.clocks == clocks)
    return;
  for (auto [thread, clock] : other.clocks) {
    auto found = std::lower_bound(clocks.begin(), clocks.end(), std::pair(thread, 0u));
    if (found != clocks.end() && found->first == thread)
      found->second = std::max(found->second, clock);
    else
      clocks.insert(found, {thread, clock});
  }
}

void tw::warpsim::join(Knowledge &into, const Knowledge &from) {
  // Whoever waits in a loop knows nearly all of what it learns: both are walked side by side,
  // unless one is much shorter.
  bool isShort = from.size() < into.size() / 8;
  auto place = into.begin();
  for (const auto &[cta, known] : from) {
    if (isShort)
      place = into.lower_bound(cta);
    while (place != into.end() && place->first < cta)
      ++place;
    if (place == into.end() || place->first != cta)
      place = into.emplace_hint(place, cta, known);
    else
      place->second.join(known);
  }
}

void Clocks::reset(uint64_t number, unsigned numWarps) {
  cta = number;
  // Epochs go on from CTA to CTA, so that records of the last one are stale without being cleared.
  ++currentEpoch;
  warpClocks.assign(numWarps, 1);
  if (hasVectors || hasForeign || lanes.size() != numWarps * kWarpSize) {
    lanes.clear();
    lanes.resize(numWarps * kWarpSize);
  }
  hasVectors = hasForeign = false;
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
  const Lane &self = lane(warp, number);
  if (!self.foreign)
    return false;
  auto found = self.foreign->find(other);
  if (found == self.foreign->end() || found->second.epoch < epoch)
    return false;
  return found->second.epoch > epoch ||
         found->second.clockOf(otherWarp * kWarpSize + otherLane) >= clock;
}

Clocks::Vector &Clocks::ownVector(Lane &lane) {
  hasVectors = true;
  if (!lane.known)
    lane.known = std::make_shared<Vector>(lanes.size());
  else if (lane.known.use_count() > 1)
    lane.known = std::make_shared<Vector>(*lane.known);
  return *lane.known;
}

Knowledge &Clocks::ownForeign(Lane &lane) {
  hasForeign = true;
  if (!lane.foreign)
    lane.foreign = std::make_shared<Knowledge>();
  else if (lane.foreign.use_count() > 1)
    lane.foreign = std::make_shared<Knowledge>(*lane.foreign);
  return *lane.foreign;
}

template <typename Function>
static void forEachLane(const std::vector<LaneMask> &lanes, Function function) {
  for (unsigned warp = 0; warp < lanes.size(); ++warp)
    for (LaneMask rest = lanes[warp]; rest; rest &= rest - 1)
      function(warp, unsigned(__builtin_ctz(rest)));
}

std::shared_ptr<Clocks::Vector> Clocks::unionOf(const std::vector<LaneMask> &participants) const {
  auto result = std::make_shared<Vector>(lanes.size());
  const Vector *last = nullptr;
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    const Vector *known = lane(warp, number).known.get();
    if (known && known != last)
      joinVectors(*result, *known);
    last = known;
  });
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    (*result)[warp * kWarpSize + number] = warpClocks[warp];
  });
  return result;
}

std::shared_ptr<Knowledge> Clocks::foreignUnion(const std::vector<LaneMask> &participants) const {
  std::shared_ptr<Knowledge> result;
  const Knowledge *last = nullptr;
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    const Knowledge *foreign = lane(warp, number).foreign.get();
    if (!foreign || foreign == last)
      return;
    if (!result)
      result = std::make_shared<Knowledge>();
    join(*result, *foreign);
    last = foreign;
  });
  return result;
}

void Clocks::joinAll() {
  ++currentEpoch;
  std::fill(warpClocks.begin(), warpClocks.end(), 1); // clocks count within an epoch
  if (hasVectors)
    for (Lane &each : lanes)
      each.known = nullptr;
  hasVectors = false;
  if (!hasForeign)
    return;
  std::shared_ptr<Knowledge> all =
      foreignUnion(std::vector<LaneMask>(warpClocks.size(), ~LaneMask(0)));
  for (Lane &each : lanes)
    each.foreign = all;
}

void Clocks::joinLanes(const std::vector<LaneMask> &participants, const Knowledge &arrivals) {
  hasVectors = true;
  std::shared_ptr<Vector> known = unionOf(participants);
  std::shared_ptr<Knowledge> foreign = hasForeign ? foreignUnion(participants) : nullptr;
  for (const auto &[otherCta, other] : arrivals) {
    if (otherCta != cta) {
      hasForeign = true;
      foreign = foreign ? foreign : std::make_shared<Knowledge>();
      (*foreign)[otherCta].join(other);
    } else if (other.epoch == currentEpoch) {
      for (auto [thread, clock] : other.clocks)
        (*known)[thread] = std::max((*known)[thread], clock);
    }
  }
  forEachLane(participants, [&](unsigned warp, unsigned number) {
    lane(warp, number).known = known;
    if (foreign)
      lane(warp, number).foreign = foreign;
  });
  for (unsigned warp = 0; warp < participants.size(); ++warp)
    if (participants[warp])
      ++warpClocks[warp];
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
    return joinLanes(lanesByWarp, {});
  }
  // All 32 references are this warp's: the lanes know the same, and it can change in place.
  std::fill_n(first.known->begin() + warp * kWarpSize, kWarpSize, warpClocks[warp]);
  ++warpClocks[warp];
}

Knowledge Clocks::snapshot(unsigned warp, unsigned number) const {
  const Lane &self = lane(warp, number);
  Knowledge result = self.foreign ? *self.foreign : Knowledge();
  CtaKnowledge &own = result[cta];
  own.epoch = currentEpoch;
  own.clocks.clear();
  unsigned thread = warp * kWarpSize + number;
  for (unsigned other = 0; other < lanes.size(); ++other) {
    uint32_t clock = other == thread ? warpClocks[warp] : self.known ? (*self.known)[other] : 0;
    if (clock)
      own.clocks.emplace_back(other, clock);
  }
  return result;
}

void Clocks::release(unsigned warp, unsigned number, Knowledge &object) {
  join(object, snapshot(warp, number));
  advance(warp);
}

void Clocks::acquire(unsigned warp, unsigned number, const Knowledge &object) {
  Lane &self = lane(warp, number);
  for (const auto &[otherCta, known] : object) {
    if (otherCta != cta)
      ownForeign(self)[otherCta].join(known);
    else if (known.epoch == currentEpoch)
      for (auto [thread, clock] : known.clocks) {
        uint32_t &mine = ownVector(self)[thread];
        mine = std::max(mine, clock);
      }
  }
}
