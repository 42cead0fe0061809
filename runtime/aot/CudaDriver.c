/* The CUDA driver's library, opened when a launch first needs it: nothing is linked. */
#include "runtime/aot/Tables.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

struct tw_driver {
  int (*init)(unsigned);
  int (*device_count)(int *);
  int (*device)(int *, int);
  int (*attribute)(int *, int, int);
  int (*current)(void **);
  int (*context_device)(int *);
  int (*retain)(void **, int);
  int (*release)(int);
  int (*push)(void *);
  int (*pop)(void **);
  int (*load)(void **, const void *, unsigned, int *, void **);
  int (*unload)(void *);
  int (*function)(void **, void *, const char *);
  int (*set_attribute)(void *, int, int);
  int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                void *, void **, void **);
  int (*error_name)(int, const char **);
  int (*error_text)(int, const char **);
  /* Not in every driver. */
  int (*context_id)(void *, unsigned long long *);
  int (*capture_mode)(int *);
};

/* Values of CUresult. */
enum {
  TW_OUT_OF_MEMORY = 2,
  TW_NO_DEVICE = 100,
  TW_INVALID_DEVICE = 101,
  TW_INVALID_IMAGE = 200,
  TW_INVALID_CONTEXT = 201,
  TW_NO_BINARY = 209,
  TW_INVALID_PTX = 218,
  TW_OLD_DRIVER = 222
};

/* The functions that are called, and their place in `tw_driver`. */
static const struct {
  const char *name;
  size_t place;
  int is_optional;
} tw_driver_functions[] = {
    {"cuInit", offsetof(struct tw_driver, init), 0},
    {"cuDeviceGetCount", offsetof(struct tw_driver, device_count), 0},
    {"cuDeviceGet", offsetof(struct tw_driver, device), 0},
    {"cuDeviceGetAttribute", offsetof(struct tw_driver, attribute), 0},
    {"cuCtxGetCurrent", offsetof(struct tw_driver, current), 0},
    {"cuCtxGetDevice", offsetof(struct tw_driver, context_device), 0},
    {"cuDevicePrimaryCtxRetain", offsetof(struct tw_driver, retain), 0},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(struct tw_driver, release), 0},
    {"cuCtxPushCurrent_v2", offsetof(struct tw_driver, push), 0},
    {"cuCtxPopCurrent_v2", offsetof(struct tw_driver, pop), 0},
    {"cuModuleLoadDataEx", offsetof(struct tw_driver, load), 0},
    {"cuModuleUnload", offsetof(struct tw_driver, unload), 0},
    {"cuModuleGetFunction", offsetof(struct tw_driver, function), 0},
    {"cuFuncSetAttribute", offsetof(struct tw_driver, set_attribute), 0},
    {"cuLaunchKernel", offsetof(struct tw_driver, launch), 0},
    {"cuGetErrorName", offsetof(struct tw_driver, error_name), 0},
    {"cuGetErrorString", offsetof(struct tw_driver, error_text), 0},
    {"cuCtxGetId", offsetof(struct tw_driver, context_id), 1},
    {"cuThreadExchangeStreamCaptureMode", offsetof(struct tw_driver, capture_mode), 1},
};

/* One package's use of GPUs. */
static struct {
  pthread_mutex_t mutex; /* guards opening, loading and unloading */
  atomic_int state;      /* 0: not opened yet, 1: open, else the code of the failure */
  char failure[256];
  struct tw_driver call;
  _Atomic(struct tw_gpu_context *) contexts;
} tw_gpu = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int tw_driver_fail(struct tilewright_error *error, int result, const char *function,
                          const char *action) {
  const char *name = NULL, *text = NULL;
  int code = result == TW_OUT_OF_MEMORY ? TILEWRIGHT_NO_MEMORY
             : result == TW_NO_DEVICE || result == TW_INVALID_DEVICE ? TILEWRIGHT_NO_GPU
                                                                     : TILEWRIGHT_DRIVER;
  (void)tw_gpu.call.error_name(result, &name);
  (void)tw_gpu.call.error_text(result, &text);
  return tw_fail(error, code, "%s: %s returned %d (%s: %s)", action, function, result,
                 name ? name : "an unknown error", text ? text : "no text");
}

static int tw_bind_driver(void *library, struct tilewright_error *error) {
  size_t count = sizeof(tw_driver_functions) / sizeof(tw_driver_functions[0]);
  for (size_t i = 0; i < count; ++i) {
    void *function = dlsym(library, tw_driver_functions[i].name);
    if (!function && !tw_driver_functions[i].is_optional)
      return tw_fail(error, TILEWRIGHT_NO_GPU, "the CUDA driver is too old: it has no %s",
                     tw_driver_functions[i].name);
    memcpy((char *)&tw_gpu.call + tw_driver_functions[i].place, &function, sizeof(function));
  }
  return TILEWRIGHT_SUCCESS;
}

static int tw_open_locked(struct tilewright_error *error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return tw_fail(error, TILEWRIGHT_NO_GPU, "there is no CUDA driver on this machine: %s",
                   dlerror());
  int failure = tw_bind_driver(library, error);
  if (failure)
    return failure;
  int result = tw_gpu.call.init(0), count = 0;
  if (result)
    return tw_driver_fail(error, result, "cuInit", "opening the CUDA driver");
  result = tw_gpu.call.device_count(&count);
  if (result)
    return tw_driver_fail(error, result, "cuDeviceGetCount", "opening the CUDA driver");
  if (count == 0)
    return tw_fail(error, TILEWRIGHT_NO_GPU, "the CUDA driver shows no GPU on this machine");
  return TILEWRIGHT_SUCCESS;
}

/* Opens the driver once; a failure is kept and told to every launch that needs a GPU. */
static int tw_open_driver(struct tilewright_error *error) {
  int state = atomic_load_explicit(&tw_gpu.state, memory_order_acquire);
  if (state == 1)
    return TILEWRIGHT_SUCCESS;
  pthread_mutex_lock(&tw_gpu.mutex);
  state = atomic_load(&tw_gpu.state);
  if (state == 0) {
    struct tilewright_error told = {0, ""};
    state = tw_open_locked(&told);
    (void)snprintf(tw_gpu.failure, sizeof(tw_gpu.failure), "%.255s", told.message);
    state = state ? state : 1;
    atomic_store_explicit(&tw_gpu.state, state, memory_order_release);
  }
  pthread_mutex_unlock(&tw_gpu.mutex);
  return state == 1 ? TILEWRIGHT_SUCCESS : tw_fail(error, state, "%s", tw_gpu.failure);
}
