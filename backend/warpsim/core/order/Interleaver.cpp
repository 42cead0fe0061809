// Which warp of which CTA goes next, and who waits for a change.
#include "backend/warpsim/core/order/Interleaver.h"
#include <algorithm>
#include <tuple>

using namespace tw::warpsim;
using Schedule = LaunchOptions::Schedule;

// A warp that reads the same again sleeps until something changes; when all sleep, each may go on
// for longer, since some loops end by a count of tries.
constexpr uint32_t kReadsBeforeSleep = 2, kReadsOfRound = 256;
// Slices of warps that come to no instruction that others see.
constexpr uint64_t kPlainSlice = 4096, kRandomSlice = 48;
// Under random schedules, now and then somebody publishes before others have read.
constexpr uint64_t kTurnsBetweenAnyones = 64;
// Every so often whoever has waited longest goes, whatever it is to do: nobody waits forever.
constexpr uint64_t kTurnsOfAge = 2048;

Interleaver::Interleaver(LaunchState &launch) : launch(launch) { reseed(0); }

void Interleaver::reseed(uint64_t number) {
  random.seed(launch.launch.options.seed * 0x9e3779b97f4a7c15 + number);
}

void Interleaver::add(std::unique_ptr<Cta> cta) {
  for (unsigned warp = 0; warp < launch.numWarps; ++warp)
    agents.push_back({cta.get(), warp, numTurns});
  ctas.push_back(std::move(cta));
  numRounds = 0;
}

std::unique_ptr<Cta> Interleaver::remove(Cta *cta) {
  std::erase_if(agents, [cta](const Agent &agent) { return agent.cta == cta; });
  auto found = std::find_if(ctas.begin(), ctas.end(),
                            [cta](const std::unique_ptr<Cta> &each) { return each.get() == cta; });
  std::unique_ptr<Cta> taken = std::move(*found);
  ctas.erase(found);
  numRounds = 0;
  return taken;
}

std::vector<std::unique_ptr<Cta>> Interleaver::takeAll() {
  agents.clear();
  numRounds = 0;
  return std::move(ctas);
}

bool Interleaver::isReady(const Agent &agent) const {
  return !agent.isAsleep && agent.cta->warps[agent.warp].state == WarpState::Ready;
}

/// 0 for whoever comes to a barrier or to the next such instruction first; then who reads, then who
/// publishes, then who has run long without either.
unsigned Interleaver::rankOf(const Agent &agent) const {
  if (agent.isSlow)
    return 3;
  if (!agent.isAtSync)
    return 0;
  return unsigned(launch.prepared[agent.cta->warps[agent.warp].stack.back().pc].sync);
}

bool Interleaver::isEarlier(const Agent &a, const Agent &b) const {
  unsigned rankA = rankOf(a), rankB = rankOf(b);
  if (rankA != rankB)
    return rankA < rankB;
  auto orderOf = [](const Agent &agent) { return std::tuple(agent.cta->slot, agent.warp); };
  switch (launch.launch.options.schedule) {
  case Schedule::Greedy:
    return orderOf(a) < orderOf(b);
  case Schedule::Reverse:
    return orderOf(b) < orderOf(a);
  default:
    return std::tuple(a.lastTurn, orderOf(a)) < std::tuple(b.lastTurn, orderOf(b));
  }
}

Interleaver::Agent *Interleaver::chooseAtRandom() {
  bool isAnyone = random() % kTurnsBetweenAnyones == 0;
  auto publishes = [this](const Agent *agent) {
    return rankOf(*agent) == unsigned(SyncStep::Publish);
  };
  if (!isAnyone && !std::all_of(candidates.begin(), candidates.end(), publishes))
    std::erase_if(candidates, publishes);
  return candidates[random() % candidates.size()];
}

Interleaver::Agent *Interleaver::choose() {
  candidates.clear();
  for (Agent &agent : agents)
    if (isReady(agent))
      candidates.push_back(&agent);
  if (candidates.empty())
    return nullptr;
  bool isByAge = numTurns % kTurnsOfAge == kTurnsOfAge - 1;
  if (launch.launch.options.schedule == Schedule::Random && !isByAge)
    return chooseAtRandom();
  return *std::min_element(candidates.begin(), candidates.end(),
                           [&](const Agent *a, const Agent *b) {
                             return isByAge ? a->lastTurn < b->lastTurn : isEarlier(*a, *b);
                           });
}

void Interleaver::note(Agent &agent, Stop stop, bool hasChanged) {
  const PollState &poll = agent.cta->warps[agent.warp].poll;
  agent.lastTurn = ++numTurns;
  agent.isAtSync = stop == Stop::AtSync;
  agent.isSlow = stop == Stop::Preempted;
  agent.isAsleep = stop == Stop::Fruitless;
  bool isInVain = stop == Stop::Fruitless || poll.fruitless > 0 || poll.turns > 0;
  if (hasChanged || !isInVain || stop == Stop::Ended || stop == Stop::Blocked)
    numRounds = 0;
  if (hasChanged)
    for (Agent &other : agents)
      other.isAsleep = false;
}

std::unique_ptr<Cta> Interleaver::run() {
  while (Agent *agent = choose()) {
    Cta &cta = *agent->cta;
    uint64_t changesBefore = cta.numChanges;
    bool isRandom = launch.launch.options.schedule == Schedule::Random;
    uint64_t slice = isRandom ? 1 + random() % kRandomSlice : kPlainSlice;
    Warp &warp = cta.warps[agent->warp];
    warp.passesSync = agent->isAtSync;
    Stop stop = cta.advance(warp, slice, numRounds ? kReadsOfRound : kReadsBeforeSleep);
    note(*agent, stop, cta.numChanges != changesBefore);
    if ((cta.isStopped || stop == Stop::Ended || stop == Stop::Blocked) && cta.hasEnded())
      return remove(&cta);
  }
  return nullptr;
}

unsigned Interleaver::tryAgain() {
  for (Agent &agent : agents)
    agent.isAsleep = false;
  return ++numRounds;
}

void Interleaver::rotateSpinners() {
  for (std::unique_ptr<Cta> &cta : ctas)
    cta->rotateSpinners();
  for (Agent &agent : agents)
    agent.isAtSync = false; // it may be elsewhere now
}
