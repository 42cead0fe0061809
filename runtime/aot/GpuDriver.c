/* The library of a GPU's driver, opened when a launch first needs it: nothing is linked. What
 * makers have of their own is in CudaDriver.c and HipDriver.c. */
#include "runtime/aot/Tables.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* The functions of all makers; null where a maker's driver has none. */
struct tw_driver {
  int (*init)(unsigned);
  int (*version)(int *);
  int (*device_count)(int *);
  int (*device)(int *, int);
  int (*attribute)(int *, int, int);
  int (*properties)(void *, int);
  int (*current)(void **);
  int (*context_device)(int *);
  int (*context_id)(void *, unsigned long long *);
  int (*retain)(void **, int);
  int (*release)(int);
  int (*push)(void *);
  int (*pop)(void **);
  int (*current_device)(int *);
  int (*choose_device)(int);
  int (*load)(void **, const void *, unsigned, int *, void **);
  int (*unload)(void *);
  int (*function)(void **, void *, const char *);
  int (*set_attribute)(void *, int, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  int (*launch_by_configuration)(const void *, void *, void **, void **);
  int (*encode_map)(void *, int, unsigned, void *, const uint64_t *, const uint64_t *,
                    const uint32_t *, const uint32_t *, int, int, int, int);
  int (*capture_mode)(int *);
  int (*error_name)(int, const char **);
  int (*error_text)(int, const char **);
  const char *(*name_of_error)(int);
  const char *(*text_of_error)(int);
  int (*last_error)(void); /* what a thread's failure leaves behind for whoever asks next */
};

/* A launch as drivers take it. */
struct tw_driver_launch {
  void *function, *stream, **parameters;
  unsigned grid[3], num_threads, shared_bytes;
};

/* A function that is called, and its place in `tw_driver`. */
struct tw_driver_function {
  const char *name;
  size_t place;
  int is_optional;
};

/* Numbers that CUresult and hipError_t have in common, and those of one of them. */
enum {
  TW_OUT_OF_MEMORY = 2,
  TW_NO_DEVICE = 100,
  TW_INVALID_DEVICE = 101,
  TW_INVALID_IMAGE = 200,
  TW_INVALID_CONTEXT = 201,
  TW_NO_BINARY = 209,
  TW_INVALID_PTX = 218,
  TW_OLD_DRIVER = 222,
  TW_RUNTIME_MEMORY = 1052 /* of HIP */
};

/* Code of a variant as loaded in one context. */
struct tw_gpu_slot {
  _Atomic(void *) function; /* null until loaded */
  void *module;
  const struct tw_gpu_code *code;
  struct tw_kept_maps *kept; /* one for each of the code's tensor maps; null where it has none */
};

/* A variant's slots: for its best code, and for the best without tensor maps, which launches take
 * where the best has maps and none describes an array. */
enum { TW_BEST_SLOT, TW_PLAIN_SLOT, TW_NUM_SLOTS };

/* One context that launches were made in. Never freed before the package is unloaded. */
struct tw_gpu_context {
  struct tw_gpu_context *next;
  void *handle; /* of a maker that has contexts */
  unsigned long long
      id; /* tells a context from an earlier one at the same address; or the device */
  int device;
  unsigned arch, max_shared_bytes;
  int is_primary;             /* retained here, by TILEWRIGHT_GPU(n) */
  struct tw_gpu_slot slots[]; /* TW_NUM_SLOTS for each variant */
};

/* What a thread has current. */
struct tw_gpu_current {
  void *handle;
  unsigned long long id;
  int is_there;
};

/* One package's use of a maker's GPUs. */
struct tw_gpus {
  const struct tw_gpu_maker *maker;
  pthread_mutex_t mutex; /* guards opening, loading and unloading */
  atomic_int state;      /* 0: not opened yet, 1: open, else the code of the failure */
  char failure[256];
  struct tw_driver call;
  _Atomic(struct tw_gpu_context *) contexts;
};

struct tw_gpu_maker {
  const char *driver;           /* in messages: "CUDA driver" */
  const char *const *libraries; /* the first that opens; ends in null */
  const struct tw_driver_function *functions;
  size_t num_functions;
  unsigned most_threads;                 /* of a grid along its first axis; 0: no such bound */
  unsigned address_bits;                 /* that code takes an address to have; 0: all */
  unsigned shared_bytes_without_request; /* that every kernel may have */
  const char *(*arch_name)(unsigned arch, char *text, size_t bytes);
  /* Whether the driver's version will do: a number of `tilewright_result`. */
  int (*check_version)(struct tw_gpus *gpus, struct tilewright_error *error);
  /* Says why there is no GPU, if something of the system tells; else 0. */
  int (*explain_absence)(struct tilewright_error *error);
  /* These return the driver's numbers. `leave` ends what `enter` or `enter_again` began. */
  int (*find_current)(const struct tw_gpus *gpus, struct tw_gpu_current *current);
  int (*describe)(const struct tw_gpus *gpus, struct tw_gpu_context *context);
  int (*enter_again)(const struct tw_gpus *gpus, const struct tw_gpu_context *context, int *left);
  void (*leave)(const struct tw_gpus *gpus, int number, int left);
  /* Makes a GPU current by its number, for `left` to be what was: a number of `tilewright_result`.
   */
  int (*enter)(const struct tw_gpus *gpus, int number, int *left, struct tilewright_error *error);
  /* Launches code that may begin before the launches in front of it have ended: the driver's
   * number. Null: the maker has no such launches. */
  int (*launch_early)(const struct tw_gpus *gpus, const struct tw_driver_launch *launch);
  /* Gives back what `enter` holds, but for what `context` keeps; `context` may be null. */
  void (*drop)(struct tw_gpus *gpus, int number, struct tw_gpu_context *context);
};

static const char *tw_function_name(const struct tw_gpus *gpus, size_t place) {
  const struct tw_gpu_maker *maker = gpus->maker;
  for (size_t i = 0; i < maker->num_functions; ++i)
    if (maker->functions[i].place == place)
      return maker->functions[i].name;
  return "the driver";
}

static int tw_driver_code(int result) {
  switch (result) {
  case TW_OUT_OF_MEMORY:
  case TW_RUNTIME_MEMORY:
    return TILEWRIGHT_NO_MEMORY;
  case TW_NO_DEVICE:
  case TW_INVALID_DEVICE:
    return TILEWRIGHT_NO_GPU;
  default:
    return TILEWRIGHT_DRIVER;
  }
}

/* A failure of the function at `place` in `tw_driver`. */
static int tw_driver_fail(const struct tw_gpus *gpus, struct tilewright_error *error, int result,
                          size_t place, const char *action) {
  const struct tw_driver *call = &gpus->call;
  const char *name = call->name_of_error ? call->name_of_error(result) : NULL;
  const char *text = call->text_of_error ? call->text_of_error(result) : NULL;
  if (call->error_name && call->error_text) {
    (void)call->error_name(result, &name);
    (void)call->error_text(result, &text);
  }
  if (call->last_error)
    (void)call->last_error();
  return tw_fail(error, tw_driver_code(result), "%s: %s returned %d (%s: %s)", action,
                 tw_function_name(gpus, place), result, name ? name : "an unknown error",
                 text ? text : "no text");
}

static int tw_bind_driver(struct tw_gpus *gpus, void *library, struct tilewright_error *error) {
  const struct tw_gpu_maker *maker = gpus->maker;
  for (size_t i = 0; i < maker->num_functions; ++i) {
    void *function = dlsym(library, maker->functions[i].name);
    if (!function && !maker->functions[i].is_optional)
      return tw_fail(error, TILEWRIGHT_NO_DRIVER, "the %s is too old: it has no %s", maker->driver,
                     maker->functions[i].name);
    if (function)
      memcpy((char *)&gpus->call + maker->functions[i].place, &function, sizeof(function));
  }
  return maker->check_version ? maker->check_version(gpus, error) : TILEWRIGHT_SUCCESS;
}

/* Opens one name. A library that is there and cannot be loaded says more than those that are
 * missing. */
static void *tw_open_name(const struct tw_gpu_maker *maker, const char *name,
                          struct tilewright_error *error) {
  static const char missing[] = ": cannot open";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  const char *words = library ? "" : dlerror();
  size_t length = strlen(name);
  int is_missing = words && strncmp(words, name, length) == 0 &&
                   strncmp(words + length, missing, sizeof(missing) - 1) == 0;
  if (!library && (!is_missing || name == maker->libraries[0]))
    (void)tw_fail(error, TILEWRIGHT_NO_DRIVER, "there is no %s on this machine: %s", maker->driver,
                  words ? words : "its library does not open");
  return library;
}

/* Adds all the names that were tried to the words about a missing library. */
static void tw_name_libraries(const struct tw_gpu_maker *maker, struct tilewright_error *error) {
  size_t used = strlen(error->message), size = sizeof(error->message);
  if (!maker->libraries[1])
    return;
  for (const char *const *name = maker->libraries; *name && used < size; ++name)
    used += (size_t)snprintf(error->message + used, size - used, "%s%s",
                             name == maker->libraries ? " (tried " : ", ", *name);
  if (used < size)
    (void)snprintf(error->message + used, size - used, ")");
}

/* One that is in the process goes first: two do not know each other's memory. */
static void *tw_open_library(const struct tw_gpu_maker *maker, struct tilewright_error *error) {
  void *library = NULL;
  for (const char *const *name = maker->libraries; *name && !library; ++name)
    library = dlopen(*name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  for (const char *const *name = maker->libraries; *name && !library; ++name)
    library = tw_open_name(maker, *name, error);
  if (!library && error)
    tw_name_libraries(maker, error);
  return library;
}

static int tw_open_locked(struct tw_gpus *gpus, struct tilewright_error *error) {
  const struct tw_gpu_maker *maker = gpus->maker;
  char action[64];
  int count = 0, why = 0;
  size_t place = offsetof(struct tw_driver, init);
  void *library = tw_open_library(maker, error);
  int failure = library ? tw_bind_driver(gpus, library, error) : TILEWRIGHT_NO_DRIVER;
  if (failure)
    return failure;
  int result = gpus->call.init(0);
  if (result == 0) {
    place = offsetof(struct tw_driver, device_count);
    result = gpus->call.device_count(&count);
  }
  int is_absent = result ? tw_driver_code(result) == TILEWRIGHT_NO_GPU : count == 0;
  if (is_absent && maker->explain_absence && (why = maker->explain_absence(error)))
    return why;
  (void)snprintf(action, sizeof(action), "opening the %s", maker->driver);
  if (result)
    return tw_driver_fail(gpus, error, result, place, action);
  return count ? TILEWRIGHT_SUCCESS
               : tw_fail(error, TILEWRIGHT_NO_GPU, "the %s shows no GPU on this machine",
                         maker->driver);
}

/* Opens the driver once; a failure is kept and told to every launch that needs a GPU. */
static int tw_open_driver(struct tw_gpus *gpus, struct tilewright_error *error) {
  int state = atomic_load_explicit(&gpus->state, memory_order_acquire);
  if (state == 1)
    return TILEWRIGHT_SUCCESS;
  pthread_mutex_lock(&gpus->mutex);
  state = atomic_load(&gpus->state);
  if (state == 0) {
    struct tilewright_error told = {0, ""};
    state = tw_open_locked(gpus, &told);
    (void)snprintf(gpus->failure, sizeof(gpus->failure), "%.255s", told.message);
    state = state ? state : 1;
    atomic_store_explicit(&gpus->state, state, memory_order_release);
  }
  pthread_mutex_unlock(&gpus->mutex);
  return state == 1 ? TILEWRIGHT_SUCCESS : tw_fail(error, state, "%s", gpus->failure);
}
