// The issue of a bulk or tensor copy: what it reads and writes, checked as the asynchronous proxy
// accesses it.
#include "backend/warpsim/core/bulk/Remote.h"
#include <cstring>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

// Bytes that have not come: a NaN in every float format, and a conspicuous integer.
constexpr uint8_t kPoison = 0xff;

static bool isLoad(Op op) {
  return op == Op::BulkLoad || op == Op::TensorLoad || op == Op::TensorMulticast;
}
static bool isTensor(Op op) { return op >= Op::TensorLoad && op <= Op::TensorMulticast; }

/// The pieces of a copy of bytes in a row.
static bool findBytes(const BulkStep &step, BulkCopy &copy) {
  const Instruction &instruction = step.instruction;
  uint64_t bytes = step.read(instruction.sources[0], "the size of a bulk copy");
  if (bytes % 16) {
    step.report(Kind::AsyncMisuse,
                "a bulk copy is to move " + std::to_string(bytes) + " bytes, not a multiple of 16");
    return false;
  }
  std::optional<uint32_t> offset = resolveShared(step, instruction.address, bytes, 16,
                                                 "the address of a bulk copy in shared memory");
  std::optional<uint64_t> address =
      readAddress(step, instruction.sourceAddress, "the address of a bulk copy in global memory");
  if (!offset || !address)
    return false;
  if (*address % 16) {
    step.report(Kind::Misaligned, "the address of a bulk copy in global memory is not a multiple "
                                  "of 16 bytes");
    return false;
  }
  Region *region = step.cta.launch.memory.find(*address, step.cta.regionHints[step.pc]);
  const Region *expected = step.cta.launch.prepared[step.pc].expected;
  if (!region || region->end - *address < bytes || (expected && region != expected)) {
    step.report(Kind::OutOfBoundsGlobal,
                "a bulk copy of " + std::to_string(bytes) + " bytes" +
                    (expected ? " leaves `" + expected->name + "`" : " is in no one array"));
    return false;
  }
  copy.bytes = uint32_t(bytes);
  for (uint32_t done = 0; done < bytes; done += kBulkPieceBytes)
    copy.pieces.push_back({*offset + done, kBulkPieceBytes, *address + done,
                           region->host + (*address + done - region->base), region});
  return true;
}

static bool isUndefined(const BulkStep &step, const BulkPiece &piece) {
  const Region *region = piece.region;
  if (!region || !region->initialized || !step.cta.launch.launch.options.checksInitialized)
    return false;
  for (unsigned i = 0; i < piece.bytes; ++i) {
    uint64_t at = piece.address - region->base + i;
    if (!((*region->initialized)[at >> 6] >> (at & 63) & 1))
      return true;
  }
  return false;
}

/// Checks what the copy does in shared memory: who has accessed it is ordered and fenced before.
static void checkShared(const BulkStep &step, const BulkPiece &piece, bool isWrite) {
  bool checksRaces = step.cta.launch.launch.options.checksRaces;
  forEachAccess(step, piece, Space::Shared, isWrite, true,
                [&](const MemoryStep &memory, const Request &request) {
                  if (step.cta.async.numInFlight)
                    checkInFlight(memory, request);
                  if (step.cta.products.isUsed)
                    checkProducts(memory, request);
                  checkBulk(memory, request);
                  if (!checksRaces)
                    return;
                  checkProxy(memory, request, step.lane,
                             isWrite ? "the copy writes " : "the copy reads ");
                  if (isWrite)
                    checkLane(memory, request, Strength::Weak, step.lane, nullptr);
                });
}

/// Checks the same of a copy to another CTA. The proxies of its memory are checked where that CTA
/// copies its own part.
static void checkGuest(const BulkStep &step, const BulkPiece &piece) {
  bool checksRaces = step.cta.launch.launch.options.checksRaces;
  forEachAccess(step, piece, Space::Shared, true, true,
                [&](const MemoryStep &memory, const Request &request) {
                  if (step.cta.products.isUsed)
                    checkProducts(memory, request);
                  checkBulk(memory, request);
                  if (checksRaces)
                    checkLane(memory, request, Strength::Weak, step.lane, nullptr);
                });
}

static void checkGlobal(const BulkStep &step, BulkCopy &copy, const BulkPiece &piece) {
  bool isWrite = !copy.isLoad;
  if (isWrite && piece.region->isReadOnly)
    step.report(Kind::ReadOnly,
                "a bulk copy writes to `" + piece.region->name + "`, which is read-only");
  if (copy.isLoad && isUndefined(step, piece)) {
    copy.isSourceUndefined = true;
    step.report(Kind::UninitGlobal,
                "a bulk copy reads bytes of `" + piece.region->name + "` that nothing has written");
  }
  forEachAccess(step, piece, Space::Global, isWrite, isWrite,
                [&](const MemoryStep &memory, const Request &request) {
                  checkBulk(memory, request);
                  if (step.cta.launch.launch.options.checksRaces && !isReduction(step.instruction))
                    checkLane(memory, request, Strength::Weak, step.lane, nullptr);
                });
}

static void launchLoad(const BulkStep &step, BulkCopy &copy, uint32_t number) {
  BulkCopies &bulk = step.cta.bulk;
  for (const BulkPiece &piece : copy.pieces) {
    bulk.writers[piece.offset / kBulkPieceBytes] = number + 1;
    memset(step.cta.shared.bytes.data() + piece.offset, kPoison, piece.bytes);
    step.cta.shared.markWritten(piece.offset, piece.bytes, false);
  }
  bulk.pending.push_back(number);
  if (step.cta.launch.launch.options.completion == Completion::Early)
    completeOldest(step.cta);
}

static void launchStore(const BulkStep &step, BulkCopy &copy, uint32_t number) {
  BulkCopies &bulk = step.cta.bulk;
  for (const BulkPiece &piece : copy.pieces)
    bulk.readers[piece.offset / kBulkPieceBytes] = number + 1;
  copy.waits = std::make_shared<std::vector<PastWait>>();
  copy.group = bulk.numCommitted[step.warp.index][step.lane];
  bulk.stores.push_back(number);
  if (step.cta.launch.launch.options.completion == Completion::Early)
    readSource(step.cta, copy);
}

/// Checks that the init of a load's barrier has passed to the asynchronous proxy.
static bool checkBarrier(const BulkStep &step, uint32_t offset, bool isGuest) {
  Mbarrier *barrier = findMbarrier(step, offset);
  if (!barrier)
    return false;
  PastWrite init = {barrier->initEpoch, barrier->initWarp, barrier->initLane, barrier->initClock,
                    barrier->initPc};
  Cta &cta = step.cta;
  if (!barrier->isFenced &&
      (isGuest || !cta.proxyFences.covers(cta.clocks, step.warp.index, step.lane, init)))
    step.report(Kind::ProxyRace,
                "the copy counts its bytes at an mbarrier whose init no fence.mbarrier_init has "
                "made visible to it",
                barrier->initPc);
  return true;
}

/// Finds the barrier of a load.
static bool findBarrier(const BulkStep &step, BulkCopy &copy) {
  std::optional<uint32_t> offset = resolveShared(step, step.instruction.barrier, kMbarrierBytes,
                                                 kMbarrierBytes, "the mbarrier of a bulk copy");
  if (!offset)
    return false;
  copy.barrier = *offset;
  return step.instruction.op == Op::TensorMulticast || checkBarrier(step, *offset, false);
}

/// Starts a load into the shared memory of the step's CTA.
static void startLoad(const BulkStep &step, const BulkCopy &issued) {
  BulkCopies &bulk = step.cta.bulk;
  uint32_t number = uint32_t(bulk.copies.size());
  BulkCopy &copy = bulk.copies.emplace_back(issued);
  copy.number = step.cta.timeline.beginCopy(copy.warp, copy.pc, step.cta.clock);
  launchLoad(step, copy, number);
}

/// Starts a load into the same place of all CTAs of the cluster that a mask names.
static void multicast(const BulkStep &step, const BulkCopy &issued) {
  Cta &cta = step.cta;
  uint64_t mask =
      step.read(step.instruction.sources[step.instruction.vectorWidth], "a mask of CTAs");
  if (mask == 0 || mask >> cta.cluster->ctas.size())
    return step.report(Kind::ClusterMisuse, "the mask " + std::to_string(mask) +
                                                " of a multicast names no CTA, or one that the "
                                                "cluster does not have");
  for (unsigned rank = 0; rank < cta.cluster->ctas.size(); ++rank) {
    Cta &host = *cta.cluster->ctas[rank];
    if (!(mask >> rank & 1))
      continue;
    if (&host == &cta) {
      if (!checkBarrier(step, issued.barrier, false))
        continue;
      for (const BulkPiece &piece : issued.pieces)
        checkShared(step, piece, true);
      startLoad(step, issued);
      continue;
    }
    Guest guest(step, host);
    host.bulk.isUsed = true;
    if (!guest.isAdmitted() || !checkBarrier(guest.step(), issued.barrier, true))
      continue;
    for (const BulkPiece &piece : issued.pieces)
      checkGuest(guest.step(), piece);
    startLoad(guest.step(), issued);
  }
}

void tw::warpsim::executeCopy(const BulkStep &step) {
  Cta &cta = step.cta;
  BulkCopy issued;
  issued.pc = step.pc;
  issued.warp = step.warp.index;
  issued.lane = step.lane;
  issued.isLoad = isLoad(step.instruction.op);
  ++cta.statistics.asyncCopies;
  if (issued.isLoad && !findBarrier(step, issued))
    return;
  bool isFound = isTensor(step.instruction.op) ? findBox(step, issued.isLoad, issued)
                                               : findBytes(step, issued);
  if (!isFound)
    return;
  bool isMulticast = step.instruction.op == Op::TensorMulticast;
  for (const BulkPiece &piece : issued.pieces) {
    if (!isMulticast)
      checkShared(step, piece, issued.isLoad);
    if (piece.host)
      checkGlobal(step, issued, piece);
  }
  issued.issued = cta.clocks.snapshot(step.warp.index, step.lane);
  if (isMulticast)
    multicast(step, issued);
  cta.clocks.advance(step.warp.index);
  if (isMulticast)
    return;
  uint32_t number = uint32_t(cta.bulk.copies.size());
  BulkCopy &copy = cta.bulk.copies.emplace_back(std::move(issued));
  copy.number = cta.timeline.beginCopy(copy.warp, copy.pc, cta.clock);
  if (copy.isLoad)
    launchLoad(step, copy, number);
  else
    launchStore(step, copy, number);
}
