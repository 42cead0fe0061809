// What fences cover: per warp and memory, which accesses a barrier hands on, and to whom.
#ifndef BACKEND_WARPSIM_CORE_COVERAGE_H
#define BACKEND_WARPSIM_CORE_COVERAGE_H
#include "backend/warpsim/core/clocks/Clocks.h"

namespace tw::warpsim {

/// The coverage of one warp and one memory.
struct WarpCoverage {
  bool isDirty = false;          // has accessed it since it last released
  bool hasReleased = false;      // since the last barrier
  bool isUnacquired = false;     // a barrier has passed, and no fence that acquires after it
  bool isReleasedToWave = false; // a fence released its accesses, and none has acquired them
  bool joinsWave = false;        // one has: the wave's lanes are ordered
  uint32_t releasedClock = 0;
  bool hasSignalled = false; // the first half of a barrier that it has not passed
  bool isLate = false;       // has released since, which that barrier does not hand on
  uint32_t signalClock = 0;  // what it had released then
};

/// By memory, shared and global, then by warp. Empty where barriers order by themselves.
struct Coverage {
  std::array<std::vector<WarpCoverage>, 2> ofMemory;
  std::vector<unsigned> numSignals; // by warp: first halves of split barriers
  void reset(unsigned numWarps);
};

} // namespace tw::warpsim
#endif
