// Stores: checks, then the transfer from registers to memory.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/state/Ordering.h"
#include <algorithm>
#include <cstring>

using namespace tw::warpsim;

namespace {
/// The values that a store writes, lane by lane, and which lanes' elements have a value.
struct StoredValues {
  alignas(64) uint8_t bytes[kWarpSize][kMaxAccessBytes];
  unsigned numElements, elementBytes; // a .b128 is two of 8 bytes
  LaneMask set[8];
  LaneMask partial[8] = {}; // of those, lanes of which some stored bytes have no value: `missing`
  MissingBytes missing[8];
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

/// The operand that holds an element.
static const Operand &sourceOf(const Instruction &instruction, unsigned element) {
  return instruction.sources[bytesOf(instruction.type) == 16 ? element / 2 : element];
}

static void gatherValues(const Instruction &instruction, const WarpRegisters &registers,
                         StoredValues &values) {
  bool isWide = bytesOf(instruction.type) == 16; // a .b128 register is two
  unsigned numSources = unsigned(instruction.sources.size());
  values.numElements = std::min(isWide ? 2 * numSources : numSources, 8u);
  values.elementBytes = std::min(bytesOf(instruction.type), 8u);
  for (unsigned i = 0; i < values.numElements; ++i) {
    Operand source = sourceOf(instruction, i);
    source.reg.number += isWide ? i % 2 : 0;
    values.set[i] = setLanes(source, registers);
    gatherOperand(source, registers, values.elementBytes, values, i * values.elementBytes);
    if (wholeLanes(source, registers) != values.set[i]) {
      values.missing[i] = missingBytes(source, registers);
      for (unsigned byte = 0; byte < values.elementBytes; ++byte)
        values.partial[i] |= values.set[i] & values.missing[i][byte];
    }
  }
}

/// Bytes of a register that have no value leave those of memory without one.
static void markLane(TrackedBytes &memory, uint64_t at, const StoredValues &values, unsigned lane) {
  unsigned bytes = values.elementBytes;
  for (unsigned i = 0; i < values.numElements; ++i) {
    memory.markWritten(at + i * bytes, bytes, values.set[i] >> lane & 1);
    for (unsigned byte = 0; byte < bytes && values.partial[i] >> lane & 1; ++byte)
      memory.markWritten(at + i * bytes + byte, 1, !(values.missing[i][byte] >> lane & 1));
  }
}

static void markShared(const MemoryStep &step, const Request &request, const StoredValues &values) {
  bool isShared = request.space == Space::Shared;
  TrackedBytes &memory = isShared ? step.cta.shared : step.warp.local;
  uint64_t stride = isShared ? 0 : step.cta.launch.localBytes;
  LaneMask allSet = request.lanes;
  for (unsigned i = 0; i < values.numElements; ++i)
    allSet &= values.set[i] & ~values.partial[i];
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t at = request.at[lane] + stride * lane;
    if (allSet >> lane & 1)
      memory.markWritten(at, request.bytes, true);
    else
      markLane(memory, at, values, lane);
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

static void reportUnsetSource(const MemoryStep &step, const Request &request,
                              const StoredValues &values, unsigned lane) {
  const Operand *unset = nullptr;
  for (unsigned i = 0; i < values.numElements && !unset; ++i)
    if ((~values.set[i] | values.partial[i]) >> lane & 1)
      unset = &sourceOf(step.instruction, i);
  reportAccess(step, Kind::UninitRegister, request, lane, "stores a register that has no value",
               unset);
}

/// Notes that the bytes of an array have values from now on.
static void markInitialized(const Request &request) {
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    uint64_t at = request.at[__builtin_ctz(rest)] - request.region->base;
    for (unsigned i = 0; i < request.bytes; ++i)
      // CTAs on other host threads set other bits of the same word.
      std::atomic_ref((*request.region->initialized)[(at + i) >> 6])
          .fetch_or(uint64_t(1) << ((at + i) & 63), std::memory_order_relaxed);
  }
}

static void noteValues(const MemoryStep &step, Request &request, const StoredValues &values) {
  LaneMask unset = 0;
  for (unsigned i = 0; i < values.numElements; ++i)
    unset |= request.lanes & (~values.set[i] | values.partial[i]);
  if (unset || (request.region && request.region->initialized))
    request.expand();
  if (request.space == Space::Shared && request.isRow && !unset)
    return markRow(step.cta.shared, request.at[0], kWarpSize * request.bytes);
  if (request.space == Space::Shared || request.space == Space::Local)
    return markShared(step, request, values);
  if (unset && step.cta.launch.launch.options.checksInitialized)
    reportUnsetSource(step, request, values, unsigned(__builtin_ctz(unset)));
  if (request.region && request.region->initialized)
    markInitialized(request);
}

template <typename T> static void storeAtomically(uint8_t *to, const uint8_t *from) {
  T value;
  memcpy(&value, from, sizeof(value));
  std::atomic_ref<T>(*reinterpret_cast<T *>(to)).store(value);
}

static void storeStrong(const MemoryStep &step, uint8_t *to, const uint8_t *from) {
  step.cta.numChanges += memcmp(to, from, step.bytes) != 0;
  unsigned elementBytes = std::min(bytesOf(step.instruction.type), 8u);
  for (unsigned i = 0; i < step.bytes; i += elementBytes) {
    if (elementBytes == 8)
      storeAtomically<uint64_t>(to + i, from + i);
    else if (elementBytes == 4)
      storeAtomically<uint32_t>(to + i, from + i);
    else if (elementBytes == 2)
      storeAtomically<uint16_t>(to + i, from + i);
    else
      storeAtomically<uint8_t>(to + i, from + i);
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
  std::optional<PageLock> held;
  bool isClear = checkRow(step, request, strength, held);
  countRequest(step, request);
  if (!isClear) {
    held.reset();
    request.expand();
  }
  noteValues(step, request, values);
  if (!isClear || strength != Strength::Weak) {
    request.expand();
    // One lane after the other, so that a second write to a place is compared with the first.
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
      unsigned lane = unsigned(__builtin_ctz(rest));
      bool isWeak = strength == Strength::Weak;
      checkLane(step, request, strength, lane, isWeak ? values.bytes[lane] : nullptr);
      if (!isWeak)
        storeStrong(step, request.host[lane], values.bytes[lane]);
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
  case 16:
    return scatter<16>(request, values);
  default:
    return scatter<kMaxAccessBytes>(request, values);
  }
}

/// Accesses that see what a store with an order wrote come after what its lanes did before.
static void orderStored(const MemoryStep &step, Request &request) {
  request.expand();
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    orderBefore(step.cta, step.warp, step.instruction, lane,
                {request.at[lane], request.space == Space::Shared});
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
    storeRequest(step, request, values);
    if (instruction.order != Order::Weak)
      orderStored(step, request);
  });
}
