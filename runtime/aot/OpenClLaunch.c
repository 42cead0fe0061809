/* A package's kernels on OpenCL devices, by SPIR-V that the driver builds: the library, opened when
 * a launch first needs it, devices, built code for each context, launches. */
#include "runtime/aot/OpenClNeeds.h"
#include "runtime/aot/Tables.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of facts and results, as OpenCL's headers have them. */
enum {
  TW_CL_DEVICE_NOT_FOUND = -1,
  TW_CL_NO_MEMORY = -4,
  TW_CL_NO_HOST_MEMORY = -6,
  TW_CL_DEVICE_TYPE = 0x1000,
  TW_CL_ADDRESS_BITS = 0x100D,
  TW_CL_LOCAL_BYTES = 0x1023,
  TW_CL_DEVICE_NAME = 0x102B,
  TW_CL_EXTENSIONS = 0x1030,
  TW_CL_PLATFORM = 0x1031,
  TW_CL_SVM = 0x1053,
  TW_CL_SPIRV = 0x105B,
  TW_CL_QUEUE_CONTEXT = 0x1090,
  TW_CL_QUEUE_DEVICE = 0x1091,
  TW_CL_BUILD_LOG = 0x1183,
  TW_CL_KERNEL_THREADS = 0x11B0,
  TW_CL_SUBGROUP_SIZES = 0x4108,
  TW_CL_DEVICE_USM = 0x4191, /* of cl_intel_unified_shared_memory */
  TW_CL_SYSTEM_USM = 0x4194,
  TW_CL_HALF_ATOMICS = 0x4231, /* those of fp32 and fp64 follow */
  TW_CL_IP_VERSION = 0x4250,
  TW_CL_GPU = 1 << 2,           /* of TW_CL_DEVICE_TYPE */
  TW_CL_SYSTEM_MEMORY = 1 << 2, /* of TW_CL_SVM */
  TW_CL_MAX_DEVICES = 64
};

typedef int (*tw_cl_pointer_setter)(void *, unsigned, const void *);

struct tw_cl_functions {
  int (*platforms)(unsigned, void **, unsigned *);
  int (*devices)(void *, uint64_t, unsigned, void **, unsigned *);
  int (*device_fact)(void *, unsigned, size_t, void *, size_t *);
  int (*queue_fact)(void *, unsigned, size_t, void *, size_t *);
  int (*build_fact)(void *, void *, unsigned, size_t, void *, size_t *);
  int (*kernel_fact)(void *, void *, unsigned, size_t, void *, size_t *);
  void *(*find_extension)(void *, const char *);
  void *(*create_context)(const intptr_t *, unsigned, void *const *, void *, void *, int *);
  void *(*create_queue)(void *, void *, const uint64_t *, int *);
  void *(*create_program)(void *, const void *, size_t, int *);
  void *(*create_kernel)(void *, const char *, int *);
  int (*build)(void *, unsigned, void *const *, const char *, void *, void *);
  int (*set_argument)(void *, unsigned, size_t, const void *);
  tw_cl_pointer_setter set_pointer;
  int (*launch)(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned,
                void *const *, void **);
  int (*wait)(unsigned, void *const *);
  int (*release_event)(void *);
  int (*release_kernel)(void *);
  int (*release_program)(void *);
  int (*release_queue)(void *);
  int (*release_context)(void *);
};

static const struct {
  const char *name;
  size_t place;
} tw_cl_names[] = {
    {"clGetPlatformIDs", offsetof(struct tw_cl_functions, platforms)},
    {"clGetDeviceIDs", offsetof(struct tw_cl_functions, devices)},
    {"clGetDeviceInfo", offsetof(struct tw_cl_functions, device_fact)},
    {"clGetCommandQueueInfo", offsetof(struct tw_cl_functions, queue_fact)},
    {"clGetProgramBuildInfo", offsetof(struct tw_cl_functions, build_fact)},
    {"clGetKernelWorkGroupInfo", offsetof(struct tw_cl_functions, kernel_fact)},
    {"clGetExtensionFunctionAddressForPlatform", offsetof(struct tw_cl_functions, find_extension)},
    {"clCreateContext", offsetof(struct tw_cl_functions, create_context)},
    {"clCreateCommandQueueWithProperties", offsetof(struct tw_cl_functions, create_queue)},
    {"clCreateProgramWithIL", offsetof(struct tw_cl_functions, create_program)},
    {"clCreateKernel", offsetof(struct tw_cl_functions, create_kernel)},
    {"clBuildProgram", offsetof(struct tw_cl_functions, build)},
    {"clSetKernelArg", offsetof(struct tw_cl_functions, set_argument)},
    {"clSetKernelArgSVMPointer", offsetof(struct tw_cl_functions, set_pointer)},
    {"clEnqueueNDRangeKernel", offsetof(struct tw_cl_functions, launch)},
    {"clWaitForEvents", offsetof(struct tw_cl_functions, wait)},
    {"clReleaseEvent", offsetof(struct tw_cl_functions, release_event)},
    {"clReleaseKernel", offsetof(struct tw_cl_functions, release_kernel)},
    {"clReleaseProgram", offsetof(struct tw_cl_functions, release_program)},
    {"clReleaseCommandQueue", offsetof(struct tw_cl_functions, release_queue)},
    {"clReleaseContext", offsetof(struct tw_cl_functions, release_context)},
};

/* The loader of drivers, and Intel's driver of processors where there is none. */
static const char *const tw_cl_libraries[] = {"libOpenCL.so.1", "libOpenCL.so", "libintelocl.so"};

/* A device that takes SPIR-V, with the context and queue of launches that bring no queue. */
struct tw_cl_device {
  void *id, *context, *queue;
};

/* Code as built in a context. */
struct tw_cl_code {
  struct tw_cl_code *next;
  void *context;
  const struct tw_gpu_code *code;
  void *program, *kernel;
  tw_cl_pointer_setter set_pointer;
  uint64_t max_threads; /* of a grid along its first axis */
};

static struct {
  pthread_mutex_t mutex; /* guards everything here; held to set arguments and enqueue, too */
  int state;             /* 0: not opened yet, 1: open, else the code of the failure */
  char failure[256];
  struct tw_cl_functions call;
  struct tw_cl_device devices[TW_CL_MAX_DEVICES];
  unsigned num_devices;
  struct tw_cl_code *codes;
  pid_t process; /* that opened the driver: a forked child has not its threads */
} tw_cl = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int tw_cl_fail(struct tilewright_error *error, int result, const char *function,
                      const char *action) {
  int is_memory = result == TW_CL_NO_MEMORY || result == TW_CL_NO_HOST_MEMORY;
  return tw_fail(error, is_memory ? TILEWRIGHT_NO_MEMORY : TILEWRIGHT_DRIVER,
                 "%s: %s of the OpenCL driver returned %d", action, function, result);
}

/* Adds the devices of the bound library that take SPIR-V. */
static void tw_cl_find_devices(void) {
  void *platforms[TW_CL_MAX_DEVICES], *ids[TW_CL_MAX_DEVICES];
  unsigned num_platforms = 0, count = 0;
  if (tw_cl.call.platforms(TW_CL_MAX_DEVICES, platforms, &num_platforms))
    return;
  for (unsigned i = 0; i < num_platforms && i < TW_CL_MAX_DEVICES; ++i) {
    if (tw_cl.call.devices(platforms[i], 0xFFFFFFFF, TW_CL_MAX_DEVICES, ids, &count))
      continue;
    for (unsigned j = 0; j < count && tw_cl.num_devices < TW_CL_MAX_DEVICES; ++j) {
      char versions[256] = "";
      size_t bytes = 0;
      if (tw_cl.call.device_fact(ids[j], TW_CL_SPIRV, sizeof(versions) - 1, versions, &bytes) ==
              0 &&
          strstr(versions, "SPIR-V"))
        tw_cl.devices[tw_cl.num_devices++].id = ids[j];
    }
  }
}

/* Opens the libraries in turn until one has a device. */
static int tw_cl_open_locked(struct tilewright_error *error) {
  int failure = tw_fail(error, TILEWRIGHT_NO_DRIVER,
                        "there is no OpenCL driver on this machine (tried libOpenCL.so.1, "
                        "libOpenCL.so, libintelocl.so)");
  for (size_t i = 0; i < sizeof(tw_cl_libraries) / sizeof(tw_cl_libraries[0]); ++i) {
    void *library = dlopen(tw_cl_libraries[i], RTLD_NOW | RTLD_LOCAL);
    const char *missing = NULL;
    for (size_t j = 0; library && j < sizeof(tw_cl_names) / sizeof(tw_cl_names[0]); ++j) {
      void *function = dlsym(library, tw_cl_names[j].name);
      missing = missing || function ? missing : tw_cl_names[j].name;
      memcpy((char *)&tw_cl.call + tw_cl_names[j].place, &function, sizeof(function));
    }
    if (missing)
      failure =
          tw_fail(error, TILEWRIGHT_NO_DRIVER, "the OpenCL driver %s is too old: it has no %s",
                  tw_cl_libraries[i], missing);
    if (!library || missing)
      continue;
    tw_cl_find_devices();
    if (tw_cl.num_devices)
      return TILEWRIGHT_SUCCESS;
    failure = tw_fail(error, TILEWRIGHT_NO_GPU, "no OpenCL device of this machine takes SPIR-V");
  }
  return failure;
}

/* Opens the driver once, under the mutex; a failure is kept and told to every launch. */
static int tw_cl_open(struct tilewright_error *error) {
  struct tilewright_error told = {0, ""};
  if (tw_cl.state == 0) {
    int failure = tw_cl_open_locked(&told);
    (void)snprintf(tw_cl.failure, sizeof(tw_cl.failure), "%.255s", told.message);
    tw_cl.state = failure ? failure : 1;
    tw_cl.process = getpid();
  }
  if (tw_cl.state != 1)
    return tw_fail(error, tw_cl.state, "%s", tw_cl.failure);
  if (tw_cl.process != getpid())
    return tw_fail(error, TILEWRIGHT_DRIVER,
                   "this process was forked after the OpenCL driver was opened, and cannot use it");
  return TILEWRIGHT_SUCCESS;
}

/* A number of up to 64 bits that a device says of itself; 0 where it does not. */
static uint64_t tw_cl_number(void *device, unsigned fact) {
  uint64_t number = 0;
  return tw_cl.call.device_fact(device, fact, sizeof(number), &number, NULL) ? 0 : number;
}

static int tw_cl_has(void *device, const char *extension) {
  size_t bytes = 0, length = strlen(extension);
  int is_found = 0;
  char *all = NULL;
  if (tw_cl.call.device_fact(device, TW_CL_EXTENSIONS, 0, NULL, &bytes) == 0)
    all = calloc(bytes + 1, 1);
  if (all && tw_cl.call.device_fact(device, TW_CL_EXTENSIONS, bytes, all, NULL) == 0)
    for (const char *at = all; !is_found && (at = strstr(at, extension)); at += length)
      is_found = (at == all || at[-1] == ' ') && (!at[length] || at[length] == ' ');
  free(all);
  return is_found;
}

/* Whether a device has subgroups of as many lanes as the code was compiled for, and is the machine
 * that the code is for. */
static int tw_cl_fits(void *device, const struct tw_gpu_code *code) {
  size_t sizes[16] = {0}, bytes = 0;
  if (code->maker != TW_OPENCL ||
      tw_cl.call.device_fact(device, TW_CL_SUBGROUP_SIZES, sizeof(sizes), sizes, &bytes))
    return 0;
  if (code->last_version) {
    uint64_t version = tw_cl_number(device, TW_CL_IP_VERSION);
    if (!(tw_cl_number(device, TW_CL_DEVICE_TYPE) & TW_CL_GPU) || version < code->first_version ||
        version > code->last_version)
      return 0;
  }
  for (size_t i = 0; i < bytes / sizeof(sizes[0]); ++i)
    if (sizes[i] == code->arch)
      return 1;
  return 0;
}

/* An extension that a module needs and the device lacks; null where there is none. */
static const struct tw_cl_need *tw_cl_missing(void *device, const struct tw_gpu_code *code) {
  for (size_t i = 0; i < sizeof(tw_cl_needs) / sizeof(tw_cl_needs[0]); ++i)
    if (tw_cl_uses(code->image, code->image_bytes, tw_cl_needs[i].capability) &&
        !tw_cl_has(device, tw_cl_needs[i].extension))
      return &tw_cl_needs[i];
  return NULL;
}

/* The built code of a context; null where it was not built yet. */
static struct tw_cl_code *tw_cl_find(void *context, const struct tw_gpu_code *code) {
  struct tw_cl_code *built = tw_cl.codes;
  while (built && (built->context != context || built->code != code))
    built = built->next;
  return built;
}

/* Whether code that loads blocks of arrays can do so on a device, of those of a launch. */
static int tw_cl_loads_blocks(const struct tw_gpu_launch *job, void *context, void *device,
                              const struct tw_gpu_code *code) {
  struct tw_map_numbers unused;
  for (unsigned i = 0; job->grid && i < code->num_maps; ++i)
    if (!tw_compute_map(&code->maps[i], job->values, &unused))
      return 0;
  return !code->num_maps || tw_cl_find(context, code) || !tw_cl_missing(device, code);
}

/* The code for the very machine where there is some, else that for any device. That which loads
 * blocks of arrays comes before that without, which is the only one where `is_plain`. */
static const struct tw_gpu_code *tw_cl_choose(const struct tw_gpu_launch *job, void *context,
                                              void *device, int is_plain) {
  const struct tw_gpu_code *chosen = NULL;
  for (unsigned i = 0; i < job->variant->num_gpu; ++i) {
    const struct tw_gpu_code *code = &job->variant->gpu[i];
    int is_better = !chosen || (code->last_version && !chosen->last_version);
    if (is_better && tw_cl_fits(device, code) &&
        (is_plain ? code->num_maps == 0 : tw_cl_loads_blocks(job, context, device, code)))
      chosen = code;
  }
  return chosen;
}

/* Refuses a kernel whose module uses what the device lacks, and says what that is. */
static int tw_cl_check_needs(const struct tw_gpu_launch *job, void *device,
                             const struct tw_gpu_code *code, struct tilewright_error *error) {
  const char *format = "%s uses %s, which this OpenCL device does not have (%s): %s";
  const struct tw_cl_need *missing = tw_cl_missing(device, code);
  if (missing)
    return tw_fail(error, TILEWRIGHT_NO_ARCH, format, job->kernel->name, missing->what,
                   missing->extension, missing->hint);
  for (size_t i = 0; i < sizeof(tw_cl_atomic_needs) / sizeof(tw_cl_atomic_needs[0]); ++i) {
    const struct tw_cl_atomic_need *need = &tw_cl_atomic_needs[i];
    if (tw_cl_uses(code->image, code->image_bytes, need->capability) &&
        !(tw_cl_number(device, TW_CL_HALF_ATOMICS + need->position) & need->bit))
      return tw_fail(error, TILEWRIGHT_NO_ARCH, format, job->kernel->name, need->what,
                     "cl_ext_float_atomics", TW_CL_COMPARE_AND_SWAP);
  }
  return TILEWRIGHT_SUCCESS;
}

/* How kernels get pointers to memory of the host, or of a queue's context; null where they reach
 * none: a launch does not say how large arrays are, so that they are not copied to buffers. */
static tw_cl_pointer_setter tw_cl_find_setter(void *device, int is_host) {
  uint64_t svm = tw_cl_number(device, TW_CL_SVM);
  tw_cl_pointer_setter setter = NULL;
  if (is_host ? svm & TW_CL_SYSTEM_MEMORY : svm)
    return tw_cl.call.set_pointer;
  if (tw_cl_has(device, "cl_intel_unified_shared_memory") &&
      tw_cl_number(device, is_host ? TW_CL_SYSTEM_USM : TW_CL_DEVICE_USM)) {
    void *platform = (void *)(uintptr_t)tw_cl_number(device, TW_CL_PLATFORM);
    void *function = tw_cl.call.find_extension(platform, "clSetKernelArgMemPointerINTEL");
    memcpy(&setter, &function, sizeof(function));
  }
  return setter;
}

/* Checks what the driver says of a kernel of so many threads, and keeps the limits of launches. */
static int tw_cl_check_limits(void *device, struct tw_cl_code *built,
                              struct tilewright_error *error) {
  const struct tw_gpu_code *code = built->code;
  uint64_t bits = tw_cl_number(device, TW_CL_ADDRESS_BITS);
  size_t threads = 0;
  int result = tw_cl.call.kernel_fact(built->kernel, device, TW_CL_KERNEL_THREADS, sizeof(threads),
                                      &threads, NULL);
  built->max_threads = bits && bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
  if (result)
    return tw_cl_fail(error, result, "clGetKernelWorkGroupInfo", code->symbol);
  return code->num_threads <= threads
             ? TILEWRIGHT_SUCCESS
             : tw_fail(error, TILEWRIGHT_DRIVER,
                       "%s has %u threads, and a program on this device may have %u", code->symbol,
                       code->num_threads, (unsigned)threads);
}

static int tw_cl_build(const struct tw_gpu_launch *job, void *device, struct tw_cl_code *built,
                       struct tilewright_error *error) {
  const struct tw_gpu_code *code = built->code;
  const char *function = "clCreateProgramWithIL";
  int result = 0;
  uint64_t local_bytes = tw_cl_number(device, TW_CL_LOCAL_BYTES);
  char log[256] = "";
  int failure = tw_cl_check_needs(job, device, code, error);
  if (failure)
    return failure;
  built->set_pointer = tw_cl_find_setter(device, !job->stream);
  if (!built->set_pointer)
    return tw_fail(
        error, TILEWRIGHT_DRIVER,
        job->stream ? "%s takes pointers, and this OpenCL device has neither shared virtual "
                      "memory nor unified shared memory: launch on another device"
                    : "%s: kernels on this OpenCL device do not reach memory of the host: pass a "
                      "cl_command_queue as launch.stream, and pointers of its context",
        job->kernel->name);
  if (local_bytes && code->shared_bytes > local_bytes)
    return tw_fail(error, TILEWRIGHT_DRIVER,
                   "%s needs %u bytes of shared memory, and a program on this device may have %u",
                   code->symbol, code->shared_bytes, (unsigned)local_bytes);
  built->program =
      tw_cl.call.create_program(built->context, code->image, code->image_bytes, &result);
  if (result == 0) {
    function = "clBuildProgram";
    result = tw_cl.call.build(built->program, 1, &device, code->build_options, NULL, NULL);
    if (result &&
        tw_cl.call.build_fact(built->program, device, TW_CL_BUILD_LOG, sizeof(log) - 1, log,
                              NULL) == 0 &&
        log[0])
      return tw_fail(error, TILEWRIGHT_DRIVER, "%s: the OpenCL driver refuses the code: %.200s",
                     job->kernel->name, log);
  }
  if (result == 0) {
    function = "clCreateKernel";
    built->kernel = tw_cl.call.create_kernel(built->program, code->symbol, &result);
  }
  return result ? tw_cl_fail(error, result, function, job->kernel->name)
                : tw_cl_check_limits(device, built, error);
}

static void tw_cl_release(struct tw_cl_code *built) {
  if (built->kernel)
    (void)tw_cl.call.release_kernel(built->kernel);
  if (built->program)
    (void)tw_cl.call.release_program(built->program);
  free(built);
}

/* The code of a variant in a context, built now where it was not; null with an error. */
static struct tw_cl_code *tw_cl_load(const struct tw_gpu_launch *job, void *context, void *device,
                                     int is_plain, struct tilewright_error *error) {
  const struct tw_gpu_code *code = tw_cl_choose(job, context, device, is_plain);
  char name[64] = "unknown";
  struct tw_cl_code *built = code ? tw_cl_find(context, code) : NULL;
  if (built)
    return built;
  if (!code) {
    (void)tw_cl.call.device_fact(device, TW_CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    (void)tw_fail(error, TILEWRIGHT_NO_ARCH,
                  "%s has no code for %.60s: it is not the machine of the code, or has no "
                  "subgroups of the code's lanes",
                  job->kernel->name, name);
    return NULL;
  }
  built = calloc(1, sizeof(*built));
  if (!built) {
    (void)tw_fail(error, TILEWRIGHT_NO_MEMORY, "%s: no memory", job->kernel->name);
    return NULL;
  }
  built->context = context;
  built->code = code;
  if (tw_cl_build(job, device, built, error)) {
    tw_cl_release(built);
    return NULL;
  }
  built->next = tw_cl.codes;
  tw_cl.codes = built;
  return built;
}

/* Makes the context and queue of a device. */
static int tw_cl_enter(struct tw_cl_device *device, struct tilewright_error *error) {
  int result = 0;
  if (device->queue)
    return TILEWRIGHT_SUCCESS;
  if (!device->context)
    device->context = tw_cl.call.create_context(NULL, 1, &device->id, NULL, NULL, &result);
  if (result)
    return tw_cl_fail(error, result, "clCreateContext", "using an OpenCL device");
  device->queue = tw_cl.call.create_queue(device->context, device->id, NULL, &result);
  return result ? tw_cl_fail(error, result, "clCreateCommandQueueWithProperties",
                             "using an OpenCL device")
                : TILEWRIGHT_SUCCESS;
}

/* Sets the arguments and enqueues, under the mutex. */
static int tw_cl_enqueue(const struct tw_gpu_launch *job, const struct tw_cl_code *built,
                         void *queue, void **event, struct tilewright_error *error) {
  const struct tw_gpu_code *code = built->code;
  if ((uint64_t)job->grid[0] > built->max_threads / code->num_threads)
    return tw_fail(error, TILEWRIGHT_BAD_GRID,
                   "the grid of %s is too large: this device numbers %llu threads along an axis",
                   job->kernel->name, (unsigned long long)built->max_threads);
  for (unsigned i = 0; i < code->num_parameters; ++i) {
    unsigned argument = code->parameters[i];
    const struct tw_argument *facts = &job->kernel->arguments[argument];
    const uint64_t *value = &job->values[argument];
    int result = facts->is_pointer
                     ? built->set_pointer(built->kernel, i, (const void *)(uintptr_t)*value)
                     : tw_cl.call.set_argument(built->kernel, i, facts->bytes, value);
    if (result)
      return tw_cl_fail(error, result, "clSetKernelArg", job->kernel->name);
  }
  size_t local[] = {code->num_threads, 1, 1};
  size_t global[] = {(size_t)job->grid[0] * code->num_threads, (size_t)job->grid[1],
                     (size_t)job->grid[2]};
  int result = tw_cl.call.launch(queue, built->kernel, 3, NULL, global, local, 0, NULL, event);
  return result ? tw_cl_fail(error, result, "clEnqueueNDRangeKernel", job->kernel->name)
                : TILEWRIGHT_SUCCESS;
}

/* Finds the queue, loads and, where there is a grid, enqueues; `event`: of a launch to wait for. */
static int tw_cl_begin(const struct tw_gpu_launch *job, int number, void **event,
                       struct tilewright_error *error) {
  void *queue = job->stream, *context = NULL, *id = NULL;
  int failure = tw_cl_open(error);
  if (failure)
    return failure;
  if (queue) {
    int result = tw_cl.call.queue_fact(queue, TW_CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
    if (!result)
      result = tw_cl.call.queue_fact(queue, TW_CL_QUEUE_DEVICE, sizeof(id), &id, NULL);
    if (result)
      return tw_cl_fail(error, result, "clGetCommandQueueInfo", job->kernel->name);
  } else {
    if ((unsigned)number >= tw_cl.num_devices)
      return tw_fail(error, TILEWRIGHT_NO_GPU, "there is no OpenCL device %d", number);
    struct tw_cl_device *device = &tw_cl.devices[number];
    failure = tw_cl_enter(device, error);
    if (failure)
      return failure;
    queue = device->queue;
    context = device->context;
    id = device->id;
  }
  struct tilewright_error told = {TILEWRIGHT_DRIVER, ""};
  error = error ? error : &told;
  struct tw_cl_code *built = tw_cl_load(job, context, id, /*is_plain=*/0, error);
  if (built && !job->grid && built->code->num_maps) /* a launch may take either */
    built = tw_cl_load(job, context, id, /*is_plain=*/1, error);
  if (!built)
    return error->code;
  return job->grid ? tw_cl_enqueue(job, built, queue, job->stream ? NULL : event, error)
                   : TILEWRIGHT_SUCCESS;
}

/* On the OpenCL device of a number, or in the queue that the launch brings. A launch without one
 * has ended when this returns. */
static int tw_launch_on_opencl(const struct tw_gpu_launch *job, int number,
                               struct tilewright_error *error) {
  void *event = NULL;
  pthread_mutex_lock(&tw_cl.mutex);
  int failure = tw_cl_begin(job, number, &event, error);
  pthread_mutex_unlock(&tw_cl.mutex);
  if (failure || !event)
    return failure;
  int result = tw_cl.call.wait(1, &event);
  (void)tw_cl.call.release_event(event);
  return result ? tw_cl_fail(error, result, "clWaitForEvents", job->kernel->name)
                : TILEWRIGHT_SUCCESS;
}

static void tw_opencl_unload(void) {
  pthread_mutex_lock(&tw_cl.mutex);
  int is_usable = tw_cl.state == 1 && tw_cl.process == getpid();
  while (tw_cl.codes) {
    struct tw_cl_code *next = tw_cl.codes->next;
    if (is_usable)
      tw_cl_release(tw_cl.codes);
    else
      free(tw_cl.codes);
    tw_cl.codes = next;
  }
  for (unsigned i = 0; is_usable && i < tw_cl.num_devices; ++i) {
    struct tw_cl_device *device = &tw_cl.devices[i];
    if (device->queue)
      (void)tw_cl.call.release_queue(device->queue);
    if (device->context)
      (void)tw_cl.call.release_context(device->context);
    device->queue = device->context = NULL;
  }
  pthread_mutex_unlock(&tw_cl.mutex);
}
