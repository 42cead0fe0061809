/* What callers pass as the bits that kernels take, and whether kernels take it. */
#include "runtime/aot/Tables.h"
#include <string.h>

enum { TW_BRAIN_BITS = 17 }; /* the bits of brain floats, where those of half floats are 16 */
enum { TW_REACHABLE_BYTES = 0x7FFF0000 };

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

/* Refuses an array that offsets of 32 bits do not reach all of: on AMD's GPUs they count bytes
 * (kReachableBytes of runtime/Specialization.h), elsewhere elements. */
static int tw_check_reach(const struct tw_kernel *kernel, unsigned index, uint64_t bytes,
                          int device, struct tilewright_error *error) {
  const struct tw_argument *argument = &kernel->arguments[index];
  uint64_t most = device >= TILEWRIGHT_HIP_GPU(0) ? TW_REACHABLE_BYTES
                                                  : (uint64_t)INT32_MAX * argument->element_bytes;
  if (!argument->element_bytes || bytes <= most)
    return TILEWRIGHT_SUCCESS;
  return tw_fail(error, TILEWRIGHT_OPERATOR,
                 "the argument `%s` of %s has %llu bytes, and code of the package reaches %llu: "
                 "export it as :large",
                 argument->name, kernel->name, (unsigned long long)bytes, (unsigned long long)most);
}
