// Integer products: low, high and wide halves, with addition, of 24 bits, and dot products of
// bytes.
#include "backend/warpsim/exec/Handlers.h"
#include <limits>

using namespace tw::warpsim;

template <typename T> struct Widened;
template <> struct Widened<uint16_t> {
  using Type = uint32_t;
};
template <> struct Widened<int16_t> {
  using Type = int32_t;
};
template <> struct Widened<uint32_t> {
  using Type = uint64_t;
};
template <> struct Widened<int32_t> {
  using Type = int64_t;
};
template <> struct Widened<uint64_t> {
  using Type = unsigned __int128;
};
template <> struct Widened<int64_t> {
  using Type = __int128;
};
template <typename T> using Wide = typename Widened<T>::Type;
template <typename T> using Modular = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;

template <typename T> static T add(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
}
template <typename T> static T low(T a, T b) {
  return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b));
}
template <typename T> static T high(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * b) >> (sizeof(T) * 8));
}
template <typename T> static Wide<T> wide(T a, T b) { return static_cast<Wide<T>>(a) * b; }
template <typename T> static T lowAdd(T a, T b, T c) { return add(low(a, b), c); }
template <typename T> static T highAdd(T a, T b, T c) { return add(high(a, b), c); }
template <typename T> static Wide<T> wideAdd(T a, T b, Wide<T> c) { return add(wide(a, b), c); }

static int32_t saturatingSum(int32_t a, int32_t b) {
  int64_t sum = int64_t(a) + b;
  constexpr int64_t least = std::numeric_limits<int32_t>::min();
  constexpr int64_t greatest = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(sum < least ? least : sum > greatest ? greatest : sum);
}
static int32_t highAddSaturating(int32_t a, int32_t b, int32_t c) {
  return saturatingSum(high(a, b), c);
}

/// The product of the low 24 bits of both, which has 48.
template <typename T> static uint64_t product24(T a, T b) {
  auto cut = [](T value) { return static_cast<T>(static_cast<uint32_t>(value) << 8) >> 8; };
  return static_cast<uint64_t>(static_cast<Wide<T>>(cut(a)) * cut(b));
}
template <typename T> static T low24(T a, T b) { return static_cast<T>(product24(a, b)); }
template <typename T> static T high24(T a, T b) { return static_cast<T>(product24(a, b) >> 16); }
template <typename T> static T low24Add(T a, T b, T c) { return add(low24(a, b), c); }
template <typename T> static T high24Add(T a, T b, T c) { return add(high24(a, b), c); }
static int32_t high24AddSaturating(int32_t a, int32_t b, int32_t c) {
  return saturatingSum(high24(a, b), c);
}

template <typename T> static Handler find24(const Instruction &instruction) {
  bool isHigh = instruction.isHigh;
  if (instruction.op == Op::Mul24)
    return isHigh ? lanes<high24<T>>(instruction) : lanes<low24<T>>(instruction);
  return isHigh ? lanes<high24Add<T>>(instruction) : lanes<low24Add<T>>(instruction);
}

template <typename T> static Handler findWide(const Instruction &instruction) {
  if constexpr (sizeof(T) < 8)
    return instruction.op == Op::MulWide ? lanes<wide<T>>(instruction)
                                         : lanes<wideAdd<T>>(instruction);
  return nullptr;
}

template <typename T> static Handler findFor(const Instruction &instruction) {
  switch (instruction.op) {
  case Op::Mul:
    return lanes<low<T>>(instruction);
  case Op::MulHi:
    return lanes<high<T>>(instruction);
  case Op::Mad:
    return lanes<lowAdd<T>>(instruction);
  case Op::MadHi:
    return lanes<highAdd<T>>(instruction);
  case Op::MulWide:
  case Op::MadWide:
    return findWide<T>(instruction);
  default:
    return nullptr;
  }
}

/// Part `index` of a word, sign- or zero-extended: bytes, or halves of 16 bits.
template <typename Part> static int64_t part(uint32_t word, unsigned index) {
  return static_cast<Part>(word >> (index * sizeof(Part) * 8));
}
template <typename A, typename B> static uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned index = 0; index < 4; ++index)
    c += static_cast<uint32_t>(part<A>(a, index) * part<B>(b, index));
  return c;
}
template <typename A, typename B, unsigned first>
static uint32_t dot2(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned index = 0; index < 2; ++index)
    c += static_cast<uint32_t>(part<A>(a, index) * part<B>(b, first + index));
  return c;
}

template <typename A, typename B> static Handler findDot2(const Instruction &instruction) {
  return instruction.isHigh ? lanes<dot2<A, B, 2>>(instruction) : lanes<dot2<A, B, 0>>(instruction);
}

/// dp4a.atype.btype: `type` is that of a, `sourceType` that of b.
static Handler findDot(const Instruction &instruction) {
  auto is32 = [](Type type) { return type == Type::U32 || type == Type::S32; };
  Type b = instruction.sourceType == Type::None ? instruction.type : instruction.sourceType;
  if (!is32(instruction.type) || !is32(b) || instruction.isSaturating)
    return nullptr;
  bool isSignedA = instruction.type == Type::S32, isSignedB = b == Type::S32;
  if (instruction.op == Op::Dp4a) {
    if (isSignedA)
      return isSignedB ? lanes<dot4<int8_t, int8_t>>(instruction)
                       : lanes<dot4<int8_t, uint8_t>>(instruction);
    return isSignedB ? lanes<dot4<uint8_t, int8_t>>(instruction)
                     : lanes<dot4<uint8_t, uint8_t>>(instruction);
  }
  if (isSignedA)
    return isSignedB ? findDot2<int16_t, int8_t>(instruction)
                     : findDot2<int16_t, uint8_t>(instruction);
  return isSignedB ? findDot2<uint16_t, int8_t>(instruction)
                   : findDot2<uint16_t, uint8_t>(instruction);
}

Handler tw::warpsim::findIntegerMultiply(const Instruction &instruction) {
  Op op = instruction.op;
  if (op == Op::Dp4a || op == Op::Dp2a)
    return findDot(instruction);
  if (instruction.isSaturating && instruction.type == Type::S32) {
    if (op == Op::MadHi)
      return lanes<highAddSaturating>(instruction);
    return op == Op::Mad24 && instruction.isHigh ? lanes<high24AddSaturating>(instruction)
                                                 : nullptr;
  }
  if (instruction.isSaturating || instruction.isRelu)
    return nullptr;
  if (op == Op::Mul24 || op == Op::Mad24) {
    if (instruction.type == Type::U32)
      return find24<uint32_t>(instruction);
    return instruction.type == Type::S32 ? find24<int32_t>(instruction) : nullptr;
  }
  return forInteger(instruction.type,
                    [&]<typename T>() -> Handler { return findFor<T>(instruction); });
}
