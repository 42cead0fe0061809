// Race and initialization checks of memory requests, and how races are told.
#include "backend/warpsim/core/Addresses.h"
#include <cstring>

using namespace tw::warpsim;

Strength tw::warpsim::strengthOf(const Instruction &instruction) {
  if (instruction.order == Order::Weak && instruction.op != Op::Atom && instruction.op != Op::Red)
    return Strength::Weak;
  // Atomics without a scope have .gpu, volatile accesses .sys (PTX ISA, memory consistency model).
  return instruction.scope == Scope::Cta ? Strength::Cta : Strength::Gpu;
}

static ShadowPage *pageOf(const MemoryStep &step, const Request &request, uint64_t address,
                          uint32_t &offset) {
  if (request.space == Space::Shared) {
    offset = uint32_t(address);
    return &step.cta.sharedShadow;
  }
  uint32_t hint = step.cta.regionHints[step.pc];
  Region *region = request.region ? request.region : step.cta.launch.memory.find(address, hint);
  return region && region->shadow ? &region->shadow->page(address, offset) : nullptr;
}

static bool isChecked(const MemoryStep &step, const Request &request) {
  return step.cta.launch.launch.options.checksRaces &&
         (request.space == Space::Shared || request.space == Space::Global ||
          request.space == Space::Generic);
}

static std::string nameOfThread(const std::array<uint32_t, 3> &thread) {
  return "thread (" + std::to_string(thread[0]) + ", " + std::to_string(thread[1]) + ", " +
         std::to_string(thread[2]) + ")";
}

static Kind kindOf(const MemoryStep &step, const Conflict &conflict) {
  if (!step.isWrite)
    return Kind::RaceRaw;
  return conflict.withWrite ? Kind::RaceWaw : Kind::RaceWar;
}

static void reportRace(const MemoryStep &step, const Request &request, const Conflict &conflict,
                       bool isRedundant) {
  Kind kind = isRedundant ? Kind::RedundantWrite : kindOf(step, conflict);
  Cta &cta = step.cta;
  auto describe = [&](Finding &finding) {
    Place place = describePlace(cta, request, conflict.lane);
    finding.buffer = place.buffer;
    finding.offset = place.offset;
    finding.isError = !isRedundant;
    finding.otherThread = cta.threadPosition(conflict.otherWarp, conflict.otherLane);
    finding.message = nameOfThread(finding.thread) + (step.isWrite ? " writes " : " reads ") +
                      place.text + ", which " + nameOfThread(finding.otherThread);
    // Records of global memory keep 16 bits of a CTA's number.
    if (conflict.otherCta != (request.space == Space::Shared ? cta.number : cta.number & 0xffff))
      finding.message += " of CTA " + std::to_string(conflict.otherCta);
    finding.message += conflict.withWrite ? " wrote" : " read";
    finding.message += isRedundant ? " with the same value" : ", with nothing that orders the two";
  };
  cta.report(kind, step.warp, conflict.lane, step.pc, describe, conflict.otherPc);
}

static Accessor accessorOf(const MemoryStep &step, Strength strength) {
  return {&step.cta.clocks, step.cta.number, step.warp.index, step.pc, step.isWrite, strength};
}

void tw::warpsim::checkRow(const MemoryStep &step, const Request &request, Strength strength,
                           bool &isClear) {
  isClear = true;
  if (!isChecked(step, request))
    return;
  bool isWholeRow = request.isRow || (request.isUniform && !step.isWrite);
  isClear = isWholeRow && strength == Strength::Weak;
  if (!isClear)
    return;
  uint32_t offset = 0;
  unsigned first = unsigned(__builtin_ctz(request.lanes));
  ShadowPage *page = pageOf(step, request, request.at[first], offset);
  if (!page)
    return;
  bool isShared = request.space == Space::Shared;
  Accessor accessor = accessorOf(step, strength);
  auto access = [&] {
    if (!request.isRow)
      return page->accessUniform(accessor, request.lanes, offset, request.bytes);
    bool isInPage = isShared || offset + kWarpSize * request.bytes <= 1u << PagedShadow::kPageShift;
    return isInPage && page->accessRow(accessor, offset, request.bytes);
  };
  if (isShared) {
    isClear = access();
    return;
  }
  PageLock lock(*page);
  isClear = access();
}

void tw::warpsim::checkLane(const MemoryStep &step, const Request &request, Strength strength,
                            unsigned lane, const uint8_t *newValue) {
  uint32_t offset = 0;
  ShadowPage *page = pageOf(step, request, request.at[lane], offset);
  if (!page)
    return;
  Conflict conflict;
  Accessor accessor = accessorOf(step, strength);
  bool hasRace;
  if (request.space == Space::Shared) {
    hasRace = page->accessLane(accessor, lane, offset, request.bytes, conflict);
  } else {
    PageLock lock(*page);
    hasRace = page->accessLane(accessor, lane, offset, request.bytes, conflict);
  }
  if (!hasRace)
    return;
  bool isRedundant = conflict.withWrite && newValue && strength == Strength::Weak &&
                     memcmp(newValue, request.host[lane], request.bytes) == 0;
  reportRace(step, request, conflict, isRedundant);
}
