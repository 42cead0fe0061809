// Barriers in shared memory (mbarrier) and the copies whose bytes they count, of one CTA.
#ifndef BACKEND_WARPSIM_CORE_BULKCOPIES_H
#define BACKEND_WARPSIM_CORE_BULKCOPIES_H
#include "backend/warpsim/TensorMap.h"
#include "backend/warpsim/core/clocks/Clocks.h"
#include "backend/warpsim/core/memory/Memory.h"
#include <deque>
#include <random>

namespace tw::warpsim {

constexpr uint32_t kBulkPieceBytes = 16, kMbarrierBytes = 8;

/// A wait by lanes of a warp that was over: whoever knows of it knows that the copies of that phase
/// are over, and those of the phases before.
struct PastWait {
  uint32_t phase = 0, epoch = 0, clock = 0;
  unsigned warp = 0;
  LaneMask lanes = 0;
};
using PastWaits = std::shared_ptr<std::vector<PastWait>>;

/// A wait by parity that was over since the phase before the one in progress is. When the phase in
/// progress is over, too, the same parity means a phase that is to come.
struct ParityWait {
  int32_t pc = -1;
  unsigned warp = 0;
  LaneMask lanes = 0;
  uint32_t epoch = 0, clock = 0;
};

/// The last use of an mbarrier by lanes of a warp.
struct MbarrierUse {
  int32_t pc = -1;
  LaneMask lanes = 0;
  uint32_t epoch = 0, clock = 0;
};

/// The last arrival of a thread of another CTA of the cluster.
struct RemoteArrival {
  int32_t pc = -1;
  uint32_t cta = 0, epoch = 0, clock = 0; // `cta` as Accessor::cta
  unsigned warp = 0, lane = 0;
};

/// An mbarrier (PTX ISA, "mbarrier"). A phase is over when no arrival is pending and as many bytes
/// have come as were expected.
struct Mbarrier {
  int32_t initPc = -1;
  unsigned initWarp = 0, initLane = 0;
  uint32_t initEpoch = 0, initClock = 0;
  bool isFenced = false; // its init has passed to the asynchronous proxy
  uint32_t expected = 0, pending = 0;
  int64_t bytes = 0;                  // that are still to come
  uint32_t phase = 0;                 // the number of phases that are over
  SharedKnowledge arriving, released; // of the phase in progress, of those that are over
  PastWaits waits;
  std::vector<RemoteArrival> remoteArrivals;
  std::vector<ParityWait> parityWaits;  // since the phase before the one in progress is over
  std::vector<uint32_t> nextPhases;     // by thread: 1 + the last phase that it has waited for
  std::map<unsigned, MbarrierUse> uses; // by warp
};

/// Bytes that a copy moves between global and shared memory; `host` is null where the box lies
/// outside of the tensor.
struct BulkPiece {
  uint32_t offset = 0, bytes = 0; // in shared memory
  uint64_t address = 0;
  uint8_t *host = nullptr;
  Region *region = nullptr;
};

/// A copy issued by one thread.
struct BulkCopy {
  int32_t pc = -1;
  unsigned warp = 0, lane = 0;
  bool isLoad = true;
  bool isRead = false;    // the source may change
  bool isWritten = false; // the destination has all bytes
  bool isSourceUndefined = false;
  uint32_t barrier = 0, bytes = 0, fill = 0, elementBytes = 1; // `fill` of elements outside
  TensorElement element = TensorElement::U8;
  uint32_t group = 0; // of stores
  uint32_t phase = 0; // of loads, once they are over
  Snapshot issued;
  std::vector<BulkPiece> pieces;
  size_t numMoved = 0;       // of a load's pieces
  size_t number = 0;         // in the CTA's timeline
  std::vector<uint8_t> held; // what a store has read and not yet written
  PastWaits waits;
};

/// The copies and barriers of a CTA. What a copy writes or reads in shared memory may be touched by
/// those only who know of a wait for it.
struct BulkCopies {
  std::map<uint32_t, Mbarrier> barriers; // by offset in shared memory
  std::deque<BulkCopy> copies;           // all, in order of issue
  std::vector<uint32_t> pending;         // loads whose bytes the barrier does not have yet
  std::vector<uint32_t> stores;          // those not yet written
  // By piece of shared memory: 1 + the last copy that writes it, that reads it; whether a barrier
  // is there.
  std::vector<uint32_t> writers, readers;
  std::vector<uint8_t> hasBarrier;
  std::vector<std::array<uint32_t, kWarpSize>> numCommitted; // groups, by warp and lane
  unsigned numVainRounds = 0; // since something changed for those who wait
  bool isUsed = false;
  std::mt19937_64 random;
  void reset(unsigned numWarps, uint32_t sharedBytes, uint64_t seed);
};

/// The registers of a CTA's warpgroups, as setmaxnreg divides them.
struct RegisterShares {
  struct Group {
    uint32_t count = 0, asked = 0; // of each thread
    int32_t pc = -1;
    uint8_t warps = 0; // that have asked
  };
  std::vector<Group> groups;
  bool isUsed = false;
};

} // namespace tw::warpsim
#endif
