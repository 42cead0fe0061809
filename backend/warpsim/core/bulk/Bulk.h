// mbarriers, bulk and tensor copies, setmaxnreg: their execution, and what becomes of copies in
// flight.
#ifndef BACKEND_WARPSIM_CORE_BULK_H
#define BACKEND_WARPSIM_CORE_BULK_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

void executeBulk(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc, LaneMask active);

// Completion.cpp.
/// No warp of a cluster can go on: lets the oldest copy come, else lets those that wait at
/// mbarriers try again. Returns false when they have done so in vain for long enough.
bool goOnAtMbarriers(Cluster &cluster);
/// Brings the bytes of the oldest load that is in flight. Returns false where there is none.
bool completeOldest(Cta &cta);
/// Between two instructions, under random completion: some bytes come.
void completeSome(Cta &cta);
/// Writes what stores have read, and reports what the CTA leaves in flight or unfinished.
void endBulk(Cta &cta);

/// Says what an mbarrier waits for, for reports.
std::string describeMbarrier(const Cta &cta, uint32_t offset);

} // namespace tw::warpsim
#endif
