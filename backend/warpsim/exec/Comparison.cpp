// Comparisons into predicates and registers, and selection by predicate or sign.
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"

using namespace tw::warpsim;

template <Compare compare, typename T> [[gnu::always_inline]] static inline bool holds(T a, T b) {
  switch (compare) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne: // ordered: false for NaN
    return a < b || a > b;
  case Compare::Lt:
    return a < b;
  case Compare::Le:
    return a <= b;
  case Compare::Gt:
    return a > b;
  case Compare::Ge:
    return a >= b;
  case Compare::Equ:
    return !(a < b || a > b);
  case Compare::Neu:
    return a != b;
  case Compare::Ltu:
    return !(a >= b);
  case Compare::Leu:
    return !(a > b);
  case Compare::Gtu:
    return !(a <= b);
  case Compare::Geu:
    return !(a < b);
  case Compare::Num:
    return a == a && b == b;
  case Compare::Nan:
    return a != a || b != b;
  default:
    return false;
  }
}

/// An operand as a value that C++ compares, subnormals flushed if asked.
template <bool isFtz, typename T> [[gnu::always_inline]] static inline auto comparable(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    bool isFlushed = isFtz && (value.bits & 0x7c00) == 0;
    return floatFromHalf(isFlushed ? 0 : value.bits);
  } else if constexpr (std::is_same_v<T, Brain>) {
    return floatFromBrain(value.bits);
  } else if constexpr (isFtz) {
    return flushSubnormal(value);
  } else {
    return value;
  }
}

static LaneMask combine(Bool operation, LaneMask value, LaneMask other) {
  switch (operation) {
  case Bool::And:
    return value & other;
  case Bool::Or:
    return value | other;
  case Bool::Xor:
    return value ^ other;
  default:
    return value;
  }
}

/// Returns the value that `set` writes where the comparison holds: 1.0 of a float type, all ones of
/// an integer type.
static uint32_t trueValue(Type type) {
  switch (type) {
  case Type::F32:
    return 0x3f800000;
  case Type::F16:
    return 0x3c00;
  case Type::BF16:
    return 0x3f80;
  case Type::U16:
  case Type::S16:
    return 0xffff;
  default:
    return ~0u;
  }
}

/// Writes the outcome of a comparison as the instruction asks: predicates p and q = not p, each
/// combined with a third one, or a value.
static void writeOutcome(const Instruction &instruction, WarpRegisters &registers, LaneMask active,
                         LaneMask outcome) {
  LaneMask set = setOfSources(instruction, registers), other = 0;
  if (instruction.combine != Bool::None)
    other = readPredicate(instruction.sources[2], registers);
  LaneMask value = combine(instruction.combine, outcome, other);
  if (instruction.op == Op::Setp) {
    LaneMask opposite = combine(instruction.combine, ~outcome, other);
    writePredicate(instruction.results[0], registers, active, value, set);
    if (instruction.results.size() > 1)
      writePredicate(instruction.results[1], registers, active, opposite, set);
    return;
  }
  LaneValues<uint32_t> values;
  uint32_t whenTrue = trueValue(instruction.type);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    values.lanes[lane] = (value >> lane) & 1 ? whenTrue : 0;
  writeLanes(instruction.results[0], registers, active, values, set);
}

template <Compare compare, typename T, bool isFtz>
[[gnu::always_inline]] static inline void runCompare(const Instruction &instruction,
                                                     WarpRegisters &registers, LaneMask active) {
  LaneValues<Storage<T>> bufferA, bufferB;
  const Storage<T> *a = readLanes(instruction.sources[0], registers, bufferA);
  const Storage<T> *b = readLanes(instruction.sources[1], registers, bufferB);
  LaneMask outcome = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    auto left = comparable<isFtz>(decode<T>(a[lane]));
    auto right = comparable<isFtz>(decode<T>(b[lane]));
    outcome |= LaneMask(holds<compare>(left, right)) << lane;
  }
  writeOutcome(instruction, registers, active, outcome);
}

template <typename T, bool isFtz> static Handler findOrdered(Compare compare) {
  switch (compare) {
  case Compare::Eq:
    return handlerOf<runCompare<Compare::Eq, T, isFtz>>();
  case Compare::Ne:
    return handlerOf<runCompare<Compare::Ne, T, isFtz>>();
  case Compare::Lt:
    return handlerOf<runCompare<Compare::Lt, T, isFtz>>();
  case Compare::Le:
    return handlerOf<runCompare<Compare::Le, T, isFtz>>();
  case Compare::Gt:
    return handlerOf<runCompare<Compare::Gt, T, isFtz>>();
  case Compare::Ge:
    return handlerOf<runCompare<Compare::Ge, T, isFtz>>();
  default:
    return nullptr;
  }
}

template <typename T, bool isFtz> static Handler findUnordered(Compare compare) {
  switch (compare) {
  case Compare::Equ:
    return handlerOf<runCompare<Compare::Equ, T, isFtz>>();
  case Compare::Neu:
    return handlerOf<runCompare<Compare::Neu, T, isFtz>>();
  case Compare::Ltu:
    return handlerOf<runCompare<Compare::Ltu, T, isFtz>>();
  case Compare::Leu:
    return handlerOf<runCompare<Compare::Leu, T, isFtz>>();
  case Compare::Gtu:
    return handlerOf<runCompare<Compare::Gtu, T, isFtz>>();
  case Compare::Geu:
    return handlerOf<runCompare<Compare::Geu, T, isFtz>>();
  case Compare::Num:
    return handlerOf<runCompare<Compare::Num, T, isFtz>>();
  case Compare::Nan:
    return handlerOf<runCompare<Compare::Nan, T, isFtz>>();
  default:
    return findOrdered<T, isFtz>(compare);
  }
}

/// lo, ls, hi and hs are the unsigned comparisons.
static Compare withoutUnsignedNames(Compare compare) {
  switch (compare) {
  case Compare::Lo:
    return Compare::Lt;
  case Compare::Ls:
    return Compare::Le;
  case Compare::Hi:
    return Compare::Gt;
  case Compare::Hs:
    return Compare::Ge;
  default:
    return compare;
  }
}

static Handler findIntegerCompare(Type type, Compare compare) {
  bool isUntyped = type == Type::B16 || type == Type::B32 || type == Type::B64;
  if (isUntyped && compare != Compare::Eq && compare != Compare::Ne)
    return nullptr;
  if (!isSigned(type))
    compare = withoutUnsignedNames(compare);
  return forInteger(type, [&]<typename T>() -> Handler { return findOrdered<T, false>(compare); });
}

/// The same with a comparison that is known at run time only.
static bool holdsOrdered(Compare compare, float a, float b) {
  switch (compare) {
  case Compare::Eq:
    return a == b;
  case Compare::Ne:
    return a != b;
  case Compare::Lt:
    return a < b;
  case Compare::Le:
    return a <= b;
  case Compare::Gt:
    return a > b;
  default:
    return a >= b;
  }
}

static bool holdsFor(Compare compare, float a, float b) {
  bool isUnordered = a != a || b != b;
  if (compare == Compare::Num || compare == Compare::Nan)
    return isUnordered == (compare == Compare::Nan);
  static constexpr Compare ordered[] = {Compare::Eq, Compare::Ne, Compare::Lt,
                                        Compare::Le, Compare::Gt, Compare::Ge};
  bool acceptsUnordered = compare >= Compare::Equ;
  Compare base = acceptsUnordered ? ordered[int(compare) - int(Compare::Equ)] : compare;
  return isUnordered ? acceptsUnordered : holdsOrdered(base, a, b);
}

/// Lanes where the comparison of half `part` of a pair holds.
static LaneMask comparePart(const Instruction &instruction, const WarpRegisters &registers,
                            Type pair, unsigned part) {
  LaneMask outcome = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    float values[2];
    for (unsigned index = 0; index < 2; ++index) {
      uint64_t bits = readLane(instruction.sources[index], registers, lane) >> (part * 16);
      uint16_t code = static_cast<uint16_t>(bits);
      if (pair == Type::BF16x2)
        values[index] = comparable<false>(Brain{code});
      else
        values[index] =
            instruction.isFtz ? comparable<true>(Half{code}) : comparable<false>(Half{code});
    }
    outcome |= LaneMask(holdsFor(instruction.compare, values[0], values[1])) << lane;
  }
  return outcome;
}

/// The true and the false of a type of pairs, for each lane.
static LaneValues<uint32_t> pairValues(Type type, const LaneMask (&outcomes)[2]) {
  uint32_t whenTrue = type == Type::F16x2 ? 0x3c00 : type == Type::BF16x2 ? 0x3f80 : 0xffff;
  LaneValues<uint32_t> values;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uint32_t low = (outcomes[0] >> lane) & 1 ? whenTrue : 0;
    uint32_t high = (outcomes[1] >> lane) & 1 ? whenTrue : 0;
    values.lanes[lane] = low | (high << 16);
  }
  return values;
}

/// A comparison of both halves: setp writes p from the low and q from the high one, set a pair.
static void runPairCompare(const Instruction &instruction, WarpRegisters &registers,
                           LaneMask active) {
  Type pair = instruction.op == Op::Setp ? instruction.type : instruction.sourceType;
  LaneMask set = setOfSources(instruction, registers), other = 0, outcomes[2];
  if (instruction.combine != Bool::None)
    other = readPredicate(instruction.sources[2], registers);
  for (unsigned part = 0; part < 2; ++part)
    outcomes[part] =
        combine(instruction.combine, comparePart(instruction, registers, pair, part), other);
  if (instruction.op == Op::Setp) {
    for (size_t part = 0; part < instruction.results.size(); ++part)
      writePredicate(instruction.results[part], registers, active, outcomes[part], set);
    return;
  }
  LaneValues<uint32_t> values = pairValues(instruction.type, outcomes);
  writeLanes(instruction.results[0], registers, active, values, set);
}

static Handler findCompare(Type type, const Instruction &instruction) {
  Compare compare = instruction.compare;
  if (instruction.isFtz && type != Type::F32 && type != Type::F16)
    return nullptr;
  switch (type) {
  case Type::F32:
    return instruction.isFtz ? findUnordered<float, true>(compare)
                             : findUnordered<float, false>(compare);
  case Type::F64:
    return findUnordered<double, false>(compare);
  case Type::F16:
    return instruction.isFtz ? findUnordered<Half, true>(compare)
                             : findUnordered<Half, false>(compare);
  case Type::BF16:
    return findUnordered<Brain, false>(compare);
  default:
    return findIntegerCompare(type, compare);
  }
}

static bool hasCompareOperands(const Instruction &instruction, size_t maxResults) {
  size_t numSources = instruction.combine == Bool::None ? 2 : 3;
  return instruction.sources.size() == numSources && !instruction.results.empty() &&
         instruction.results.size() <= maxResults && instruction.combine != Bool::Popc;
}

static Handler findPairCompare(Type pair, const Instruction &instruction) {
  Type half = pair == Type::F16x2 ? Type::F16 : Type::BF16;
  return findCompare(half, instruction) ? runPairCompare : nullptr;
}

static bool isPair(Type type) { return type == Type::F16x2 || type == Type::BF16x2; }

static Handler findSetp(const Instruction &instruction) {
  if (!hasCompareOperands(instruction, 2))
    return nullptr;
  if (isPair(instruction.type))
    return findPairCompare(instruction.type, instruction);
  return findCompare(instruction.type, instruction);
}

static Handler findSet(const Instruction &instruction) {
  if (!hasCompareOperands(instruction, 1))
    return nullptr;
  Type source = instruction.sourceType, result = instruction.type;
  if (isPair(source))
    return isPair(result) || result == Type::U32 || result == Type::S32
               ? findPairCompare(source, instruction)
               : nullptr;
  bool isWord = result == Type::U32 || result == Type::S32 || result == Type::F32;
  bool isNarrow = result == source || result == Type::U16 || result == Type::S16;
  if (!isWord && !(isHalf(source) && isNarrow))
    return nullptr;
  return findCompare(source, instruction);
}

template <typename S>
[[gnu::always_inline]] static inline void runSelect(const Instruction &instruction,
                                                    WarpRegisters &registers, LaneMask active) {
  LaneValues<S> bufferA, bufferB, values;
  const Operand &first = instruction.sources[0], &second = instruction.sources[1];
  const S *a = readLanes(first, registers, bufferA), *b = readLanes(second, registers, bufferB);
  LaneMask takesFirst = readPredicate(instruction.sources[2], registers);
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    values.lanes[lane] = blend(takesFirst, lane, a[lane], b[lane]);
  LaneMask set = (takesFirst & setOfSource<S>(first, registers)) |
                 (~takesFirst & setOfSource<S>(second, registers));
  LaneMask chosen = setLanes(instruction.sources[2], registers);
  set &= chosen;
  LaneMask partial = (setLanes(first, registers) & ~wholeLanes(first, registers)) |
                     (setLanes(second, registers) & ~wholeLanes(second, registers));
  MissingBytes missing = {};
  if (partial) {
    MissingBytes ofFirst = missingBytes(first, registers);
    MissingBytes ofSecond = missingBytes(second, registers);
    for (unsigned byte = 0; byte < sizeof(S); ++byte)
      missing[byte] = (takesFirst & ofFirst[byte]) | (~takesFirst & ofSecond[byte]) | ~chosen;
  }
  writeLanes(instruction.results[0], registers, active, values, set);
  if (partial)
    markBytes(instruction.results[0], registers, active, missing, sizeof(S));
}

static Handler findSelect(const Instruction &instruction) {
  if (instruction.sources.size() != 3 || instruction.results.size() != 1)
    return nullptr;
  switch (bytesOf(instruction.type)) {
  case 2:
  case 4:
    return handlerOf<runSelect<uint32_t>>();
  case 8:
    return handlerOf<runSelect<uint64_t>>();
  default:
    return nullptr;
  }
}

/// slct: a where c is not negative; a NaN counts as negative, -0 does not.
template <typename S, bool isByFloat>
[[gnu::always_inline]] static inline void
runSelectBySign(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  LaneValues<S> bufferA, bufferB, values;
  LaneValues<uint32_t> bufferC;
  const Operand &first = instruction.sources[0], &second = instruction.sources[1];
  const S *a = readLanes(first, registers, bufferA), *b = readLanes(second, registers, bufferB);
  const uint32_t *c = readLanes(instruction.sources[2], registers, bufferC);
  LaneMask takesFirst = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    float key = decode<float>(c[lane]);
    key = instruction.isFtz ? flushSubnormal(key) : key;
    bool takes = isByFloat ? key >= 0 : static_cast<int32_t>(c[lane]) >= 0;
    takesFirst |= LaneMask(takes) << lane;
  }
  for (unsigned lane = 0; lane < kWarpSize; ++lane)
    values.lanes[lane] = blend(takesFirst, lane, a[lane], b[lane]);
  LaneMask set = (takesFirst & setOfArgument<S>(first, registers)) |
                 (~takesFirst & setOfArgument<S>(second, registers));
  set &= setLanes(instruction.sources[2], registers);
  writeLanes(instruction.results[0], registers, active, values, set);
}

static Handler findSelectBySign(const Instruction &instruction) {
  bool isByFloat = instruction.sourceType == Type::F32;
  if (instruction.sources.size() != 3 || instruction.results.size() != 1 ||
      (!isByFloat && (instruction.sourceType != Type::S32 || instruction.isFtz)))
    return nullptr;
  switch (bytesOf(instruction.type)) {
  case 2:
  case 4:
    return isByFloat ? handlerOf<runSelectBySign<uint32_t, true>>()
                     : handlerOf<runSelectBySign<uint32_t, false>>();
  case 8:
    return isByFloat ? handlerOf<runSelectBySign<uint64_t, true>>()
                     : handlerOf<runSelectBySign<uint64_t, false>>();
  default:
    return nullptr;
  }
}

Handler tw::warpsim::findComparison(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Set:
    return findSet(instruction);
  case Op::Setp:
    return findSetp(instruction);
  case Op::Selp:
    return findSelect(instruction);
  default:
    return findSelectBySign(instruction);
  }
}
