/* What compiled code for processors calls: polls, the clock, printing, conversions of narrow floats.
 * The names are those of backend/cpu/KernelAbi.h behind the package's prefix, TW_NAME. */
#include "runtime/aot/Tables.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Called from assembly only, which link-time optimization does not look into. */
#if defined(__GNUC__) && !defined(__clang__)
#define TW_HOST __attribute__((visibility("hidden"), used, externally_visible))
#else
#define TW_HOST __attribute__((visibility("hidden"), used))
#endif

TW_HOST void TW_NAME(tw_poll)(struct tw_program *program);
TW_HOST int64_t TW_NAME(tw_device_clock)(void);
TW_HOST void TW_NAME(tw_device_print)(const struct tw_program *program, const char *prefix,
                                      const char *shape, char type, int32_t hex_digits,
                                      int64_t index, uint64_t bits);
TW_HOST float TW_NAME(__truncsfhf2)(float value);
TW_HOST float TW_NAME(__truncdfhf2)(double value);
TW_HOST float TW_NAME(__truncsfbf2)(float value);
TW_HOST float TW_NAME(__truncdfbf2)(double value);
TW_HOST float TW_NAME(__extendhfsf2)(float value);

/* Nothing stops a launch of a package. */
void TW_NAME(tw_poll)(struct tw_program *program) { program->until_poll = INT32_MAX; }

int64_t TW_NAME(tw_device_clock)(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The extents of a shape such as "4x8"; how many there are. */
static int tw_read_extents(const char *shape, int64_t *extents) {
  int rank = 0;
  while (*shape && rank < 16) {
    int64_t extent = 0;
    while (*shape >= '0' && *shape <= '9')
      extent = 10 * extent + (*shape++ - '0');
    extents[rank++] = extent;
    shape += *shape == 'x';
  }
  return rank;
}

static int tw_print_index(char *text, size_t bytes, const char *shape, int64_t index) {
  int64_t extents[16], places[16];
  int rank = tw_read_extents(shape, extents), length = 0;
  for (int axis = rank - 1; axis >= 0; --axis) {
    places[axis] = index % extents[axis];
    index /= extents[axis];
  }
  for (int axis = 0; axis < rank; ++axis) {
    int width = 0;
    for (int64_t reached = 1; reached < extents[axis]; reached *= 10)
      ++width;
    length += snprintf(text + length, bytes - (size_t)length, "%s%*" PRId64, axis ? ", " : "",
                       width, places[axis]);
  }
  return length;
}

static void tw_print_value(char *text, size_t bytes, char type, int32_t hex_digits,
                           uint64_t bits) {
  double number;
  if (type == 'p')
    (void)snprintf(text, bytes, "0x%" PRIx64, bits);
  else if (hex_digits > 0)
    (void)snprintf(text, bytes, "0x%0*" PRIx64, (int)hex_digits,
                   bits & (~(uint64_t)0 >> (64 - 4 * hex_digits)));
  else if (type == 'f') {
    memcpy(&number, &bits, sizeof(number));
    (void)snprintf(text, bytes, "%f", number);
  } else if (type == 'u')
    (void)snprintf(text, bytes, "%" PRIu64, bits);
  else
    (void)snprintf(text, bytes, "%" PRId64, (int64_t)bits);
}

/* The line of backend/inspect/PrintedLine.h. One call of stdio: lines of several threads do not mix. */
void TW_NAME(tw_device_print)(const struct tw_program *program, const char *prefix,
                              const char *shape, char type, int32_t hex_digits, int64_t index,
                              uint64_t bits) {
  const int32_t *id = program->program_id;
  char place[400] = "", value[400] = "";
  if (type != 'n') {
    tw_print_index(place, sizeof(place), shape, index);
    tw_print_value(value, sizeof(value), type, hex_digits, bits);
  }
  (void)printf(type == 'n' ? "pid (%d, %d, %d)%s%s%s%s\n" : "pid (%d, %d, %d) idx (%s)%s%s%s\n",
               (int)id[0], (int)id[1], (int)id[2], type == 'n' ? prefix : place,
               type == 'n' ? "" : prefix, value, "");
}

/* A 16-bit float with `mantissa` bits behind the point, rounded once to nearest even. Every float32
 * is a float64, so both are narrowed here. */
static uint16_t tw_narrow(double value, int mantissa) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  const int exponent_bits = 15 - mantissa, bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = (uint16_t)(bits >> 63 << 15);
  const uint16_t infinity = (uint16_t)(((1u << exponent_bits) - 1) << mantissa);
  int exponent = (int)(bits >> 52 & 0x7ff);
  uint64_t fraction = bits & 0xfffffffffffffULL;
  if (exponent == 0x7ff && fraction)
    return (uint16_t)(sign | infinity | 1u << (mantissa - 1) | fraction >> (52 - mantissa));
  exponent -= 1023;
  if (exponent > bias)
    return (uint16_t)(sign | infinity);
  int shift = 52 - mantissa, least = 1 - bias;
  int below = exponent < least ? least - exponent : 0;
  shift = shift + below > 60 ? 60 : shift + below;
  fraction |= exponent > -1023 ? 1ULL << 52 : 0;
  uint64_t rounded = fraction >> shift, rest = fraction & ((1ULL << shift) - 1);
  uint64_t half = 1ULL << (shift - 1);
  rounded += rest > half || (rest == half && (rounded & 1));
  /* The leading one of a normal number counts for one step of the exponent. */
  if (!below)
    rounded += (uint64_t)(exponent + bias - 1) << mantissa;
  return (uint16_t)(sign | rounded);
}

/* Narrow floats travel in the low half of the register that a float32 is passed in. */
static float tw_as_register(uint16_t bits) {
  uint32_t word = bits;
  float value;
  memcpy(&value, &word, sizeof(value));
  return value;
}

enum { TW_HALF_MANTISSA = 10, TW_BFLOAT_MANTISSA = 7 };
float TW_NAME(__truncsfhf2)(float value) {
  return tw_as_register(tw_narrow(value, TW_HALF_MANTISSA));
}
float TW_NAME(__truncdfhf2)(double value) {
  return tw_as_register(tw_narrow(value, TW_HALF_MANTISSA));
}
float TW_NAME(__truncsfbf2)(float value) {
  return tw_as_register(tw_narrow(value, TW_BFLOAT_MANTISSA));
}
float TW_NAME(__truncdfbf2)(double value) {
  return tw_as_register(tw_narrow(value, TW_BFLOAT_MANTISSA));
}

float TW_NAME(__extendhfsf2)(float value) {
  uint32_t word, wide;
  memcpy(&word, &value, sizeof(word));
  const uint32_t sign = (word & 0x8000u) << 16, magnitude = word & 0x7fffu;
  if (magnitude < 0x400u) { /* a multiple of the least subnormal */
    float scaled = (float)magnitude * 0x1p-24f;
    memcpy(&wide, &scaled, sizeof(wide));
  } else if (magnitude >= 0x7c00u) {
    wide = 0x7f800000u | magnitude << 13;
    wide |= magnitude > 0x7c00u ? 0x400000u : 0;
  } else
    wide = (magnitude << 13) + (112u << 23);
  wide |= sign;
  memcpy(&value, &wide, sizeof(value));
  return value;
}
