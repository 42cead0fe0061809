// Functions of integers by name. Those of 64 and of 32 bits take up to three values and the width
// of the type that they stand for; what comes in is extended as the name's sign says.
#include "backend/warpsim/exec/Float.h"
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/llvmir/NamedFunctions.h"
#include <limits>

using namespace tw::warpsim;

namespace {
template <typename T> using Signed = std::make_signed_t<T>;

template <typename T> T umin(T a, T b, T, uint32_t) { return a < b ? a : b; }
template <typename T> T umax(T a, T b, T, uint32_t) { return a > b ? a : b; }
template <typename T> T smin(T a, T b, T, uint32_t) { return Signed<T>(a) < Signed<T>(b) ? a : b; }
template <typename T> T smax(T a, T b, T, uint32_t) { return Signed<T>(a) > Signed<T>(b) ? a : b; }
template <typename T> T absolute(T a, T, T, uint32_t) { return Signed<T>(a) < 0 ? T(0) - a : a; }
template <typename T> T countOnes(T a, T, T, uint32_t) { return T(std::popcount(a)); }
template <typename T> T countLeading(T a, T, T, uint32_t width) {
  return T(std::countl_zero(a)) - T(sizeof(T) * 8 - width);
}
template <typename T> T countTrailing(T a, T, T, uint32_t width) {
  return a ? T(std::countr_zero(a)) : T(width);
}
template <typename T> T swapBytes(T a, T, T, uint32_t width) {
  T swapped =
      sizeof(T) == 8 ? T(__builtin_bswap64(uint64_t(a))) : T(__builtin_bswap32(uint32_t(a)));
  return swapped >> (sizeof(T) * 8 - width);
}
template <typename T> T reverseBits(T a, T, T, uint32_t width) {
  T result = 0;
  for (uint32_t bit = 0; bit < width; ++bit)
    result |= (a >> bit & 1) << (width - 1 - bit);
  return result;
}
template <typename T> T funnelLeft(T high, T low, T amount, uint32_t width) {
  amount %= width;
  return amount ? high << amount | low >> (width - amount) : high;
}
template <typename T> T funnelRight(T high, T low, T amount, uint32_t width) {
  amount %= width;
  return amount ? low >> amount | high << (width - amount) : low;
}
template <typename T> T greatest(uint32_t width) { return T(~T(0)) >> (sizeof(T) * 8 - width); }
template <typename T> T addUnsigned(T a, T b, T, uint32_t width) {
  T sum = a + b;
  return sum < a || sum > greatest<T>(width) ? greatest<T>(width) : sum;
}
template <typename T> T subtractUnsigned(T a, T b, T, uint32_t) { return a > b ? a - b : 0; }
template <typename T> T clampSigned(__int128 value, uint32_t width) {
  __int128 most = (__int128(1) << (width - 1)) - 1;
  return T(value > most ? most : value < -most - 1 ? -most - 1 : value);
}
template <typename T> T addSigned(T a, T b, T, uint32_t width) {
  return clampSigned<T>(__int128(Signed<T>(a)) + Signed<T>(b), width);
}
template <typename T> T subtractSigned(T a, T b, T, uint32_t width) {
  return clampSigned<T>(__int128(Signed<T>(a)) - Signed<T>(b), width);
}

template <typename T> bool addOverflows(T a, T b) {
  T result;
  return __builtin_add_overflow(a, b, &result);
}
template <typename T> bool subtractOverflows(T a, T b) {
  T result;
  return __builtin_sub_overflow(a, b, &result);
}
template <typename T> bool multiplyOverflows(T a, T b) {
  T result;
  return __builtin_mul_overflow(a, b, &result);
}

using Whole = unsigned __int128;
Whole joined(uint64_t low, uint64_t high) { return Whole(high) << 64 | low; }
uint64_t productHigh(uint64_t a, uint64_t b) { return uint64_t(Whole(a) * b >> 64); }
// Shifts of 128 bits. Greater amounts are poison, and any value will do.
template <unsigned from> uint64_t shiftLeft128(uint64_t low, uint64_t high, uint64_t amount) {
  return uint64_t(joined(low, high) << (amount & 127) >> from);
}
template <unsigned from> uint64_t shiftRight128(uint64_t low, uint64_t high, uint64_t amount) {
  return uint64_t(joined(low, high) >> (amount & 127) >> from);
}
template <unsigned from> uint64_t shiftSigned128(uint64_t low, uint64_t high, uint64_t amount) {
  return uint64_t(__int128(joined(low, high)) >> (amount & 127) >> from);
}

/// v_perm_b32: bytes 0-3 of `low`, 4-7 of `high`; selectors 8 to 11 spread a sign, 12 is zero and
/// above that all ones.
uint32_t permute(uint32_t high, uint32_t low, uint32_t selectors) {
  uint64_t bytes = uint64_t(high) << 32 | low;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t selector = selectors >> 8 * i & 0xff, byte = 0;
    if (selector < 8)
      byte = bytes >> 8 * selector & 0xff;
    else if (selector < 12)
      byte = bytes >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
    else
      byte = selector == 12 ? 0 : 0xff;
    result |= byte << 8 * i;
  }
  return result;
}
uint32_t field(uint32_t value, uint32_t offset, uint32_t width) {
  offset &= 31;
  width &= 31;
  return value >> offset & ((1u << width) - 1);
}
int32_t signedField(int32_t value, uint32_t offset, uint32_t width) {
  offset &= 31;
  width &= 31;
  if (width == 0)
    return 0;
  unsigned unused = 32 - std::min(32u, offset + width);
  return int32_t(uint32_t(value) << unused) >> (32 - width);
}
template <bool isASigned, bool isBSigned> uint32_t dot4(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned i = 0; i < 32; i += 8) {
    int32_t x = isASigned ? int32_t(int8_t(a >> i)) : int32_t(uint8_t(a >> i));
    int32_t y = isBSigned ? int32_t(int8_t(b >> i)) : int32_t(uint8_t(b >> i));
    c += uint32_t(x * y);
  }
  return c;
}
float dot2(uint32_t a, uint32_t b, float c) {
  float low = floatFromHalf(uint16_t(a)) * floatFromHalf(uint16_t(b));
  return floatFromHalf(uint16_t(a >> 16)) * floatFromHalf(uint16_t(b >> 16)) + (low + c);
}
int32_t multiply24(int32_t a, int32_t b) {
  return int32_t(uint32_t(int32_t(uint32_t(a) << 8) >> 8) *
                 uint32_t(int32_t(uint32_t(b) << 8) >> 8));
}
uint32_t multiplyUnsigned24(uint32_t a, uint32_t b) { return (a & 0xffffff) * (b & 0xffffff); }

/// A copy that has a value whatever it is of.
void runFreeze(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  for (LaneMask rest = active; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    writeLane(instruction.results[0], registers, lane,
              readLane(instruction.sources[0], registers, lane), true);
  }
}
void runSelectBits(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  const Operand &a = instruction.sources[0], &b = instruction.sources[1];
  LaneMask takes = readPredicate(instruction.sources[2], registers);
  LaneMask set = (takes & setLanes(a, registers)) | (~takes & setLanes(b, registers));
  writePredicate(instruction.results[0], registers, active,
                 (takes & readPredicate(a, registers)) | (~takes & readPredicate(b, registers)),
                 set & setLanes(instruction.sources[2], registers));
}
template <auto function, typename T>
void runTest(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  LaneMask holds = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    T a = T(readLane(instruction.sources[0], registers, lane));
    T b = T(readLane(instruction.sources[1], registers, lane));
    holds |= LaneMask(function(a, b)) << lane;
  }
  LaneMask set = knownLanes(instruction.sources[0], registers);
  writePredicate(instruction.results[0], registers, active, holds,
                 set & knownLanes(instruction.sources[1], registers));
}
template <auto function> Handler make() { return handlerOf<runLanes<function, Cost::Light>>(); }
} // namespace

#define TW_BOTH(name, function)                                                                    \
  {name ".32", make<function<uint32_t>>()}, { name ".64", make<function<uint64_t>>() }
#define TW_TESTS(name, function, sign)                                                             \
  {name ".32", runTest<function<sign##32_t>, sign##32_t>}, {                                       \
    name ".64", runTest<function<sign##64_t>, sign##64_t>                                          \
  }

Handler tw::warpsim::findNamedInteger(std::string_view name) {
  static const NamedFunction functions[] = {
      TW_BOTH("umin", umin),
      TW_BOTH("umax", umax),
      TW_BOTH("smin", smin),
      TW_BOTH("smax", smax),
      TW_BOTH("abs", absolute),
      TW_BOTH("ctpop", countOnes),
      TW_BOTH("ctlz", countLeading),
      TW_BOTH("cttz", countTrailing),
      TW_BOTH("bswap", swapBytes),
      TW_BOTH("bitreverse", reverseBits),
      TW_BOTH("fshl", funnelLeft),
      TW_BOTH("fshr", funnelRight),
      TW_BOTH("uaddsat", addUnsigned),
      TW_BOTH("usubsat", subtractUnsigned),
      TW_BOTH("saddsat", addSigned),
      TW_BOTH("ssubsat", subtractSigned),
      TW_TESTS("uaddoverflow", addOverflows, uint),
      TW_TESTS("usuboverflow", subtractOverflows, uint),
      TW_TESTS("umuloverflow", multiplyOverflows, uint),
      TW_TESTS("saddoverflow", addOverflows, int),
      TW_TESTS("ssuboverflow", subtractOverflows, int),
      TW_TESTS("smuloverflow", multiplyOverflows, int),
      {"mulhi.64", make<productHigh>()},
      {"shl128.low", make<shiftLeft128<0>>()},
      {"shl128.high", make<shiftLeft128<64>>()},
      {"lshr128.low", make<shiftRight128<0>>()},
      {"lshr128.high", make<shiftRight128<64>>()},
      {"ashr128.low", make<shiftSigned128<0>>()},
      {"ashr128.high", make<shiftSigned128<64>>()},
      {"machine.perm", make<permute>()},
      {"machine.ubfe", make<field>()},
      {"machine.sbfe", make<signedField>()},
      {"machine.udot4", make<dot4<false, false>>()},
      {"machine.sdot4", make<dot4<true, true>>()},
      {"machine.dot4.su", make<dot4<true, false>>()},
      {"machine.dot4.us", make<dot4<false, true>>()},
      {"machine.fdot2", make<dot2>()},
      {"machine.mul.i24", make<multiply24>()},
      {"machine.mul.u24", make<multiplyUnsigned24>()},
      {"freeze.32", runFreeze},
      {"freeze.64", runFreeze},
      {"freeze.1", runFreeze},
      {"select.i1", runSelectBits},
  };
  for (const NamedFunction &function : functions)
    if (function.name == name)
      return function.handler;
  return nullptr;
}
