/* A package's kernels on GPUs: which code fits an architecture, loading per context, launches. */
#include "runtime/aot/Tables.h"
#include <stdlib.h>

/* A variant as loaded in one context. */
struct tw_gpu_slot {
  _Atomic(void *) function; /* null until loaded */
  void *module;
  const struct tw_gpu_code *code;
};

/* One context that launches were made in. Never freed before the package is unloaded. */
struct tw_gpu_context {
  struct tw_gpu_context *next;
  void *handle;
  unsigned long long id; /* tells a context from an earlier one at the same address */
  int device;
  unsigned arch, max_shared_bytes;
  int is_primary; /* retained here, by TILEWRIGHT_GPU(n) */
  struct tw_gpu_slot slots[];
};

/* How well code fits an architecture, 0 for not at all: machine code for it first, then machine code
 * of an earlier one with the same major number, then PTX, each the latest first. CUDA C++
 * Programming Guide, "Binary Compatibility" and "PTX Compatibility". */
static unsigned tw_fitness(const struct tw_gpu_code *code, unsigned arch) {
  if (code->arch > arch || (code->is_only && code->arch != arch))
    return 0;
  if (code->is_ptx)
    return 1 + code->arch;
  if (code->arch / 10 != arch / 10)
    return 0;
  return (code->arch == arch ? 200000u : 100000u) + code->arch;
}

/* The best code for an architecture that is worse than `below`. */
static const struct tw_gpu_code *tw_next_code(const struct tw_variant *variant, unsigned arch,
                                              unsigned below) {
  const struct tw_gpu_code *best = NULL;
  for (unsigned i = 0; i < variant->num_gpu; ++i) {
    unsigned fitness = tw_fitness(&variant->gpu[i], arch);
    if (fitness && fitness < below && (!best || fitness > tw_fitness(best, arch)))
      best = &variant->gpu[i];
  }
  return best;
}

static int tw_no_arch(const struct tw_kernel *kernel, const struct tw_variant *variant,
                      unsigned arch, struct tilewright_error *error) {
  char list[128] = "";
  size_t length = 0;
  for (unsigned i = 0; i < variant->num_gpu && length < sizeof(list) - 16; ++i)
    if (variant->gpu[i].is_ptx)
      length +=
          (size_t)snprintf(list + length, sizeof(list) - length, "%ssm_%u%s", length ? ", " : "",
                           variant->gpu[i].arch, variant->gpu[i].is_only ? "a" : "");
  return tw_fail(error, TILEWRIGHT_NO_ARCH,
                 "%s has no code for a GPU of compute capability %u.%u; the package has %s",
                 kernel->name, arch / 10, arch % 10, length ? list : "code for processors only");
}

static int tw_is_refused_image(int result) {
  return result == TW_NO_BINARY || result == TW_INVALID_IMAGE || result == TW_OLD_DRIVER;
}

static int tw_find_function(const struct tw_gpu_context *context, const struct tw_gpu_code *code,
                            void *module, void **function, struct tilewright_error *error) {
  enum { dynamic_shared_bytes = 8, free_shared_bytes = 48 * 1024 };
  int result = tw_gpu.call.function(function, module, code->symbol);
  if (result)
    return tw_driver_fail(error, result, "cuModuleGetFunction", code->symbol);
  if (code->shared_bytes > context->max_shared_bytes)
    return tw_fail(error, TILEWRIGHT_DRIVER,
                   "%s needs %u bytes of shared memory, and a program on this GPU may have %u",
                   code->symbol, code->shared_bytes, context->max_shared_bytes);
  if (code->shared_bytes <= free_shared_bytes)
    return TILEWRIGHT_SUCCESS;
  result =
      tw_gpu.call.set_attribute(*function, dynamic_shared_bytes, (int)code->shared_bytes);
  return result ? tw_driver_fail(error, result, "cuFuncSetAttribute", code->symbol)
                : TILEWRIGHT_SUCCESS;
}

/* Loads a variant into the current context, under the mutex. */
static int tw_load_locked(struct tw_gpu_context *context, const struct tw_kernel *kernel,
                          const struct tw_variant *variant, struct tw_gpu_slot *slot,
                          struct tilewright_error *error) {
  int result = TW_NO_BINARY;
  void *module = NULL, *function = NULL;
  const struct tw_gpu_code *code = tw_next_code(variant, context->arch, ~0u);
  if (!code)
    return tw_no_arch(kernel, variant, context->arch, error);
  for (const struct tw_gpu_code *next = code; next;
       next = tw_next_code(variant, context->arch, tw_fitness(code, context->arch))) {
    code = next;
    result = tw_gpu.call.load(&module, code->image, 0, NULL, NULL);
    if (!tw_is_refused_image(result))
      break;
  }
  if (result)
    return tw_driver_fail(error, result, "cuModuleLoadDataEx", kernel->name);
  int failure = tw_find_function(context, code, module, &function, error);
  if (failure) {
    (void)tw_gpu.call.unload(module);
    return failure;
  }
  slot->module = module;
  slot->code = code;
  atomic_store_explicit(&slot->function, function, memory_order_release);
  return TILEWRIGHT_SUCCESS;
}

static int tw_load_slot(struct tw_gpu_context *context, const struct tw_kernel *kernel,
                        const struct tw_variant *variant, struct tw_gpu_slot *slot,
                        struct tilewright_error *error) {
  int mode = 2, failure = TILEWRIGHT_SUCCESS; /* CU_STREAM_CAPTURE_MODE_RELAXED */
  pthread_mutex_lock(&tw_gpu.mutex);
  if (!atomic_load(&slot->function)) {
    int is_relaxed = tw_gpu.call.capture_mode && tw_gpu.call.capture_mode(&mode) == 0;
    failure = tw_load_locked(context, kernel, variant, slot, error);
    if (is_relaxed)
      (void)tw_gpu.call.capture_mode(&mode);
  }
  pthread_mutex_unlock(&tw_gpu.mutex);
  return failure;
}

static struct tw_gpu_context *tw_find_context(void *handle, unsigned long long id) {
  struct tw_gpu_context *context = atomic_load_explicit(&tw_gpu.contexts, memory_order_acquire);
  while (context && (context->handle != handle || context->id != id))
    context = context->next;
  return context;
}

/* The entry of the current context, whose handle is given; null with an error. */
static struct tw_gpu_context *tw_enter_context(const struct tw_package *package, void *handle,
                                               struct tilewright_error *error) {
  enum { major = 75, minor = 76, shared_bytes = 97 };
  unsigned long long id = 0;
  if (tw_gpu.call.context_id && tw_gpu.call.context_id(handle, &id))
    id = 0;
  struct tw_gpu_context *context = tw_find_context(handle, id);
  if (context)
    return context;
  pthread_mutex_lock(&tw_gpu.mutex);
  context = tw_find_context(handle, id);
  if (!context) {
    int device = 0, first = 0, second = 0, shared = 0;
    int result = tw_gpu.call.context_device(&device);
    if (result == 0)
      result = tw_gpu.call.attribute(&first, major, device);
    if (result == 0)
      result = tw_gpu.call.attribute(&second, minor, device);
    if (result == 0)
      result = tw_gpu.call.attribute(&shared, shared_bytes, device);
    if (result)
      (void)tw_driver_fail(error, result, "cuDeviceGetAttribute", package->name);
    else if (!(context = calloc(1, sizeof(*context) +
                                       package->num_slots * sizeof(struct tw_gpu_slot))))
      (void)tw_fail(error, TILEWRIGHT_NO_MEMORY, "%s: no memory", package->name);
    if (context) {
      context->handle = handle;
      context->id = id;
      context->device = device;
      context->arch = (unsigned)(10 * first + second);
      context->max_shared_bytes = (unsigned)shared;
      context->next = atomic_load(&tw_gpu.contexts);
      atomic_store_explicit(&tw_gpu.contexts, context, memory_order_release);
    }
  }
  pthread_mutex_unlock(&tw_gpu.mutex);
  return context;
}

/* Makes the primary context of a GPU current. It is kept until the package is unloaded. */
static int tw_push_device(int number, struct tilewright_error *error) {
  int device = 0;
  void *handle = NULL;
  int result = tw_gpu.call.device(&device, number);
  if (result)
    return tw_fail(error, TILEWRIGHT_NO_GPU, "there is no GPU %d", number);
  result = tw_gpu.call.retain(&handle, device);
  if (result)
    return tw_driver_fail(error, result, "cuDevicePrimaryCtxRetain", "using a GPU");
  result = tw_gpu.call.push(handle);
  if (result) {
    (void)tw_gpu.call.release(device);
    return tw_driver_fail(error, result, "cuCtxPushCurrent", "using a GPU");
  }
  return TILEWRIGHT_SUCCESS;
}

/* Ends what `tw_push_device` began; the first use of a context keeps its hold of it. */
static void tw_pop_device(struct tw_gpu_context *context, int number) {
  void *handle = NULL;
  int device = 0;
  (void)tw_gpu.call.pop(&handle);
  pthread_mutex_lock(&tw_gpu.mutex);
  int is_first = context && !context->is_primary;
  if (is_first)
    context->is_primary = 1;
  pthread_mutex_unlock(&tw_gpu.mutex);
  if (!is_first && tw_gpu.call.device(&device, number) == 0)
    (void)tw_gpu.call.release(device);
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

static int tw_gpu_run(const struct tw_gpu_launch *job, struct tw_gpu_context *context,
                      struct tilewright_error *error) {
  unsigned number = (unsigned)(job->variant - job->kernel->variants);
  struct tw_gpu_slot *slot = &context->slots[job->kernel->first_slot + number];
  void *function = atomic_load_explicit(&slot->function, memory_order_acquire);
  if (!function) {
    int failure = tw_load_slot(context, job->kernel, job->variant, slot, error);
    if (failure)
      return failure;
    function = atomic_load(&slot->function);
  }
  if (!job->grid)
    return TILEWRIGHT_SUCCESS;
  enum { most_later_programs = 65535 }; /* along the second and third axis */
  if (job->grid[1] > most_later_programs || job->grid[2] > most_later_programs)
    return tw_fail(error, TILEWRIGHT_BAD_GRID,
                   "the grid of %s has more than %d programs along its second or third axis: put "
                   "the longest axis first",
                   job->kernel->name, most_later_programs);
  const struct tw_gpu_code *code = slot->code;
  uint64_t bits[TW_MAX_ARGUMENTS];
  void *parameters[TW_MAX_ARGUMENTS];
  for (unsigned i = 0; i < code->num_parameters; ++i) {
    bits[i] = job->values[code->parameters[i]];
    parameters[i] = &bits[i];
  }
  int result = tw_gpu.call.launch(function, (unsigned)job->grid[0], (unsigned)job->grid[1],
                                  (unsigned)job->grid[2], code->num_threads, 1, 1,
                                  code->shared_bytes, job->stream, parameters, NULL);
  return result ? tw_driver_fail(error, result, "cuLaunchKernel", job->kernel->name)
                : TILEWRIGHT_SUCCESS;
}

/* Launches in the current context, whose handle is given. */
static int tw_gpu_launch_here(const struct tw_gpu_launch *job, void *handle,
                              struct tilewright_error *error) {
  struct tw_gpu_context *context = tw_enter_context(job->package, handle, error);
  return context ? tw_gpu_run(job, context, error) : error ? error->code : TILEWRIGHT_DRIVER;
}

static int tw_gpu_launch_on(const struct tw_gpu_launch *job, int number,
                            struct tilewright_error *error) {
  void *handle = NULL;
  int failure = tw_push_device(number, error);
  if (failure)
    return failure;
  struct tw_gpu_context *context = NULL;
  int result = tw_gpu.call.current(&handle);
  if (result)
    failure = tw_driver_fail(error, result, "cuCtxGetCurrent", "using a GPU");
  else if ((context = tw_enter_context(job->package, handle, error)))
    failure = tw_gpu_run(job, context, error);
  else
    failure = error ? error->code : TILEWRIGHT_DRIVER;
  tw_pop_device(context, number);
  return failure;
}

/* Frees what was loaded, in every context that is still there. */
static void tw_gpu_unload(const struct tw_package *package) {
  pthread_mutex_lock(&tw_gpu.mutex);
  struct tw_gpu_context *context = atomic_exchange(&tw_gpu.contexts, NULL);
  while (context) {
    struct tw_gpu_context *next = context->next;
    unsigned long long id = 0;
    void *popped = NULL;
    int is_there = !tw_gpu.call.context_id ||
                   (tw_gpu.call.context_id(context->handle, &id) == 0 && id == context->id);
    if (is_there && tw_gpu.call.push(context->handle) == 0) {
      for (unsigned i = 0; i < package->num_slots; ++i)
        if (atomic_load(&context->slots[i].function))
          (void)tw_gpu.call.unload(context->slots[i].module);
      (void)tw_gpu.call.pop(&popped);
    }
    if (context->is_primary)
      (void)tw_gpu.call.release(context->device);
    free(context);
    context = next;
  }
  pthread_mutex_unlock(&tw_gpu.mutex);
}
