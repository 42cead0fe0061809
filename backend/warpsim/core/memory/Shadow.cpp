// Race checks, by rows of lanes where accesses are contiguous and by lane elsewhere.
#include "backend/warpsim/core/memory/Shadow.h"
#include "backend/warpsim/exec/VectorClones.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

// Fields of `who`: lane (of writes) in bits 0-4, warp 5-9, strength 10-11, clock from 12.
constexpr uint32_t kThreadBits = 0x3ff, kMaxClock = (1u << 20) - 1;
// Reads of a cell, and writes before the last, that are kept beside each other.
constexpr size_t kMaxReadLevels = 64, kMaxWriteLevels = 4;

static uint32_t packWho(const Accessor &accessor) {
  // A clock that is too large stays the largest: later accesses then look known, which hides races
  // but makes none up.
  uint32_t clock = std::min(accessor.clocks->clock(accessor.warp), kMaxClock);
  return accessor.warp << 5 | uint32_t(accessor.strength) << 10 | clock << 12;
}
// Fields of `pc`: the instruction in bits 0-27; of strong accesses, log2 of an element's bytes
// above.
constexpr uint32_t kPcMask = (1u << 28) - 1;

static uint32_t packPc(const Accessor &accessor) {
  uint32_t size = accessor.strength == Strength::Weak ? 0 : accessor.logElementBytes;
  return (uint32_t(accessor.pc) & kPcMask) | size << 28;
}
static int32_t pcOf(uint32_t packed) { return int32_t(packed & kPcMask); }
static uint32_t sizeOf(uint32_t packed) { return packed >> 28; }
static unsigned warpOf(uint32_t who) { return who >> 5 & 31; }
static Strength strengthOf(uint32_t who) { return Strength(who >> 10 & 3); }
static uint32_t clockOf(uint32_t who) { return who >> 12; }

PastWrite ShadowPage::unpackWrite(uint32_t epoch, uint32_t who, uint32_t pc) {
  return {epoch, warpOf(who), who & 31, clockOf(who), pcOf(pc)};
}

void ShadowPage::Records::create(uint32_t numCells, bool isRead, bool isShared) {
  if (exists())
    return;
  place = std::make_unique<uint32_t[]>(numCells);
  if (!isShared)
    epoch = std::make_unique_for_overwrite<uint32_t[]>(numCells);
  who = std::make_unique_for_overwrite<uint32_t[]>(numCells);
  pc = std::make_unique_for_overwrite<uint32_t[]>(numCells);
  if (isRead)
    lanes = std::make_unique_for_overwrite<uint32_t[]>(numCells);
}

void ShadowPage::Records::set(uint32_t cell, const Records &from, uint32_t fromCell) {
  place[cell] = from.place[fromCell];
  if (epoch)
    epoch[cell] = from.epoch[fromCell];
  who[cell] = from.who[fromCell];
  pc[cell] = from.pc[fromCell];
  if (lanes)
    lanes[cell] = from.lanes[fromCell];
}

void ShadowPage::Records::split(uint32_t numCells, unsigned by, bool isRead, bool isShared) {
  if (!exists())
    return;
  Records finer;
  finer.create(numCells * by, isRead, isShared);
  for (uint32_t i = 0; i < numCells * by; ++i)
    finer.set(i, *this, i / by);
  *this = std::move(finer);
}

void ShadowPage::split(unsigned finerShift) {
  unsigned by = 1u << (shift - finerShift);
  writes.split(numCells(), by, false, isShared);
  for (Records &level : olderWrites)
    level.split(numCells(), by, false, isShared);
  for (Records &level : reads)
    level.split(numCells(), by, true, isShared);
  shift = uint8_t(finerShift);
}

ShadowPage::Where ShadowPage::whereOf(const Accessor &accessor) const {
  uint32_t epoch = accessor.clocks->epoch();
  return {isShared ? epoch : accessor.cta, epoch, isShared ? 0u : 1u, packWho(accessor),
          packPc(accessor)};
}

/// Returns true if some cell's write is by another thread, not known to be ordered.
TW_VECTOR_CLONES static bool hasOtherWriter(const uint32_t *places, const uint32_t *epochs,
                                            const uint32_t *whos, unsigned numCells,
                                            unsigned logCellsPerLane, uint32_t place,
                                            uint32_t epoch, uint32_t isGlobal, uint32_t warpBits) {
  uint32_t found = 0;
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t there = places[i], thread = warpBits | i >> logCellsPerLane;
    uint32_t isHere = (there == place) & (epochs[i] == epoch);
    uint32_t isForeign = isGlobal & (there != 0) & (there != place);
    found |= isForeign | (isHere & ((whos[i] & kThreadBits) != thread));
  }
  return found;
}

/// Returns true if some cell has a reader that is not the lane of the same place itself.
TW_VECTOR_CLONES static bool hasOtherReader(const uint32_t *places, const uint32_t *epochs,
                                            const uint32_t *whos, const uint32_t *lanes,
                                            unsigned numCells, unsigned logCellsPerLane,
                                            uint32_t place, uint32_t epoch, uint32_t isGlobal,
                                            uint32_t warpBits) {
  uint32_t found = 0;
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t there = places[i], lane = 1u << (i >> logCellsPerLane);
    uint32_t isHere = (there == place) & (epochs[i] == epoch);
    uint32_t isForeign = isGlobal & (there != 0) & (there != place);
    uint32_t isOther = ((whos[i] & kThreadBits & ~31u) != warpBits) | (lanes[i] != lane);
    found |= isForeign | (isHere & isOther);
  }
  return found;
}

/// Returns true if the reads of some cell must be kept beside a new one: they are of this epoch, or
/// of another CTA, and not simply of the same warp at the same clock.
TW_VECTOR_CLONES static bool hasReadsToKeep(const uint32_t *places, const uint32_t *epochs,
                                            const uint32_t *whos, unsigned numCells, uint32_t place,
                                            uint32_t epoch, uint32_t isGlobal, uint32_t who) {
  uint32_t found = 0;
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t there = places[i];
    uint32_t isHere = (there == place) & (epochs[i] == epoch);
    uint32_t isForeign = isGlobal & (there != 0) & (there != place);
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

TW_VECTOR_CLONES static void addReads(uint32_t *places, const uint32_t *epochs, uint32_t *whos,
                                      uint32_t *pcs, uint32_t *lanes, unsigned numCells,
                                      unsigned logCellsPerLane, uint32_t place, uint32_t epoch,
                                      uint32_t who, uint32_t pc) {
  for (unsigned i = 0; i < numCells; ++i) {
    uint32_t lane = 1u << (i >> logCellsPerLane);
    uint32_t isSame = (places[i] == place) & (epochs[i] == epoch);
    lanes[i] = (isSame ? lanes[i] : 0) | lane;
    places[i] = place;
    whos[i] = who;
    pcs[i] = pc;
  }
}

bool ShadowPage::hasOtherWriters(const Records &records, const Accessor &accessor,
                                 const Where &where, const Row &row) const {
  return records.exists() &&
         hasOtherWriter(&records.place[row.first], epochsOf(records) + row.first,
                        &records.who[row.first], kWarpSize << row.logCellsPerLane,
                        row.logCellsPerLane, where.place, where.epoch, where.isGlobal,
                        accessor.warp << 5);
}

bool ShadowPage::isRowClear(const Accessor &accessor, const Where &where, const Row &row) const {
  if (hasOtherWriters(writes, accessor, where, row))
    return false;
  for (const Records &level : olderWrites)
    if (hasOtherWriters(level, accessor, where, row))
      return false;
  if (!accessor.isWrite)
    return true;
  unsigned count = kWarpSize << row.logCellsPerLane;
  if (cachedReads && cachedReader(row.first << shift, count << shift) >= 0)
    return false;
  for (const Records &level : reads)
    if (hasOtherReader(&level.place[row.first], epochsOf(level) + row.first, &level.who[row.first],
                       &level.lanes[row.first], count, row.logCellsPerLane, where.place,
                       where.epoch, where.isGlobal, accessor.warp << 5))
      return false;
  return true;
}

void ShadowPage::recordRow(const Accessor &accessor, const Where &where, const Row &row) {
  unsigned count = kWarpSize << row.logCellsPerLane;
  uint32_t who = where.who, pc = where.pc, first = row.first;
  if (accessor.isWrite) {
    writes.create(numCells(), false, isShared);
    setRow(&writes.place[first], &writes.who[first], &writes.pc[first], count, row.logCellsPerLane,
           where.place, who, pc);
    if (!isShared)
      std::fill_n(&writes.epoch[first], count, where.epoch);
    return;
  }
  if (reads.empty())
    reads.emplace_back().create(numCells(), true, isShared);
  for (Records &level : reads) {
    if (hasReadsToKeep(&level.place[first], epochsOf(level) + first, &level.who[first], count,
                       where.place, where.epoch, where.isGlobal, who))
      continue;
    addReads(&level.place[first], epochsOf(level) + first, &level.who[first], &level.pc[first],
             &level.lanes[first], count, row.logCellsPerLane, where.place, where.epoch, who, pc);
    if (!isShared)
      std::fill_n(&level.epoch[first], count, where.epoch);
    return;
  }
  for (unsigned i = 0; i < count; ++i)
    recordRead(accessor, 1u << (i >> row.logCellsPerLane), where, first + i);
}

bool ShadowPage::accessRow(const Accessor &accessor, uint32_t offset, unsigned laneBytes) {
  refineTo(laneBytes);
  Row row = {offset >> shift, unsigned(__builtin_ctz(laneBytes)) - shift};
  Where where = whereOf(accessor);
  if (!isRowClear(accessor, where, row))
    return false;
  if (!accessor.isProbe)
    recordRow(accessor, where, row);
  return true;
}

bool ShadowPage::accessUniform(const Accessor &accessor, LaneMask lanes, uint32_t offset,
                               unsigned laneBytes) {
  refineTo(laneBytes);
  Where where = whereOf(accessor);
  uint32_t begin = offset >> shift, end = (offset + laneBytes) >> shift;
  for (uint32_t cell = begin; cell < end; ++cell) {
    if (writes.exists() && isCurrent(writes, cell, where))
      return false;
    for (const Records &level : olderWrites)
      if (isCurrent(level, cell, where))
        return false;
  }
  for (uint32_t cell = begin; cell < end; ++cell)
    recordRead(accessor, lanes, where, cell);
  return true;
}

/// Returns true if a lane knows of the access of a thread that a record describes.
bool ShadowPage::isKnown(const Accessor &accessor, unsigned lane, const Where &where,
                         const Records &records, uint32_t cell, unsigned otherLane) const {
  uint32_t there = records.place[cell], who = records.who[cell];
  if (there == where.place)
    return accessor.clocks->knows(accessor.warp, lane, warpOf(who), otherLane, clockOf(who));
  return accessor.clocks->knowsForeign(accessor.warp, lane, there, records.epoch[cell], warpOf(who),
                                       otherLane, clockOf(who));
}

bool ShadowPage::isRace(const Accessor &accessor, unsigned lane, const Where &where,
                        const Records &records, uint32_t cell, unsigned otherLane) const {
  Strength needed = records.place[cell] == where.place ? Strength::Cta : Strength::Gpu;
  bool areStrong = accessor.strength >= needed && strengthOf(records.who[cell]) >= needed &&
                   sizeOf(records.pc[cell]) == sizeOf(where.pc);
  return !areStrong && !isKnown(accessor, lane, where, records, cell, otherLane);
}

bool ShadowPage::findWriteRace(const Records &records, const Accessor &accessor, unsigned lane,
                               const Where &where, uint32_t cell, Conflict &conflict) const {
  if (!isCurrent(records, cell, where))
    return false;
  uint32_t who = records.who[cell];
  if (!isRace(accessor, lane, where, records, cell, who & 31))
    return false;
  uint32_t cta = isShared ? accessor.cta : records.place[cell];
  conflict = {true,
              strengthOf(who) == Strength::Weak,
              lane,
              cta,
              warpOf(who),
              who & 31,
              pcOf(records.pc[cell])};
  return true;
}

bool ShadowPage::findReadRace(const Records &records, const Accessor &accessor, unsigned lane,
                              const Where &where, uint32_t cell, Conflict &conflict) const {
  if (!isCurrent(records, cell, where))
    return false;
  for (LaneMask rest = records.lanes[cell]; rest; rest &= rest - 1) {
    unsigned other = unsigned(__builtin_ctz(rest));
    if (!isRace(accessor, lane, where, records, cell, other))
      continue;
    uint32_t cta = isShared ? accessor.cta : records.place[cell];
    conflict = {false, false, lane, cta, warpOf(records.who[cell]), other, pcOf(records.pc[cell])};
    return true;
  }
  return false;
}

bool ShadowPage::findRace(const Accessor &accessor, unsigned lane, const Where &where,
                          uint32_t cell, Conflict &conflict) const {
  if (writes.exists() && findWriteRace(writes, accessor, lane, where, cell, conflict))
    return true;
  for (const Records &level : olderWrites)
    if (findWriteRace(level, accessor, lane, where, cell, conflict))
      return true;
  if (!accessor.isWrite)
    return false;
  for (const Records &level : reads)
    if (findReadRace(level, accessor, lane, where, cell, conflict))
      return true;
  return false;
}

/// Returns true if whatever may race with a record may race with a new access at `where`, too: it
/// is at most as strong, and of the same bytes where it is strong.
static bool isAtMostAsStrong(uint32_t newWho, uint32_t newPc, uint32_t oldWho, uint32_t oldPc) {
  Strength strength = strengthOf(newWho);
  return strength == Strength::Weak ||
         (strength <= strengthOf(oldWho) && sizeOf(newPc) == sizeOf(oldPc));
}

/// Returns true if a new access at `where`, of the same kind, stands for a record that it does not
/// race with: there is none, or it is of an earlier epoch of the CTA, so that whoever knows of the
/// new one knows of it, and whoever may race with it may race with the new one.
bool ShadowPage::isStoodFor(const Records &records, const Where &where, uint32_t cell) const {
  if (isCurrent(records, cell, where))
    return false;
  return isShared || records.place[cell] == 0 ||
         isAtMostAsStrong(where.who, where.pc, records.who[cell], records.pc[cell]);
}

/// The same of current reads, by what is known.
bool ShadowPage::mayReplaceRead(const Records &records, const Accessor &accessor, LaneMask lanes,
                                const Where &where, uint32_t cell) const {
  if (!isCurrent(records, cell, where) ||
      !isAtMostAsStrong(where.who, where.pc, records.who[cell], records.pc[cell]))
    return false;
  unsigned lane = unsigned(__builtin_ctz(lanes));
  for (LaneMask rest = records.lanes[cell]; rest; rest &= rest - 1)
    if (!isKnown(accessor, lane, where, records, cell, unsigned(__builtin_ctz(rest))))
      return false;
  return true;
}

/// Where a read is kept whose cell has only records that still count.
ShadowPage::Records &ShadowPage::findReplaced(const Accessor &accessor, LaneMask lanes,
                                              const Where &where, uint32_t cell) {
  for (Records &level : reads)
    if (mayReplaceRead(level, accessor, lanes, where, cell))
      return level;
  // With more readers than are kept, the newest replace each other.
  if (reads.size() == kMaxReadLevels)
    return reads.back();
  reads.emplace_back().create(numCells(), true, isShared);
  return reads.back();
}

bool ShadowPage::hasTwoOtherCtas(const Where &where, uint32_t cell) const {
  uint32_t first = 0;
  for (const Records &level : reads) {
    uint32_t there = level.place[cell];
    if (there == 0 || there == where.place || there == first)
      continue;
    if (first)
      return true;
    first = there;
  }
  return false;
}

void ShadowPage::recordRead(const Accessor &accessor, LaneMask lanes, const Where &where,
                            uint32_t cell) {
  Records *free = nullptr;
  for (Records &level : reads) {
    if (isStoodFor(level, where, cell)) {
      free = free ? free : &level;
    } else if (isCurrent(level, cell, where) && level.place[cell] == where.place &&
               level.who[cell] == where.who && sizeOf(level.pc[cell]) == sizeOf(where.pc)) {
      level.lanes[cell] |= lanes;
      level.pc[cell] = where.pc;
      return;
    }
  }
  // Where nothing orders CTAs, readers of two CTAs are enough to conflict with any writer.
  if (!isShared && !accessor.maySeeOtherCtas && hasTwoOtherCtas(where, cell))
    return;
  if (!free)
    free = &findReplaced(accessor, lanes, where, cell);
  put(*free, where, cell, where.who);
  free->lanes[cell] = lanes;
}

/// Before a strong write becomes the last one of a cell: the last one before is kept where the new
/// one does not stand for it. It may race with what the new one does not race with.
void ShadowPage::keepWrite(const Accessor &accessor, unsigned lane, const Where &where,
                           uint32_t cell) {
  auto standsFor = [&](const Records &records) {
    if (!isCurrent(records, cell, where))
      return isStoodFor(records, where, cell);
    return isAtMostAsStrong(where.who, where.pc, records.who[cell], records.pc[cell]) &&
           isKnown(accessor, lane, where, records, cell, records.who[cell] & 31);
  };
  if (standsFor(writes))
    return;
  for (Records &level : olderWrites)
    if (standsFor(level))
      return level.set(cell, writes, cell);
  if (olderWrites.size() < kMaxWriteLevels) {
    olderWrites.emplace_back().create(numCells(), false, isShared);
    return olderWrites.back().set(cell, writes, cell);
  }
  // The strongest race with least.
  auto strength = [cell](const Records &records) { return strengthOf(records.who[cell]); };
  Records &strongest = *std::ranges::max_element(olderWrites, {}, strength);
  if (strength(strongest) >= strength(writes))
    strongest.set(cell, writes, cell);
}

void ShadowPage::recordWrite(const Accessor &accessor, unsigned lane, const Where &where,
                             uint32_t cell, bool hasRace) {
  writes.create(numCells(), false, isShared);
  if (accessor.strength != Strength::Weak) {
    keepWrite(accessor, lane, where, cell);
  } else if (!isShared && !hasRace) {
    // All that came before is ordered before this write, and so before whatever follows it.
    for (Records &level : olderWrites)
      level.place[cell] = 0;
    for (Records &level : reads)
      level.place[cell] = 0;
  }
  put(writes, where, cell, where.who | lane);
}

bool ShadowPage::accessLane(const Accessor &accessor, unsigned lane, uint32_t offset,
                            unsigned laneBytes, Conflict &conflict) {
  refineTo(laneBytes);
  Where where = whereOf(accessor);
  uint32_t begin = offset >> shift, end = (offset + laneBytes) >> shift;
  bool hasRace = false;
  if (accessor.isStale) {
    Where before = where;
    --before.epoch;
    before.place -= isShared;
    for (uint32_t cell = begin; cell < end; ++cell)
      hasRace = hasRace || findRace(accessor, lane, before, cell, conflict);
  }
  for (uint32_t cell = begin; cell < end; ++cell) {
    hasRace = hasRace || findRace(accessor, lane, where, cell, conflict);
    if (accessor.isProbe)
      continue;
    if (accessor.isWrite)
      recordWrite(accessor, lane, where, cell, hasRace);
    else
      recordRead(accessor, 1u << lane, where, cell);
  }
  return hasRace;
}

void ShadowPage::recordWrites(const Accessor &accessor, LaneMask lanes,
                              const std::array<uint32_t, kWarpSize> &offsets, unsigned laneBytes) {
  refineTo(laneBytes);
  writes.create(numCells(), false, isShared);
  Where where = whereOf(accessor);
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint32_t begin = offsets[lane] >> shift, end = (offsets[lane] + laneBytes) >> shift;
    for (uint32_t cell = begin; cell < end; ++cell)
      put(writes, where, cell, where.who | lane);
  }
}

int32_t ShadowPage::lastWriter(uint32_t offset, unsigned count) const {
  if (!writes.exists())
    return -1;
  for (uint32_t cell = offset >> shift; cell <= (offset + count - 1) >> shift; ++cell)
    if (writes.place[cell] != 0)
      return pcOf(writes.pc[cell]);
  return -1;
}

void ShadowPage::noteCachedRead(uint32_t offset, unsigned count, int32_t pc) {
  if (!cachedReads)
    cachedReads = std::make_unique<int32_t[]>(bytes);
  std::fill_n(&cachedReads[offset], count, pc + 1);
}

int32_t ShadowPage::cachedReader(uint32_t offset, unsigned count) const {
  for (uint32_t at = offset; cachedReads && at < offset + count; ++at)
    if (cachedReads[at])
      return cachedReads[at] - 1;
  return -1;
}
