// Which writes have passed a proxy fence: what the asynchronous proxy may read.
#ifndef BACKEND_WARPSIM_CORE_PROXYFENCES_H
#define BACKEND_WARPSIM_CORE_PROXYFENCES_H
#include "backend/warpsim/core/clocks/Clocks.h"

namespace tw::warpsim {

/// A write of shared memory by a thread of the CTA.
struct PastWrite {
  uint32_t epoch = 0; // 0: there is none
  unsigned warp = 0, lane = 0;
  uint32_t clock = 0;
  int32_t pc = -1;
};

/// The fences between the generic and the asynchronous proxy (PTX ISA, "Proxies") of a CTA. A write
/// through the generic proxy is seen by an asynchronous read if some thread's fence comes after the
/// write and before the read in happens-before order: the writer's before the barrier, the reader's
/// after it, or that of somebody between the two.
class ProxyFences {
public:
  void reset(const Clocks &clocks, unsigned numWarps);
  /// Records a fence by lanes of a warp. Their later writes have a later clock.
  void fence(Clocks &clocks, unsigned warp, LaneMask lanes);
  /// Returns true if a fence is between the write and what the lane does now.
  bool covers(const Clocks &clocks, unsigned warp, unsigned lane, const PastWrite &write);
  /// Returns true if that follows from barriers of the whole CTA, and so holds for all of it.
  bool coversForAll(const Clocks &clocks, const PastWrite &write) {
    if (summarizedEpoch != clocks.epoch())
      summarize(clocks);
    return write.epoch < coveredEpoch ||
           (write.epoch == coveredEpoch && write.clock <= coveredClocks[write.warp]);
  }
  /// Returns true if the write is of this CTA, not of one that used the memory before.
  bool isOfCta(const PastWrite &write) const { return write.epoch >= firstEpoch; }

private:
  /// Keeps what the lanes of a fence knew.
  struct Fence {
    uint32_t epoch, clock;
    LaneMask lanes;
    std::shared_ptr<const ClockVector> known;
  };
  bool isCoveredBy(const Clocks &clocks, unsigned warp, unsigned lane, unsigned fenceWarp,
                   const Fence &fence, const PastWrite &write) const;
  void summarize(const Clocks &clocks);

  std::vector<std::vector<Fence>> ofWarp; // in order
  uint32_t firstEpoch = 0;
  // Of fences before the present epoch: all writes before `coveredEpoch` are covered, and of those
  // in it each warp's up to a clock.
  uint32_t summarizedEpoch = 0, coveredEpoch = 0;
  std::vector<uint32_t> coveredClocks; // by warp
};

} // namespace tw::warpsim
#endif
