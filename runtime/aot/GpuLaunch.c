/* A package's kernels on GPUs: which code fits an architecture, loading per context, launches. */
#include "runtime/aot/Tables.h"
#include <stdlib.h>

/* By `tw_gpu_code.maker`, in the order in which a launch that names none tries them. */
static struct tw_gpus tw_all_gpus[] = {
    [TW_CUDA] = {.maker = &tw_cuda, .mutex = PTHREAD_MUTEX_INITIALIZER},
    [TW_HIP] = {.maker = &tw_hip, .mutex = PTHREAD_MUTEX_INITIALIZER},
};

/* How well code fits a maker's architecture, 0 for not at all: machine code for it first, then
 * machine code of an earlier one with the same major number, then PTX, each the latest first, and
 * of the same form and architecture that with tensor maps first. CUDA C++ Programming Guide,
 * "Binary Compatibility" and "PTX Compatibility". Code objects are for one only. */
static unsigned tw_fitness(const struct tw_gpu_code *code, unsigned maker, unsigned arch) {
  if (code->maker != maker || code->arch > arch || (code->is_only && code->arch != arch))
    return 0;
  unsigned has_maps = code->num_maps > 0;
  if (code->is_ptx)
    return 2 + 2 * code->arch + has_maps;
  if (code->arch / 10 != arch / 10)
    return 0;
  return 2 * ((code->arch == arch ? 200000u : 100000u) + code->arch) + has_maps;
}

/* The best code for an architecture that is worse than `below`, of what may be in a slot. */
static const struct tw_gpu_code *tw_next_code(const struct tw_variant *variant, unsigned slot,
                                              unsigned maker, unsigned arch, unsigned below) {
  const struct tw_gpu_code *best = NULL;
  for (unsigned i = 0; i < variant->num_gpu; ++i) {
    const struct tw_gpu_code *code = &variant->gpu[i];
    unsigned fitness = tw_fitness(code, maker, arch);
    int is_allowed = fitness < below && (slot != TW_PLAIN_SLOT || code->num_maps == 0);
    if (fitness && is_allowed && (!best || fitness > tw_fitness(best, maker, arch)))
      best = code;
  }
  return best;
}

/* "sm_80, sm_90a, gfx942": what a variant has code for. */
static void tw_list_archs(const struct tw_variant *variant, char *list, size_t bytes) {
  size_t length = 0;
  for (unsigned i = 0; i < variant->num_gpu && length < bytes - 16; ++i) {
    const struct tw_gpu_code *code = &variant->gpu[i];
    const char *comma = length ? ", " : "";
    char *end = list + length;
    if (code->maker == TW_HIP)
      length += (size_t)snprintf(end, bytes - length, "%sgfx%x", comma, code->arch);
    else if (code->maker == TW_OPENCL)
      length += (size_t)snprintf(end, bytes - length, "%s%s", comma, code->row);
    else if (code->is_ptx && code->num_maps == 0)
      length += (size_t)snprintf(end, bytes - length, "%ssm_%u%s", comma, code->arch,
                                 code->is_only ? "a" : "");
  }
}

static int tw_no_arch(const struct tw_gpus *gpus, const struct tw_kernel *kernel,
                      const struct tw_variant *variant, unsigned arch,
                      struct tilewright_error *error) {
  char list[128] = "", name[64];
  tw_list_archs(variant, list, sizeof(list));
  return tw_fail(error, TILEWRIGHT_NO_ARCH, "%s has no code for a GPU of %s; the package has %s",
                 kernel->name, gpus->maker->arch_name(arch, name, sizeof(name)),
                 list[0] ? list : "code for processors only");
}

static int tw_is_refused_image(int result) {
  return result == TW_NO_BINARY || result == TW_INVALID_IMAGE || result == TW_OLD_DRIVER;
}

static int tw_find_function(const struct tw_gpus *gpus, const struct tw_gpu_context *context,
                            const struct tw_gpu_code *code, void *module, void **function,
                            struct tilewright_error *error) {
  enum { dynamic_shared_bytes = 8 };
  size_t place = offsetof(struct tw_driver, function);
  int result = gpus->call.function(function, module, code->symbol);
  if (result == 0 && code->shared_bytes > context->max_shared_bytes)
    return tw_fail(error, TILEWRIGHT_DRIVER,
                   "%s needs %u bytes of shared memory, and a program on this GPU may have %u",
                   code->symbol, code->shared_bytes, context->max_shared_bytes);
  if (result == 0 && code->shared_bytes > gpus->maker->shared_bytes_without_request) {
    place = offsetof(struct tw_driver, set_attribute);
    result = gpus->call.set_attribute(*function, dynamic_shared_bytes, (int)code->shared_bytes);
  }
  return result ? tw_driver_fail(gpus, error, result, place, code->symbol) : TILEWRIGHT_SUCCESS;
}

/* What a launch on a GPU needs. */
struct tw_gpu_launch {
  const struct tw_package *package;
  const struct tw_kernel *kernel;
  const struct tw_variant *variant;
  const uint64_t *values;
  const int64_t *grid; /* null: only load */
  void *stream;
};

/* Loads the best code of a slot that the driver takes; the driver's number. */
static int tw_load_module(const struct tw_gpus *gpus, const struct tw_variant *variant,
                          unsigned slot, unsigned arch, const struct tw_gpu_code **code,
                          void **module) {
  unsigned maker = (unsigned)(gpus - tw_all_gpus);
  const struct tw_gpu_code *next = *code;
  int result = TW_NO_BINARY;
  while (next && tw_is_refused_image(result)) {
    *code = next;
    result = gpus->call.load(module, next->image, 0, NULL, NULL);
    next = tw_next_code(variant, slot, maker, arch, tw_fitness(next, maker, arch));
  }
  return result;
}

/* Loads code of a variant into a slot of the current context, under the mutex. */
static int tw_load_locked(const struct tw_gpus *gpus, struct tw_gpu_context *context,
                          const struct tw_gpu_launch *job, unsigned number,
                          struct tw_gpu_slot *slot, struct tilewright_error *error) {
  void *module = NULL, *function = NULL;
  unsigned maker = (unsigned)(gpus - tw_all_gpus), arch = context->arch;
  const struct tw_gpu_code *code = tw_next_code(job->variant, number, maker, arch, ~0u);
  if (!code)
    return tw_no_arch(gpus, job->kernel, job->variant, arch, error);
  int result = tw_load_module(gpus, job->variant, number, arch, &code, &module);
  if (result)
    return tw_driver_fail(gpus, error, result, offsetof(struct tw_driver, load), job->kernel->name);
  int failure = tw_find_function(gpus, context, code, module, &function, error);
  struct tw_kept_maps *kept =
      failure || !code->num_maps ? NULL : calloc(code->num_maps, sizeof(*kept));
  if (!failure && code->num_maps && !kept)
    failure = tw_fail(error, TILEWRIGHT_NO_MEMORY, "%s: no memory", job->kernel->name);
  if (failure) {
    (void)gpus->call.unload(module);
    return failure;
  }
  slot->module = module;
  slot->code = code;
  slot->kept = kept;
  atomic_store_explicit(&slot->function, function, memory_order_release);
  return TILEWRIGHT_SUCCESS;
}

/* Loads code of a variant into slot `number` of the current context, unless it has some. */
static int tw_load_slot(struct tw_gpus *gpus, struct tw_gpu_context *context,
                        const struct tw_gpu_launch *job, unsigned number, struct tw_gpu_slot *slot,
                        struct tilewright_error *error) {
  int mode = 2, failure = TILEWRIGHT_SUCCESS; /* CU_STREAM_CAPTURE_MODE_RELAXED, of HIP too */
  if (atomic_load_explicit(&slot->function, memory_order_acquire))
    return TILEWRIGHT_SUCCESS;
  pthread_mutex_lock(&gpus->mutex);
  if (!atomic_load(&slot->function)) {
    int is_relaxed = gpus->call.capture_mode && gpus->call.capture_mode(&mode) == 0;
    failure = tw_load_locked(gpus, context, job, number, slot, error);
    if (is_relaxed)
      (void)gpus->call.capture_mode(&mode);
  }
  pthread_mutex_unlock(&gpus->mutex);
  return failure;
}

static struct tw_gpu_context *tw_find_context(const struct tw_gpus *gpus,
                                              const struct tw_gpu_current *current) {
  struct tw_gpu_context *context = atomic_load_explicit(&gpus->contexts, memory_order_acquire);
  while (context && (context->handle != current->handle || context->id != current->id))
    context = context->next;
  return context;
}

/* An entry for the current context, under the mutex; null with an error. */
static struct tw_gpu_context *tw_add_context(struct tw_gpus *gpus, const struct tw_package *package,
                                             const struct tw_gpu_current *current,
                                             struct tilewright_error *error) {
  size_t slots = TW_NUM_SLOTS * package->num_slots * sizeof(struct tw_gpu_slot);
  struct tw_gpu_context *context = calloc(1, sizeof(*context) + slots);
  if (!context) {
    (void)tw_fail(error, TILEWRIGHT_NO_MEMORY, "%s: no memory", package->name);
    return NULL;
  }
  context->handle = current->handle;
  context->id = current->id;
  int result = gpus->maker->describe(gpus, context);
  if (result) {
    size_t place = offsetof(struct tw_driver, attribute);
    (void)tw_driver_fail(gpus, error, result, place, package->name);
    free(context);
    return NULL;
  }
  context->next = atomic_load(&gpus->contexts);
  atomic_store_explicit(&gpus->contexts, context, memory_order_release);
  return context;
}

/* The entry of the current context; null with an error. */
static struct tw_gpu_context *tw_enter_context(struct tw_gpus *gpus,
                                               const struct tw_package *package,
                                               const struct tw_gpu_current *current,
                                               struct tilewright_error *error) {
  struct tw_gpu_context *context = tw_find_context(gpus, current);
  if (context)
    return context;
  pthread_mutex_lock(&gpus->mutex);
  context = tw_find_context(gpus, current);
  if (!context)
    context = tw_add_context(gpus, package, current, error);
  pthread_mutex_unlock(&gpus->mutex);
  return context;
}

static int tw_check_programs(const struct tw_gpus *gpus, const struct tw_gpu_launch *job,
                             const struct tw_gpu_code *code, struct tilewright_error *error) {
  enum { most_later_programs = 65535 }; /* along the second and third axis */
  unsigned most_threads = gpus->maker->most_threads;
  if (job->grid[1] > most_later_programs || job->grid[2] > most_later_programs)
    return tw_fail(error, TILEWRIGHT_BAD_GRID,
                   "the grid of %s has more than %d programs along its second or third axis: put "
                   "the longest axis first",
                   job->kernel->name, most_later_programs);
  for (unsigned axis = 0; axis < 3; ++axis)
    if (job->grid[axis] % code->cluster[axis] != 0)
      return tw_fail(error, TILEWRIGHT_BAD_GRID,
                     "the grid of %s is not divided into its clusters of (%u, %u, %u) programs",
                     job->kernel->name, code->cluster[0], code->cluster[1], code->cluster[2]);
  if (most_threads && job->grid[0] > most_threads / code->num_threads)
    return tw_fail(error, TILEWRIGHT_BAD_GRID,
                   "the grid of %s has more than %u programs of %u threads along its first axis",
                   job->kernel->name, most_threads / code->num_threads, code->num_threads);
  return TILEWRIGHT_SUCCESS;
}

static int tw_check_address(const struct tw_gpus *gpus, const struct tw_gpu_launch *job,
                            unsigned argument, struct tilewright_error *error) {
  unsigned bits = gpus->maker->address_bits;
  const struct tw_argument *facts = &job->kernel->arguments[argument];
  if (!bits || !facts->is_pointer || job->values[argument] >> bits == 0)
    return TILEWRIGHT_SUCCESS;
  return tw_fail(error, TILEWRIGHT_NULL_POINTER,
                 "the argument `%s` of %s is no address of a GPU, which has %u bits", facts->name,
                 job->kernel->name, bits);
}

/* Launches, and sets the place of the driver's function if it is another than `launch`. Where the
 * driver has no early launches, the code's waits are over at once. */
static int tw_driver_launch(const struct tw_gpus *gpus, const struct tw_driver_launch *launch,
                            unsigned is_early, size_t *place) {
  if (is_early && gpus->maker->launch_early && gpus->call.launch_by_configuration) {
    *place = offsetof(struct tw_driver, launch_by_configuration);
    return gpus->maker->launch_early(gpus, launch);
  }
  return gpus->call.launch(launch->function, launch->grid[0], launch->grid[1], launch->grid[2],
                           launch->num_threads, 1, 1, launch->shared_bytes, launch->stream,
                           launch->parameters, NULL);
}

/* Launches the code of a slot; `maps` are its tensor maps. */
static int tw_gpu_call(const struct tw_gpus *gpus, const struct tw_gpu_launch *job,
                       const struct tw_gpu_slot *slot, struct tw_map_bytes *maps,
                       struct tilewright_error *error) {
  const struct tw_gpu_code *code = slot->code;
  uint64_t bits[TW_MAX_ARGUMENTS];
  void *parameters[TW_MAX_ARGUMENTS + TW_MAX_MAPS];
  int failure = tw_check_programs(gpus, job, code, error);
  if (failure)
    return failure;
  for (unsigned i = 0; i < code->num_parameters; ++i) {
    failure = tw_check_address(gpus, job, code->parameters[i], error);
    if (failure)
      return failure;
    bits[i] = job->values[code->parameters[i]];
    parameters[i] = &bits[i];
  }
  for (unsigned i = 0; i < code->num_maps; ++i)
    parameters[code->num_parameters + i] = &maps[i];
  struct tw_driver_launch launch = {
      atomic_load_explicit(&slot->function, memory_order_relaxed),
      job->stream,
      parameters,
      {(unsigned)job->grid[0], (unsigned)job->grid[1], (unsigned)job->grid[2]},
      code->num_threads,
      code->shared_bytes};
  size_t place = offsetof(struct tw_driver, launch);
  int result = tw_driver_launch(gpus, &launch, code->launches_early, &place);
  return result ? tw_driver_fail(gpus, error, result, place, job->kernel->name)
                : TILEWRIGHT_SUCCESS;
}

/* Runs a variant's best code. Where that has tensor maps and none describes an array, or the driver
 * encodes none, runs the best code without. Loading loads both. */
static int tw_run_variant(struct tw_gpus *gpus, struct tw_gpu_context *context,
                          const struct tw_gpu_launch *job, struct tilewright_error *error) {
  unsigned variant = job->kernel->first_slot + (unsigned)(job->variant - job->kernel->variants);
  struct tw_gpu_slot *slots = &context->slots[TW_NUM_SLOTS * variant];
  struct tw_map_bytes maps[TW_MAX_MAPS];
  if (gpus->call.encode_map) {
    struct tw_gpu_slot *best = &slots[TW_BEST_SLOT];
    int failure = tw_load_slot(gpus, context, job, TW_BEST_SLOT, best, error);
    if (failure)
      return failure;
    if (job->grid && tw_fill_maps(gpus, best->code, best->kept, job->values, maps))
      return tw_gpu_call(gpus, job, best, maps, error);
    if (best->code->num_maps == 0)
      return TILEWRIGHT_SUCCESS;
  }
  struct tw_gpu_slot *plain = &slots[TW_PLAIN_SLOT];
  int failure = tw_load_slot(gpus, context, job, TW_PLAIN_SLOT, plain, error);
  return failure || !job->grid ? failure : tw_gpu_call(gpus, job, plain, NULL, error);
}

/* Launches in the current context; `entered` becomes its entry, null where there is an error. */
static int tw_gpu_launch_here(struct tw_gpus *gpus, const struct tw_gpu_launch *job,
                              const struct tw_gpu_current *current, struct tw_gpu_context **entered,
                              struct tilewright_error *error) {
  struct tilewright_error told = {TILEWRIGHT_DRIVER, ""};
  error = error ? error : &told;
  struct tw_gpu_context *context = tw_enter_context(gpus, job->package, current, error);
  *entered = context;
  return context ? tw_run_variant(gpus, context, job, error) : error->code;
}

static int tw_find_current(const struct tw_gpus *gpus, struct tw_gpu_current *current,
                           const char *action, struct tilewright_error *error) {
  int result = gpus->maker->find_current(gpus, current);
  size_t place = gpus->call.current ? offsetof(struct tw_driver, current)
                                    : offsetof(struct tw_driver, current_device);
  return result ? tw_driver_fail(gpus, error, result, place, action) : TILEWRIGHT_SUCCESS;
}

static int tw_gpu_launch_on(struct tw_gpus *gpus, const struct tw_gpu_launch *job, int number,
                            struct tilewright_error *error) {
  struct tw_gpu_current current = {NULL, 0, 0};
  struct tw_gpu_context *context = NULL;
  int left = 0;
  int failure = gpus->maker->enter(gpus, number, &left, error);
  if (failure)
    return failure;
  failure = tw_find_current(gpus, &current, "using a GPU", error);
  if (!failure)
    failure = tw_gpu_launch_here(gpus, job, &current, &context, error);
  gpus->maker->leave(gpus, number, left);
  gpus->maker->drop(gpus, number, context);
  return failure;
}

static void tw_unload_context(const struct tw_gpus *gpus, const struct tw_package *package,
                              struct tw_gpu_context *context) {
  unsigned num_slots = TW_NUM_SLOTS * package->num_slots;
  int left = 0;
  if (gpus->maker->enter_again(gpus, context, &left) == 0) {
    for (unsigned i = 0; i < num_slots; ++i)
      if (atomic_load(&context->slots[i].function))
        (void)gpus->call.unload(context->slots[i].module);
    gpus->maker->leave(gpus, context->device, left);
  }
  for (unsigned i = 0; i < num_slots; ++i)
    free(context->slots[i].kept);
  if (context->is_primary)
    (void)gpus->call.release(context->device);
  free(context);
}

/* Frees what was loaded, in every context that is still there. */
static void tw_gpu_unload(const struct tw_package *package) {
  for (size_t maker = 0; maker < TW_NUM_MAKERS; ++maker) {
    struct tw_gpus *gpus = &tw_all_gpus[maker];
    pthread_mutex_lock(&gpus->mutex);
    struct tw_gpu_context *context = atomic_exchange(&gpus->contexts, NULL);
    while (context) {
      struct tw_gpu_context *next = context->next;
      tw_unload_context(gpus, package, context);
      context = next;
    }
    pthread_mutex_unlock(&gpus->mutex);
  }
}
