// CTAs that run together, see each other's shared memory and meet at a barrier.
#ifndef BACKEND_WARPSIM_CORE_CLUSTER_H
#define BACKEND_WARPSIM_CORE_CLUSTER_H
#include "backend/warpsim/core/clocks/Knowledge.h"
#include <vector>

namespace tw::warpsim {

class Cta;

/// A cluster and its barrier (PTX ISA, "barrier.cluster"), whose phases are over when every thread
/// that has not exited has arrived.
struct Cluster {
  std::vector<Cta *> ctas;            // by rank
  uint32_t phase = 0;                 // the number of phases that are over
  SharedKnowledge arriving, released; // of the phase in progress, of those that are over
};

/// Returns true if some warp of a cluster can go on.
bool isAnyReady(const Cluster &cluster);
/// Makes CTAs, which have begun, a cluster.
void join(Cluster &cluster);

/// The rank of a CTA is in bits 24 and up of an address of its shared memory, plus 1; they are 0 in
/// addresses of a CTA's own.
constexpr unsigned kRankShift = 24;

} // namespace tw::warpsim
#endif
