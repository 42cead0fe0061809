/* Tensor maps of launches: encoded by the driver, and kept for launches with the same numbers. */
#include "runtime/aot/Tables.h"
#include <stdatomic.h>
#include <string.h>

enum { TW_MAP_BYTES = 128, TW_KEPT_MAPS = 4 /* of each array */ };

struct tw_map_bytes {
  _Alignas(64) unsigned char bytes[TW_MAP_BYTES];
};

/* The last maps of one array of loaded code. `is_busy` guards the others. Nobody waits for it: a
 * launch that finds it taken encodes a map of its own, and so does each after a fork that left it
 * taken. */
struct tw_kept_maps {
  atomic_flag is_busy;
  unsigned next; /* the entry to overwrite */
  struct {
    struct tw_map_numbers numbers; /* of base 0 before the first */
    unsigned char bytes[TW_MAP_BYTES];
  } entries[TW_KEPT_MAPS];
};

static int tw_recall_map(struct tw_kept_maps *kept, const struct tw_map_numbers *numbers,
                         struct tw_map_bytes *map) {
  int is_found = 0;
  if (atomic_flag_test_and_set_explicit(&kept->is_busy, memory_order_acquire))
    return 0;
  for (unsigned i = 0; i < TW_KEPT_MAPS && !is_found; ++i)
    if (memcmp(&kept->entries[i].numbers, numbers, sizeof(*numbers)) == 0) {
      memcpy(map->bytes, kept->entries[i].bytes, TW_MAP_BYTES);
      is_found = 1;
    }
  atomic_flag_clear_explicit(&kept->is_busy, memory_order_release);
  return is_found;
}

static void tw_keep_map(struct tw_kept_maps *kept, const struct tw_map_numbers *numbers,
                        const struct tw_map_bytes *map) {
  if (atomic_flag_test_and_set_explicit(&kept->is_busy, memory_order_acquire))
    return;
  kept->entries[kept->next].numbers = *numbers;
  memcpy(kept->entries[kept->next].bytes, map->bytes, TW_MAP_BYTES);
  kept->next = (kept->next + 1) % TW_KEPT_MAPS;
  atomic_flag_clear_explicit(&kept->is_busy, memory_order_release);
}

/* Returns 0 where the driver refuses. */
static int tw_encode_map(const struct tw_gpus *gpus, const struct tw_map *map,
                         const struct tw_map_numbers *numbers, struct tw_map_bytes *encoded) {
  /* A value of CUtensorMapSwizzle. */
  int swizzle = map->span_bytes == 128 ? 3 : map->span_bytes == 64 ? 2 : map->span_bytes == 32;
  enum { not_interleaved, promotes_to_128_bytes = 2, fills_with_zeros = 0 };
  static const uint32_t ones[TW_MAX_RANK] = {1, 1, 1, 1, 1};
  return gpus->call.encode_map(encoded->bytes, (int)map->element, map->rank, (void *)(uintptr_t)numbers->base,
                               numbers->extents, numbers->strides, map->box, ones, not_interleaved,
                               swizzle, promotes_to_128_bytes, fills_with_zeros) == 0;
}

/* Fills in the maps of a launch, one for each of the code's. Returns 0 where an array has none. */
static int tw_fill_maps(const struct tw_gpus *gpus, const struct tw_gpu_code *code,
                        struct tw_kept_maps *kept, const uint64_t *values,
                        struct tw_map_bytes *maps) {
  for (unsigned i = 0; i < code->num_maps; ++i) {
    struct tw_map_numbers numbers;
    if (!tw_compute_map(&code->maps[i], values, &numbers))
      return 0;
    if (tw_recall_map(&kept[i], &numbers, &maps[i]))
      continue;
    if (!tw_encode_map(gpus, &code->maps[i], &numbers, &maps[i]))
      return 0;
    tw_keep_map(&kept[i], &numbers, &maps[i]);
  }
  return 1;
}
