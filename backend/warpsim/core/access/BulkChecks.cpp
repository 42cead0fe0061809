// What goes wrong beside bulk copies: memory that they read or write is touched in flight, and
// mbarriers are taken for data.
#include "backend/warpsim/core/access/Addresses.h"
#include <algorithm>

using namespace tw::warpsim;

/// Returns true if the lane knows of a wait for the copy, or for one of a later phase.
static bool isKnownToBeOver(const MemoryStep &step, unsigned lane, const BulkCopy &copy) {
  const Clocks &clocks = step.cta.clocks;
  if (!copy.waits)
    return false;
  for (auto wait = copy.waits->rbegin(); wait != copy.waits->rend(); ++wait) {
    if (wait->phase < copy.phase)
      continue;
    if (wait->epoch < clocks.epoch())
      return true;
    for (LaneMask rest = wait->lanes; rest; rest &= rest - 1)
      if (clocks.knows(step.warp.index, lane, wait->warp, unsigned(__builtin_ctz(rest)),
                       wait->clock))
        return true;
  }
  return false;
}

static void reportCopy(const MemoryStep &step, const Request &request, unsigned lane,
                       const BulkCopy &copy, bool isRead) {
  step.cta.report(
      Kind::AsyncRace, step.warp, lane, step.pc,
      [&](Finding &finding) {
        Place place = describePlace(step.cta, request, lane);
        finding.buffer = place.buffer;
        finding.offset = place.offset;
        finding.otherThread = step.cta.threadPosition(copy.warp, copy.lane);
        const char *wait = copy.isLoad ? "the mbarrier that counts its bytes" : "its bulk group";
        finding.message = std::string("the thread ") + (step.isWrite ? "writes " : "reads ") +
                          place.text + ", which a bulk copy " + (isRead ? "reads" : "writes") +
                          ": no wait for " + wait + " comes before";
      },
      copy.pc);
}

static void checkPiece(const MemoryStep &step, const Request &request, unsigned lane,
                       uint64_t piece) {
  BulkCopies &bulk = step.cta.bulk;
  if (uint32_t writer = bulk.writers[piece])
    if (!isKnownToBeOver(step, lane, bulk.copies[writer - 1]))
      reportCopy(step, request, lane, bulk.copies[writer - 1], false);
  uint32_t reader = step.isWrite ? bulk.readers[piece] : 0;
  if (reader && !isKnownToBeOver(step, lane, bulk.copies[reader - 1]))
    reportCopy(step, request, lane, bulk.copies[reader - 1], true);
}

static void checkMbarriers(const MemoryStep &step, const Request &request, unsigned lane) {
  uint64_t begin = request.at[lane], end = begin + request.bytes;
  for (const auto &[offset, barrier] : step.cta.bulk.barriers)
    if (offset < end && begin < offset + kMbarrierBytes)
      reportAccess(step, Kind::MbarrierMisuse, request, lane,
                   "is of an mbarrier, which no mbarrier.inval has ended");
}

static void checkShared(const MemoryStep &step, const Request &request, unsigned lane) {
  BulkCopies &bulk = step.cta.bulk;
  uint64_t last = (request.at[lane] + request.bytes - 1) / kBulkPieceBytes;
  for (uint64_t piece = request.at[lane] / kBulkPieceBytes; piece <= last; ++piece) {
    if (bulk.writers[piece] | bulk.readers[piece])
      checkPiece(step, request, lane, piece);
    if (bulk.hasBarrier[piece])
      checkMbarriers(step, request, lane);
  }
}

/// Accesses of global memory that a copy of this CTA is still to write, or writes of what one is
/// still to read.
static void checkGlobal(const MemoryStep &step, const Request &request, unsigned lane) {
  BulkCopies &bulk = step.cta.bulk;
  uint64_t begin = request.at[lane], end = begin + request.bytes;
  auto overlaps = [&](const BulkPiece &piece) {
    return piece.host && piece.address < end && begin < piece.address + piece.bytes;
  };
  for (const std::vector<uint32_t> *list : {&bulk.pending, &bulk.stores})
    for (uint32_t number : *list) {
      const BulkCopy &copy = bulk.copies[number];
      if ((step.isWrite || !copy.isLoad) && std::ranges::any_of(copy.pieces, overlaps))
        return reportCopy(step, request, lane, copy, copy.isLoad);
    }
}

void tw::warpsim::checkBulk(const MemoryStep &step, const Request &request) {
  const BulkCopies &bulk = step.cta.bulk;
  bool isShared = request.space == Space::Shared, isGlobal = request.space == Space::Global;
  bool isAnyInFlight = !bulk.stores.empty() || (step.isWrite && !bulk.pending.empty());
  if (!step.cta.launch.launch.options.checksRaces || !(isShared || (isGlobal && isAnyInFlight)))
    return;
  Request each = request;
  each.expand();
  for (LaneMask rest = each.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (isShared)
      checkShared(step, each, lane);
    else
      checkGlobal(step, each, lane);
  }
}
