// From the address operands of a memory instruction to places that exist, lane by lane.
#ifndef BACKEND_WARPSIM_CORE_ADDRESSES_H
#define BACKEND_WARPSIM_CORE_ADDRESSES_H
#include "backend/warpsim/core/access/Accesses.h"
#include <optional>

namespace tw::warpsim {

/// Bytes of the widest access of a lane: eight elements of 4 bytes or four of 8 (sm_100).
constexpr unsigned kMaxAccessBytes = 32;

/// Lanes of one instruction that access the same memory. Addresses are offsets from the memory's
/// first byte (shared, local, param) or addresses (global, const).
struct Request {
  Space space = Space::Global;
  LaneMask lanes = 0;
  unsigned bytes = 0; // each lane accesses
  /// All 32 lanes, lane i at `at[0] + i * bytes`: of `at` and `host` only the first elements are
  /// there until `expand`.
  bool isRow = false;
  bool isUniform = false; // all lanes at one address
  bool isStale = false;   // what others did before the last barrier is not ordered before it
  std::array<uint64_t, kWarpSize> at;
  Region *region = nullptr; // global, when all lanes are in one
  /// The byte that a lane begins at.
  std::array<uint8_t *, kWarpSize> host;
  void expand();
};

/// The parts of a memory instruction under execution that all lanes have in common.
struct MemoryStep {
  Cta &cta;
  Warp &warp;
  const Instruction &instruction;
  int32_t pc;
  bool isWrite;
  unsigned bytes;
  // Of asynchronous copies, which have a second address, and write later than they are issued.
  const Address *source = nullptr; // in global memory, instead of the instruction's
  unsigned alignment = 0;          // of the address, where it is not `bytes`
  bool isProbe = false;            // checked for races now, recorded when it happens

  Space space() const { return source ? Space::Global : instruction.space; }
};

/// Bytes that each lane of a load or store accesses.
inline unsigned accessBytes(const Instruction &instruction) {
  return bytesOf(instruction.type) * instruction.vectorWidth;
}

/// Calls `perform` for each memory that the lanes of `active` access. Lanes whose access fails are
/// reported and left out; the result is the mask of the lanes left.
template <typename Perform>
LaneMask forEachMemory(const MemoryStep &step, LaneMask active, Perform perform);

// The steps of it.
LaneMask gatherAddresses(const MemoryStep &step, LaneMask active, Request &request);
/// Takes the lanes that are in the window of the first of `lanes`, and strips the window.
Request takeWindow(const Request &all, LaneMask &lanes, uint64_t sharedBase);
bool resolve(const MemoryStep &step, Request &request);

/// Reports a fault of one lane; `offset` is as in Request::at. `unset`: a register without a value
/// that is at fault.
void reportAccess(const MemoryStep &step, Kind kind, const Request &request, unsigned lane,
                  const std::string &what, const Operand *unset = nullptr);
struct Place {
  std::string buffer; // empty: not in one
  int64_t offset = 0;
  std::string text; // "`x` + 128" or an address
};
Place describePlace(const Cta &cta, const Request &request, unsigned lane);

/// Checks a row or a broadcast for races as a whole and records it. False when its lanes must be
/// checked one by one; nothing is recorded then. `held` gets the lock of a row of global memory.
bool checkRow(const MemoryStep &step, const Request &request, Strength strength,
              std::optional<PageLock> &held);
/// Checks one lane and records it. A weak store gives its `newValue`, which is stored under the
/// same lock: what others compare with is then there.
void checkLane(const MemoryStep &step, const Request &request, Strength strength, unsigned lane,
               const uint8_t *newValue);
/// A load through the read-only cache of what this launch has written may get the old value.
void checkReadOnlyCache(const MemoryStep &step, Request &request);
Strength strengthOf(const Instruction &instruction);

/// Before reads that may teach what others have done (Races.cpp): takes back what the same
/// reads, repeated, have taught before.
void beginReads(const MemoryStep &step, const Request &request);

/// Tells what fences cover of an access, and whether one is missing before it.
void noteCoverage(const MemoryStep &step, Request &request);

/// Reports accesses of bytes that a copy in flight reads or writes (AsyncChecks.cpp).
void checkInFlight(const MemoryStep &step, const Request &request);
/// Reports accesses of what a bulk copy in flight reads or writes, and of mbarriers as data
/// (BulkChecks.cpp).
void checkBulk(const MemoryStep &step, const Request &request);
/// Looks for writes to the 16 bytes of shared memory at a lane that are not ordered before an
/// asynchronous access of `what`, or only for the generic proxy (ProductReads.cpp). Returns true if
/// barriers and fences order them for all of the CTA.
bool checkProxy(const MemoryStep &step, const Request &request, unsigned lane, const char *what);
/// Reports writes of shared memory that a product may still read (ProductChecks.cpp).
void checkProducts(const MemoryStep &step, const Request &request);

// Counting (Counting.cpp).
void countRequest(const MemoryStep &step, const Request &request);

template <typename Perform>
LaneMask forEachMemory(const MemoryStep &step, LaneMask active, Perform perform) {
  Request request;
  request.bytes = step.bytes;
  request.space = step.space();
  LaneMask lanes = gatherAddresses(step, active, request), performed = 0;
  auto check = [&](Request &resolved) {
    noteCoverage(step, resolved);
    if (step.cta.async.numInFlight || step.isProbe)
      checkInFlight(step, resolved);
    if (step.cta.products.isUsed)
      checkProducts(step, resolved);
    if (step.cta.bulk.isUsed)
      checkBulk(step, resolved);
  };
  if (step.space() != Space::Generic) {
    request.lanes = lanes;
    if (lanes && resolve(step, request)) {
      check(request);
      perform(request);
      performed |= request.lanes;
    }
    return performed;
  }
  while (lanes) {
    Request part = takeWindow(request, lanes, step.cta.launch.program.sharedBase);
    if (!resolve(step, part))
      continue;
    check(part);
    perform(part);
    performed |= part.lanes;
  }
  return performed;
}

} // namespace tw::warpsim
#endif
