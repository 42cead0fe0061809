// Loads: checks, then the transfer from memory to registers.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/state/Ordering.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

namespace {
/// The result register of one element of a load.
struct Destination {
  WarpRegisters &registers;
  Register reg;
};
} // namespace

template <typename Stored, typename Held>
static void loadElement(std::array<Held, kWarpSize> &into, const Request &request,
                        unsigned offset) {
  if (request.isUniform && request.lanes == ~LaneMask(0)) {
    Stored value;
    memcpy(&value, request.host[0] + offset, sizeof(value));
    into.fill(Held(value));
    return;
  }
  if (request.isRow) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      Stored value;
      memcpy(&value, request.host[0] + lane * request.bytes + offset, sizeof(value));
      into[lane] = Held(value); // extends as the type's sign says
    }
    return;
  }
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    Stored value;
    memcpy(&value, request.host[lane] + offset, sizeof(value));
    into[lane] = Held(value);
  }
}

template <typename Held>
static void loadAs(Type type, std::array<Held, kWarpSize> &into, const Request &request,
                   unsigned offset) {
  switch (type) {
  case Type::S8:
    return loadElement<int8_t>(into, request, offset);
  case Type::S16:
    return loadElement<int16_t>(into, request, offset);
  case Type::S32:
    return loadElement<int32_t>(into, request, offset);
  default:
    break;
  }
  switch (bytesOf(type)) {
  case 1:
    return loadElement<uint8_t>(into, request, offset);
  case 2:
    return loadElement<uint16_t>(into, request, offset);
  case 4:
    return loadElement<uint32_t>(into, request, offset);
  default:
    return loadElement<uint64_t>(into, request, offset);
  }
}

static void loadRegister(Type type, Destination to, const Request &request, unsigned offset,
                         LaneMask set) {
  auto mark = [&](LaneMask &known) { known = (known & ~request.lanes) | (set & request.lanes); };
  if (to.reg.file == RegisterFile::Word) {
    loadAs(type, to.registers.words[to.reg.number], request, offset);
    mark(to.registers.wordsSet[to.reg.number]);
    to.registers.wordsPartial[to.reg.number] &= ~request.lanes;
  } else {
    loadAs(type, to.registers.doubles[to.reg.number], request, offset);
    mark(to.registers.doublesSet[to.reg.number]);
    to.registers.doublesPartial[to.reg.number] &= ~request.lanes;
  }
}

/// Lanes whose bytes [offset, offset + bytes) of the request are defined. Reading shared bytes that
/// nobody wrote is reported; undefined values that somebody stored are not: their use is.
static LaneMask definedLanes(const MemoryStep &step, const Request &request, unsigned offset,
                             unsigned bytes) {
  if (!step.cta.launch.launch.options.checksInitialized)
    return ~LaneMask(0);
  LaneMask defined = request.lanes;
  auto exclude = [&](unsigned lane, Kind kind, const char *what) {
    defined &= ~(1u << lane);
    reportAccess(step, kind, request, lane, what);
  };
  if (request.space == Space::Shared || request.space == Space::Local) {
    bool isShared = request.space == Space::Shared;
    const TrackedBytes &memory = isShared ? step.cta.shared : step.warp.local;
    uint64_t stride = isShared ? 0 : step.cta.launch.localBytes;
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      uint64_t at = request.at[lane] + stride * lane + offset;
      if (memory.isDefined(at, bytes))
        continue;
      defined &= ~(1u << lane);
      if (isShared && !memory.isWritten(at, bytes))
        exclude(lane, Kind::UninitShared, "has bytes that nothing has written");
    }
    return defined;
  }
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    const Region *region = request.region;
    if (!region || !region->initialized)
      continue;
    for (unsigned i = 0; i < bytes; ++i) {
      uint64_t at = request.at[lane] - region->base + offset + i;
      if (!((*region->initialized)[at >> 6] >> (at & 63) & 1)) {
        exclude(lane, Kind::UninitGlobal, "has bytes that nothing has written");
        break;
      }
    }
  }
  return defined;
}

/// Marks, of a register of which `set` lanes are wholly defined, the bytes of the others that are
/// not.
static void markPartial(const MemoryStep &step, const Request &request, const Operand &result,
                        unsigned offset, unsigned bytes, LaneMask set) {
  bool isShared = request.space == Space::Shared;
  const TrackedBytes &memory = isShared ? step.cta.shared : step.warp.local;
  uint64_t stride = isShared ? 0 : step.cta.launch.localBytes;
  MissingBytes missing = {};
  for (LaneMask rest = request.lanes & ~set; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t at = request.at[lane] + stride * lane + offset;
    for (unsigned byte = 0; byte < bytes; ++byte)
      missing[byte] |= LaneMask(!memory.isDefined(at + byte, 1)) << lane;
  }
  markBytes(result, step.warp.registers(), request.lanes & ~set, missing, bytes);
}

/// A row of shared memory that is defined throughout, found by whole words of bits.
static bool isRowDefined(const MemoryStep &step, const Request &request) {
  uint64_t begin = request.at[0], end = begin + kWarpSize * request.bytes;
  const std::vector<uint64_t> &defined = step.cta.shared.defined;
  for (uint64_t at = begin; at < end;) {
    uint64_t count = std::min<uint64_t>(64 - (at & 63), end - at);
    uint64_t bits = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << (at & 63);
    if ((defined[at >> 6] & bits) != bits)
      return false;
    at += count;
  }
  return true;
}

/// Returns true if all that the request reads is known to have a value.
static bool isAllDefined(const MemoryStep &step, const Request &request) {
  if (request.space == Space::Param || !step.cta.launch.launch.options.checksInitialized)
    return true;
  if (request.space == Space::Shared)
    return request.isRow ? isRowDefined(step, request)
           : request.isUniform
               ? step.cta.shared.isDefined(request.at[__builtin_ctz(request.lanes)], request.bytes)
               : false;
  return request.space != Space::Local && request.region && !request.region->initialized;
}

/// The values that strong loads read, taken with the host's atomics: CTAs on other host threads
/// write them.
struct StrongCopies {
  alignas(16) uint8_t bytes[kWarpSize][kMaxAccessBytes];
};

template <typename T> static void copyAtomically(uint8_t *to, uint8_t *from) {
  T value = std::atomic_ref<T>(*reinterpret_cast<T *>(from)).load();
  memcpy(to, &value, sizeof(value));
}

static void copyStrong(const MemoryStep &step, Request &request, StrongCopies &copies) {
  unsigned elementBytes = std::min(bytesOf(step.instruction.type), 8u);
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    for (unsigned i = 0; i < request.bytes; i += elementBytes) {
      uint8_t *to = copies.bytes[lane] + i, *from = request.host[lane] + i;
      if (elementBytes == 8)
        copyAtomically<uint64_t>(to, from);
      else if (elementBytes == 4)
        copyAtomically<uint32_t>(to, from);
      else if (elementBytes == 2)
        copyAtomically<uint16_t>(to, from);
      else
        copyAtomically<uint8_t>(to, from);
    }
    request.host[lane] = copies.bytes[lane];
  }
}

/// Loads the register `result` from what lies at `offset` in the request.
static void loadResult(const MemoryStep &step, const Request &request, const Operand &result,
                       unsigned offset, bool isDefined) {
  unsigned bytes = std::min(bytesOf(step.instruction.type), 8u);
  LaneMask set = isDefined ? request.lanes : definedLanes(step, request, offset, bytes);
  loadRegister(step.instruction.type, {step.warp.registers(), result.reg}, request, offset, set);
  bool isTracked = request.space == Space::Shared || request.space == Space::Local;
  if (isTracked && (request.lanes & ~set))
    markPartial(step, request, result, offset, bytes, set);
}

static void loadRequest(const MemoryStep &step, Request &request) {
  Strength strength = strengthOf(step.instruction);
  std::optional<PageLock> held;
  bool isClear = checkRow(step, request, strength, held);
  held.reset();
  countRequest(step, request);
  bool isDefined = isAllDefined(step, request);
  if (!isClear || !isDefined)
    request.expand();
  if (!isClear)
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1)
      checkLane(step, request, strength, unsigned(__builtin_ctz(rest)), nullptr);
  if (step.instruction.isReadOnlyCache)
    checkReadOnlyCache(step, request);
  StrongCopies copies;
  if (strength != Strength::Weak) {
    request.expand();
    copyStrong(step, request, copies);
  }
  const Instruction &instruction = step.instruction;
  unsigned bytes = bytesOf(instruction.type);
  for (size_t i = 0; i < instruction.results.size(); ++i) {
    if (instruction.results[i].kind != Operand::Kind::Register)
      continue;
    Operand result = instruction.results[i];
    for (unsigned part = 0; part < bytes; part += 8, ++result.reg.number) // two of a .b128
      loadResult(step, request, result, unsigned(i) * bytes + part, isDefined);
  }
}

/// A load with an order comes after the writes that its lanes have read.
static void orderLoaded(const MemoryStep &step, Request &request) {
  request.expand();
  uint64_t seen = 0;
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    orderAfter(step.cta, step.warp, step.instruction, lane,
               {request.at[lane], request.space == Space::Shared});
    seen = seen * 31 + readLane(step.instruction.results[0], step.warp.registers(), lane);
  }
  notePoll(step.warp, step.pc, seen);
}

void tw::warpsim::executeLoad(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                              LaneMask active) {
  MemoryStep step = {cta, warp, instruction, pc, false, accessBytes(instruction)};
  bool isOrdered = instruction.order != Order::Weak;
  LaneMask performed = forEachMemory(step, active, [&](Request &request) {
    if (isOrdered) {
      request.expand();
      beginReads(step, request);
    }
    loadRequest(step, request);
    if (isOrdered)
      orderLoaded(step, request);
  });
  // A load that fails leaves its results without a value.
  LaneMask failed = active & ~performed;
  for (const Operand &result : instruction.results)
    for (LaneMask rest = failed; rest; rest &= rest - 1)
      writeLane(result, warp.registers(), unsigned(__builtin_ctz(rest)), 0, false);
}
