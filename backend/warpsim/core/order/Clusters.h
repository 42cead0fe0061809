// CTAs of a cluster: their barrier, their addresses, and how they run together.
#ifndef BACKEND_WARPSIM_CORE_CLUSTERS_H
#define BACKEND_WARPSIM_CORE_CLUSTERS_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

/// Executes barrier.cluster.arrive, barrier.cluster.wait and mapa.
void executeOfCluster(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                      LaneMask active);
/// Lets the barrier of a cluster go on if all its threads have arrived or exited.
void completeClusterBarrier(Cluster &cluster);

} // namespace tw::warpsim
#endif
