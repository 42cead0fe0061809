// Checks of addresses: set registers, alignment, bounds, and where the bytes are.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/state/Origins.h"
#include "backend/warpsim/core/wave/Wave.h"
#include "backend/warpsim/exec/VectorClones.h"
#include <cstdio>

using namespace tw::warpsim;

static std::string hex(uint64_t value) {
  char text[20];
  snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

static Space windowOf(uint64_t address) {
  switch (address & kWindowMask) {
  case kSharedWindow:
    return Space::Shared;
  case kLocalWindow:
    return Space::Local;
  case kParamWindow:
    return Space::Param;
  default:
    return Space::Global;
  }
}

void Request::expand() {
  if (!isRow)
    return;
  isRow = false;
  for (unsigned lane = 1; lane < kWarpSize; ++lane) {
    at[lane] = at[0] + lane * bytes;
    host[lane] = host[0] ? host[0] + lane * bytes : nullptr; // of no memory where nothing is read
  }
}

/// How 32 addresses lie, modulo the width of their registers.
struct Shape {
  bool isRow, isUniform;
};

template <typename T> static inline Shape shapeOf(const T *base, unsigned bytes) {
  T fromRow = 0, fromFirst = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    fromRow |= base[lane] ^ (base[0] + lane * bytes);
    fromFirst |= base[lane] ^ base[0];
  }
  return {fromRow == 0, fromFirst == 0};
}
TW_VECTOR_CLONES static Shape shapeOfWords(const uint32_t *base, unsigned bytes) {
  return shapeOf(base, bytes);
}
TW_VECTOR_CLONES static Shape shapeOfDoubles(const uint64_t *base, unsigned bytes) {
  return shapeOf(base, bytes);
}

static const Address &addressOf(const MemoryStep &step) {
  return step.source ? *step.source : step.instruction.address;
}
static uint64_t alignmentMask(const MemoryStep &step, const Request &request) {
  if (step.instruction.alignment)
    return step.instruction.alignment - 1;
  return (step.alignment ? step.alignment : request.bytes) - 1;
}

static void setAddresses(const MemoryStep &step, const WarpRegisters &registers, bool isFull,
                         Request &request) {
  const Operand &base = addressOf(step).base;
  uint64_t offset = uint64_t(addressOf(step).offset);
  if (base.kind != Operand::Kind::Register) {
    request.at.fill((base.kind == Operand::Kind::Immediate ? base.bits : 0) + offset);
    request.isUniform = true;
    return;
  }
  bool isDouble = base.reg.file == RegisterFile::Double;
  const uint64_t *doubles = isDouble ? registers.doubles[base.reg.number].data() : nullptr;
  const uint32_t *words = isDouble ? nullptr : registers.words[base.reg.number].data();
  Shape shape = {false, false};
  if (isFull)
    shape = isDouble ? shapeOfDoubles(doubles, request.bytes) : shapeOfWords(words, request.bytes);
  request.isRow = shape.isRow;
  request.isUniform = shape.isUniform;
  unsigned count = request.isRow ? 1 : kWarpSize;
  for (unsigned lane = 0; lane < count; ++lane)
    request.at[lane] = isDouble ? doubles[lane] + offset : uint32_t(words[lane] + uint32_t(offset));
}

LaneMask tw::warpsim::gatherAddresses(const MemoryStep &step, LaneMask active, Request &request) {
  const WarpRegisters &registers = step.warp.registers();
  const Operand &base = addressOf(step).base;
  setAddresses(step, registers, active == ~LaneMask(0), request);
  if (base.kind != Operand::Kind::Register)
    return active;
  LaneMask unset = active & ~wholeLanes(base, registers);
  if (!unset)
    return active;
  step.cta.report(Kind::UninitRegister, step.warp, unsigned(__builtin_ctz(unset)), step.pc,
                  [&](Finding &finding) {
                    finding.message = "the address comes from a register that has no value";
                    describeOrigin(step.cta, step.warp, base, unsigned(__builtin_ctz(unset)),
                                   step.pc, finding);
                  });
  request.expand();
  return active & ~unset;
}

Request tw::warpsim::takeWindow(const Request &all, LaneMask &lanes, uint64_t sharedBase) {
  Request part;
  part.bytes = all.bytes;
  part.space = windowOf(all.at[__builtin_ctz(lanes)]);
  if ((all.isRow && windowOf(all.at[0] + kWarpSize * all.bytes) == part.space) || all.isUniform) {
    part = all;
    part.space = windowOf(all.at[0]);
    part.lanes = lanes;
    lanes = 0;
    for (unsigned lane = 0; lane < (all.isRow ? 1 : kWarpSize) && part.space != Space::Global;
         ++lane)
      part.at[lane] &= ~kWindowMask;
    return part;
  }
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (windowOf(all.at[lane]) == part.space)
      part.lanes |= 1u << lane;
  }
  lanes &= ~part.lanes;
  part.at = all.at;
  if (part.space != Space::Global)
    for (uint64_t &address : part.at)
      address &= ~kWindowMask;
  return part;
}

static void checkAlignment(const MemoryStep &step, Request &request) {
  uint64_t misaligned = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    misaligned |= request.lanes >> lane & 1 ? request.at[lane] & alignmentMask(step, request) : 0;
  if (!misaligned)
    return;
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    if (!(request.at[lane] & alignmentMask(step, request)))
      continue;
    reportAccess(step, Kind::Misaligned, request, lane,
                 "is not a multiple of its " + std::to_string(alignmentMask(step, request) + 1) +
                     " bytes");
    request.lanes &= ~(1u << lane);
  }
}

static const char *nameOfSpace(Space space) {
  switch (space) {
  case Space::Shared:
    return "shared memory";
  case Space::Local:
    return "local memory";
  case Space::Param:
    return "the parameters";
  default:
    return "every allocation";
  }
}

/// Spaces that begin at one byte: turns addresses into offsets and checks them.
static void resolveLinear(const MemoryStep &step, Request &request, uint8_t *host, uint64_t base,
                          uint64_t size, uint64_t laneStride, Kind fault) {
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t offset = request.at[lane] - base;
    if (offset <= size && size - offset >= request.bytes) {
      request.at[lane] = offset;
      request.host[lane] = host + laneStride * lane + offset;
      continue;
    }
    reportAccess(step, fault, request, lane,
                 std::string("is outside ") + nameOfSpace(request.space) + " (" +
                     std::to_string(size) + " bytes)");
    request.lanes &= ~(1u << lane);
  }
}

/// The offsets in shared memory that an instruction may access: those of the variable that its
/// address is derived from, or all. A dynamic array goes on to the end.
static std::pair<uint64_t, uint64_t> sharedBounds(const MemoryStep &step) {
  const Cta &cta = step.cta;
  const Variable *variable = cta.launch.prepared[step.pc].sharedVariable;
  if (!variable)
    return {0, cta.launch.sharedBytes};
  bool isDynamic = variable->offset >= cta.launch.program.staticSharedBytes || !variable->bytes;
  return {variable->offset,
          isDynamic ? cta.launch.sharedBytes : variable->offset + variable->bytes};
}

/// Leaves the lanes out that run from their variable into another one.
static void checkVariable(const MemoryStep &step, Request &request) {
  auto [begin, end] = sharedBounds(step);
  uint64_t base = step.cta.launch.program.sharedBase;
  for (LaneMask rest = request.lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    uint64_t offset = request.at[lane] - base;
    bool isInShared = offset + request.bytes <= step.cta.launch.sharedBytes && offset < 1u << 31;
    if (!isInShared || (offset >= begin && offset + request.bytes <= end))
      continue; // what is outside of all is told there
    const Variable &variable = *step.cta.launch.prepared[step.pc].sharedVariable;
    reportAccess(step, Kind::OutOfBoundsShared, request, lane,
                 "is outside `" + variable.name + "` (" + std::to_string(end - begin) +
                     " bytes), which its address is computed from");
    request.lanes &= ~(1u << lane);
  }
}

static void resolveShared(const MemoryStep &step, Request &request) {
  Cta &cta = step.cta;
  if (cta.launch.prepared[step.pc].sharedVariable)
    checkVariable(step, request);
  resolveLinear(step, request, cta.shared.bytes.data(), cta.launch.program.sharedBase,
                cta.launch.sharedBytes, 0, Kind::OutOfBoundsShared);
}

// What is loaded from an array of addresses may be right, and the array that it leads to unknown.
static constexpr const char *kFromElsewhere =
    " and is only the nearest: the address comes from no one argument (arrays that loaded "
    "addresses "
    "lead to are named by tw.simulation.simulate(device, arrays=[...]))";

static void reportOutside(const MemoryStep &step, Request &request, unsigned lane) {
  const Region *region = step.cta.launch.prepared[step.pc].expected;
  bool isOfArgument = region != nullptr;
  if (!region)
    region = step.cta.launch.memory.nearest(request.at[lane]);
  if (!region)
    return reportAccess(step, Kind::OutOfBoundsGlobal, request, lane,
                        "is global memory, of which the launch has none");
  int64_t offset = int64_t(request.at[lane] - region->base);
  std::string size = std::to_string(region->end - region->base);
  step.cta.report(Kind::OutOfBoundsGlobal, step.warp, lane, step.pc, [&](Finding &finding) {
    finding.buffer = region->name;
    finding.offset = offset;
    finding.message = std::string(step.isWrite ? "write" : "read") + " of " +
                      std::to_string(request.bytes) + " bytes at offset " + std::to_string(offset) +
                      " of `" + region->name + "`, which has " + size + " bytes" +
                      (isOfArgument ? "" : kFromElsewhere);
  });
}

static void resolveGlobal(const MemoryStep &step, Request &request) {
  uint32_t &hint = step.cta.regionHints[step.pc];
  const Region *expected = step.cta.launch.prepared[step.pc].expected;
  GlobalMemory &memory = step.cta.launch.memory;
  unsigned first = unsigned(__builtin_ctz(request.lanes));
  request.region = memory.find(request.at[first], hint);
  LaneMask lanes = request.lanes;
  for (LaneMask rest = lanes; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    Region *region = request.region;
    if (!region || request.at[lane] < region->base || request.at[lane] >= region->end) {
      region = memory.find(request.at[lane], hint);
      request.region = nullptr; // several
    }
    if (expected && region != expected)
      region = nullptr; // of another array than the address comes from
    if (!region || region->end - request.at[lane] < request.bytes) {
      reportOutside(step, request, lane);
      request.lanes &= ~(1u << lane);
    } else if (step.isWrite && region->isReadOnly) {
      reportAccess(step, Kind::ReadOnly, request, lane, "is written to and is read-only");
      request.lanes &= ~(1u << lane);
    } else {
      request.host[lane] = region->host + (request.at[lane] - region->base);
    }
  }
}

static void resolveLanes(const MemoryStep &step, Request &request) {
  Cta &cta = step.cta;
  switch (request.space) {
  case Space::Shared:
    return resolveShared(step, request);
  case Space::Local:
    if (step.warp.local.bytes.empty())
      step.warp.local.reset(kWarpSize * cta.launch.localBytes);
    return resolveLinear(step, request, step.warp.local.bytes.data(), 0, cta.launch.localBytes,
                         cta.launch.localBytes, Kind::OutOfBoundsLocal);
  case Space::Param: {
    const std::string &parameters = cta.launch.launch.parameters;
    // Parameters are only read: a store to them is refused before this.
    auto *host = const_cast<uint8_t *>(reinterpret_cast<const uint8_t *>(parameters.data()));
    return resolveLinear(step, request, host, 0, parameters.size(), 0, Kind::OutOfBoundsParam);
  }
  default:
    return resolveGlobal(step, request);
  }
}

static bool resolveSharedRow(const MemoryStep &step, Request &request, uint64_t rowBytes) {
  uint64_t offset = request.at[0] - step.cta.launch.program.sharedBase;
  auto [begin, end] = sharedBounds(step);
  if (offset < begin || offset > end || end - offset < rowBytes)
    return false;
  request.at[0] = offset;
  request.host[0] = step.cta.shared.bytes.data() + offset;
  return true;
}

/// A row that is within one memory and aligned. False for any other: then lane by lane.
static bool resolveRow(const MemoryStep &step, Request &request) {
  uint64_t rowBytes = uint64_t(kWarpSize) * request.bytes, start = request.at[0];
  if (start & alignmentMask(step, request))
    return false;
  if (request.space == Space::Shared)
    return resolveSharedRow(step, request, rowBytes);
  if (request.space != Space::Global && request.space != Space::Const)
    return false;
  Region *region = step.cta.launch.memory.find(start, step.cta.regionHints[step.pc]);
  const Region *expected = step.cta.launch.prepared[step.pc].expected;
  if (!region || (expected && region != expected))
    return false;
  if (region->end - start < rowBytes || (step.isWrite && region->isReadOnly))
    return false;
  request.region = region;
  request.host[0] = region->host + (start - region->base);
  return true;
}

/// All lanes at one place: what holds for one holds for all.
static bool resolveUniform(const MemoryStep &step, Request &request) {
  LaneMask lanes = request.lanes;
  unsigned first = unsigned(__builtin_ctz(lanes));
  request.lanes = 1u << first;
  checkAlignment(step, request);
  if (request.lanes)
    resolveLanes(step, request);
  if (!request.lanes) {
    // All fail alike; each is counted.
    request.lanes = lanes & ~(1u << first);
    checkAlignment(step, request);
    if (request.lanes)
      resolveLanes(step, request);
    return false;
  }
  request.lanes = lanes;
  request.at.fill(request.at[first]);
  request.host.fill(request.host[first]);
  return true;
}

bool tw::warpsim::resolve(const MemoryStep &step, Request &request) {
  if (request.isRow) {
    if (resolveRow(step, request))
      return true;
    request.host[0] = nullptr; // not known yet
    request.expand();
  }
  // Local memory is another place for every lane.
  request.isUniform &= request.space != Space::Local;
  if (request.isUniform)
    return resolveUniform(step, request);
  checkAlignment(step, request);
  if (request.lanes)
    resolveLanes(step, request);
  return request.lanes != 0;
}

void tw::warpsim::noteCoverage(const MemoryStep &step, Request &request) {
  if (!step.cta.launch.program.isAmdgcn)
    return;
  if (request.space == Space::Shared || request.space == Space::Global)
    request.isStale = noteAccess(step.cta, step.warp, request.space == Space::Shared);
}

static Place placeInShared(const Cta &cta, uint64_t offset) {
  for (const SharedBuffer &buffer : cta.launch.launch.sharedBuffers)
    if (offset - buffer.offset < buffer.bytes)
      return {buffer.name, int64_t(offset - buffer.offset), ""};
  for (const Variable &variable : cta.launch.program.variables)
    if (variable.space == Space::Shared && offset - variable.offset < variable.bytes)
      return {variable.name, int64_t(offset - variable.offset), ""};
  return {"shared memory", int64_t(offset), ""};
}

Place tw::warpsim::describePlace(const Cta &cta, const Request &request, unsigned lane) {
  Place place;
  uint64_t at = request.at[lane];
  if (request.space == Space::Shared) {
    place = placeInShared(cta, at);
  } else if (request.space == Space::Local || request.space == Space::Param) {
    place = {request.space == Space::Local ? "local memory" : "parameters", int64_t(at), ""};
  } else {
    uint32_t hint = 0;
    const Region *region = const_cast<Cta &>(cta).launch.memory.find(at, hint);
    if (region)
      place = {region->name, int64_t(at - region->base), ""};
  }
  place.text = place.buffer.empty() ? "address " + hex(at)
                                    : "`" + place.buffer + "` + " + std::to_string(place.offset);
  return place;
}

void tw::warpsim::reportAccess(const MemoryStep &step, Kind kind, const Request &request,
                               unsigned lane, const std::string &what, const Operand *unset) {
  step.cta.report(kind, step.warp, lane, step.pc, [&](Finding &finding) {
    bool isOffset = kind != Kind::OutOfBoundsShared && kind != Kind::OutOfBoundsLocal &&
                    kind != Kind::OutOfBoundsParam && kind != Kind::Misaligned;
    uint64_t sharedBase = step.cta.launch.program.sharedBase;
    Request at = request;
    if (!isOffset && request.space == Space::Shared)
      at.at[lane] -= sharedBase;
    Place place = describePlace(step.cta, at, lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.message = std::string(step.isWrite ? "write" : "read") + " of " +
                      std::to_string(request.bytes) + " bytes at " + place.text + " " + what;
    if (unset)
      describeOrigin(step.cta, step.warp, *unset, lane, step.pc, finding);
  });
}
