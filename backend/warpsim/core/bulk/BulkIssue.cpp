// The issue of a bulk or tensor copy: what it reads and writes, checked as the asynchronous proxy
// accesses it.
#include "backend/warpsim/core/bulk/BulkStep.h"
#include <cstring>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

// Bytes that have not come: a NaN in every float format, and a conspicuous integer.
constexpr uint8_t kPoison = 0xff;

static bool isLoad(Op op) { return op == Op::BulkLoad || op == Op::TensorLoad; }
static bool isTensor(Op op) { return op >= Op::TensorLoad && op <= Op::TensorReduce; }

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

/// The barrier of a load, and that its init has passed to the asynchronous proxy.
static bool findBarrier(const BulkStep &step, BulkCopy &copy) {
  std::optional<uint32_t> offset = resolveShared(step, step.instruction.barrier, kMbarrierBytes,
                                                 kMbarrierBytes, "the mbarrier of a bulk copy");
  Mbarrier *barrier = offset ? findMbarrier(step, *offset) : nullptr;
  if (!barrier)
    return false;
  copy.barrier = *offset;
  PastWrite init = {barrier->initEpoch, barrier->initWarp, barrier->initLane, barrier->initClock,
                    barrier->initPc};
  Cta &cta = step.cta;
  if (!barrier->isFenced && !cta.proxyFences.covers(cta.clocks, step.warp.index, step.lane, init))
    step.report(Kind::ProxyRace,
                "the copy counts its bytes at an mbarrier whose init no fence.mbarrier_init has "
                "made visible to it",
                barrier->initPc);
  return true;
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
  for (const BulkPiece &piece : issued.pieces) {
    checkShared(step, piece, issued.isLoad);
    if (piece.host)
      checkGlobal(step, issued, piece);
  }
  issued.issued = cta.clocks.snapshot(step.warp.index, step.lane);
  cta.clocks.advance(step.warp.index);
  uint32_t number = uint32_t(cta.bulk.copies.size());
  BulkCopy &copy = cta.bulk.copies.emplace_back(std::move(issued));
  if (copy.isLoad)
    launchLoad(step, copy, number);
  else
    launchStore(step, copy, number);
}
