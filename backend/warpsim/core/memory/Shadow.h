// Finds data races: for each cell of memory the last write and the last reads, with their clocks.
#ifndef BACKEND_WARPSIM_CORE_SHADOW_H
#define BACKEND_WARPSIM_CORE_SHADOW_H
#include "backend/warpsim/core/clocks/ProxyFences.h"
#include "backend/warpsim/core/memory/Accessor.h"
#include <atomic>

namespace tw::warpsim {

/// Records of a piece of memory. A cell is 4 bytes until an access is narrower; then 2 or 1. Arrays
/// by field, so that the lanes of a coalesced access are checked as vectors; made at first use,
/// since much memory is only read or only written.
class ShadowPage {
public:
  ShadowPage(uint32_t bytes, bool isShared) : bytes(bytes), isShared(isShared) {}

  /// Lane i accesses `lanesBytes` at `offset + i * lanesBytes`. Records it and returns true when no
  /// lane can be in a race; else nothing is recorded: ask `accessLane` for each.
  bool accessRow(const Accessor &accessor, uint32_t offset, unsigned laneBytes);
  /// The same of reads of one place by all of `lanes`.
  bool accessUniform(const Accessor &accessor, LaneMask lanes, uint32_t offset, unsigned laneBytes);
  /// One lane. True with `conflict` filled in when it is in a race; recorded in any case.
  bool accessLane(const Accessor &accessor, unsigned lane, uint32_t offset, unsigned laneBytes,
                  Conflict &conflict);

  /// Records writes of `laneBytes` at lane i's offset, which were checked before.
  void recordWrites(const Accessor &accessor, LaneMask lanes,
                    const std::array<uint32_t, kWarpSize> &offsets, unsigned laneBytes);

  /// The instruction that wrote one of these bytes last in this launch, or -1. The records of
  /// shared memory say nothing about that: they outlive CTAs.
  int32_t lastWriter(uint32_t offset, unsigned count) const;
  /// Calls `visit(PastWrite)` for the last write of each cell of these bytes of shared memory that
  /// has one.
  template <typename Visit> void forEachWrite(uint32_t offset, unsigned count, Visit visit) const {
    for (uint32_t cell = offset >> shift; writes.exists() && cell < (offset + count) >> shift;
         ++cell)
      if (writes.place[cell])
        visit(unpackWrite(writes.place[cell], writes.who[cell], writes.pc[cell]));
  }
  /// Loads through the read-only cache, which need bytes that nobody writes: noted, and found again
  /// (an instruction, or -1).
  void noteCachedRead(uint32_t offset, unsigned count, int32_t pc);
  int32_t cachedReader(uint32_t offset, unsigned count) const;

  /// Held during an access of memory that CTAs share.
  std::atomic_flag lock = ATOMIC_FLAG_INIT;

private:
  static PastWrite unpackWrite(uint32_t epoch, uint32_t who, uint32_t pc);
  /// `place` is 0 in a cell without a record. In shared memory it is the epoch of the CTA; in
  /// global memory the CTA, and `epoch` is apart.
  struct Records {
    std::unique_ptr<uint32_t[]> place, epoch, who, pc, lanes; // `lanes` of reads only
    bool exists() const { return place != nullptr; }
    void create(uint32_t numCells, bool isRead, bool isShared);
    void split(uint32_t numCells, unsigned by, bool isRead, bool isShared);
    void set(uint32_t cell, const Records &from, uint32_t fromCell);
  };
  /// Where an accessor is: what records of its own CTA and epoch have, and its own.
  struct Where {
    uint32_t place, epoch, isGlobal, who, pc;
  };
  struct Row {
    uint32_t first;
    unsigned logCellsPerLane;
  };

  void refineTo(unsigned laneBytes) {
    unsigned finerShift = laneBytes >= 4 ? 2 : laneBytes == 2 ? 1 : 0;
    if (finerShift < shift)
      split(finerShift);
  }
  void split(unsigned finerShift);
  Where whereOf(const Accessor &accessor) const;
  const uint32_t *epochsOf(const Records &records) const {
    return isShared ? records.place.get() : records.epoch.get();
  }
  /// Could a record race with an access at `where`, threads aside? Other epochs of the same CTA are
  /// ordered before, though only for that CTA; others never are without a look at what is known.
  bool isCurrent(const Records &records, uint32_t cell, const Where &where) const {
    uint32_t there = records.place[cell];
    if (isShared)
      return there == where.place;
    return there == where.place ? records.epoch[cell] == where.epoch : there != 0;
  }
  bool hasOtherWriters(const Records &records, const Accessor &accessor, const Where &where,
                       const Row &row) const;
  bool isRowClear(const Accessor &accessor, const Where &where, const Row &row) const;
  void recordRow(const Accessor &accessor, const Where &where, const Row &row);
  // Of a current record of a cell:
  bool isKnown(const Accessor &accessor, unsigned lane, const Where &where, const Records &records,
               uint32_t cell, unsigned otherLane) const;
  bool isRace(const Accessor &accessor, unsigned lane, const Where &where, const Records &records,
              uint32_t cell, unsigned otherLane) const;
  bool findWriteRace(const Records &records, const Accessor &accessor, unsigned lane,
                     const Where &where, uint32_t cell, Conflict &conflict) const;
  bool findReadRace(const Records &records, const Accessor &accessor, unsigned lane,
                    const Where &where, uint32_t cell, Conflict &conflict) const;
  bool findRace(const Accessor &accessor, unsigned lane, const Where &where, uint32_t cell,
                Conflict &conflict) const;
  void put(Records &records, const Where &where, uint32_t cell, uint32_t who) const {
    records.place[cell] = where.place;
    if (!isShared)
      records.epoch[cell] = where.epoch;
    records.who[cell] = who;
    records.pc[cell] = where.pc;
  }
  void recordRead(const Accessor &accessor, LaneMask lanes, const Where &where, uint32_t cell);
  void recordWrite(const Accessor &accessor, unsigned lane, const Where &where, uint32_t cell,
                   bool hasRace);
  void keepWrite(const Accessor &accessor, unsigned lane, const Where &where, uint32_t cell);
  bool isStoodFor(const Records &records, const Where &where, uint32_t cell) const;
  bool mayReplaceRead(const Records &records, const Accessor &accessor, LaneMask lanes,
                      const Where &where, uint32_t cell) const;
  Records &findReplaced(const Accessor &accessor, LaneMask lanes, const Where &where,
                        uint32_t cell);
  bool hasTwoOtherCtas(const Where &where, uint32_t cell) const;
  uint32_t numCells() const { return bytes >> shift; }

  uint32_t bytes;
  bool isShared;
  uint8_t shift = 2; // log2 of the bytes of a cell
  Records writes;    // the last
  /// Before that, those that the last does not follow or is too strong to stand for.
  std::vector<Records> olderWrites;
  std::vector<Records> reads;             // all that no later read or write stands for
  std::unique_ptr<int32_t[]> cachedReads; // by byte, the instruction + 1
};

} // namespace tw::warpsim
#endif
