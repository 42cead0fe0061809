// Accesses of a thread to the shared memory of other CTAs of its cluster.
#ifndef BACKEND_WARPSIM_CORE_REMOTE_H
#define BACKEND_WARPSIM_CORE_REMOTE_H
#include "backend/warpsim/core/bulk/BulkStep.h"

namespace tw::warpsim {

/// The rank of the CTA that an address of shared memory is of; none where it is a CTA's own.
std::optional<unsigned> rankOf(uint64_t address);

/// A thread as a guest of another CTA of its cluster: what it does there is checked with what it
/// knows of that CTA's threads.
class Guest {
public:
  Guest(const BulkStep &step, Cta &host);
  Guest(const Guest &) = delete;
  ~Guest();
  BulkStep step() { return {host, warp, issuer.instruction, issuer.pc, issuer.lane}; }
  /// Returns true if the thread may reach into the CTA: the cluster has met, and the CTA runs.
  bool isAdmitted() const;

private:
  const BulkStep &issuer;
  Cta &host;
  Warp warp;
};

/// Arrives at an mbarrier of another CTA.
void arriveRemotely(const BulkStep &step, unsigned rank, uint64_t address);

/// Reports arrivals of other CTAs' threads that another order lets come after the end of a CTA.
void reportLateArrivals(Cta &cta, const Mbarrier &barrier);
/// Reports arrivals of other CTAs' threads at a barrier that ends, if nothing orders them before.
void checkRemoteArrivals(const BulkStep &step, const Mbarrier &barrier);

} // namespace tw::warpsim
#endif
