// Elements of matrices as numbers, in loops that compile to vectors.
#include "backend/warpsim/core/matrix/MatrixElements.h"
#include "backend/warpsim/exec/Float.h"
#include "backend/warpsim/exec/VectorClones.h"
#include <array>
#include <bit>
#include <cstring>

using namespace tw::warpsim;

TW_VECTOR_CLONES static void halvesToFloats(const uint16_t *codes, unsigned count, float *values) {
  for (unsigned i = 0; i < count; ++i)
    values[i] = floatFromHalf(codes[i]);
}
TW_VECTOR_CLONES static void brainsToFloats(const uint16_t *codes, unsigned count, float *values) {
  for (unsigned i = 0; i < count; ++i)
    values[i] = floatFromBrain(codes[i]);
}
TW_VECTOR_CLONES static void wordsToFloats(const uint32_t *codes, uint32_t mask, unsigned count,
                                           float *values) {
  for (unsigned i = 0; i < count; ++i)
    values[i] = std::bit_cast<float>(codes[i] & mask);
}

TW_VECTOR_CLONES void tw::warpsim::encodeFloats(const float *values, unsigned count,
                                                uint32_t *words) {
  for (unsigned i = 0; i < count; ++i) {
    uint32_t bits = std::bit_cast<uint32_t>(values[i]);
    words[i] = (bits & 0x7fffffff) > 0x7f800000 ? 0x7fffffff : bits;
  }
}

TW_VECTOR_CLONES void tw::warpsim::encodeHalves(const float *low, const float *high, unsigned count,
                                                uint32_t *words) {
  for (unsigned i = 0; i < count; ++i)
    words[i] = halfFromFloat(low[i]) | uint32_t(halfFromFloat(high[i])) << 16;
}

static std::array<float, 256> tableOf(const FloatFormat &format) {
  std::array<float, 256> values;
  for (unsigned code = 0; code < 256; ++code)
    values[code] = float(valueOfCode(code, format));
  return values;
}

static void bytesToFloats(const uint8_t *codes, Type type, unsigned count, float *values) {
  static const std::array<float, 256> e4m3 = tableOf(kE4m3), e5m2 = tableOf(kE5m2);
  const std::array<float, 256> &table = type == Type::E4M3 ? e4m3 : e5m2;
  for (unsigned i = 0; i < count; ++i)
    values[i] = table[codes[i]];
}

void tw::warpsim::decodeElements(Type type, const void *codes, unsigned count, float *values) {
  switch (type) {
  case Type::F16:
    return halvesToFloats(static_cast<const uint16_t *>(codes), count, values);
  case Type::BF16:
    return brainsToFloats(static_cast<const uint16_t *>(codes), count, values);
  case Type::TF32: // the hardware ignores the low 13 bits
    return wordsToFloats(static_cast<const uint32_t *>(codes), 0xffffe000, count, values);
  case Type::E4M3:
  case Type::E5M2:
    return bytesToFloats(static_cast<const uint8_t *>(codes), type, count, values);
  default:
    return wordsToFloats(static_cast<const uint32_t *>(codes), 0xffffffff, count, values);
  }
}

void tw::warpsim::decodeElements(Type type, const void *codes, unsigned count, int32_t *values) {
  const auto *bytes = static_cast<const uint8_t *>(codes);
  auto each = [&](auto element) {
    for (unsigned i = 0; i < count; ++i)
      values[i] = element(i);
  };
  switch (type) {
  case Type::S8:
    return each([&](unsigned i) { return int32_t(int8_t(bytes[i])); });
  case Type::U8:
    return each([&](unsigned i) { return int32_t(bytes[i]); });
  case Type::S4:
    return each(
        [&](unsigned i) { return int32_t(uint32_t(bytes[i / 2]) << (i % 2 ? 24 : 28)) >> 28; });
  case Type::U4:
    return each([&](unsigned i) { return bytes[i / 2] >> (i % 2 ? 4 : 0) & 0xf; });
  default:
    memcpy(values, codes, count * sizeof(int32_t));
  }
}
