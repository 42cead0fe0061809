// The barrier of a cluster, and the addresses of its CTAs' shared memory.
#include "backend/warpsim/core/order/Clusters.h"
#include "backend/warpsim/core/state/Origins.h"

using namespace tw::warpsim;

/// The lanes know what those who arrived at the last phase have released.
static void pass(Cta &cta, Warp &warp, LaneMask lanes) {
  warp.hasMetCluster = true;
  warp.awaitsCluster = false;
  if (!cta.cluster->released)
    return;
  std::vector<LaneMask> waiting(warp.index + 1);
  waiting[warp.index] = lanes;
  cta.clocks.joinLanes(waiting, cta.cluster->released);
}

void tw::warpsim::completeClusterBarrier(Cluster &cluster) {
  bool isAny = false;
  for (const Cta *cta : cluster.ctas)
    for (const Warp &warp : cta->warps) {
      if (warp.present() & ~warp.clusterArrived)
        return;
      isAny |= warp.clusterArrived != 0;
    }
  if (!isAny)
    return;
  ++cluster.phase;
  cluster.released = joined(cluster.released, cluster.arriving);
  cluster.arriving = nullptr;
  for (Cta *cta : cluster.ctas) {
    cta->bulk.numVainRounds = 0;
    for (Warp &warp : cta->warps) {
      LaneMask lanes = warp.clusterArrived & warp.present();
      warp.clusterArrived = 0;
      if (!warp.awaitsCluster)
        continue;
      warp.state = WarpState::Ready;
      pass(*cta, warp, lanes);
    }
  }
}

static void reportBarrier(Cta &cta, const Warp &warp, int32_t pc, LaneMask lanes,
                          const char *message) {
  cta.report(Kind::ClusterMisuse, warp, unsigned(__builtin_ctz(lanes)), pc,
             [&](Finding &finding) { finding.message = message; });
}

static void arrive(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                   LaneMask active) {
  if (LaneMask twice = warp.clusterArrived & active)
    reportBarrier(cta, warp, pc, twice,
                  "the thread arrives at the barrier of its cluster twice in one phase");
  ++cta.statistics.barriers;
  for (LaneMask rest = active; rest && instruction.order != Order::Relaxed; rest &= rest - 1)
    cta.cluster->arriving =
        joined(cta.cluster->arriving,
               cta.clocks.snapshot(warp.index, unsigned(__builtin_ctz(rest))).publish());
  cta.clocks.advance(warp.index);
  warp.clusterArrived |= active;
  warp.clusterPhase = cta.cluster->phase;
  warp.hasArrivedAtCluster = true;
  completeClusterBarrier(*cta.cluster);
}

static void wait(Cta &cta, Warp &warp, int32_t pc, LaneMask active) {
  if (!warp.hasArrivedAtCluster)
    return reportBarrier(cta, warp, pc, active,
                         "the thread waits at the barrier of its cluster, and has not arrived");
  if (cta.cluster->phase > warp.clusterPhase) {
    warp.hasArrivedAtCluster = false;
    return pass(cta, warp, active);
  }
  warp.hasArrivedAtCluster = false;
  warp.awaitsCluster = true;
  warp.state = WarpState::Waiting;
  warp.waitPc = pc;
}

/// Returns the address of the same place in another CTA of the cluster.
static void mapAddresses(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                         LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    for (const Operand &source : instruction.sources)
      reportUnset(cta, warp, source, pc, LaneMask(1) << lane, "the operand of a mapa");
    uint64_t address = readLane(instruction.sources[0], warp.registers(), lane);
    uint64_t rank = readLane(instruction.sources[1], warp.registers(), lane);
    if (rank >= cta.cluster->ctas.size()) {
      reportBarrier(cta, warp, pc, LaneMask(1) << lane,
                    "there is no CTA of this rank in the cluster");
      rank = cta.rank;
    }
    address = (address & ((uint64_t(1) << kRankShift) - 1)) | (rank + 1) << kRankShift;
    writeLane(instruction.results[0], warp.registers(), lane, address, true);
  }
}

/// Reports lanes of the warp that do not take part in an aligned operation.
static void checkAligned(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                         LaneMask active) {
  if (LaneMask missing = warp.present() & ~active; instruction.isAligned && missing)
    cta.report(Kind::DivergentBarrier, warp, unsigned(__builtin_ctz(missing)), pc,
               [](Finding &finding) {
                 finding.message = "the thread does not come to the barrier of its cluster with "
                                   "the others of its warp";
               });
}

void tw::warpsim::executeOfCluster(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                   LaneMask active) {
  if (instruction.op == Op::Mapa)
    return mapAddresses(cta, warp, instruction, pc, active);
  checkAligned(cta, warp, instruction, pc, active);
  if (instruction.op == Op::ClusterArrive)
    arrive(cta, warp, instruction, pc, active);
  else
    wait(cta, warp, pc, active);
}
