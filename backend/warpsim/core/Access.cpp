// Loads and stores: checks, then the transfer between registers and memory.
#include "backend/warpsim/core/Addresses.h"
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
  } else {
    loadAs(type, to.registers.doubles[to.reg.number], request, offset);
    mark(to.registers.doublesSet[to.reg.number]);
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

/// Whether all that the request reads is known to have a value.
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

static void loadRequest(const MemoryStep &step, Request &request) {
  Strength strength = strengthOf(step.instruction);
  bool isClear = false;
  checkRow(step, request, strength, isClear);
  countRequest(step, request);
  bool isDefined = isAllDefined(step, request);
  if (!isClear || !isDefined)
    request.expand();
  if (!isClear)
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1)
      checkLane(step, request, strength, unsigned(__builtin_ctz(rest)), nullptr);
  const Instruction &instruction = step.instruction;
  unsigned bytes = bytesOf(instruction.type);
  for (size_t i = 0; i < instruction.results.size(); ++i) {
    const Operand &result = instruction.results[i];
    if (result.kind != Operand::Kind::Register)
      continue;
    unsigned offset = unsigned(i) * bytes;
    LaneMask set = isDefined ? request.lanes : definedLanes(step, request, offset, bytes);
    Destination to = {step.warp.registers(), result.reg};
    loadRegister(instruction.type, to, request, offset, set);
    if (bytes == 16) { // a .b128 register is two
      ++to.reg.number;
      loadRegister(Type::B64, to, request, offset + 8, set);
    }
  }
}

static unsigned accessBytes(const Instruction &instruction) {
  return bytesOf(instruction.type) * instruction.vectorWidth;
}

void tw::warpsim::executeLoad(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                              LaneMask active) {
  MemoryStep step = {cta, warp, instruction, pc, false, accessBytes(instruction)};
  bool isOrdered = instruction.order != Order::Weak;
  LaneMask performed = forEachMemory(step, active, [&](Request &request) {
    loadRequest(step, request);
    if (!isOrdered)
      return;
    request.expand();
    uint64_t seen = 0;
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      orderAfter(cta, warp, instruction, lane, request.at[lane], request.space == Space::Shared);
      seen = seen * 31 + readLane(instruction.results[0], warp.registers(), lane);
    }
    notePoll(warp, pc, seen);
  });
  // A load that fails leaves its results without a value.
  LaneMask failed = active & ~performed;
  for (const Operand &result : instruction.results)
    for (LaneMask rest = failed; rest; rest &= rest - 1)
      writeLane(result, warp.registers(), unsigned(__builtin_ctz(rest)), 0, false);
}

namespace {
/// What a store writes, lane by lane, and which lanes' elements have a value.
struct StoredValues {
  alignas(64) uint8_t bytes[kWarpSize][16];
  LaneMask set[8];
};
} // namespace

template <typename Stored, typename Held>
static void gather(StoredValues &values, const std::array<Held, kWarpSize> &from, unsigned offset) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    Stored value = Stored(from[lane]);
    memcpy(values.bytes[lane] + offset, &value, sizeof(value));
  }
}

template <typename Held>
static void gatherAs(unsigned bytes, StoredValues &values, const std::array<Held, kWarpSize> &from,
                     unsigned offset) {
  switch (bytes) {
  case 1:
    return gather<uint8_t>(values, from, offset);
  case 2:
    return gather<uint16_t>(values, from, offset);
  case 4:
    return gather<uint32_t>(values, from, offset);
  default:
    return gather<uint64_t>(values, from, offset);
  }
}

static void gatherOperand(const Operand &operand, const WarpRegisters &registers, unsigned bytes,
                          StoredValues &values, unsigned offset) {
  if (operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Word)
    return gatherAs(bytes, values, registers.words[operand.reg.number], offset);
  if (operand.kind == Operand::Kind::Register && operand.reg.file == RegisterFile::Double)
    return gatherAs(bytes, values, registers.doubles[operand.reg.number], offset);
  std::array<uint64_t, kWarpSize> all;
  all.fill(operand.bits);
  gatherAs(bytes, values, all, offset);
}

static void gatherValues(const Instruction &instruction, const WarpRegisters &registers,
                         StoredValues &values) {
  unsigned bytes = bytesOf(instruction.type);
  for (size_t i = 0; i < instruction.sources.size() && i < 8; ++i) {
    const Operand &source = instruction.sources[i];
    values.set[i] = setLanes(source, registers);
    gatherOperand(source, registers, std::min(bytes, 8u), values, unsigned(i) * bytes);
    if (bytes == 16 && source.kind == Operand::Kind::Register) {
      Operand upper = source;
      ++upper.reg.number;
      values.set[i] &= setLanes(upper, registers);
      gatherOperand(upper, registers, 8, values, 8);
    }
  }
}

static void markShared(const MemoryStep &step, const Request &request, const StoredValues &values) {
  bool isShared = request.space == Space::Shared;
  TrackedBytes &memory = isShared ? step.cta.shared : step.warp.local;
  uint64_t stride = isShared ? 0 : step.cta.launch.localBytes;
  unsigned bytes = bytesOf(step.instruction.type);
  LaneMask allSet = request.lanes;
  for (size_t i = 0; i < step.instruction.sources.size(); ++i)
    allSet &= values.set[i];
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t at = request.at[lane] + stride * lane;
    if (allSet >> lane & 1) {
      memory.markWritten(at, request.bytes, true);
      continue;
    }
    for (size_t i = 0; i < step.instruction.sources.size(); ++i)
      memory.markWritten(at + i * bytes, bytes, values.set[i] >> lane & 1);
  }
}

/// The same for a row of defined values, by whole words of bits.
static void markRow(TrackedBytes &memory, uint64_t begin, uint64_t count) {
  for (uint64_t at = begin, end = begin + count; at < end;) {
    uint64_t part = std::min<uint64_t>(64 - (at & 63), end - at);
    uint64_t bits = (part == 64 ? ~uint64_t(0) : (uint64_t(1) << part) - 1) << (at & 63);
    memory.written[at >> 6] |= bits;
    memory.defined[at >> 6] |= bits;
    at += part;
  }
}

static void noteValues(const MemoryStep &step, Request &request, const StoredValues &values) {
  LaneMask unset = 0;
  for (size_t i = 0; i < step.instruction.sources.size(); ++i)
    unset |= request.lanes & ~values.set[i];
  if (unset || (request.region && request.region->initialized))
    request.expand();
  if (request.space == Space::Shared && request.isRow && !unset)
    return markRow(step.cta.shared, request.at[0], kWarpSize * request.bytes);
  if (request.space == Space::Shared || request.space == Space::Local)
    return markShared(step, request, values);
  if (unset && step.cta.launch.launch.options.checksInitialized)
    reportAccess(step, Kind::UninitRegister, request, unsigned(__builtin_ctz(unset)),
                 "stores a register that has no value");
  for (LaneMask rest = request.lanes; rest && request.region && request.region->initialized;
       rest &= rest - 1) {
    uint64_t at = request.at[__builtin_ctz(rest)] - request.region->base;
    for (unsigned i = 0; i < request.bytes; ++i)
      // CTAs on other host threads set other bits of the same word.
      std::atomic_ref((*request.region->initialized)[(at + i) >> 6])
          .fetch_or(uint64_t(1) << ((at + i) & 63), std::memory_order_relaxed);
  }
}

template <unsigned bytes> static void scatter(const Request &request, const StoredValues &values) {
  if (request.isRow) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      memcpy(request.host[0] + lane * bytes, values.bytes[lane], bytes);
    return;
  }
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    memcpy(request.host[lane], values.bytes[lane], bytes);
  }
}

static void storeRequest(const MemoryStep &step, Request &request, const StoredValues &values) {
  Strength strength = strengthOf(step.instruction);
  bool isClear = false;
  checkRow(step, request, strength, isClear);
  countRequest(step, request);
  if (!isClear)
    request.expand();
  noteValues(step, request, values);
  if (!isClear) {
    // One lane after the other, so that a second write to a place is compared with the first.
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      checkLane(step, request, strength, lane, values.bytes[lane]);
      memcpy(request.host[lane], values.bytes[lane], request.bytes);
    }
    return;
  }
  switch (request.bytes) {
  case 1:
    return scatter<1>(request, values);
  case 2:
    return scatter<2>(request, values);
  case 4:
    return scatter<4>(request, values);
  case 8:
    return scatter<8>(request, values);
  default:
    return scatter<16>(request, values);
  }
}

void tw::warpsim::executeStore(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                               LaneMask active) {
  MemoryStep step = {cta, warp, instruction, pc, true, accessBytes(instruction)};
  StoredValues values;
  gatherValues(instruction, warp.registers(), values);
  forEachMemory(step, active, [&](Request &request) {
    if (request.space == Space::Param || request.space == Space::Const) {
      reportAccess(step, Kind::ReadOnly, request, unsigned(__builtin_ctz(request.lanes)),
                   "is written to and is read-only");
      return;
    }
    if (instruction.order != Order::Weak) {
      request.expand();
      for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
        unsigned lane = unsigned(__builtin_ctz(rest));
        orderBefore(cta, warp, instruction, lane, request.at[lane], request.space == Space::Shared);
      }
    }
    storeRequest(step, request, values);
  });
}
