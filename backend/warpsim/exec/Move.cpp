// Moves, packing and unpacking of registers, and conversion of addresses between spaces.
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/exec/MissingBytes.h"
#include <algorithm>
#include <span>

using namespace tw::warpsim;

using Wide = unsigned __int128;

template <typename S>
[[gnu::always_inline]] static inline void runCopy(const Instruction &instruction,
                                                  WarpRegisters &registers, LaneMask active) {
  LaneValues<S> buffer, values;
  const S *source = readLanes(instruction.sources[0], registers, buffer);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    values.lanes[lane] = source[lane];
  const Operand &operand = instruction.sources[0];
  bool isPartial = wholeOfSource<S>(operand, registers) != setOfSource<S>(operand, registers);
  MissingBytes missing = {};
  if (isPartial)
    missing = missingBytes(operand, registers);
  writeLanes(instruction.results[0], registers, active, values, setOfSource<S>(operand, registers));
  if (isPartial)
    markBytes(instruction.results[0], registers, active, missing, sizeof(S));
}

static void runPredicateCopy(const Instruction &instruction, WarpRegisters &registers,
                             LaneMask active) {
  const Operand &source = instruction.sources[0];
  writePredicate(instruction.results[0], registers, active, readPredicate(source, registers),
                 setLanes(source, registers));
}

/// The 64-bit halves of a .b128 operand; other operands are one part.
static unsigned partsOf(const Operand &operand, Type type, size_t numOperands) {
  return type == Type::B128 && numOperands == 1 ? 2 : 1;
}
static Operand partOf(const Operand &operand, unsigned part) {
  Operand result = operand;
  if (operand.kind == Operand::Kind::Register)
    result.reg.number += part;
  else if (part > 0)
    result.bits = 0;
  return result;
}

namespace {
/// The equal parts, lowest first, that operands of one width are made of.
struct Parts {
  std::span<const Operand> operands;
  unsigned halves; // of an operand
  unsigned bits;   // of a part
};
} // namespace

/// By byte of all parts: the lanes whose byte has no value. Compilers leave such parts where
/// nothing reads them.
using MissingOfParts = std::array<LaneMask, 16>;

static MissingOfParts missingOfParts(const Parts &sources, const WarpRegisters &registers) {
  MissingOfParts missing = {};
  auto *next = missing.begin();
  for (const Operand &source : sources.operands)
    for (unsigned half = 0; half < sources.halves; ++half)
      next = std::copy_n(missingBytes(partOf(source, half), registers).begin(), sources.bits / 8,
                         next);
  return missing;
}

static void markParts(const Parts &results, WarpRegisters &registers, LaneMask active,
                      const MissingOfParts &missing) {
  const auto *next = missing.begin();
  unsigned bytes = results.bits / 8;
  for (const Operand &result : results.operands)
    for (unsigned half = 0; half < results.halves; ++half, next += bytes) {
      MissingBytes ofPart = {};
      std::copy_n(next, bytes, ofPart.begin());
      markBytes(partOf(result, half), registers, active, ofPart, bytes);
    }
}

static Wide packed(const Parts &sources, const WarpRegisters &registers, unsigned lane) {
  Wide value = 0;
  unsigned position = 0;
  for (const Operand &source : sources.operands)
    for (unsigned half = 0; half < sources.halves; ++half, position += sources.bits) {
      Wide part = readLane(partOf(source, half), registers, lane);
      value |= (part & ((Wide(1) << sources.bits) - 1)) << position;
    }
  return value;
}

static void unpack(Wide value, const Parts &results, WarpRegisters &registers, unsigned lane) {
  unsigned position = 0;
  for (const Operand &result : results.operands)
    for (unsigned half = 0; half < results.halves; ++half, position += results.bits) {
      Wide part = (value >> position) & ((Wide(1) << results.bits) - 1);
      writeLane(partOf(result, half), registers, lane, static_cast<uint64_t>(part), true);
    }
}

static Parts partsIn(std::span<const Operand> operands, Type type) {
  unsigned halves = partsOf(operands[0], type, operands.size());
  return {operands, halves, bytesOf(type) * 8 / static_cast<unsigned>(operands.size() * halves)};
}

/// Concatenates the sources, the first lowest, and cuts the bits into the results.
static void runRepack(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  Parts sources = partsIn(instruction.sources, instruction.type);
  Parts results = partsIn(instruction.results, instruction.type);
  MissingOfParts missing = missingOfParts(sources, registers);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    if ((active >> lane) & 1)
      unpack(packed(sources, registers, lane), results, registers, lane);
  markParts(results, registers, active, missing);
}

static uint64_t packWords(uint32_t low, uint32_t high) { return (uint64_t(high) << 32) | low; }
static uint32_t packHalves(Half low, Half high) { return (uint32_t(high.bits) << 16) | low.bits; }

/// mov {low, high}, source: two results of half the bits, each in a 32-bit register.
template <typename S>
[[gnu::always_inline]] static inline void runSplit(const Instruction &instruction,
                                                   WarpRegisters &registers, LaneMask active) {
  constexpr unsigned bits = sizeof(S) * 4;
  LaneValues<S> buffer;
  LaneValues<uint32_t> low, high;
  const S *source = readLanes(instruction.sources[0], registers, buffer);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    low.lanes[lane] = static_cast<uint32_t>(source[lane] & ((S(1) << bits) - 1));
    high.lanes[lane] = static_cast<uint32_t>(source[lane] >> bits);
  }
  bool isWhole = wholeOfSource<S>(instruction.sources[0], registers) == kAllLanes;
  MissingOfParts missing = {};
  if (!isWhole)
    missing = missingOfParts(partsIn(instruction.sources, instruction.type), registers);
  writeLanes(instruction.results[0], registers, active, low, kAllLanes);
  writeLanes(instruction.results[1], registers, active, high, kAllLanes);
  if (!isWhole)
    markParts(partsIn(instruction.results, instruction.type), registers, active, missing);
}

/// Returns true if a vector of `count` parts fills `bytes` with parts of 8 to 64 bits.
static bool dividesEvenly(size_t count, unsigned bytes) {
  return (count == 1 || count == 2 || count == 4) && bytes % count == 0 && bytes / count >= 1;
}

static Handler findMov(const Instruction &instruction) {
  size_t numSources = instruction.sources.size(), numResults = instruction.results.size();
  unsigned bytes = bytesOf(instruction.type);
  if (instruction.type == Type::Pred)
    return numSources == 1 && numResults == 1 ? runPredicateCopy : nullptr;
  if (numSources == 1 && numResults == 1 && bytes >= 2 && bytes <= 4)
    return handlerOf<runCopy<uint32_t>>();
  if (numSources == 1 && numResults == 1 && bytes == 8)
    return handlerOf<runCopy<uint64_t>>();
  if (bytes < 2 || !dividesEvenly(numSources, bytes) || !dividesEvenly(numResults, bytes) ||
      (numSources > 1 && numResults > 1))
    return nullptr;
  if (numSources == 2 && bytes == 8)
    return bytewiseLanes<packWords, missingOfHalves>(instruction);
  if (numSources == 2 && bytes == 4)
    return bytewiseLanes<packHalves, missingOfHalves>(instruction);
  if (numResults == 2 && bytes == 8)
    return handlerOf<runSplit<uint64_t>>();
  if (numResults == 2 && bytes == 4)
    return handlerOf<runSplit<uint32_t>>();
  return runRepack;
}

/// Where the windows of the other spaces lie in the generic space; global addresses are generic
/// ones.
static uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return uint64_t(0x07) << 56;
  case Space::Local:
    return uint64_t(0x06) << 56;
  case Space::Param:
    return uint64_t(0x05) << 56;
  default:
    return 0;
  }
}

static uint64_t toGeneric(const Instruction &instruction, uint64_t address) {
  return windowOf(instruction.space) | address;
}
static uint64_t toSpace(const Instruction &instruction, uint64_t address) {
  return windowOf(instruction.space) ? address & ((uint64_t(1) << 56) - 1) : address;
}

static Handler findCvta(const Instruction &instruction) {
  bool is64 = bytesOf(instruction.type) == 8;
  if (!is64 || instruction.space == Space::Generic)
    return nullptr; // a generic address needs 64 bits
  return instruction.toSpace ? lanes<toSpace>(instruction) : lanes<toGeneric>(instruction);
}

static void runIsInSpace(const Instruction &instruction, WarpRegisters &registers,
                         LaneMask active) {
  LaneMask inSpace = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uint64_t top = readLane(instruction.sources[0], registers, lane) & (uint64_t(0xff) << 56);
    bool isInWindow = top == windowOf(Space::Shared) || top == windowOf(Space::Local) ||
                      top == windowOf(Space::Param);
    bool isInside =
        instruction.space == Space::Global ? !isInWindow : top == windowOf(instruction.space);
    inSpace |= LaneMask(isInside) << lane;
  }
  writePredicate(instruction.results[0], registers, active, inSpace,
                 knownLanes(instruction.sources[0], registers));
}

/// Constants have no window of their own, so isspacep.const cannot be answered.
static Handler findIsspacep(const Instruction &instruction) {
  bool hasAnswer = instruction.space == Space::Global || windowOf(instruction.space) != 0;
  bool fits = instruction.sources.size() == 1 && instruction.results.size() == 1;
  return hasAnswer && fits ? runIsInSpace : nullptr;
}

static void runNothing(const Instruction &, WarpRegisters &, LaneMask) {}

Handler tw::warpsim::findMove(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Mov:
    return findMov(instruction);
  case Op::Cvta:
    return findCvta(instruction);
  case Op::Isspacep:
    return findIsspacep(instruction);
  default:
    return runNothing;
  }
}
