// Arrivals at mbarriers of other CTAs of a cluster.
#include "backend/warpsim/core/bulk/Remote.h"
#include <algorithm>

using namespace tw::warpsim;

std::optional<unsigned> tw::warpsim::rankOf(uint64_t address) {
  if ((address & kWindowMask) == kSharedWindow)
    address &= ~kWindowMask;
  uint64_t rank = address >> kRankShift;
  return rank ? std::optional(unsigned(rank - 1)) : std::nullopt;
}

Guest::Guest(const BulkStep &step, Cta &host) : issuer(step), host(host) {
  warp.index = step.cta.launch.numWarps + step.warp.index;
  warp.lanes = step.warp.lanes;
  host.clocks.assume(warp.index, step.lane,
                     step.cta.clocks.snapshot(step.warp.index, step.lane).publish());
}

Guest::~Guest() { host.clocks.assume(warp.index, issuer.lane, nullptr); }

bool Guest::isAdmitted() const {
  if (!issuer.warp.hasMetCluster) {
    issuer.report(Kind::ClusterMisuse, "the thread reaches into another CTA of its cluster, and no "
                                       "barrier.cluster says that this one has begun");
    return false;
  }
  bool isOver = std::ranges::all_of(host.warps,
                                    [](const Warp &each) { return each.state == WarpState::Done; });
  if (isOver)
    issuer.report(Kind::ClusterMisuse,
                  "the thread reaches into another CTA of its cluster, which has ended");
  return !isOver;
}

static void noteArrival(const BulkStep &step, Mbarrier &barrier) {
  const Clocks &clocks = step.cta.clocks;
  RemoteArrival arrival = {step.pc,         step.cta.slot,
                           clocks.epoch(),  clocks.clock(step.warp.index),
                           step.warp.index, step.lane};
  auto known = std::ranges::find_if(barrier.remoteArrivals, [&](const RemoteArrival &other) {
    return other.cta == arrival.cta && other.warp == arrival.warp && other.lane == arrival.lane;
  });
  if (known != barrier.remoteArrivals.end())
    *known = arrival;
  else
    barrier.remoteArrivals.push_back(arrival);
}

void tw::warpsim::arriveRemotely(const BulkStep &step, unsigned rank, uint64_t address) {
  Cta &cta = step.cta;
  if (rank >= cta.cluster->ctas.size())
    return step.report(Kind::OutOfBoundsShared, "the address of an mbarrier is of no CTA of the "
                                                "cluster");
  if (step.instruction.op != Op::MbarrierArrive && step.instruction.op != Op::MbarrierArriveExpect)
    return step.report(Kind::ClusterMisuse,
                       "threads only arrive at mbarriers of other CTAs: this is another operation");
  uint64_t offset = (address & ((uint64_t(1) << kRankShift) - 1)) - cta.launch.program.sharedBase;
  if (offset % kMbarrierBytes || offset + kMbarrierBytes > cta.launch.sharedBytes)
    return step.report(Kind::OutOfBoundsShared,
                       "the address of an mbarrier is none of another CTA's shared memory");
  Cta &host = *cta.cluster->ctas[rank];
  if (&host == &cta) {
    if (Mbarrier *barrier = findMbarrier(step, uint32_t(offset)))
      arrive(step, step, uint32_t(offset), *barrier);
    return;
  }
  Guest guest(step, host);
  if (!guest.isAdmitted())
    return;
  host.bulk.isUsed = true;
  Mbarrier *barrier = findMbarrier(guest.step(), uint32_t(offset));
  if (!barrier)
    return;
  noteArrival(step, *barrier);
  arrive(step, guest.step(), uint32_t(offset), *barrier);
}

void tw::warpsim::checkRemoteArrivals(const BulkStep &step, const Mbarrier &barrier) {
  for (const RemoteArrival &arrival : barrier.remoteArrivals)
    if (!step.cta.clocks.knowsForeign(step.warp.index, step.lane, arrival.cta, arrival.epoch,
                                      arrival.warp, arrival.lane, arrival.clock))
      step.report(Kind::MbarrierMisuse,
                  "nothing orders the arrival of another CTA's thread before the end of the "
                  "mbarrier",
                  arrival.pc);
}

void tw::warpsim::reportLateArrivals(Cta &cta, const Mbarrier &barrier) {
  auto isKnown = [&](const RemoteArrival &arrival) {
    for (unsigned thread = 0; thread < cta.launch.numThreads; ++thread)
      if (cta.clocks.knowsForeign(thread / kWarpSize, thread % kWarpSize, arrival.cta,
                                  arrival.epoch, arrival.warp, arrival.lane, arrival.clock))
        return true;
    return false;
  };
  for (const RemoteArrival &arrival : barrier.remoteArrivals)
    if (!isKnown(arrival))
      cta.report(Kind::ClusterMisuse, cta.warps[arrival.warp], arrival.lane, arrival.pc,
                 [](Finding &finding) {
                   finding.message = "the thread arrives at an mbarrier of another CTA of its "
                                     "cluster, which may have ended: it awaits nothing behind";
                 });
}
