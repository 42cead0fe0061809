/* Numbers of callers as the bits that kernels take. */
#include "runtime/aot/Tables.h"
#include <string.h>

enum { TW_BRAIN_BITS = 17 }; /* the bits of brain floats, where those of half floats are 16 */

/* Whether an integer is one of a type: kind 'i' or 'u', of so many bits. */
static int tw_fits(char kind, unsigned bits, int64_t given) {
  int64_t end = bits >= 64 ? 0 : INT64_C(1) << (bits - (kind == 'i'));
  int64_t least = kind == 'i' ? -end : 0;
  return !((kind == 'u' && given < 0) || (end && (given < least || given >= end)));
}

/* The bits of a float of a type that is as wide as `bits` says. */
static uint64_t tw_float_bits(unsigned bits, double wide) {
  uint64_t value = 0;
  float single = (float)wide;
  if (bits == 64)
    memcpy(&value, &wide, sizeof(wide));
  else if (bits == 32)
    memcpy(&value, &single, sizeof(single));
  else
    value =
        tw_narrow((double)single, bits == TW_BRAIN_BITS ? TW_BFLOAT_MANTISSA : TW_HALF_MANTISSA);
  return value;
}
