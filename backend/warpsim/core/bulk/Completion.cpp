// When the bytes of loads come, what becomes of warps that wait for them, and what is left when a
// CTA ends.
#include "backend/warpsim/core/bulk/Remote.h"
#include <algorithm>

using namespace tw::warpsim;

// Rounds in vain after which warps at mbarriers count as stuck, and before other lanes of theirs go
// on: tests may give up after some tries, and lanes may wait for others of their own warp.
constexpr unsigned kVainRounds = 64, kRoundsBeforeRotation = 4;
// Under random completion one of so many instructions brings something, and a copy ends with one of
// so many.
constexpr uint64_t kInstructionsPerMove = 4, kMovesPerEnd = 3;

static void complete(Cta &cta, size_t index) {
  BulkCopies &bulk = cta.bulk;
  BulkCopy &copy = bulk.copies[bulk.pending[index]];
  bulk.pending.erase(bulk.pending.begin() + ptrdiff_t(index));
  movePieces(cta, copy, copy.pieces.size());
  copy.isRead = copy.isWritten = true;
  cta.timeline.endCopy(copy.number, cta.clock);
  auto barrier = bulk.barriers.find(copy.barrier);
  if (barrier != bulk.barriers.end()) {
    copy.waits = barrier->second.waits;
    copy.phase = barrier->second.phase;
  }
  addBytes(cta, copy.barrier, copy.bytes, copy.issued.publish());
}

bool tw::warpsim::completeOldest(Cta &cta) {
  if (cta.bulk.pending.empty())
    return false;
  complete(cta, 0);
  return true;
}

void tw::warpsim::completeSome(Cta &cta) {
  BulkCopies &bulk = cta.bulk;
  if (bulk.random() % kInstructionsPerMove != 0)
    return;
  size_t index = bulk.random() % bulk.pending.size();
  BulkCopy &copy = bulk.copies[bulk.pending[index]];
  if (bulk.random() % kMovesPerEnd == 0)
    complete(cta, index);
  else
    movePieces(cta, copy, bulk.random() % (copy.pieces.size() + 1));
}

/// Returns the rounds in vain of the CTA of a cluster for which something has changed last.
static unsigned countVainRound(Cluster &cluster) {
  unsigned least = ~0u;
  for (Cta *cta : cluster.ctas)
    least = std::min(least, ++cta->bulk.numVainRounds);
  return least;
}

bool tw::warpsim::goOnAtMbarriers(Cluster &cluster) {
  for (Cta *cta : cluster.ctas)
    while (!isAnyReady(cluster) && completeOldest(*cta))
      continue;
  if (isAnyReady(cluster))
    return true;
  unsigned numVainRounds = countVainRound(cluster);
  if (numVainRounds > kVainRounds)
    return false;
  for (Cta *cta : cluster.ctas)
    for (Warp &warp : cta->warps)
      if (warp.mbarrier >= 0 || warp.awaitsWarpgroup) {
        warp.state = WarpState::Ready;
        warp.mbarrier = -1;
        warp.awaitsWarpgroup = false;
        if (numVainRounds > kRoundsBeforeRotation)
          rotate(warp);
      }
  return isAnyReady(cluster);
}

static void reportLeak(Cta &cta, const BulkCopy &copy) {
  cta.report(Kind::AsyncLeak, cta.warps[copy.warp], copy.lane, copy.pc, [&](Finding &finding) {
    finding.message = std::string("the CTA ends, and nothing has waited for this bulk copy ") +
                      (copy.isLoad ? "at its mbarrier" : "by its group");
  });
}

void tw::warpsim::endBulk(Cta &cta) {
  BulkCopies &bulk = cta.bulk;
  if (!bulk.isUsed)
    return;
  for (BulkCopy &copy : bulk.copies) {
    bool isAwaited = copy.waits && std::ranges::any_of(*copy.waits, [&](const PastWait &wait) {
                       return wait.phase >= copy.phase;
                     });
    if (!isAwaited)
      reportLeak(cta, copy);
    if (!copy.isLoad)
      writeDestination(cta, copy);
  }
  for (const auto &[offset, barrier] : bulk.barriers)
    if (barrier.bytes && bulk.pending.empty())
      cta.report(Kind::MbarrierMisuse, cta.warps[barrier.initWarp], barrier.initLane,
                 barrier.initPc, [&](Finding &finding) {
                   finding.message = "the CTA ends, and bytes are missing or too many: " +
                                     describeMbarrier(cta, offset);
                 });
  for (const auto &[offset, barrier] : bulk.barriers)
    reportLateArrivals(cta, barrier);
  reportRegisterShares(cta);
}
