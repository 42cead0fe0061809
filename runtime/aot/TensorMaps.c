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

/* What a number of an array has to be. */
struct tw_limits {
  uint64_t least, most, divisor;
};

/* `scale` times the product. Returns 0 where it is not within its limits. */
static int tw_multiply(const struct tw_product *product, int64_t scale, const uint64_t *values,
                       struct tw_limits limits, uint64_t *result) {
  int64_t value = product->factor;
  int is_lost = __builtin_mul_overflow(value, scale, &value);
  for (unsigned i = 0; i < product->num_arguments; ++i)
    is_lost |=
        __builtin_mul_overflow(value, tw_factor_value(&product->arguments[i], values), &value);
  *result = (uint64_t)value;
  return !is_lost && value >= 0 && *result >= limits.least && *result <= limits.most &&
         *result % limits.divisor == 0;
}

/* Computes the numbers of a map. Returns 0 where no map describes the array: its base or a stride
 * is not a multiple of 16 bytes, an extent is below 1, a stride is 0, negative or too far
 * (cuTensorMapEncodeTiled). Arrays of blocks: SPV_INTEL_2d_block_io. */
static int tw_compute_map(const struct tw_map *map, const uint64_t *values,
                          struct tw_map_numbers *numbers) {
  const uint64_t piece = 16, line = 64, word = 4, block_limit = UINT64_C(1) << 24,
                 stride_limit = UINT64_C(1) << 40;
  const struct tw_limits of_extent = {1, UINT64_C(1) << 32, 1}, row = {line, block_limit - 1, word},
                         rows = {1, block_limit - 1, 1};
  int is_of_blocks = map->box[0] == 0;
  memset(numbers, 0, sizeof(*numbers));
  numbers->base = values[map->argument];
  if (numbers->base % (is_of_blocks ? line : piece) || numbers->base == 0)
    return 0;
  for (unsigned i = 0; i < map->rank; ++i) {
    unsigned scale = is_of_blocks && i == 0 ? map->element_bytes : 1;
    struct tw_limits limits = is_of_blocks && i < 2 ? (i == 0 ? row : rows) : of_extent;
    if (!tw_multiply(&map->extents[i], scale, values, limits, &numbers->extents[i]))
      return 0;
    numbers->extents[i] /= scale;
  }
  for (unsigned i = 0; i + 1 < map->rank; ++i) {
    struct tw_limits limits = {piece, stride_limit - 1, piece},
                     of_rows = {numbers->extents[0] * map->element_bytes, block_limit - 1,
                                map->span_bytes},
                     further = {0, stride_limit - 1, line};
    if (is_of_blocks)
      limits = i == 0 ? of_rows : further;
    if (!tw_multiply(&map->strides[i], map->element_bytes, values, limits, &numbers->strides[i]))
      return 0;
  }
  return 1;
}
