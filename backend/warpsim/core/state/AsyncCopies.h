// Copies from global to shared memory that are in flight until their thread waits for them.
#ifndef BACKEND_WARPSIM_CORE_ASYNCCOPIES_H
#define BACKEND_WARPSIM_CORE_ASYNCCOPIES_H
#include "backend/warpsim/core/memory/Memory.h"
#include <random>

namespace tw::warpsim {

/// One cp.async of a warp, until all its lanes have waited for it; or up to 32 pieces of rows of an
/// array, which the warp waits for by another counter: each lane stands for one.
struct AsyncCopy {
  int32_t pc = -1;
  bool isOfRows = false;
  unsigned warp = 0;
  LaneMask inFlight = 0;                      // lanes that have not waited
  LaneMask unmoved = 0;                       // of these, those whose bytes are still to be copied
  uint8_t bytes = 0;                          // that each lane writes
  std::array<uint8_t, kWarpSize> sourceBytes; // that it reads; the rest is zero
  std::array<uint32_t, kWarpSize> to;         // offset in shared memory
  std::array<uint32_t, kWarpSize> group;      // by the number of groups committed before
  std::array<uint64_t, kWarpSize> source;     // address
  std::array<const uint8_t *, kWarpSize> fromHost; // the byte at `source`
  size_t number = 0;                               // in the CTA's timeline
  LaneMask isUndefined = 0;                        // lanes whose source has bytes without a value
};

/// The copies of a CTA. PTX gives no order between them but by the waits of their own threads
/// (PTX ISA, cp.async): a thread's wait makes its copies its own writes, which others see after a
/// barrier like any other write; until then nobody may touch what a copy reads or writes.
struct AsyncCopies {
  std::vector<std::vector<AsyncCopy>> ofWarp;                // in order of issue
  std::vector<std::array<uint32_t, kWarpSize>> numCommitted; // groups, by warp and lane
  std::vector<uint32_t> numOfRows;          // copies of rows, by warp: each is a group
  std::vector<uint64_t> inFlight;           // a bit for each 4 bytes of shared memory
  uint64_t numInFlight = 0, numUnmoved = 0; // lanes
  std::mt19937_64 random;
  void reset(unsigned numWarps, uint32_t sharedBytes, uint64_t seed);
  /// Returns the groups that a lane of a warp has committed, of the copies that are alike.
  uint32_t numGroups(const AsyncCopy &copy, unsigned lane) const {
    return copy.isOfRows ? numOfRows[copy.warp] : numCommitted[copy.warp][lane];
  }
};

} // namespace tw::warpsim
#endif
