// Runs the warps of several CTAs in turns, where others see in which order they run.
#ifndef BACKEND_WARPSIM_CORE_INTERLEAVER_H
#define BACKEND_WARPSIM_CORE_INTERLEAVER_H
#include "backend/warpsim/core/state/Machine.h"
#include <list>
#include <optional>
#include <set>

namespace tw::warpsim {

/// Warps take turns at the instructions that others see: atomic operations and strong accesses.
/// Plain schedules let who reads go before who publishes, so that a flag, a count or a lock's
/// release comes as late as it may: whoever does not wait for it goes wrong then. Random ones
/// mostly do so too. Between these instructions no order is seen: the race checks know them all.
class Interleaver {
public:
  explicit Interleaver(LaunchState &launch);
  void add(std::unique_ptr<Cta> cta);
  size_t size() const { return ctas.size(); }
  const std::vector<std::unique_ptr<Cta>> &running() const { return ctas; }
  /// Runs until a CTA has ended, which is returned, or until all that are here wait: null.
  std::unique_ptr<Cta> run();
  /// After that: lets all try again, more patiently. Counts the rounds that changed nothing.
  unsigned tryAgain();
  /// Lets other lanes of spinning warps go on.
  void rotateSpinners();
  /// Takes all CTAs out.
  std::vector<std::unique_ptr<Cta>> takeAll();
  /// Those who run may go by a seed of their own; else the seed and all before decide.
  void reseed(uint64_t number);

private:
  struct Agent;
  /// By which plain schedules choose: the least goes first.
  struct Claim {
    unsigned rank;
    uint64_t first;  // by age: the last turn
    uint64_t second; // by number: CTA and warp
    Agent *agent;
    auto operator<=>(const Claim &) const = default;
  };
  struct Agent {
    Cta *cta;
    unsigned warp;
    uint64_t lastTurn = 0;
    bool isAtSync = false;             // others see what it does next
    bool isAsleep = false;             // waits for a change
    bool isSlow = false;               // has used up its slice
    std::vector<Agent> *all = nullptr; // of its CTA
    std::optional<Claim> claim = {};
  };
  Agent *choose();
  Agent *chooseAtRandom();
  Agent *chooseOldest();
  void renew(Agent &agent);
  void wakeAll();
  bool isReady(const Agent &agent) const;
  unsigned rankOf(const Agent &agent) const;
  Claim claimOf(Agent &agent) const;
  void note(Agent &agent, Stop stop, bool hasChanged);
  std::unique_ptr<Cta> remove(Cta *cta);

  LaunchState &launch;
  std::vector<std::unique_ptr<Cta>> ctas;
  std::list<std::vector<Agent>> agents; // of one CTA each, which stay where they are
  std::set<Claim> claims;               // of those who are ready: a turn looks at few of hundreds
  std::vector<Agent *> candidates, sleepers;
  std::mt19937_64 random;
  uint64_t numTurns = 0;
  unsigned numRounds = 0; // without change, since somebody got on
};

} // namespace tw::warpsim
#endif
