// Elements of matrices as numbers, many at once.
#ifndef BACKEND_WARPSIM_CORE_MATRIXELEMENTS_H
#define BACKEND_WARPSIM_CORE_MATRIXELEMENTS_H
#include "backend/warpsim/Instruction.h"

namespace tw::warpsim {

/// Decodes `count` elements that lie one after the other: f16, bf16, tf32, e4m3, e5m2, f32.
void decodeElements(Type type, const void *codes, unsigned count, float *values);
/// The same of s8, u8, s4, u4 (the first of two in the low bits) and s32.
void decodeElements(Type type, const void *codes, unsigned count, int32_t *values);

/// Encodes `count` sums as f32, NaN as the one that GPUs make.
void encodeFloats(const float *values, unsigned count, uint32_t *words);
/// Encodes pairs of f16 in words: value i of `low` in the low bits, of `high` above.
void encodeHalves(const float *low, const float *high, unsigned count, uint32_t *words);

} // namespace tw::warpsim
#endif
