// Who knows of whose accesses: the happens-before order between the lanes of one CTA, and with
// others.
#ifndef BACKEND_WARPSIM_CORE_CLOCKS_H
#define BACKEND_WARPSIM_CORE_CLOCKS_H
#include "backend/warpsim/exec/Execute.h"
#include <memory>

namespace tw::warpsim {

/// Latest clock of each thread of a CTA that somebody knows of, valid in one epoch of that CTA;
/// everything in the epochs before is known too. Sparse: mostly one thread releases for its CTA.
struct CtaKnowledge {
  uint32_t epoch = 0;
  std::vector<std::pair<uint32_t, uint32_t>> clocks; // thread and clock, threads ascending
  uint32_t clockOf(uint32_t thread) const;
  void join(const CtaKnowledge &other);
};
/// By CTA (Accessor::cta). Also what a released address carries.
using Knowledge = std::map<uint64_t, CtaKnowledge>;
void join(Knowledge &into, const Knowledge &from);

/// The vector clocks of a CTA. A barrier of the whole CTA begins an epoch: what happened before is
/// known to all, and kernels that use nothing else never allocate a vector. Inside an epoch each
/// warp has a clock that advances when one of its lanes releases; a lane's knowledge is a vector
/// that the lanes of a warp share as long as they know the same.
class Clocks {
public:
  Clocks() = default;
  void reset(uint64_t cta, unsigned numWarps);

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
  void joinLanes(const std::vector<LaneMask> &lanes, const Knowledge &arrivals);
  void joinWarp(unsigned warp, LaneMask lanes);

  void release(unsigned warp, unsigned lane, Knowledge &object);
  void acquire(unsigned warp, unsigned lane, const Knowledge &object);
  /// What the lane knows, itself included, as a release publishes it. Advances no clock.
  Knowledge snapshot(unsigned warp, unsigned lane) const;
  void advance(unsigned warp) { ++warpClocks[warp]; }

private:
  using Vector = std::vector<uint32_t>;
  struct Lane {
    std::shared_ptr<Vector> known;      // of this CTA in this epoch; null: only itself
    std::shared_ptr<Knowledge> foreign; // of other CTAs; null: nothing
  };
  Lane &lane(unsigned warp, unsigned number) { return lanes[warp * kWarpSize + number]; }
  const Lane &lane(unsigned warp, unsigned number) const {
    return lanes[warp * kWarpSize + number];
  }
  Vector &ownVector(Lane &lane);
  Knowledge &ownForeign(Lane &lane);
  std::shared_ptr<Vector> unionOf(const std::vector<LaneMask> &participants) const;
  std::shared_ptr<Knowledge> foreignUnion(const std::vector<LaneMask> &participants) const;

  uint64_t cta = 0;
  uint32_t currentEpoch = 0;
  std::vector<uint32_t> warpClocks;
  std::vector<Lane> lanes;
  bool hasVectors = false, hasForeign = false; // somebody has one: else there is nothing to clear
};

} // namespace tw::warpsim
#endif
