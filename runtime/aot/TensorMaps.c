/* The numbers of tensor maps from the arguments of a launch, as runtime/TensorMaps.cpp computes
 * them. */
#include "runtime/aot/Tables.h"
#include <string.h>

/* What one launch says of an array. Numbers that are not used are 0. */
struct tw_map_numbers {
  uint64_t base;
  uint64_t extents[TW_MAX_RANK];
  uint64_t strides[TW_MAX_RANK - 1]; /* bytes */
};

static int64_t tw_factor_value(const struct tw_factor *factor, const uint64_t *values) {
  unsigned shift = 64u - (unsigned)(factor->bits < 0 ? -factor->bits : factor->bits);
  uint64_t value = values[factor->argument] << shift;
  return factor->bits < 0 ? (int64_t)(value >> shift) : (int64_t)value >> shift;
}

/* `scale` times the product. Returns 0 where it is not from `least` to `most`. */
static int tw_multiply(const struct tw_product *product, int64_t scale, const uint64_t *values,
                       uint64_t least, uint64_t most, uint64_t *result) {
  int64_t value = product->factor;
  int is_lost = __builtin_mul_overflow(value, scale, &value);
  for (unsigned i = 0; i < product->num_arguments; ++i)
    is_lost |=
        __builtin_mul_overflow(value, tw_factor_value(&product->arguments[i], values), &value);
  *result = (uint64_t)value;
  return !is_lost && value >= 0 && *result >= least && *result <= most;
}

/* Computes the numbers of a map. Returns 0 where no map describes the array: its base or a stride
 * is not a multiple of 16 bytes, an extent is below 1, a stride is 0, negative or too far. */
static int tw_compute_map(const struct tw_map *map, const uint64_t *values,
                          struct tw_map_numbers *numbers) {
  const uint64_t piece_bytes = 16, most_extent = UINT64_C(1) << 32,
                 stride_limit = UINT64_C(1) << 40; /* of cuTensorMapEncodeTiled */
  memset(numbers, 0, sizeof(*numbers));
  numbers->base = values[map->argument];
  if (numbers->base % piece_bytes || numbers->base == 0)
    return 0;
  for (unsigned i = 0; i < map->rank; ++i)
    if (!tw_multiply(&map->extents[i], 1, values, 1, most_extent, &numbers->extents[i]))
      return 0;
  for (unsigned i = 0; i + 1 < map->rank; ++i)
    if (!tw_multiply(&map->strides[i], map->element_bytes, values, piece_bytes, stride_limit - 1,
                     &numbers->strides[i]) ||
        numbers->strides[i] % piece_bytes)
      return 0;
  return 1;
}
