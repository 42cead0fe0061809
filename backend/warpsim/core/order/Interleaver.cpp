// Which warp of which CTA goes next, and who waits for a change.
#include "backend/warpsim/core/order/Interleaver.h"
#include "backend/warpsim/core/bulk/Bulk.h"
#include <algorithm>

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
  std::vector<Agent> &all = agents.emplace_back();
  for (unsigned warp = 0; warp < launch.numWarps; ++warp)
    all.push_back({.cta = cta.get(), .warp = warp, .lastTurn = numTurns, .all = &all});
  for (Agent &agent : all)
    renew(agent);
  ctas.push_back(std::move(cta));
  numRounds = 0;
}

std::unique_ptr<Cta> Interleaver::remove(Cta *cta) {
  std::erase_if(sleepers, [cta](const Agent *agent) { return agent->cta == cta; });
  std::erase_if(claims, [cta](const Claim &claim) { return claim.agent->cta == cta; });
  std::erase_if(agents, [cta](const auto &all) { return all.front().cta == cta; });
  auto found = std::find_if(ctas.begin(), ctas.end(),
                            [cta](const std::unique_ptr<Cta> &each) { return each.get() == cta; });
  std::unique_ptr<Cta> taken = std::move(*found);
  ctas.erase(found);
  numRounds = 0;
  return taken;
}

std::vector<std::unique_ptr<Cta>> Interleaver::takeAll() {
  claims.clear();
  sleepers.clear();
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

Interleaver::Claim Interleaver::claimOf(Agent &agent) const {
  uint64_t number = uint64_t(agent.cta->slot) << 32 | agent.warp;
  switch (launch.launch.options.schedule) {
  case Schedule::Greedy:
    return {rankOf(agent), 0, number, &agent};
  case Schedule::Reverse:
    return {rankOf(agent), 0, ~number, &agent};
  default:
    return {rankOf(agent), agent.lastTurn, number, &agent};
  }
}

/// Brings the claim up to date, after its warp or another of its CTA has run.
void Interleaver::renew(Agent &agent) {
  std::optional<Claim> now;
  if (isReady(agent) && launch.launch.options.schedule != Schedule::Random)
    now = claimOf(agent);
  if (now == agent.claim)
    return;
  if (agent.claim)
    claims.erase(*agent.claim);
  if (now)
    claims.insert(*now);
  agent.claim = now;
}

void Interleaver::wakeAll() {
  for (Agent *agent : sleepers) {
    agent->isAsleep = false;
    renew(*agent);
  }
  sleepers.clear();
}

/// Who has waited longest, of those who are ready.
Interleaver::Agent *Interleaver::chooseOldest() {
  Agent *oldest = nullptr;
  for (std::vector<Agent> &all : agents)
    for (Agent &agent : all)
      if (isReady(agent) && (!oldest || agent.lastTurn < oldest->lastTurn))
        oldest = &agent;
  return oldest;
}

Interleaver::Agent *Interleaver::chooseAtRandom() {
  candidates.clear();
  for (std::vector<Agent> &all : agents)
    for (Agent &agent : all)
      if (isReady(agent))
        candidates.push_back(&agent);
  if (candidates.empty())
    return nullptr;
  bool isAnyone = random() % kTurnsBetweenAnyones == 0;
  auto publishes = [this](const Agent *agent) {
    return rankOf(*agent) == unsigned(SyncStep::Publish);
  };
  if (!isAnyone && !std::all_of(candidates.begin(), candidates.end(), publishes))
    std::erase_if(candidates, publishes);
  return candidates[random() % candidates.size()];
}

Interleaver::Agent *Interleaver::choose() {
  if (numTurns % kTurnsOfAge == kTurnsOfAge - 1)
    return chooseOldest();
  if (launch.launch.options.schedule == Schedule::Random)
    return chooseAtRandom();
  return claims.empty() ? nullptr : claims.begin()->agent;
}

void Interleaver::note(Agent &agent, Stop stop, bool hasChanged) {
  const PollState &poll = agent.cta->warps[agent.warp].poll;
  agent.lastTurn = ++numTurns;
  agent.isAtSync = stop == Stop::AtSync;
  agent.isSlow = stop == Stop::Preempted;
  agent.isAsleep = stop == Stop::Fruitless;
  if (agent.isAsleep)
    sleepers.push_back(&agent);
  bool isInVain = stop == Stop::Fruitless || poll.fruitless > 0 || poll.turns > 0;
  if (hasChanged || !isInVain || stop == Stop::Ended || stop == Stop::Blocked)
    numRounds = 0;
  if (hasChanged)
    wakeAll();
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
    for (Agent &each : *agent->all) // it may have let others of its CTA through a barrier
      renew(each);
    if ((cta.isStopped || stop == Stop::Ended || stop == Stop::Blocked) && cta.hasEnded())
      return remove(&cta);
    for (Agent &each : *agent->all) // a copy may have come for those that wait for its bytes
      renew(each);
  }
  return nullptr;
}

unsigned Interleaver::tryAgain() {
  for (std::vector<Agent> &all : agents) {
    completeOldest(*all.front().cta);
    for (Agent &agent : all)
      renew(agent);
  }
  wakeAll();
  return ++numRounds;
}

void Interleaver::rotateSpinners() {
  for (std::unique_ptr<Cta> &cta : ctas)
    cta->rotateSpinners();
  for (std::vector<Agent> &all : agents)
    for (Agent &agent : all) {
      agent.isAtSync = false; // it may be elsewhere now
      renew(agent);
    }
}
