// The state of the named barriers of a CTA.
#ifndef BACKEND_WARPSIM_CORE_BARRIER_H
#define BACKEND_WARPSIM_CORE_BARRIER_H
#include "backend/warpsim/core/clocks/Knowledge.h"
#include "backend/warpsim/exec/Execute.h"
#include <vector>

namespace tw::warpsim {

/// One of a CTA's 16 named barriers.
struct Barrier {
  unsigned expectedWarps = 0, arrivedWarps = 0; // expected 0: nobody has arrived
  bool isReduction = false, isOfAll = false;    // without a count: whoever exits is not waited for
  std::vector<LaneMask> arrived, receivers, parked; // by warp
  unsigned numTrue = 0, numLanes = 0;
  std::vector<int32_t> reducePc; // by warp: where the result goes
  SharedKnowledge arrivals;      // of those that arrive and go on
};

} // namespace tw::warpsim
#endif
