// Logic, shifts, bit fields and bit searches; logic of predicates too.
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/exec/MissingBytes.h"

using namespace tw::warpsim;

template <typename T> static T bitAnd(T a, T b) { return a & b; }
template <typename T> static T bitOr(T a, T b) { return a | b; }
template <typename T> static T bitXor(T a, T b) { return a ^ b; }
template <typename T> static T bitNot(T a) { return static_cast<T>(~a); }
template <typename T> static T logicalNot(T a) { return a == 0; }

template <typename T> static T shiftLeft(T a, uint32_t count) {
  using Modular = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  constexpr uint32_t width = sizeof(T) * 8;
  return count >= width ? T(0) : static_cast<T>(static_cast<Modular>(a) << (count & (width - 1)));
}
/// Counts beyond the width behave as the width: zeros, or copies of the sign.
template <typename T> static T shiftRight(T a, uint32_t count) {
  constexpr uint32_t width = sizeof(T) * 8;
  if constexpr (std::is_signed_v<T>)
    return static_cast<T>(a >> (count >= width ? width - 1 : count));
  return count >= width ? T(0) : static_cast<T>(a >> (count & (width - 1)));
}

template <bool isWrapping>
[[gnu::always_inline]] static inline uint32_t funnelCount(uint32_t count) {
  return isWrapping ? count & 31 : count < 32 ? count : 32;
}
template <bool isWrapping>
[[gnu::always_inline]] static inline uint32_t funnelLeft(uint32_t low, uint32_t high,
                                                         uint32_t count) {
  uint64_t both = (uint64_t(high) << 32) | low;
  return static_cast<uint32_t>((both << funnelCount<isWrapping>(count)) >> 32);
}
template <bool isWrapping>
[[gnu::always_inline]] static inline uint32_t funnelRight(uint32_t low, uint32_t high,
                                                          uint32_t count) {
  uint64_t both = (uint64_t(high) << 32) | low;
  return static_cast<uint32_t>(both >> funnelCount<isWrapping>(count));
}

/// Bits [0, count) of T; all where there are not so many.
template <typename T> static T lowBits(uint32_t count) {
  return count >= sizeof(T) * 8 ? static_cast<T>(~T(0)) : static_cast<T>((T(1) << count) - 1);
}

template <typename T>
[[gnu::always_inline]] static inline T extractField(T a, uint32_t position, uint32_t length) {
  using Bits = std::make_unsigned_t<T>;
  constexpr uint32_t width = sizeof(T) * 8;
  position &= 0xff;
  length &= 0xff;
  if (length == 0)
    return 0;
  Bits field = position >= width ? Bits(0) : static_cast<Bits>(a) >> position;
  if constexpr (std::is_signed_v<T>) {
    uint32_t last = position + length - 1 < width ? position + length - 1 : width - 1;
    bool isNegative = (static_cast<Bits>(a) >> last) & 1;
    uint32_t numRead = position >= width ? 0 : last - position + 1;
    Bits kept = lowBits<Bits>(numRead);
    return static_cast<T>((field & kept) | (isNegative ? ~kept : Bits(0)));
  }
  return static_cast<T>(field & lowBits<Bits>(length));
}

template <typename T>
[[gnu::always_inline]] static inline T insertField(T a, T b, uint32_t position, uint32_t length) {
  constexpr uint32_t width = sizeof(T) * 8;
  position &= 0xff;
  length &= 0xff;
  if (position >= width)
    return b;
  T mask = lowBits<T>(length) << position;
  return (b & ~mask) | ((a << position) & mask);
}

template <typename T> static T reverseBits(T a) {
  T result = 0;
  for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit)
    result |= ((a >> bit) & 1) << (sizeof(T) * 8 - 1 - bit);
  return result;
}
template <typename T> static uint32_t countLeadingZeros(T a) {
  return static_cast<uint32_t>(std::countl_zero(a));
}
template <typename T> static uint32_t countOnes(T a) {
  return static_cast<uint32_t>(std::popcount(a));
}

/// The position of the highest bit that differs from the sign, or all ones.
template <typename T, bool asShiftAmount> static uint32_t findHighest(T a) {
  using Bits = std::make_unsigned_t<T>;
  Bits bits = static_cast<Bits>(a < 0 ? ~a : a);
  if (bits == 0)
    return ~0u;
  uint32_t leading = static_cast<uint32_t>(std::countl_zero(bits));
  return asShiftAmount ? leading : sizeof(T) * 8 - 1 - leading;
}

static uint32_t findNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (base > 31) // undefined in PTX
    return ~0u;
  if (offset == 0)
    return (mask >> base) & 1 ? base : ~0u;
  int64_t remaining = offset < 0 ? -int64_t(offset) : offset;
  int step = offset > 0 ? 1 : -1;
  for (int position = static_cast<int>(base); position >= 0 && position < 32; position += step)
    if (((mask >> position) & 1) && --remaining == 0)
      return static_cast<uint32_t>(position);
  return ~0u;
}

/// Bytes of {b, a} that the nibbles of `selectors` name; bit 3 asks for copies of the byte's sign.
[[gnu::always_inline]] static inline uint32_t permuteBytes(uint32_t a, uint32_t b,
                                                           uint32_t selectors) {
  uint64_t both = (uint64_t(b) << 32) | a;
  uint32_t result = 0;
  for (unsigned index = 0; index < 4; ++index) {
    uint32_t selector = selectors >> (index * 4);
    uint32_t byte = static_cast<uint32_t>(both >> ((selector & 7) * 8)) & 0xff;
    byte = selector & 8 ? (0u - (byte >> 7)) & 0xff : byte;
    result |= byte << (index * 8);
  }
  return result;
}

/// The selectors of the named modes of prmt, by the low two bits of c (PTX ISA, prmt, table of
/// modes).
static uint32_t permuteByMode(const Instruction &instruction, uint32_t a, uint32_t b, uint32_t c) {
  static constexpr uint16_t selectors[][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, // f4e: forward four from byte c
      {0x5670, 0x6701, 0x7012, 0x0123}, // b4e: backward four
      {0x0000, 0x1111, 0x2222, 0x3333}, // rc8: one byte to all
      {0x3210, 0x3211, 0x3222, 0x3333}, // ecl: clamp from the left
      {0x0000, 0x1110, 0x2210, 0x3210}, // ecr: clamp from the right
      {0x1010, 0x3232, 0x1010, 0x3232}, // rc16: one half to both
  };
  unsigned mode = static_cast<unsigned>(instruction.prmt) - static_cast<unsigned>(PrmtMode::F4e);
  return permuteBytes(a, b, selectors[mode][c & 3]);
}

template <bool isWrapping> static uint32_t makeMask(uint32_t position, uint32_t width) {
  if (!isWrapping && position >= 32)
    return 0;
  uint32_t from = ~0u << (position & 31), end = (position & 31) + (width & 31);
  bool reachesTop = end >= 32 || (!isWrapping && width >= 32);
  return reachesTop ? from : from & ~(~0u << end);
}

template <typename T, bool isWrapping> static T extend(T a, uint32_t count) {
  if (!isWrapping && count >= 32)
    return a;
  count &= 31;
  if (count == 0)
    return 0;
  return static_cast<T>(static_cast<T>(static_cast<uint32_t>(a) << (32 - count)) >> (32 - count));
}

/// Bit k of the table is the result where (a, b, c) spell k.
[[gnu::always_inline]] static inline uint32_t lookUp(uint32_t table, uint32_t a, uint32_t b,
                                                     uint32_t c) {
  uint32_t result = 0;
  for (unsigned minterm = 0; minterm < 8; ++minterm) {
    uint32_t term = (minterm & 4 ? a : ~a) & (minterm & 2 ? b : ~b) & (minterm & 1 ? c : ~c);
    result |= term & (0u - ((table >> minterm) & 1));
  }
  return result;
}
static uint32_t lookUpLanes(const Instruction &instruction, uint32_t a, uint32_t b, uint32_t c) {
  return lookUp(static_cast<uint32_t>(instruction.sources[3].bits), a, b, c);
}

[[gnu::always_inline]] static inline void runLop3(const Instruction &instruction,
                                                  WarpRegisters &registers, LaneMask active) {
  using Loop = LaneLoop<lookUpLanes, Cost::Light>;
  applyToLanes<Loop, Cost::Light>(instruction, registers, active, std::make_index_sequence<3>());
}

/// lop3.BoolOp: also writes whether the result is not zero, combined with a predicate.
static void runLop3Predicate(const Instruction &instruction, WarpRegisters &registers,
                             LaneMask active) {
  LaneMask set = setOfSources(instruction, registers), isNonzero = 0;
  LaneMask other = readPredicate(instruction.sources[4], registers);
  LaneMask wordSet = kAllLanes;
  for (unsigned index = 0; index < 3; ++index)
    wordSet &= setLanes(instruction.sources[index], registers);
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (!((active >> lane) & 1))
      continue;
    auto source = [&](unsigned index) {
      return static_cast<uint32_t>(readLane(instruction.sources[index], registers, lane));
    };
    uint32_t value = lookUp(source(3), source(0), source(1), source(2));
    isNonzero |= LaneMask(value != 0) << lane;
    writeLane(instruction.results[0], registers, lane, value, (wordSet >> lane) & 1);
  }
  LaneMask value = instruction.combine == Bool::Or ? isNonzero | other : isNonzero & other;
  writePredicate(instruction.results[1], registers, active, value, set);
}

static Handler findLop3(const Instruction &instruction) {
  const auto &sources = instruction.sources;
  if (instruction.type != Type::B32 || sources.size() < 4 ||
      sources[3].kind != Operand::Kind::Immediate)
    return nullptr;
  if (sources.size() == 4 && instruction.results.size() == 1)
    return handlerOf<runLop3>();
  bool isCombined = instruction.combine == Bool::Or || instruction.combine == Bool::And;
  return isCombined && sources.size() == 5 && instruction.results.size() == 2 ? runLop3Predicate
                                                                              : nullptr;
}

static void runPredicateLogic(const Instruction &instruction, WarpRegisters &registers,
                              LaneMask active) {
  LaneMask a = readPredicate(instruction.sources[0], registers);
  LaneMask b = instruction.op == Op::Not ? 0 : readPredicate(instruction.sources[1], registers);
  LaneMask value = instruction.op == Op::And   ? a & b
                   : instruction.op == Op::Or  ? a | b
                   : instruction.op == Op::Xor ? a ^ b
                                               : ~a;
  LaneMask set = setOfSources(instruction, registers);
  // One side may decide, whatever the other one is.
  for (const Operand &source : instruction.sources) {
    LaneMask side = readPredicate(source, registers), known = setLanes(source, registers);
    if (instruction.op == Op::And)
      set |= known & ~side;
    else if (instruction.op == Op::Or)
      set |= known & side;
  }
  writePredicate(instruction.results[0], registers, active, value, set);
}

static Handler findPredicateLogic(const Instruction &instruction) {
  bool isBinary =
      instruction.op == Op::And || instruction.op == Op::Or || instruction.op == Op::Xor;
  if ((!isBinary && instruction.op != Op::Not) || instruction.results.size() != 1 ||
      instruction.sources.size() != (isBinary ? 2 : 1))
    return nullptr;
  return runPredicateLogic;
}

template <typename T> static Handler findLogic(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::And:
    return bytewiseLanes<bitAnd<T>, missingOfLogic>(instruction);
  case Op::Or:
    return bytewiseLanes<bitOr<T>, missingOfLogic>(instruction);
  case Op::Xor:
    return bytewiseLanes<bitXor<T>, missingOfLogic>(instruction);
  case Op::Not:
    return bytewiseLanes<bitNot<T>, missingOfLogic>(instruction);
  case Op::Cnot:
    return lanes<logicalNot<T>>(instruction);
  case Op::Shl:
    return bytewiseLanes<shiftLeft<T>, missingOfShift>(instruction);
  default:
    return nullptr;
  }
}

/// Operations of untyped bits, for which PTX has .b32 and .b64 only.
template <typename T> static Handler findWord(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Bfi:
    return bytewiseLanes<insertField<T>, missingOfInserted>(instruction);
  case Op::Brev:
    return lanes<reverseBits<T>>(instruction);
  case Op::Clz:
    return lanes<countLeadingZeros<T>>(instruction);
  case Op::Popc:
    return lanes<countOnes<T>>(instruction);
  default:
    return nullptr;
  }
}

template <typename T> static Handler findField(const Instruction &instruction) {
  if constexpr (sizeof(T) < 4)
    return nullptr;
  else if (instruction.op == Op::Bfe)
    return bytewiseLanes<extractField<T>, missingOfExtracted>(instruction);
  else
    return instruction.isShiftAmount ? lanes<findHighest<T, true>>(instruction)
                                     : lanes<findHighest<T, false>>(instruction);
}

static Handler findByWrapping(const Instruction &instruction) {
  return forFlag(instruction.isWrapping, [&]<bool isWrapping>() -> Handler {
    switch (instruction.op) {
    case Op::ShfL:
      return lanes<funnelLeft<isWrapping>>(instruction);
    case Op::ShfR:
      return lanes<funnelRight<isWrapping>>(instruction);
    case Op::Bmsk:
      return lanes<makeMask<isWrapping>>(instruction);
    default:
      return isSigned(instruction.type) ? lanes<extend<int32_t, isWrapping>>(instruction)
                                        : lanes<extend<uint32_t, isWrapping>>(instruction);
    }
  });
}

static Handler findUntyped(const Instruction &instruction) {
  switch (instruction.type) {
  case Type::Pred:
    return findPredicateLogic(instruction);
  case Type::B16:
    return findLogic<uint16_t>(instruction);
  case Type::B32:
    if (Handler handler = findWord<uint32_t>(instruction))
      return handler;
    return findLogic<uint32_t>(instruction);
  case Type::B64:
    if (Handler handler = findWord<uint64_t>(instruction))
      return handler;
    return findLogic<uint64_t>(instruction);
  default:
    return nullptr;
  }
}

Handler tw::warpsim::findBitOperation(const Instruction &instruction) {
  bool is32 = instruction.type == Type::B32;
  switch (instruction.op) {
  case Op::Lop3:
    return findLop3(instruction);
  case Op::Shr:
    return forInteger(instruction.type, [&]<typename T>() -> Handler {
      return bytewiseLanes<shiftRight<T>, missingOfShift>(instruction);
    });
  case Op::Bfe:
  case Op::Bfind:
    return forInteger(instruction.type,
                      [&]<typename T>() -> Handler { return findField<T>(instruction); });
  case Op::Fns:
    return is32 ? lanes<findNthSet, Cost::Heavy>(instruction) : nullptr;
  case Op::Prmt:
    if (!is32)
      return nullptr;
    return instruction.prmt == PrmtMode::Index
               ? bytewiseLanes<permuteBytes, missingOfPermuted>(instruction)
               : lanes<permuteByMode>(instruction);
  case Op::ShfL:
  case Op::ShfR:
  case Op::Bmsk:
    return is32 ? findByWrapping(instruction) : nullptr;
  case Op::Szext:
    return instruction.type == Type::U32 || instruction.type == Type::S32
               ? findByWrapping(instruction)
               : nullptr;
  default:
    return findUntyped(instruction);
  }
}
