// cp.async and copies of rows of arrays: issue, completion as the launch's policy says, groups and
// waits.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/access/TensorRows.h"
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/core/wave/Wave.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;
using Completion = LaunchOptions::Completion;

// Unmoved bytes of a destination: a NaN in every float format, and a conspicuous integer.
constexpr uint8_t kPoison = 0xff;
// Under random completion one of so many instructions moves something.
constexpr uint64_t kInstructionsPerMove = 4;

/// A copy's bytes are aligned to their number, so their bits are in one word.
static uint64_t bitsOf(const AsyncCopy &copy, unsigned lane) {
  return ((uint64_t(1) << copy.bytes / 4) - 1) << (copy.to[lane] / 4 & 63);
}

static void moveLanes(Cta &cta, AsyncCopy &copy, LaneMask lanes) {
  lanes &= copy.unmoved;
  copy.unmoved &= ~lanes;
  cta.async.numUnmoved -= uint64_t(__builtin_popcount(lanes));
  uint8_t *shared = cta.shared.bytes.data();
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    unsigned numRead = copy.sourceBytes[lane];
    uint8_t *to = shared + copy.to[lane];
    if (copy.bytes == 16 && numRead == 16)
      memcpy(to, copy.fromHost[lane], 16);
    else if (numRead)
      memcpy(to, copy.fromHost[lane], numRead);
    if (numRead < copy.bytes)
      memset(to + numRead, 0, copy.bytes - numRead);
    cta.shared.markWritten(copy.to[lane], copy.bytes, !(copy.isUndefined >> lane & 1));
  }
}

/// The bytes that each lane reads: all that it writes, fewer, or none.
static LaneMask readSizes(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                          LaneMask active, AsyncCopy &copy) {
  copy.sourceBytes.fill(copy.bytes);
  if (instruction.sources.size() < 2)
    return active;
  const Operand &size = instruction.sources[1];
  reportUnset(cta, warp, size, pc, active, "the size of an asynchronous copy");
  bool isPredicate =
      size.kind == Operand::Kind::Register && size.reg.file == RegisterFile::Predicate;
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t value = readLane(size, warp.registers(), lane);
    if (isPredicate)
      value = value ? 0 : copy.bytes;
    if (value <= copy.bytes) {
      copy.sourceBytes[lane] = uint8_t(value);
      continue;
    }
    cta.report(Kind::AsyncMisuse, warp, lane, pc, [&](Finding &finding) {
      finding.message = "an asynchronous copy of " + std::to_string(copy.bytes) +
                        " bytes is to read " + std::to_string(value);
    });
    active &= ~(1u << lane);
  }
  return active;
}

static void checkAccess(const MemoryStep &step, Request &request) {
  std::optional<PageLock> held;
  bool isClear = checkRow(step, request, Strength::Weak, held);
  held.reset();
  request.expand();
  if (isClear)
    return;
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1)
    checkLane(step, request, Strength::Weak, unsigned(__builtin_ctz(rest)), nullptr);
}

/// Returns true if some byte that the lane reads has no value; it is reported like a load's.
static bool isSourceUndefined(const MemoryStep &step, const Request &request, unsigned lane) {
  const Region *region = request.region;
  if (!region || !region->initialized || !step.cta.launch.launch.options.checksInitialized)
    return false;
  for (unsigned i = 0; i < request.bytes; ++i) {
    uint64_t at = request.at[lane] - region->base + i;
    if ((*region->initialized)[at >> 6] >> (at & 63) & 1)
      continue;
    reportAccess(step, Kind::UninitGlobal, request, lane, "has bytes that nothing has written");
    return true;
  }
  return false;
}

/// Checks what the lanes that read `bytes` read. Returns those that can.
static LaneMask resolveSources(MemoryStep step, unsigned bytes, LaneMask lanes, AsyncCopy &copy) {
  step.bytes = bytes;
  return forEachMemory(step, lanes, [&](Request &request) {
    checkAccess(step, request);
    countRequest(step, request);
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      copy.source[lane] = request.at[lane];
      copy.fromHost[lane] = request.host[lane];
      copy.isUndefined |= LaneMask(isSourceUndefined(step, request, lane)) << lane;
    }
  });
}

static LaneMask resolveAllSources(const MemoryStep &step, LaneMask lanes, AsyncCopy &copy) {
  LaneMask resolved = 0;
  while (lanes) {
    unsigned bytes = copy.sourceBytes[__builtin_ctz(lanes)];
    LaneMask same = 0;
    for (LaneMask rest = lanes; rest; rest &= rest - 1)
      same |= rest & (~rest + 1) & (copy.sourceBytes[__builtin_ctz(rest)] == bytes ? ~0u : 0);
    resolved |= bytes ? resolveSources(step, bytes, same, copy) : same;
    lanes &= ~same;
  }
  return resolved;
}

/// From here on nobody may touch the destination, and its old bytes are gone.
static void launchLanes(Cta &cta, AsyncCopy &copy, LaneMask lanes, Completion completion) {
  copy.inFlight = copy.unmoved = lanes;
  uint64_t count = uint64_t(__builtin_popcount(lanes));
  cta.async.numInFlight += count;
  cta.async.numUnmoved += count;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    cta.async.inFlight[copy.to[lane] / 256] |= bitsOf(copy, lane);
    memset(cta.shared.bytes.data() + copy.to[lane], kPoison, copy.bytes);
    cta.shared.markWritten(copy.to[lane], copy.bytes, false);
  }
  if (completion == Completion::Early)
    moveLanes(cta, copy, lanes);
}

void tw::warpsim::executeAsyncCopy(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                   LaneMask active) {
  AsyncCopy copy;
  copy.pc = pc;
  copy.warp = warp.index;
  copy.bytes = uint8_t(instruction.sources[0].bits);
  copy.group = cta.async.numCommitted[warp.index];
  active = readSizes(cta, warp, instruction, pc, active, copy);
  MemoryStep write = {cta, warp, instruction, pc, true, copy.bytes};
  write.isProbe = true;
  MemoryStep read = {cta, warp, instruction, pc, false, copy.bytes};
  read.source = &instruction.sourceAddress;
  read.alignment = copy.bytes;
  LaneMask readable = active ? resolveAllSources(read, active, copy) : 0;
  if (!readable)
    return;
  forEachMemory(write, readable, [&](Request &request) {
    checkAccess(write, request);
    countRequest(write, request);
    AsyncCopy &issued = cta.async.ofWarp[warp.index].emplace_back(copy);
    issued.number = cta.timeline.beginCopy(warp.index, pc, cta.clock);
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      issued.to[lane] = uint32_t(request.at[lane]);
    }
    launchLanes(cta, issued, request.lanes, cta.launch.launch.options.completion);
  });
}

//===-- Rows of arrays -----------------------------------------------------------------------===//

static void reportRows(Cta &cta, Warp &warp, int32_t pc, Kind kind, const std::string &message) {
  cta.report(kind, warp, 0, pc, [&](Finding &finding) { finding.message = message; });
}

/// Returns the words of the descriptor that all lanes give; none where they do not, or give one
/// without a value, which is reported.
static std::optional<TensorWords> descriptorOf(Cta &cta, Warp &warp, const Instruction &instruction,
                                               int32_t pc, LaneMask active) {
  TensorWords words;
  for (size_t i = 0; i < words.size(); ++i) {
    const Operand &word = instruction.sources[i];
    reportUnset(cta, warp, word, pc, active, "the descriptor of a tensor copy");
    words[i] = uint32_t(readLane(word, warp.registers(), unsigned(__builtin_ctz(active))));
    for (LaneMask rest = active; rest; rest &= rest - 1)
      if (uint32_t(readLane(word, warp.registers(), unsigned(__builtin_ctz(rest)))) != words[i]) {
        reportRows(cta, warp, pc, Kind::TensorMapMisuse,
                   "the descriptor of a tensor copy differs from lane to lane");
        return std::nullopt;
      }
  }
  return words;
}

namespace {
/// The pieces of a copy of rows that are issued together.
struct RowsIssue {
  Cta &cta;
  Warp &warp;
  const Instruction &instruction;
  int32_t pc;
  Region *region = nullptr; // which the first element is in
  bool hasReported = false; // that the array reaches outside of it
  AsyncCopy copy = {};
  LaneMask lanes = 0;

  void add(const TensorPiece &piece);
  void flush();
};
} // namespace

/// Adds a piece, without what lies outside of the array that its first element is in.
void RowsIssue::add(const TensorPiece &piece) {
  unsigned lane = unsigned(__builtin_popcount(lanes));
  bool isThere = region && piece.address >= region->base && piece.address < region->end &&
                 region->end - piece.address >= piece.sourceBytes;
  if (piece.sourceBytes && !isThere && !hasReported) {
    hasReported = true;
    reportRows(cta, warp, pc, Kind::OutOfBoundsGlobal,
               "a tensor copy reads " + std::to_string(piece.sourceBytes) + " bytes outside of " +
                   (region ? "`" + region->name + "`, at offset " +
                                 std::to_string(int64_t(piece.address - region->base))
                           : std::string("every allocation")));
  }
  copy.sourceBytes[lane] = uint8_t(isThere ? piece.sourceBytes : 0);
  copy.source[lane] = piece.address;
  copy.fromHost[lane] = isThere ? region->host + (piece.address - region->base) : nullptr;
  copy.to[lane] = piece.offset;
  lanes |= LaneMask(1) << lane;
  if (lanes == ~LaneMask(0))
    flush();
}

/// Checks and starts the pieces that were added.
void RowsIssue::flush() {
  if (!lanes)
    return;
  MemoryStep write = {cta, warp, instruction, pc, true, copy.bytes};
  write.isProbe = true;
  MemoryStep read = {cta, warp, instruction, pc, false, copy.bytes};
  read.source = &instruction.sourceAddress;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    Request source;
    source.lanes = LaneMask(1) << lane;
    source.bytes = copy.sourceBytes[lane];
    source.at[lane] = copy.source[lane];
    source.host[lane] = const_cast<uint8_t *>(copy.fromHost[lane]);
    source.region = region;
    if (!source.bytes)
      continue;
    checkAccess(read, source);
    countRequest(read, source);
    copy.isUndefined |= LaneMask(isSourceUndefined(read, source, lane)) << lane;
  }
  Request target;
  target.space = Space::Shared;
  target.lanes = lanes;
  target.bytes = copy.bytes;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    target.at[lane] = lanes >> lane & 1 ? copy.to[lane] : 0;
    target.host[lane] = cta.shared.bytes.data() + target.at[lane];
  }
  noteCoverage(write, target);
  checkInFlight(write, target);
  checkAccess(write, target);
  AsyncCopy &issued = cta.async.ofWarp[warp.index].emplace_back(copy);
  issued.number = cta.timeline.beginCopy(warp.index, pc, cta.clock);
  launchLanes(cta, issued, lanes, cta.launch.launch.options.completion);
  lanes = copy.isUndefined = 0;
}

void tw::warpsim::executeTensorToShared(Cta &cta, Warp &warp, const Instruction &instruction,
                                        int32_t pc, LaneMask active) {
  uint32_t group = cta.async.numOfRows[warp.index]++;
  std::optional<TensorWords> words = descriptorOf(cta, warp, instruction, pc, active);
  if (!words)
    return;
  std::string mistake;
  std::optional<TensorRows> rows = decodeTensor(*words, mistake);
  if (!mistake.empty())
    reportRows(cta, warp, pc, Kind::TensorMapMisuse, "the descriptor of a tensor copy " + mistake);
  if (!rows) // there is no tile
    return;
  uint64_t first = rows->shared - cta.launch.program.sharedBase;
  if (first + rows->sharedBytes() > cta.launch.sharedBytes)
    return reportRows(cta, warp, pc, Kind::OutOfBoundsShared,
                      "a tensor copy to offset " + std::to_string(int64_t(first)) + " writes " +
                          std::to_string(rows->sharedBytes()) + " bytes, beyond shared memory (" +
                          std::to_string(cta.launch.sharedBytes) + " bytes)");
  RowsIssue issue{cta, warp, instruction, pc};
  issue.region = cta.launch.memory.find(rows->address, cta.regionHints[pc]);
  issue.copy.pc = pc;
  issue.copy.warp = warp.index;
  issue.copy.isOfRows = true;
  issue.copy.bytes = uint8_t(rows->pieceBytes());
  issue.copy.group.fill(group);
  for (uint32_t row = 0; row < rows->rows; ++row)
    for (uint32_t byte = 0; byte < rows->rowBytes(); byte += rows->pieceBytes()) {
      TensorPiece piece = rows->pieceAt(row, byte);
      piece.offset += uint32_t(first);
      issue.add(piece);
    }
  issue.flush();
}

//===-- Groups and waits ---------------------------------------------------------------------===//

void tw::warpsim::executeAsyncCommit(Cta &cta, Warp &warp, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1)
    ++cta.async.numCommitted[warp.index][__builtin_ctz(rest)];
}

/// Until now the lanes have read the source: who overwrites it must know of the wait. Where CTAs
/// know nothing of each other the read at the issue says as much.
static void checkLanding(Cta &cta, const AsyncCopy &copy, LaneMask lanes) {
  if (cta.launch.sync.interaction != Interaction::Ctas)
    return;
  Warp &warp = cta.warps[copy.warp];
  MemoryStep step = {cta, warp, cta.launch.program.code[copy.pc], copy.pc, false, copy.bytes};
  step.source = &step.instruction.sourceAddress;
  Request request;
  request.lanes = lanes;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    request.bytes = copy.sourceBytes[lane];
    request.at[lane] = copy.source[lane];
    request.host[lane] = const_cast<uint8_t *>(copy.fromHost[lane]);
    if (request.bytes)
      checkLane(step, request, Strength::Weak, lane, nullptr);
  }
}

/// The copy of these lanes becomes a write by them, now.
static void land(Cta &cta, AsyncCopy &copy, LaneMask lanes) {
  moveLanes(cta, copy, lanes);
  copy.inFlight &= ~lanes;
  cta.async.numInFlight -= uint64_t(__builtin_popcount(lanes));
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    cta.async.inFlight[copy.to[lane] / 256] &= ~bitsOf(copy, lane);
  }
  if (!cta.launch.launch.options.checksRaces)
    return;
  checkLanding(cta, copy, lanes);
  if (cta.launch.program.isAmdgcn)
    noteAccess(cta, cta.warps[copy.warp], true);
  Accessor accessor = {&cta.clocks, cta.slot, copy.warp, copy.pc, true};
  cta.sharedShadow.recordWrites(accessor, lanes, copy.to, copy.bytes);
}

void tw::warpsim::executeAsyncWait(Cta &cta, Warp &warp, const Instruction &instruction,
                                   LaneMask active, bool isAll) {
  uint64_t numLeft = isAll ? 0 : instruction.sources[0].bits;
  bool isOfRows = instruction.op == Op::TensorWait;
  if (isOfRows) // a warp waits, whichever of its lanes are active
    active = ~LaneMask(0);
  std::vector<AsyncCopy> &copies = cta.async.ofWarp[warp.index];
  for (AsyncCopy &copy : copies) {
    if (copy.isOfRows != isOfRows)
      continue;
    LaneMask ready = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      ready |= LaneMask(isAll || copy.group[lane] + numLeft < cta.async.numGroups(copy, lane))
               << lane;
    if (LaneMask landing = ready & active & copy.inFlight)
      land(cta, copy, landing);
  }
  std::erase_if(copies, [&](const AsyncCopy &copy) {
    if (copy.inFlight == 0)
      cta.timeline.endCopy(copy.number, cta.clock);
    return copy.inFlight == 0;
  });
}

void tw::warpsim::moveSomeCopies(Cta &cta) {
  AsyncCopies &async = cta.async;
  if (async.random() % kInstructionsPerMove != 0)
    return;
  std::vector<AsyncCopy> &copies = async.ofWarp[async.random() % async.ofWarp.size()];
  if (copies.empty())
    return;
  AsyncCopy &copy = copies[async.random() % copies.size()];
  moveLanes(cta, copy, LaneMask(async.random()) & LaneMask(async.random()));
}
