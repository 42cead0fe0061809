// Reciprocals, roots, exponentials and the like, sign and class of floats. What PTX calls
// approximate is computed in double and rounded to the type; GPUs differ from it in the last
// places.
#include "backend/warpsim/exec/FloatOperations.h"
#include "backend/warpsim/exec/Handlers.h"

using namespace tw::warpsim;

static double exponential2(double a) { return std::exp2(a); }
static double logarithm2(double a) { return std::log2(a); }
static double sine(double a) { return std::sin(a); }
static double cosine(double a) { return std::cos(a); }
static double hyperbolicTangent(double a) { return std::tanh(a); }
static double reciprocal(double a) { return 1.0 / a; }
static double squareRoot(double a) { return std::sqrt(a); }
static double reciprocalRoot(double a) { return 1.0 / std::sqrt(a); }

template <auto function, bool isFtz> static float single(float a) {
  return canonical(flushIf<isFtz>(static_cast<float>(function(flushIf<isFtz>(a)))));
}

template <auto function> static Handler findSingle(const Instruction &instruction) {
  return forFlag(instruction.isFtz, [&]<bool isFtz>() -> Handler {
    return lanes<single<function, isFtz>, Cost::Heavy>(instruction);
  });
}

template <auto function>
[[gnu::always_inline]] static inline uint16_t halfCode(uint16_t code, bool isFtz) {
  if (isFtz && !(code & 0x7c00))
    code &= 0x8000;
  uint16_t result = halfFromFloat(narrowToOdd(function(floatFromHalf(code))));
  return isFtz && !(result & 0x7c00) ? result & 0x8000 : result;
}
/// ex2.approx.ftz.bf16 is the only form with subnormals, and flushes them always.
template <auto function>
[[gnu::always_inline]] static inline uint16_t brainCode(uint16_t code, bool isFtz) {
  float value = floatFromBrain(code);
  uint16_t result = brainFromFloat(narrowToOdd(function(isFtz ? flushSubnormal(value) : value)));
  return isFtz && !(result & 0x7f80) ? result & 0x8000 : result;
}
template <auto codeOf> static uint32_t oneCode(const Instruction &instruction, uint32_t a) {
  return codeOf(static_cast<uint16_t>(a), instruction.isFtz);
}
template <auto codeOf> static uint32_t twoCodes(const Instruction &instruction, uint32_t a) {
  uint32_t high = codeOf(static_cast<uint16_t>(a >> 16), instruction.isFtz);
  return codeOf(static_cast<uint16_t>(a), instruction.isFtz) | (high << 16);
}

template <auto function> static Handler findNarrow(const Instruction &instruction) {
  switch (instruction.type) {
  case Type::F32:
    return findSingle<function>(instruction);
  case Type::F16:
    return lanes<oneCode<halfCode<function>>, Cost::Heavy>(instruction);
  case Type::F16x2:
    return lanes<twoCodes<halfCode<function>>, Cost::Heavy>(instruction);
  case Type::BF16:
    return lanes<oneCode<brainCode<function>>, Cost::Heavy>(instruction);
  case Type::BF16x2:
    return lanes<twoCodes<brainCode<function>>, Cost::Heavy>(instruction);
  default:
    return nullptr;
  }
}

/// {rcp,rsqrt}.approx.ftz.f64 read and write the upper 32 bits only (PTX ISA,
/// "rcp.approx.ftz.f64").
template <auto function> static double upperWord(double a) {
  auto cut = [](double value) {
    uint64_t bits = std::bit_cast<uint64_t>(value) & 0xffffffff00000000;
    bool isSubnormal = (bits & 0x7ff0000000000000) == 0;
    return std::bit_cast<double>(isSubnormal ? bits & 0x8000000000000000 : bits);
  };
  double value = cut(a), result = function(value);
  return result != result ? std::bit_cast<double>(0x7fffffff00000000) : cut(result);
}

static Handler findReciprocalOrRoot(const Instruction &instruction) {
  if (!instruction.isApproximate && instruction.op != Op::Rsqrt)
    return isFloat(instruction.type) ? findFloatArithmetic(instruction) : nullptr;
  bool isDouble = instruction.type == Type::F64;
  if (!isDouble && instruction.type != Type::F32)
    return nullptr;
  switch (instruction.op) {
  case Op::Rcp:
    return isDouble ? lanes<upperWord<reciprocal>>(instruction)
                    : findSingle<reciprocal>(instruction);
  case Op::Sqrt:
    return isDouble ? nullptr : findSingle<squareRoot>(instruction);
  default:
    if (!isDouble)
      return findSingle<reciprocalRoot>(instruction);
    return instruction.isFtz ? lanes<upperWord<reciprocalRoot>>(instruction)
                             : lanes<reciprocalRoot>(instruction);
  }
}

/// copysign d, a, b: the magnitude of b with the sign of a.
template <typename T> static T copySign(T a, T b) { return std::copysign(b, a); }

template <typename T> static bool testClass(TestpKind kind, T value) {
  switch (kind) {
  case TestpKind::Finite:
    return std::isfinite(value);
  case TestpKind::Infinite:
    return std::isinf(value);
  case TestpKind::Number:
    return !std::isnan(value);
  case TestpKind::NotANumber:
    return std::isnan(value);
  case TestpKind::Normal:
    return std::isnormal(value);
  case TestpKind::Subnormal:
    return std::fpclassify(value) == FP_SUBNORMAL;
  }
  return false;
}

template <typename T>
static void runTest(const Instruction &instruction, WarpRegisters &registers, LaneMask active) {
  LaneMask holds = 0;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uint64_t bits = readLane(instruction.sources[0], registers, lane);
    T value = decode<T>(static_cast<Storage<T>>(bits));
    holds |= LaneMask(testClass(instruction.testp, value)) << lane;
  }
  writePredicate(instruction.results[0], registers, active, holds,
                 knownLanes(instruction.sources[0], registers));
}

static Handler findTest(const Instruction &instruction) {
  if (instruction.sources.size() != 1 || instruction.results.size() != 1)
    return nullptr;
  if (instruction.type == Type::F32)
    return runTest<float>;
  return instruction.type == Type::F64 ? runTest<double> : nullptr;
}

Handler tw::warpsim::findFloatFunction(const Instruction &instruction) {
  if (instruction.isSaturating)
    return nullptr;
  bool isSingle = instruction.type == Type::F32;
  switch (instruction.op) {
  case Op::Rcp:
  case Op::Sqrt:
  case Op::Rsqrt:
    return findReciprocalOrRoot(instruction);
  case Op::Ex2:
    return findNarrow<exponential2>(instruction);
  case Op::Tanh:
    return findNarrow<hyperbolicTangent>(instruction);
  case Op::Lg2:
    return isSingle ? findSingle<logarithm2>(instruction) : nullptr;
  case Op::Sin:
    return isSingle ? findSingle<sine>(instruction) : nullptr;
  case Op::Cos:
    return isSingle ? findSingle<cosine>(instruction) : nullptr;
  case Op::Copysign:
    if (isSingle)
      return lanes<copySign<float>>(instruction);
    return instruction.type == Type::F64 ? lanes<copySign<double>>(instruction) : nullptr;
  case Op::Testp:
    return findTest(instruction);
  default:
    return nullptr;
  }
}
