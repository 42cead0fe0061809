// Which lanes of a warp shared memory serves together.
#include "ir/layout/SharedBanks.h"
#include "llvm/ADT/STLExtras.h"

using namespace tw;

SharedPhase SharedBanks::phaseOf(SharedUse use, unsigned bytes, unsigned numLanes) const {
  const SharedPhase *known = llvm::find_if(phases, [&](const SharedPhase &phase) {
    return phase.use == use && phase.accessBytes == bytes;
  });
  if (known != phases.end())
    return *known;
  SharedPhase phase = {use, bytes, count};
  unsigned bit = 0;
  for (unsigned lane = 1; lane < numLanes && 2 * lane * bytes <= transferBytes(); lane *= 2)
    phase.lanes[bit++] = uint8_t(lane);
  return phase;
}
