// Race and initialization checks of memory requests, and how races are told.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/state/Ordering.h"
#include <algorithm>
#include <bit>
#include <cstring>

using namespace tw::warpsim;

Strength tw::warpsim::strengthOf(const Instruction &instruction) {
  if (instruction.order == Order::Weak && instruction.op != Op::Atom && instruction.op != Op::Red)
    return Strength::Weak;
  // Atomics without a scope have .gpu, volatile accesses .sys (PTX ISA, memory consistency model).
  return reachOf(instruction.scope) == Reach::Cta ? Strength::Cta : Strength::Gpu;
}

static ShadowPage *pageOf(const MemoryStep &step, const Request &request, uint64_t address,
                          uint32_t &offset) {
  if (request.space == Space::Shared) {
    offset = uint32_t(address);
    return &step.cta.sharedShadow;
  }
  uint32_t hint = step.cta.regionHints[step.pc];
  Region *region = request.region ? request.region : step.cta.launch.memory.find(address, hint);
  return region && region->shadow ? &region->shadow->page(address, offset) : nullptr;
}

static bool isChecked(const MemoryStep &step, const Request &request) {
  return step.cta.launch.launch.options.checksRaces &&
         (request.space == Space::Shared || request.space == Space::Global ||
          request.space == Space::Generic);
}

static std::string nameOfThread(const std::array<uint32_t, 3> &thread) {
  return "thread (" + std::to_string(thread[0]) + ", " + std::to_string(thread[1]) + ", " +
         std::to_string(thread[2]) + ")";
}

static Kind kindOf(const MemoryStep &step, const Conflict &conflict) {
  if (!step.isWrite)
    return Kind::RaceRaw;
  return conflict.withWrite ? Kind::RaceWaw : Kind::RaceWar;
}

static void reportRace(const MemoryStep &step, const Request &request, const Conflict &conflict,
                       bool isRedundant) {
  Kind kind = isRedundant ? Kind::RedundantWrite : kindOf(step, conflict);
  Cta &cta = step.cta;
  auto describe = [&](Finding &finding) {
    Place place = describePlace(cta, request, conflict.lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.isError = !isRedundant;
    finding.otherThread = cta.threadPosition(conflict.otherWarp, conflict.otherLane);
    finding.message = nameOfThread(finding.thread) + (step.isWrite ? " writes " : " reads ") +
                      place.text + ", which " + nameOfThread(finding.otherThread);
    if (conflict.otherCta != cta.slot)
      finding.message += " of CTA " + std::to_string(cta.launch.numberOf(conflict.otherCta - 1));
    finding.message += conflict.withWrite ? " wrote" : " read";
    finding.message += isRedundant ? " with the same value" : ", with nothing that orders the two";
    if (!isRedundant && cta.launch.program.isAmdgcn && conflict.otherCta == cta.slot)
      finding.message += ": a barrier orders what fences of this memory release before it and "
                         "acquire after it";
  };
  cta.report(kind, step.warp, conflict.lane, step.pc, describe, conflict.otherPc);
}

static Accessor accessorOf(const MemoryStep &step, const Request &request, Strength strength) {
  return {&step.cta.clocksOf(request.space == Space::Shared),
          step.cta.slot,
          step.warp.index,
          step.pc,
          step.isWrite,
          strength,
          uint8_t(std::countr_zero(std::max(bytesOf(step.instruction.type), 1u))),
          step.isProbe,
          step.cta.launch.sync.interaction == Interaction::Ctas,
          request.isStale};
}

bool tw::warpsim::checkRow(const MemoryStep &step, const Request &request, Strength strength,
                           std::optional<PageLock> &held) {
  if (!isChecked(step, request))
    return true;
  bool isShared = request.space == Space::Shared;
  if (step.isWrite || strength == Strength::Weak)
    step.cta.clocksOf(isShared).use(step.warp.index, isShared);
  bool isWholeRow = request.isRow || (request.isUniform && !step.isWrite);
  if (!isWholeRow || strength != Strength::Weak || request.isStale)
    return false;
  uint32_t offset = 0;
  unsigned first = unsigned(__builtin_ctz(request.lanes));
  ShadowPage *page = pageOf(step, request, request.at[first], offset);
  if (!page)
    return true;
  Accessor accessor = accessorOf(step, request, strength);
  if (!isShared)
    held.emplace(*page);
  if (!request.isRow)
    return page->accessUniform(accessor, request.lanes, offset, request.bytes);
  bool isInPage = isShared || offset + kWarpSize * request.bytes <= 1u << PagedShadow::kPageShift;
  return isInPage && page->accessRow(accessor, offset, request.bytes);
}

static void reportCached(const MemoryStep &step, const Request &request, unsigned lane,
                         int32_t other) {
  auto describe = [&](Finding &finding) {
    Place place = describePlace(step.cta, request, lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.message = nameOfThread(finding.thread) +
                      (step.isWrite ? " writes " + place.text +
                                          ", which this launch reads through the read-only cache "
                                          "(.nc): it must not change during the launch"
                                    : " reads " + place.text +
                                          " through the read-only cache (.nc), and this launch has "
                                          "written it");
  };
  step.cta.report(step.isWrite ? Kind::RaceWar : Kind::RaceRaw, step.warp, lane, step.pc, describe,
                  other);
}

namespace {
/// Bytes of a lane's access, from `begin` on.
struct Part {
  unsigned begin, bytes;
};
} // namespace

/// Divides the access of a lane by the pages of the shadow, one or two: buffers and copies of AMD's
/// GPUs are aligned to words only.
static std::array<Part, 2> partsByPage(const Request &request, unsigned lane) {
  constexpr uint64_t kPageBytes = uint64_t(1) << PagedShadow::kPageShift;
  uint64_t untilNextPage = kPageBytes - (request.at[lane] & (kPageBytes - 1));
  if (request.space == Space::Shared || untilNextPage >= request.bytes)
    return {{{0, request.bytes}, {}}};
  unsigned before = unsigned(untilNextPage);
  return {{{0, before}, {before, request.bytes - before}}};
}

/// Writes to the kernel's memory; returns true if it `compares` and changes nothing. Kernels with
/// races have them here: test/sanitize/races.txt.
[[gnu::noinline]] static bool writeBytes(uint8_t *to, const uint8_t *from, unsigned bytes,
                                         bool compares) {
  bool isSame = compares && memcmp(from, to, bytes) == 0;
  memcpy(to, from, bytes);
  return isSame;
}

static void checkPart(const MemoryStep &step, const Request &request, Strength strength,
                      unsigned lane, const uint8_t *newValue, Part part) {
  uint32_t offset = 0;
  ShadowPage *page = isChecked(step, request)
                         ? pageOf(step, request, request.at[lane] + part.begin, offset)
                         : nullptr;
  Conflict conflict;
  bool hasRace = false, isRedundant = false;
  int32_t cachedReader = -1;
  {
    std::optional<PageLock> held;
    if (page && request.space != Space::Shared)
      held.emplace(*page);
    if (page)
      hasRace =
          page->accessLane(accessorOf(step, request, strength), lane, offset, part.bytes, conflict);
    if (page && step.isWrite && request.space != Space::Shared)
      cachedReader = page->cachedReader(offset, part.bytes);
    if (newValue)
      isRedundant = writeBytes(request.host[lane] + part.begin, newValue + part.begin, part.bytes,
                               hasRace && conflict.withWeakWrite);
  }
  if (hasRace)
    reportRace(step, request, conflict, isRedundant);
  if (cachedReader >= 0)
    reportCached(step, request, lane, cachedReader);
}

void tw::warpsim::checkLane(const MemoryStep &step, const Request &request, Strength strength,
                            unsigned lane, const uint8_t *newValue) {
  for (Part part : partsByPage(request, lane))
    if (part.bytes)
      checkPart(step, request, strength, lane, newValue, part);
}

/// The instruction of this launch that wrote bytes which are read through the cache, or -1.
static int32_t noteCachedPart(const MemoryStep &step, const Request &request, unsigned lane,
                              Part part) {
  uint32_t offset = 0;
  ShadowPage *page = pageOf(step, request, request.at[lane] + part.begin, offset);
  if (!page)
    return -1;
  PageLock lock(*page);
  page->noteCachedRead(offset, part.bytes, step.pc);
  return page->lastWriter(offset, part.bytes);
}

void tw::warpsim::checkReadOnlyCache(const MemoryStep &step, Request &request) {
  if (!isChecked(step, request) || (request.region && !request.region->shadow))
    return;
  request.expand();
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    for (Part part : partsByPage(request, lane))
      if (int32_t writer = part.bytes ? noteCachedPart(step, request, lane, part) : -1; writer >= 0)
        reportCached(step, request, lane, writer);
  }
}

void tw::warpsim::beginReads(const MemoryStep &step, const Request &request) {
  bool isShared = request.space == Space::Shared;
  if (!isShared && step.cta.launch.sync.interaction != Interaction::Ctas)
    return; // nobody can have released anything there
  Clocks::Read read = {step.warp.index, step.pc, request.lanes, {}};
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    read.addresses[lane] = request.at[lane];
  }
  step.cta.clocksOf(isShared).beginRead(read);
}
