// Race checks, by rows of lanes where accesses are contiguous and by lane elsewhere.
#include "backend/warpsim/core/Shadow.h"
#include "backend/warpsim/core/VectorClones.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

// Fields of `who`: lane (of writes) in bits 0-4, warp 5-9, strength 10-11, clock from 12.
constexpr uint32_t kThreadBits = 0x3ff, kMaxClock = (1u << 20) - 1;

static uint32_t packWho(const Accessor &accessor) {
  // A clock that is too large stays the largest: later accesses then look known, which hides races
  // but makes none up.
  uint32_t clock = std::min(accessor.clocks->clock(accessor.warp), kMaxClock);
  return accessor.warp << 5 | uint32_t(accessor.strength) << 10 | clock << 12;
}
static unsigned warpOf(uint32_t who) { return who >> 5 & 31; }
static Strength strengthOf(uint32_t who) { return Strength(who >> 10 & 3); }
static uint32_t clockOf(uint32_t who) { return who >> 12; }

void ShadowPage::Records::create(uint32_t numCells, bool isRead) {
  if (exists())
    return;
  place = std::make_unique<uint32_t[]>(numCells);
  who = std::make_unique_for_overwrite<uint32_t[]>(numCells);
  pc = std::make_unique_for_overwrite<uint32_t[]>(numCells);
  if (isRead)
    lanes = std::make_unique_for_overwrite<uint32_t[]>(numCells);
}

void ShadowPage::Records::split(uint32_t numCells, unsigned by, bool isRead) {
  if (!exists())
    return;
  Records finer;
  finer.create(numCells * by, isRead);
  for (uint32_t i = 0; i < numCells * by; ++i) {
    finer.place[i] = place[i / by];
    finer.who[i] = who[i / by];
    finer.pc[i] = pc[i / by];
    if (isRead)
      finer.lanes[i] = lanes[i / by];
  }
  *this = std::move(finer);
}

void ShadowPage::refineTo(unsigned laneBytes) {
  unsigned finerShift = laneBytes >= 4 ? 2 : laneBytes == 2 ? 1 : 0;
  if (finerShift >= shift)
    return;
  unsigned by = 1u << (shift - finerShift);
  writes.split(numCells(), by, false);
  reads.split(numCells(), by, true);
  olderReads.split(numCells(), by, true);
  shift = finerShift;
}

uint32_t ShadowPage::placeOf(const Accessor &accessor) const {
  uint32_t epoch = accessor.clocks->epoch();
  return isShared ? epoch : uint32_t(accessor.cta) << 16 | (epoch & 0xffff);
}

/// Could a record at `there` race with an access at `place`, threads aside? Other epochs of the
/// same CTA are ordered before; other CTAs never are without a look at what is known.
static bool isCurrent(uint32_t there, uint32_t place, uint32_t ctaBits) {
  return there == place || (there != 0 && ((there ^ place) & ctaBits) != 0);
}

/// Whether some cell's write is by another thread, not known to be ordered.
TW_VECTOR_CLONES static bool hasOtherWriter(const uint32_t *places, const uint32_t *whos,
                                            unsigned numCells, unsigned logCellsPerLane,
                                            uint32_t place, uint32_t ctaBits, uint32_t warpBits) {
  uint32_t found = 0;
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t there = places[i], thread = warpBits | i >> logCellsPerLane;
    uint32_t isHere = there == place, isForeign = (there != 0) & (((there ^ place) & ctaBits) != 0);
    found |= isForeign | (isHere & ((whos[i] & kThreadBits) != thread));
  }
  return found;
}

/// Whether some cell has a reader that is not the lane of the same place itself.
TW_VECTOR_CLONES static bool hasOtherReader(const uint32_t *places, const uint32_t *whos,
                                            const uint32_t *lanes, unsigned numCells,
                                            unsigned logCellsPerLane, uint32_t place,
                                            uint32_t ctaBits, uint32_t warpBits) {
  uint32_t found = 0;
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t there = places[i], lane = 1u << (i >> logCellsPerLane);
    uint32_t isHere = there == place, isForeign = (there != 0) & (((there ^ place) & ctaBits) != 0);
    uint32_t isOther = ((whos[i] & kThreadBits & ~31u) != warpBits) | (lanes[i] != lane);
    found |= isForeign | (isHere & isOther);
  }
  return found;
}

/// Whether the newest reads of some cell must be kept beside a new one: they are of this epoch, or
/// of another CTA, and not simply of the same warp at the same clock.
TW_VECTOR_CLONES static bool hasReadsToKeep(const uint32_t *places, const uint32_t *whos,
                                            unsigned numCells, uint32_t place, uint32_t ctaBits,
                                            uint32_t who) {
  uint32_t found = 0;
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t there = places[i];
    uint32_t isHere = there == place, isForeign = (there != 0) & (((there ^ place) & ctaBits) != 0);
    found |= isForeign | (isHere & (whos[i] != who));
  }
  return found;
}

TW_VECTOR_CLONES static void setRow(uint32_t *places, uint32_t *whos, uint32_t *pcs,
                                    unsigned numCells, unsigned logCellsPerLane, uint32_t place,
                                    uint32_t who, uint32_t pc) {
  for (unsigned i = 0; i < numCells; ++i) {
    places[i] = place;
    whos[i] = who | i >> logCellsPerLane;
    pcs[i] = pc;
  }
}

TW_VECTOR_CLONES static void addReads(uint32_t *places, uint32_t *whos, uint32_t *pcs,
                                      uint32_t *lanes, unsigned numCells, unsigned logCellsPerLane,
                                      uint32_t place, uint32_t who, uint32_t pc) {
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t lane = 1u << (i >> logCellsPerLane);
    uint32_t isSame = places[i] == place ? lanes[i] : 0;
    lanes[i] = isSame | lane;
    places[i] = place;
    whos[i] = who;
    pcs[i] = pc;
  }
}

bool ShadowPage::isRowClear(const Accessor &accessor, uint32_t place, uint32_t first,
                            unsigned logCellsPerLane) {
  unsigned count = kWarpSize << logCellsPerLane;
  uint32_t ctaBits = isShared ? 0 : 0xffff0000, warpBits = accessor.warp << 5;
  if (writes.exists() && hasOtherWriter(&writes.place[first], &writes.who[first], count,
                                        logCellsPerLane, place, ctaBits, warpBits))
    return false;
  auto hasReader = [&](const Records &records) {
    return records.exists() &&
           hasOtherReader(&records.place[first], &records.who[first], &records.lanes[first], count,
                          logCellsPerLane, place, ctaBits, warpBits);
  };
  if (accessor.isWrite)
    return !hasReader(reads) && !hasReader(olderReads);
  return true;
}

void ShadowPage::recordRow(const Accessor &accessor, uint32_t place, uint32_t first,
                           unsigned logCellsPerLane) {
  unsigned count = kWarpSize << logCellsPerLane;
  uint32_t who = packWho(accessor), pc = uint32_t(accessor.pc);
  if (accessor.isWrite) {
    writes.create(numCells(), false);
    return setRow(&writes.place[first], &writes.who[first], &writes.pc[first], count,
                  logCellsPerLane, place, who, pc);
  }
  reads.create(numCells(), true);
  uint32_t ctaBits = isShared ? 0 : 0xffff0000;
  if (!hasReadsToKeep(&reads.place[first], &reads.who[first], count, place, ctaBits, who))
    return addReads(&reads.place[first], &reads.who[first], &reads.pc[first], &reads.lanes[first],
                    count, logCellsPerLane, place, who, pc);
  for (unsigned i = 0; i < count; ++i)
    recordRead(accessor, 1u << (i >> logCellsPerLane), place, first + i);
}

bool ShadowPage::accessRow(const Accessor &accessor, uint32_t offset, unsigned laneBytes) {
  refineTo(laneBytes);
  unsigned logCellsPerLane = unsigned(__builtin_ctz(laneBytes)) - shift;
  uint32_t place = placeOf(accessor), first = offset >> shift;
  if (!isRowClear(accessor, place, first, logCellsPerLane))
    return false;
  if (!accessor.isProbe)
    recordRow(accessor, place, first, logCellsPerLane);
  return true;
}

bool ShadowPage::accessUniform(const Accessor &accessor, LaneMask lanes, uint32_t offset,
                               unsigned laneBytes) {
  refineTo(laneBytes);
  uint32_t place = placeOf(accessor), ctaBits = isShared ? 0 : 0xffff0000;
  uint32_t begin = offset >> shift, end = (offset + laneBytes) >> shift;
  for (uint32_t cell = begin; writes.exists() && cell < end; ++cell)
    if (isCurrent(writes.place[cell], place, ctaBits))
      return false;
  for (uint32_t cell = begin; cell < end; ++cell)
    recordRead(accessor, lanes, place, cell);
  return true;
}

bool ShadowPage::isRace(const Accessor &accessor, unsigned lane, uint32_t there, uint32_t who,
                        unsigned otherLane) const {
  uint32_t place = placeOf(accessor);
  bool isForeign = !isShared && there != 0 && ((there ^ place) & 0xffff0000) != 0;
  if (isForeign)
    return (accessor.strength != Strength::Gpu || strengthOf(who) != Strength::Gpu) &&
           !accessor.clocks->knowsForeign(accessor.warp, lane, uint16_t(there >> 16),
                                          uint16_t(there), warpOf(who), otherLane, clockOf(who));
  if (there != place)
    return false;
  if (accessor.strength != Strength::Weak && strengthOf(who) != Strength::Weak)
    return false;
  return !accessor.clocks->knows(accessor.warp, lane, warpOf(who), otherLane, clockOf(who));
}

static Conflict describeConflict(bool withWrite, unsigned lane, uint64_t cta, uint32_t who,
                                 unsigned otherLane, uint32_t pc) {
  return {withWrite, lane, cta, warpOf(who), otherLane, int32_t(pc)};
}

bool ShadowPage::findReadRace(const Records &records, const Accessor &accessor, unsigned lane,
                              uint32_t cell, Conflict &conflict) const {
  if (!records.exists() || records.place[cell] == 0)
    return false;
  uint32_t there = records.place[cell], who = records.who[cell];
  for (LaneMask rest = records.lanes[cell]; rest; rest &= rest - 1) {
    unsigned other = unsigned(__builtin_ctz(rest));
    if (!isRace(accessor, lane, there, who, other))
      continue;
    uint64_t cta = isShared ? accessor.cta : there >> 16;
    conflict = describeConflict(false, lane, cta, who, other, records.pc[cell]);
    return true;
  }
  return false;
}

/// Whether everything about the newest reads of a cell, which are by the reader's own warp, follows
/// from a new read: whoever knows of that knows of them.
bool ShadowPage::mayReplaceReads(const Accessor &accessor, LaneMask lanes, uint32_t cell) const {
  unsigned lane = unsigned(__builtin_ctz(lanes));
  for (LaneMask rest = reads.lanes[cell]; rest; rest &= rest - 1)
    if (!accessor.clocks->knows(accessor.warp, lane, accessor.warp, unsigned(__builtin_ctz(rest)),
                                clockOf(reads.who[cell])))
      return false;
  return true;
}

void ShadowPage::recordRead(const Accessor &accessor, LaneMask lanes, uint32_t place,
                            uint32_t cell) {
  reads.create(numCells(), true);
  uint32_t there = reads.place[cell], who = packWho(accessor);
  uint32_t ctaBits = isShared ? 0 : 0xffff0000;
  bool isHere = there == place;
  if (isHere && warpOf(reads.who[cell]) == accessor.warp &&
      strengthOf(reads.who[cell]) == accessor.strength &&
      (reads.who[cell] == who || !mayReplaceReads(accessor, lanes, cell))) {
    // Kept with the older clock: that hides a race at worst, and makes none up.
    reads.lanes[cell] |= lanes;
    return;
  }
  bool isOtherWarp = isHere && warpOf(reads.who[cell]) != accessor.warp;
  if (isCurrent(there, place, ctaBits) && (isOtherWarp || !isHere)) {
    olderReads.create(numCells(), true);
    uint32_t older = olderReads.place[cell];
    // A reader of another CTA stays: it conflicts with every writer here.
    bool isOlderForeign = older != 0 && ((older ^ place) & ctaBits) != 0;
    if (!isHere || !isOlderForeign) {
      olderReads.place[cell] = there;
      olderReads.who[cell] = reads.who[cell];
      olderReads.pc[cell] = reads.pc[cell];
      olderReads.lanes[cell] = reads.lanes[cell];
    }
  }
  reads.place[cell] = place;
  reads.who[cell] = who;
  reads.pc[cell] = uint32_t(accessor.pc);
  reads.lanes[cell] = lanes;
}

bool ShadowPage::accessLane(const Accessor &accessor, unsigned lane, uint32_t offset,
                            unsigned laneBytes, Conflict &conflict) {
  refineTo(laneBytes);
  uint32_t place = placeOf(accessor);
  uint32_t begin = offset >> shift, end = (offset + laneBytes) >> shift;
  bool hasRace = false;
  for (uint32_t cell = begin; cell < end; ++cell) {
    if (!hasRace && writes.exists() && writes.place[cell] != 0 &&
        isRace(accessor, lane, writes.place[cell], writes.who[cell], writes.who[cell] & 31)) {
      uint64_t cta = isShared ? accessor.cta : writes.place[cell] >> 16;
      conflict = describeConflict(true, lane, cta, writes.who[cell], writes.who[cell] & 31,
                                  writes.pc[cell]);
      hasRace = true;
    }
    if (!hasRace && accessor.isWrite)
      hasRace = findReadRace(reads, accessor, lane, cell, conflict) ||
                findReadRace(olderReads, accessor, lane, cell, conflict);
    if (accessor.isProbe)
      continue;
    if (!accessor.isWrite) {
      recordRead(accessor, 1u << lane, place, cell);
      continue;
    }
    writes.create(numCells(), false);
    writes.place[cell] = place;
    writes.who[cell] = packWho(accessor) | lane;
    writes.pc[cell] = uint32_t(accessor.pc);
  }
  return hasRace;
}

void ShadowPage::recordWrites(const Accessor &accessor, LaneMask lanes,
                              const std::array<uint32_t, kWarpSize> &offsets, unsigned laneBytes) {
  refineTo(laneBytes);
  writes.create(numCells(), false);
  uint32_t place = placeOf(accessor), who = packWho(accessor), pc = uint32_t(accessor.pc);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t begin = offsets[lane] >> shift, end = (offsets[lane] + laneBytes) >> shift;
    for (uint32_t cell = begin; cell < end; ++cell) {
      writes.place[cell] = place;
      writes.who[cell] = who | lane;
      writes.pc[cell] = pc;
    }
  }
}

int32_t ShadowPage::lastWriter(uint32_t offset, unsigned count) const {
  if (!writes.exists())
    return -1;
  for (uint32_t cell = offset >> shift; cell <= (offset + count - 1) >> shift; ++cell)
    if (writes.place[cell] != 0)
      return int32_t(writes.pc[cell]);
  return -1;
}

PagedShadow::PagedShadow(uint64_t base, uint64_t bytes)
    : firstPage(base >> kPageShift),
      pages(bytes ? ((base + bytes - 1) >> kPageShift) - firstPage + 1 : 0) {}

PagedShadow::~PagedShadow() {
  for (std::atomic<ShadowPage *> &page : pages)
    delete page.load(std::memory_order_relaxed);
}

ShadowPage &PagedShadow::page(uint64_t address, uint32_t &offset) {
  offset = uint32_t(address & ((1u << kPageShift) - 1));
  std::atomic<ShadowPage *> &slot = pages[(address >> kPageShift) - firstPage];
  ShadowPage *page = slot.load(std::memory_order_acquire);
  if (page)
    return *page;
  auto fresh = std::make_unique<ShadowPage>(1u << kPageShift, false);
  if (slot.compare_exchange_strong(page, fresh.get(), std::memory_order_acq_rel))
    return *fresh.release();
  return *page;
}
