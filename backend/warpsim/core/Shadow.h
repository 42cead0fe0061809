// Finds data races: for each cell of memory the last write and the last reads, with their clocks.
#ifndef BACKEND_WARPSIM_CORE_SHADOW_H
#define BACKEND_WARPSIM_CORE_SHADOW_H
#include "backend/warpsim/core/Clocks.h"
#include <atomic>

namespace tw::warpsim {

/// Who is ordered with whom without a barrier: strong accesses of a scope that includes both
/// (PTX ISA, "morally strong").
enum class Strength : uint8_t { Weak, Cta, Gpu };

/// The side of an access that all its lanes have in common.
struct Accessor {
  const Clocks *clocks = nullptr;
  uint64_t cta = 0;
  unsigned warp = 0;
  int32_t pc = 0;
  bool isWrite = false;
  Strength strength = Strength::Weak;
  bool isProbe = false; // only checked, not recorded
};

/// A race found: the lane that accesses now and the thread that did before.
struct Conflict {
  bool withWrite = false; // the access before was a write
  unsigned lane = 0;
  uint64_t otherCta = 0;
  unsigned otherWarp = 0, otherLane = 0;
  int32_t otherPc = -1;
};

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

  /// Held during an access of memory that CTAs share.
  std::atomic_flag lock = ATOMIC_FLAG_INIT;

private:
  /// `place` is 0 in a cell without a record; else the epoch of the CTA (shared memory) or the low
  /// 16 bits of the CTA's number and of its epoch (global memory).
  struct Records {
    std::unique_ptr<uint32_t[]> place, who, pc, lanes; // `lanes` of reads only
    bool exists() const { return place != nullptr; }
    void create(uint32_t numCells, bool isRead);
    void split(uint32_t numCells, unsigned by, bool isRead);
  };

  void refineTo(unsigned laneBytes);
  uint32_t placeOf(const Accessor &accessor) const;
  bool isRowClear(const Accessor &accessor, uint32_t place, uint32_t first, unsigned cellsPerLane);
  void recordRow(const Accessor &accessor, uint32_t place, uint32_t first, unsigned cellsPerLane);
  bool isRace(const Accessor &accessor, unsigned lane, uint32_t place, uint32_t who,
              unsigned otherLane) const;
  bool findReadRace(const Records &records, const Accessor &accessor, unsigned lane, uint32_t cell,
                    Conflict &conflict) const;
  void recordRead(const Accessor &accessor, LaneMask lanes, uint32_t place, uint32_t cell);
  bool mayReplaceReads(const Accessor &accessor, LaneMask lanes, uint32_t cell) const;
  uint32_t numCells() const { return bytes >> shift; }

  uint32_t bytes;
  bool isShared;
  uint8_t shift = 2; // log2 of the bytes of a cell
  Records writes, reads, olderReads;
};

/// Pages of an allocation in global memory, made when they are first touched, by any host thread.
class PagedShadow {
public:
  static constexpr unsigned kPageShift = 12;
  PagedShadow(uint64_t base, uint64_t bytes);
  ~PagedShadow();
  PagedShadow(const PagedShadow &) = delete;
  /// The page of an address; `offset` becomes the address's offset in it.
  ShadowPage &page(uint64_t address, uint32_t &offset);

private:
  uint64_t firstPage;
  std::vector<std::atomic<ShadowPage *>> pages;
};

/// Holds a page of global memory's shadow for one access.
class PageLock {
public:
  explicit PageLock(ShadowPage &page) : page(page) {
    while (page.lock.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~PageLock() { page.lock.clear(std::memory_order_release); }
  PageLock(const PageLock &) = delete;

private:
  ShadowPage &page;
};

} // namespace tw::warpsim
#endif
