// Who knows of whose accesses: the happens-before order between the lanes of one CTA, and with
// others.
#ifndef BACKEND_WARPSIM_CORE_CLOCKS_H
#define BACKEND_WARPSIM_CORE_CLOCKS_H
#include "backend/warpsim/core/clocks/Knowledge.h"
#include "backend/warpsim/exec/Execute.h"
#include <map>

namespace tw::warpsim {

/// Keeps what a lane knows, itself included, at one moment, to publish it later.
struct Snapshot {
  SharedKnowledge foreign;
  std::shared_ptr<const ClockVector> known;
  uint32_t cta = 0, epoch = 0, thread = 0, clock = 0;
  SharedKnowledge publish() const;
};

/// The vector clocks of a CTA. A barrier of the whole CTA begins an epoch: what happened before is
/// known to all, and kernels that use nothing else never allocate a vector. Inside an epoch each
/// warp has a clock that advances when one of its lanes releases; a lane's knowledge is a vector
/// that the lanes of a warp share as long as they know the same.
///
/// A read that leads to nothing but the same read again has told its thread nothing: another
/// execution may not see that value. What a read teaches is therefore on trial until the wave
/// accesses other memory (`use`), and is forgotten when the read is repeated before that
/// (`beginRead`). A lane's `sure` knowledge is what it knows without it.
class Clocks {
public:
  Clocks() = default;
  void reset(uint64_t cta, unsigned numWarps, unsigned waveSize);

  /// The CTA's number in what is known of it.
  uint32_t numberOfCta() const { return cta; }
  uint32_t epoch() const { return currentEpoch; }
  uint32_t clock(unsigned warp) const { return warpClocks[warp]; }
  /// Does the lane know of what `otherLane` did at `clock` in this epoch?
  bool knows(unsigned warp, unsigned lane, unsigned otherWarp, unsigned otherLane,
             uint32_t clock) const;
  /// The same of an access in another CTA, in one of its epochs.
  bool knowsForeign(unsigned warp, unsigned lane, uint32_t cta, uint32_t epoch, unsigned otherWarp,
                    unsigned otherLane, uint32_t clock) const;

  /// A barrier of all threads.
  void joinAll();
  /// A barrier of some lanes, given by warp. `arrivals` is what others knew when they arrived at it
  /// without waiting.
  void joinLanes(const std::vector<LaneMask> &lanes, const SharedKnowledge &arrivals);
  /// The lanes of one wave meet: `lanes` are those of one warp, or of both halves of a wave.
  void joinWave(const std::vector<LaneMask> &lanes);
  void joinWarp(unsigned warp, LaneMask lanes);
  /// A barrier that hands on what was released before it: `released` clocks of this CTA's warps,
  /// and what the lanes of `clean`, which have accessed nothing since, know of others.
  void joinReleased(const std::vector<uint32_t> &released, const std::vector<LaneMask> &clean,
                    const std::vector<LaneMask> &all);

  void acquire(unsigned warp, unsigned lane, const SharedKnowledge &object);
  /// Makes a lane know just this: one that stands for a thread of another CTA.
  void assume(unsigned warp, unsigned lane, const SharedKnowledge &object);
  /// A read without order has seen `object`; a fence after it acquires that, as far as it reaches.
  void see(unsigned warp, unsigned lane, const SharedKnowledge &object, bool isOfCta);
  void acquireSeen(unsigned warp, unsigned lane, bool reachesGpu);
  Snapshot snapshot(unsigned warp, unsigned lane) const;
  void advance(unsigned warp) { ++warpClocks[warp]; }

  /// Lanes of a warp are about to read what others write with order, one address each.
  struct Read {
    unsigned warp;
    int32_t pc;
    LaneMask lanes;
    std::array<uint64_t, kWarpSize> addresses;
    bool operator==(const Read &) const = default;
  };
  /// Puts what the read will teach on trial. Forgets what it taught when the warp executed it
  /// before, if nothing but reads came in between.
  void beginRead(const Read &read);
  /// Holds what the thread, or another of its CTA, has read of releases at an address: whatever
  /// it does there later comes after that.
  void noteObserved(uint64_t address, const ScopedKnowledge &object) { observed[address] = object; }
  ScopedKnowledge observedAt(uint64_t address) const {
    auto found = observed.find(address);
    return found == observed.end() ? ScopedKnowledge() : found->second;
  }
  /// The warp accesses data: what its wave has learned of that memory counts from here on.
  void use(unsigned warp, bool isShared) {
    Wave &wave = waves[warp / warpsPerWave];
    if (!wave.isOnTrial)
      return;
    if (!isShared)
      return confirm(warp / warpsPerWave);
    wave.keepsOwn = true;
  }

private:
  struct Lane {
    std::shared_ptr<ClockVector> known; // of this CTA in this epoch; null: only itself
    SharedKnowledge foreign;            // of other CTAs; a part about this one counts for nothing
    SharedKnowledge sure;               // of that, what is not on trial
    SharedKnowledge seen, seenOfCta; // what a fence acquires; one that reaches its CTA, the second
  };
  /// A read on trial and what it has taught, by lane.
  struct Trial {
    Read read;
    std::array<Lane, kWarpSize> taught;
  };
  struct Wave {
    bool isOnTrial = false;   // some lane knows more than is sure
    bool hasAcquired = false; // from an address, not only from barriers
    bool keepsOwn = false;    // what was learned of its own CTA counts
    bool isJoined = false;    // a barrier has taught its lanes since the first read on trial
    std::vector<Trial> trials;
    std::vector<Lane> before; // the first read, by lane of the wave, and what barriers taught since
  };
  Lane &lane(unsigned warp, unsigned number) { return lanes[warp * kWarpSize + number]; }
  const Lane &lane(unsigned warp, unsigned number) const {
    return lanes[warp * kWarpSize + number];
  }
  void learnOwn(Lane &lane, const SharedKnowledge &object);
  std::shared_ptr<ClockVector> unionOf(const std::vector<LaneMask> &participants) const;
  template <typename Pick>
  SharedKnowledge foreignUnion(const std::vector<LaneMask> &participants, Pick pick) const;
  SharedKnowledge allOf(const std::vector<LaneMask> &participants) const;
  SharedKnowledge sureOf(const std::vector<LaneMask> &participants) const;
  SharedKnowledge handedOn(const std::vector<LaneMask> &participants) const;
  bool isAnyOnTrial() const;
  void teachTrials(Wave &wave, const SharedKnowledge &sure);
  Trial *trialOf(unsigned warp, unsigned lane);
  void learnTaught(unsigned warp, unsigned lane);
  void recall(unsigned wave);
  void confirm(unsigned wave);

  uint32_t cta = 0;
  uint32_t currentEpoch = 0;
  unsigned warpsPerWave = 1;
  std::vector<uint32_t> warpClocks;
  std::vector<Lane> lanes;
  std::vector<Wave> waves;
  bool hasVectors = false, hasForeign = false; // somebody has one: else there is nothing to clear
  bool hasSeen = false;
  std::map<uint64_t, ScopedKnowledge> observed; // by address
  LastJoin<SharedKnowledge, SharedKnowledge> joinForeign;
  LastJoin<std::shared_ptr<ClockVector>, SharedKnowledge> joinOwn;
};

} // namespace tw::warpsim
#endif
