// In which groups the lanes of AMD's GPUs are served by the banks of shared memory.
#ifndef BACKEND_WARPSIM_CORE_SHAREDPHASES_H
#define BACKEND_WARPSIM_CORE_SHAREDPHASES_H
#include "backend/warpsim/exec/Execute.h"

namespace tw::warpsim {

/// Lanes of one group must not touch different words of one bank. Of 32 lanes: no group is larger.
struct SharedPhases {
  unsigned numBanks = 32;
  std::vector<LaneMask> lanes;
};
SharedPhases sharedPhases(unsigned arch, unsigned bytes, bool isWrite);

} // namespace tw::warpsim
#endif
