// The arithmetic of mma: vectors of eight columns, and a model of a tensor core's adder.
#include "backend/warpsim/core/matrix/MatrixArithmetic.h"
#include "backend/warpsim/exec/LaneLoop.h"
#include "backend/warpsim/exec/VectorClones.h"
#include <algorithm>

using namespace tw::warpsim;

template <typename T> [[gnu::always_inline]] inline T fuse(T a, T b, T c) {
  if constexpr (sizeof(T) == 4)
    return __builtin_fmaf(a, b, c);
  else
    return __builtin_fma(a, b, c);
}

template <typename T> [[gnu::always_inline]] inline void chain(MatrixProduct<T> &product) {
  for (unsigned row = 0; row < product.rows; ++row) {
    T sums[kMatrixColumns];
    T *c = product.c + row * kMatrixColumns;
    for (unsigned n = 0; n < kMatrixColumns; ++n)
      sums[n] = c[n];
    for (unsigned k = 0; k < product.depth; ++k)
      for (unsigned n = 0; n < kMatrixColumns; ++n)
        sums[n] =
            fuse(product.a[row * product.depth + k], product.b[k * kMatrixColumns + n], sums[n]);
    for (unsigned n = 0; n < kMatrixColumns; ++n)
      c[n] = sums[n];
  }
}

#if defined(__x86_64__)
template <typename T>
[[gnu::target("arch=x86-64-v3")]] static void chainOnVectorUnit(MatrixProduct<T> &product) {
  chain(product);
}
#endif

/// Fused multiply-adds are instructions on machines with a vector unit, and calls elsewhere.
template <typename T> static void chainAnywhere(MatrixProduct<T> &product) {
#if defined(__x86_64__)
  if (hasVectorUnit())
    return chainOnVectorUnit(product);
#endif
  chain(product);
}

void tw::warpsim::multiplyFast(MatrixProduct<float> &product) { chainAnywhere(product); }
void tw::warpsim::multiplyFast(MatrixProduct<double> &product) { chainAnywhere(product); }

TW_VECTOR_CLONES static void chainIntegers(const int32_t *a, const int32_t *b, int32_t *c,
                                           unsigned rows, unsigned depth) {
  for (unsigned row = 0; row < rows; ++row) {
    uint32_t sums[kMatrixColumns];
    for (unsigned n = 0; n < kMatrixColumns; ++n)
      sums[n] = uint32_t(c[row * kMatrixColumns + n]);
    for (unsigned k = 0; k < depth; ++k)
      for (unsigned n = 0; n < kMatrixColumns; ++n)
        sums[n] += uint32_t(a[row * depth + k]) * uint32_t(b[k * kMatrixColumns + n]);
    for (unsigned n = 0; n < kMatrixColumns; ++n)
      c[row * kMatrixColumns + n] = int32_t(sums[n]);
  }
}

void tw::warpsim::multiplyIntegers(MatrixProduct<int32_t> &product, bool isSaturating) {
  if (!isSaturating)
    return chainIntegers(product.a, product.b, product.c, product.rows, product.depth);
  for (unsigned row = 0; row < product.rows; ++row)
    for (unsigned n = 0; n < kMatrixColumns; ++n) {
      int32_t &c = product.c[row * kMatrixColumns + n];
      int64_t sum = c;
      for (unsigned k = 0; k < product.depth; ++k)
        sum += int64_t(product.a[row * product.depth + k]) * product.b[k * kMatrixColumns + n];
      c = int32_t(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
    }
}

static int minExponentOf(Type type) {
  switch (type) {
  case Type::F16:
  case Type::E5M2:
    return -14;
  case Type::E4M3:
    return -6;
  default: // bf16 and tf32
    return -126;
  }
}

TensorCoreRule tw::warpsim::ruleOf(const Instruction &instruction, unsigned arch) {
  TensorCoreRule rule;
  unsigned bits = elementBitsOf(instruction.sourceType);
  bool isHopperOn = arch >= 90, isQuarter = bits == 8;
  // Since Hopper one pass adds 256 bits of each operand; before, two passes of 128 do.
  rule.block = (isHopperOn ? 256 : 128) / bits;
  rule.fractionBits = isHopperOn ? 25 : 24;
  if (isQuarter && instruction.op == Op::WarpgroupMma) {
    rule.fractionBits = rule.resultBits = 13;
  } else if (isQuarter) {
    // Ada has fp8 units with a narrower adder; on Hopper mma.sync goes through f16.
    rule.block = 16;
    rule.fractionBits = isHopperOn ? 25 : 13;
    rule.resultBits = isHopperOn ? 23 : 13;
  }
  rule.minExponent = minExponentOf(instruction.sourceType);
  rule.minExponentOfB = minExponentOf(instruction.secondType);
  rule.isHalf = instruction.type == Type::F16;
  return rule;
}

namespace {
/// magnitude * 2^(exponent - fractionBits), negative or not.
struct Term {
  uint64_t magnitude = 0;
  int exponent = 0;
  bool isNegative = false;
};
constexpr unsigned kFraction = 23; // of the significand of an f32
} // namespace

/// A finite value with 23 bits after the point; values below the format's range keep its least
/// exponent.
static Term split(float value, int minExponent) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  int exponent = int(bits >> 23 & 0xff);
  uint64_t significand = (bits & 0x7fffff) | (exponent ? 1u << 23 : 0);
  exponent = std::max(exponent, 1) - 127;
  if (exponent < minExponent) {
    // Exact: the format has these bits, or the value is zero.
    significand >>= std::min(minExponent - exponent, 63);
    exponent = minExponent;
  }
  return {significand, exponent, (bits >> 31) != 0};
}

/// The sum of aligned, cut terms in units of 2^(exponent - fractionBits).
static int64_t addAligned(const Term *terms, unsigned count, int exponent, unsigned fractionBits) {
  int64_t sum = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Term &term = terms[i];
    // Products have 46 bits after the point, and so has the accumulator here.
    unsigned drop = unsigned(exponent - term.exponent) + 2 * kFraction - fractionBits;
    uint64_t cut = drop < 64 ? term.magnitude >> drop : 0;
    sum += term.isNegative ? -int64_t(cut) : int64_t(cut);
  }
  return sum;
}

/// sum * 2^scale with `mantissaBits`, cut toward zero.
static float cutToFloat(int64_t sum, int scale, unsigned mantissaBits) {
  uint64_t magnitude = uint64_t(sum < 0 ? -sum : sum);
  if (magnitude == 0)
    return 0;
  int top = 63 - __builtin_clzll(magnitude) + scale; // exponent of the leading bit
  int least = std::max(top, -126) - int(mantissaBits);
  if (int drop = least - scale; drop > 0)
    magnitude = drop < 64 ? magnitude >> drop << drop : 0;
  float value = float(std::ldexp(double(magnitude), scale));
  return sum < 0 ? -value : value;
}

static Term multiply(const Term &x, const Term &y) {
  return {x.magnitude * y.magnitude, x.exponent + y.exponent, x.isNegative != y.isNegative};
}

/// The finite products of a block of the depth and the accumulator.
static float addBlock(const Term *a, const Term *b, unsigned count, float c,
                      const TensorCoreRule &rule) {
  Term terms[kMaxMatrixDepth + 1];
  unsigned numTerms = 0;
  int exponent = INT32_MIN;
  auto add = [&](const Term &term) {
    terms[numTerms] = term;
    numTerms += term.magnitude != 0; // zeros have no exponent to align to
    exponent = term.magnitude ? std::max(exponent, term.exponent) : exponent;
  };
  for (unsigned k = 0; k < count; ++k)
    add(multiply(a[k], b[k * kMatrixColumns]));
  Term accumulated = split(c, rule.isHalf ? -14 : -126);
  accumulated.magnitude <<= kFraction;
  add(accumulated);
  if (numTerms == 0)
    return 0;
  int64_t sum = addAligned(terms, numTerms, exponent, rule.fractionBits);
  int scale = exponent - int(rule.fractionBits);
  if (!rule.isHalf)
    return cutToFloat(sum, scale, rule.resultBits);
  uint32_t code = roundToFormat(std::ldexp(double(sum), scale), kHalf, Rounding::Rn);
  return floatFromHalf(uint16_t(code));
}

/// The sum of what is infinite or NaN in a dot product; 0 where nothing is.
static float addSpecials(const float *a, const float *b, unsigned depth, float c) {
  float sum = std::isfinite(c) ? 0 : c;
  for (unsigned k = 0; k < depth; ++k)
    if (!std::isfinite(a[k]) || !std::isfinite(b[k * kMatrixColumns]))
      sum += a[k] * b[k * kMatrixColumns];
  return sum;
}

void tw::warpsim::multiplyExactly(MatrixProduct<float> &product, const TensorCoreRule &rule) {
  Term a[kMaxMatrixElements], b[kMaxMatrixDepth * kMatrixColumns];
  unsigned depth = product.depth;
  for (unsigned i = 0; i < product.rows * depth; ++i)
    a[i] = split(product.a[i], rule.minExponent);
  for (unsigned i = 0; i < depth * kMatrixColumns; ++i)
    b[i] = split(product.b[i], rule.minExponentOfB);
  for (unsigned row = 0; row < product.rows; ++row)
    for (unsigned n = 0; n < kMatrixColumns; ++n) {
      float &c = product.c[row * kMatrixColumns + n];
      float special = addSpecials(product.a + row * depth, product.b + n, depth, c);
      for (unsigned k = 0; k < depth && special == 0 && std::isfinite(c); k += rule.block)
        c = addBlock(a + row * depth + k, b + k * kMatrixColumns + n,
                     std::min(rule.block, depth - k), c, rule);
      c = special == 0 ? c : special;
    }
}
