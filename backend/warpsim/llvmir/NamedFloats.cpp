// Functions of floats by name. Those that a GPU approximates are rounded correctly, subnormals
// flushed where the instruction flushes them.
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"
#include "backend/warpsim/llvmir/NamedFunctions.h"
#include <cmath>

using namespace tw::warpsim;

namespace {
/// A function of doubles applied to f32, rounded once.
template <double (*function)(double)> float single(float x) { return float(function(double(x))); }
/// The same as a machine instruction, which takes and gives no subnormals.
template <double (*function)(double)> float flushed(float x) {
  return flushSubnormal(float(function(double(flushSubnormal(x)))));
}
double reciprocal(double x) { return 1 / x; }
double reciprocalRoot(double x) { return 1 / std::sqrt(x); }
double power10(double x) { return std::pow(10.0, x); }
/// The argument counts whole turns.
double sineOfTurns(double x) { return std::sin(6.283185307179586476925 * (x - std::floor(x))); }
double cosineOfTurns(double x) { return std::cos(6.283185307179586476925 * (x - std::floor(x))); }
double identity(double x) { return x; }
float fraction(float x) { return std::fmin(x - std::floor(x), 0x1.fffffep-1f); }
double fractionWide(double x) { return std::fmin(x - std::floor(x), 0x1.fffffffffffffp-1); }

float powerSingle(float x, float y) { return float(std::pow(double(x), double(y))); }
template <typename T> T remainder(T x, T y) { return std::fmod(x, y); }
template <typename T> T scale(T x, int32_t power) { return std::ldexp(x, power); }
template <typename T> T mantissa(T x) {
  int exponent = 0;
  return std::frexp(x, &exponent);
}
template <typename T> int32_t exponentOf(T x) {
  int exponent = 0;
  if (!std::isfinite(x))
    return 0;
  std::frexp(x, &exponent);
  return exponent;
}
template <typename T> T withSign(T magnitude, T sign) { return std::copysign(magnitude, sign); }
template <bool isMin, bool nanWins, typename T> T extremumOf(T a, T b) {
  return extremum<isMin, nanWins>(a, b);
}
float median(float a, float b, float c) {
  if (a != a || b != b || c != c)
    return extremum<true, false>(extremum<true, false>(a, b), c);
  return std::fmax(std::fmin(a, b), std::fmin(std::fmax(a, b), c));
}
template <typename T> T absolute(T x) { return std::fabs(x); }
float oddFromDouble(double x) { return narrowToOdd(x); }

/// An integer as bf16 with one rounding.
template <typename T> Brain brainOf(T value) {
  double nearest = double(value);
  __int128 error = __int128(value) - __int128(nearest);
  return Brain{brainFromFloat(narrowToOdd(roundToOdd(nearest, double(error))))};
}

/// LLVM's classes of floats: signalling and quiet NaN, then from -inf to +inf.
template <typename T> uint32_t classOf(T x) {
  using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
  Bits bits = std::bit_cast<Bits>(x);
  bool isNegative = bits >> (sizeof(T) * 8 - 1);
  switch (std::fpclassify(x)) {
  case FP_NAN:
    return bits >> (sizeof(T) == 8 ? 51 : 22) & 1 ? 2 : 1;
  case FP_INFINITE:
    return isNegative ? 4 : 0x200;
  case FP_NORMAL:
    return isNegative ? 8 : 0x100;
  case FP_SUBNORMAL:
    return isNegative ? 0x10 : 0x80;
  default:
    return isNegative ? 0x20 : 0x40;
  }
}
template <typename T>
void runClass(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  LaneMask holds = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    T value = decode<T>(Storage<T>(readLane(instruction.sources[0], registers, lane)));
    holds |= LaneMask((classOf(value) & instruction.sources[1].bits) != 0) << lane;
  }
  writePredicate(instruction.results[0], registers, active, holds,
                 knownLanes(instruction.sources[0], registers));
}

/// A float of 8 bits. The formats of gfx942 (fnuz) have exponents biased by one more, no
/// infinities, one zero, and NaN where -0 would be.
template <const FloatFormat &format, bool isFnuz> float decodeByte(uint32_t code) {
  if constexpr (!isFnuz) {
    return float(valueOfCode(code & 0xff, format));
  } else {
    constexpr FloatFormat wider = {
        format.exponentBits, format.mantissaBits, format.bias + 1, 0x7f, 0, 0x7f};
    uint32_t magnitude = code & 0x7f, exponent = magnitude >> format.mantissaBits;
    uint32_t mantissa = magnitude & ((1u << format.mantissaBits) - 1);
    if ((code & 0xff) == 0x80)
      return std::nanf("");
    int shift = int(exponent ? exponent : 1) - wider.bias - int(format.mantissaBits);
    float value = std::ldexp(float(mantissa | (exponent ? 1u << format.mantissaBits : 0)), shift);
    return code & 0x80 ? -value : value;
  }
}
/// To nearest even; what is too large becomes NaN, or infinity where there is one (the machine's
/// mode without clamping).
template <const FloatFormat &format, bool isFnuz> uint32_t encodeByte(float value) {
  if constexpr (!isFnuz)
    return roundToFormat(double(value), format, Rounding::Rn, false);
  if (value != value)
    return 0x80;
  uint32_t best = 0, sign = std::signbit(value) ? 0x80 : 0;
  float magnitude = std::fabs(value);
  // Codes ascend with their values: the last one not above, or the next by the rule of nearest
  // even.
  uint32_t low = 0, high = 0x7f;
  while (low < high) {
    uint32_t middle = (low + high + 1) / 2;
    (decodeByte<format, isFnuz>(middle) <= magnitude ? low : high) =
        decodeByte<format, isFnuz>(middle) <= magnitude ? middle : middle - 1;
  }
  best = low;
  float below = decodeByte<format, isFnuz>(low);
  float above = low < 0x7f ? decodeByte<format, isFnuz>(low + 1)
                           : below + (below - decodeByte<format, isFnuz>(low - 1));
  float up = above - magnitude, down = magnitude - below;
  best += up < down || (up == down && (low & 1));
  if (best > 0x7f)
    return 0x80;
  return best ? best | sign : 0;
}

template <auto function> Handler make() { return handlerOf<runLanes<function, Cost::Heavy>>(); }
template <auto function> Handler makeLight() {
  return handlerOf<runLanes<function, Cost::Light>>();
}
} // namespace

template <size_t count>
static Handler findIn(const NamedFunction (&functions)[count], std::string_view name) {
  for (const NamedFunction &function : functions)
    if (function.name == name)
      return function.handler;
  return nullptr;
}

static Handler findTranscendental(std::string_view name) {
  static const NamedFunction functions[] = {
      {"exp.f32", make<single<std::exp>>()},
      {"exp.f64", make<static_cast<double (*)(double)>(std::exp)>()},
      {"exp2.f32", make<single<std::exp2>>()},
      {"exp2.f64", make<static_cast<double (*)(double)>(std::exp2)>()},
      {"exp10.f32", make<single<power10>>()},
      {"exp10.f64", make<power10>()},
      {"log.f32", make<single<std::log>>()},
      {"log.f64", make<static_cast<double (*)(double)>(std::log)>()},
      {"log2.f32", make<single<std::log2>>()},
      {"log2.f64", make<static_cast<double (*)(double)>(std::log2)>()},
      {"log10.f32", make<single<std::log10>>()},
      {"log10.f64", make<static_cast<double (*)(double)>(std::log10)>()},
      {"sin.f32", make<single<std::sin>>()},
      {"sin.f64", make<static_cast<double (*)(double)>(std::sin)>()},
      {"cos.f32", make<single<std::cos>>()},
      {"cos.f64", make<static_cast<double (*)(double)>(std::cos)>()},
      {"tan.f32", make<single<std::tan>>()},
      {"tan.f64", make<static_cast<double (*)(double)>(std::tan)>()},
      {"tanh.f32", make<single<std::tanh>>()},
      {"tanh.f64", make<static_cast<double (*)(double)>(std::tanh)>()},
      {"sqrt.f32", makeLight<single<std::sqrt>>()},
      {"sqrt.f64", makeLight<static_cast<double (*)(double)>(std::sqrt)>()},
      {"pow.f32", make<powerSingle>()},
      {"pow.f64", make<static_cast<double (*)(double, double)>(std::pow)>()},
  };
  return findIn(functions, name);
}

static Handler findOther(std::string_view name) {
  static const NamedFunction functions[] = {
      {"floor.f32", makeLight<single<std::floor>>()},
      {"floor.f64", makeLight<static_cast<double (*)(double)>(std::floor)>()},
      {"ceil.f32", makeLight<single<std::ceil>>()},
      {"ceil.f64", makeLight<static_cast<double (*)(double)>(std::ceil)>()},
      {"trunc.f32", makeLight<single<std::trunc>>()},
      {"trunc.f64", makeLight<static_cast<double (*)(double)>(std::trunc)>()},
      {"rint.f32", makeLight<single<std::nearbyint>>()},
      {"rint.f64", makeLight<static_cast<double (*)(double)>(std::nearbyint)>()},
      {"round.f32", make<single<std::round>>()},
      {"round.f64", make<static_cast<double (*)(double)>(std::round)>()},
      {"fmod.f32", make<remainder<float>>()},
      {"fmod.f64", make<remainder<double>>()},
      {"ldexp.f32", make<scale<float>>()},
      {"ldexp.f64", make<scale<double>>()},
      {"frexp.mant.f32", make<mantissa<float>>()},
      {"frexp.mant.f64", make<mantissa<double>>()},
      {"frexp.exp.f32", make<exponentOf<float>>()},
      {"frexp.exp.f64", make<exponentOf<double>>()},
      {"minnum.f32", makeLight<extremumOf<true, false, float>>()},
      {"minnum.f64", makeLight<extremumOf<true, false, double>>()},
      {"maxnum.f32", makeLight<extremumOf<false, false, float>>()},
      {"maxnum.f64", makeLight<extremumOf<false, false, double>>()},
      {"minimum.f32", makeLight<extremumOf<true, true, float>>()},
      {"minimum.f64", makeLight<extremumOf<true, true, double>>()},
      {"maximum.f32", makeLight<extremumOf<false, true, float>>()},
      {"maximum.f64", makeLight<extremumOf<false, true, double>>()},
      {"copysign.f32", makeLight<withSign<float>>()},
      {"copysign.f64", makeLight<withSign<double>>()},
      {"fabs.f32", makeLight<absolute<float>>()},
      {"fabs.f64", makeLight<absolute<double>>()},
      {"canonicalize.f32", makeLight<single<identity>>()},
      {"canonicalize.f64", makeLight<identity>()},
  };
  return findIn(functions, name);
}

/// Instructions of AMD's, and conversions.
static Handler findMachine(std::string_view name) {
  static const NamedFunction functions[] = {
      {"med3.f32", makeLight<median>()},
      {"narrow.odd", makeLight<oddFromDouble>()},
      {"brain.s32", make<brainOf<int32_t>>()},
      {"brain.u32", make<brainOf<uint32_t>>()},
      {"brain.s64", make<brainOf<int64_t>>()},
      {"brain.u64", make<brainOf<uint64_t>>()},
      {"class.f32", runClass<float>},
      {"class.f64", runClass<double>},
      {"machine.exp2", make<flushed<std::exp2>>()},
      {"machine.log", make<flushed<std::log2>>()},
      {"machine.rcp", makeLight<flushed<reciprocal>>()},
      {"machine.rcp.f64", makeLight<reciprocal>()},
      {"machine.rsq", makeLight<flushed<reciprocalRoot>>()},
      {"machine.rsq.f64", makeLight<reciprocalRoot>()},
      {"machine.sqrt", makeLight<flushed<std::sqrt>>()},
      {"machine.sin", make<flushed<sineOfTurns>>()},
      {"machine.cos", make<flushed<cosineOfTurns>>()},
      {"decode.e4m3", make<decodeByte<kE4m3, false>>()},
      {"decode.e5m2", make<decodeByte<kE5m2, false>>()},
      {"decode.e4m3.fnuz", make<decodeByte<kE4m3, true>>()},
      {"decode.e5m2.fnuz", make<decodeByte<kE5m2, true>>()},
      {"encode.e4m3", make<encodeByte<kE4m3, false>>()},
      {"encode.e5m2", make<encodeByte<kE5m2, false>>()},
      {"encode.e4m3.fnuz", make<encodeByte<kE4m3, true>>()},
      {"encode.e5m2.fnuz", make<encodeByte<kE5m2, true>>()},
      {"machine.fract", makeLight<fraction>()},
      {"machine.fract.f64", makeLight<fractionWide>()},
  };
  return findIn(functions, name);
}

Handler tw::warpsim::findNamedFloat(std::string_view name) {
  if (Handler handler = findTranscendental(name))
    return handler;
  Handler handler = findOther(name);
  return handler ? handler : findMachine(name);
}

Handler tw::warpsim::findNamedFunction(std::string_view name) {
  Handler handler = findNamedFloat(name);
  return handler ? handler : findNamedInteger(name);
}
