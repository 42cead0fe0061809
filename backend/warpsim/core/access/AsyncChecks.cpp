// What goes wrong with asynchronous copies: touched in flight, or never waited for.
#include "backend/warpsim/core/access/Addresses.h"
#include <algorithm>

using namespace tw::warpsim;

namespace {
/// A lane of a copy.
struct Slot {
  const AsyncCopy *copy = nullptr;
  unsigned lane = 0;
};
} // namespace

static std::string nameOf(const std::array<uint32_t, 3> &thread) {
  return "thread (" + std::to_string(thread[0]) + ", " + std::to_string(thread[1]) + ", " +
         std::to_string(thread[2]) + ")";
}

static bool overlaps(uint64_t a, uint64_t aBytes, uint64_t b, uint64_t bBytes) {
  return a < b + bBytes && b < a + aBytes;
}

/// A copy in flight that writes (in shared memory) or reads some of these bytes.
static Slot findSlot(const Cta &cta, bool isShared, uint64_t at, unsigned bytes) {
  for (const std::vector<AsyncCopy> &copies : cta.async.ofWarp)
    for (const AsyncCopy &copy : copies)
      for (LaneMask rest = copy.inFlight; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        bool isHit = isShared ? overlaps(copy.to[lane], copy.bytes, at, bytes)
                              : overlaps(copy.source[lane], copy.sourceBytes[lane], at, bytes);
        if (isHit && (isShared || copy.sourceBytes[lane]))
          return {&copy, lane};
      }
  return {};
}

static void reportInFlight(const MemoryStep &step, const Request &request, unsigned lane,
                           const Slot &slot) {
  Cta &cta = step.cta;
  const AsyncCopy &copy = *slot.copy;
  bool isShared = request.space == Space::Shared;
  bool isCommitted = copy.group[slot.lane] < cta.async.numGroups(copy, slot.lane);
  auto describe = [&](Finding &finding) {
    Place place = describePlace(cta, request, lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.otherThread = cta.threadPosition(copy.warp, slot.lane);
    bool isCopy = step.instruction.op == Op::AsyncCopy || step.instruction.op == Op::TensorToShared;
    const char *verb = isCopy ? " copies to " : step.isWrite ? " writes " : " reads ";
    finding.message = nameOf(finding.thread) + verb + place.text +
                      ", which an asynchronous copy of " + nameOf(finding.otherThread) +
                      (isShared ? " writes" : " reads") +
                      ": it is in flight, that thread has not " +
                      (isCommitted ? "waited for its group" : "committed it to a group");
  };
  cta.report(Kind::AsyncRace, step.warp, lane, step.pc, describe, copy.pc);
}

static bool isAnyInFlight(const AsyncCopies &async, uint64_t at, uint64_t bytes) {
  for (uint64_t cell = at / 4; cell <= (at + bytes - 1) / 4; ++cell)
    if (async.inFlight[cell >> 6] >> (cell & 63) & 1)
      return true;
  return false;
}

/// Stores to what a copy of this CTA is still to read.
static void checkSources(const MemoryStep &step, const Request &request) {
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    Slot slot = findSlot(step.cta, false, request.at[lane], request.bytes);
    if (slot.copy)
      reportInFlight(step, request, lane, slot);
  }
}

/// Lanes of one copy that write the same bytes.
static void checkOverlap(const MemoryStep &step, const Request &request) {
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    for (LaneMask later = rest & (rest - 1); later; later &= later - 1) {
      unsigned other = unsigned(__builtin_ctz(later));
      if (request.at[lane] != request.at[other])
        continue;
      auto describe = [&](Finding &finding) {
        Place place = describePlace(step.cta, request, lane);
        finding.buffer = place.buffer;
        finding.offset = place.offset;
        finding.otherThread = step.cta.threadPosition(step.warp.index, other);
        finding.message = nameOf(finding.thread) + " and " + nameOf(finding.otherThread) +
                          " copy to " + place.text + " at the same time";
      };
      return step.cta.report(Kind::AsyncRace, step.warp, lane, step.pc, describe, step.pc);
    }
  }
}

/// Accesses of shared memory that a copy in flight writes.
static void checkDestinations(const MemoryStep &step, const Request &request) {
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (!isAnyInFlight(step.cta.async, request.at[lane], request.bytes))
      continue;
    Slot slot = findSlot(step.cta, true, request.at[lane], request.bytes);
    if (slot.copy)
      reportInFlight(step, request, lane, slot);
  }
}

void tw::warpsim::checkInFlight(const MemoryStep &step, const Request &request) {
  const AsyncCopies &async = step.cta.async;
  bool isShared = request.space == Space::Shared;
  bool isOfGlobal = request.space == Space::Global && step.isWrite;
  if (!step.cta.launch.launch.options.checksRaces || (!isShared && !isOfGlobal))
    return;
  bool isCopy = isShared && step.instruction.op == Op::AsyncCopy && !request.isRow;
  bool isClearRow = isShared && request.isRow &&
                    !isAnyInFlight(async, request.at[0], uint64_t(kWarpSize) * request.bytes);
  if (isClearRow || (!isCopy && async.numInFlight == 0))
    return;
  Request each = request;
  each.expand();
  if (isCopy)
    checkOverlap(step, each);
  if (isShared)
    return checkDestinations(step, each);
  checkSources(step, each);
}

void tw::warpsim::reportAsyncLeaks(Cta &cta) {
  for (const std::vector<AsyncCopy> &copies : cta.async.ofWarp)
    for (const AsyncCopy &copy : copies) {
      unsigned lane = unsigned(__builtin_ctz(copy.inFlight));
      bool isCommitted = copy.group[lane] < cta.async.numGroups(copy, lane);
      cta.report(Kind::AsyncLeak, cta.warps[copy.warp], lane, copy.pc, [&](Finding &finding) {
        finding.message = std::string("the thread ends and has not ") +
                          (isCommitted ? "waited for" : "committed, nor waited for,") +
                          " this asynchronous copy";
      });
    }
}
