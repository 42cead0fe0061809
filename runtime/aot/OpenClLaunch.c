/* A package's kernels on OpenCL devices, by SPIR-V that the driver builds: the library, opened when
 * a launch first needs it, devices, built code for each context, launches. */
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
  TW_CL_LOCAL_BYTES = 0x1023,
  TW_CL_DEVICE_NAME = 0x102B,
  TW_CL_SVM = 0x1053,
  TW_CL_SPIRV = 0x105B,
  TW_CL_QUEUE_CONTEXT = 0x1090,
  TW_CL_QUEUE_DEVICE = 0x1091,
  TW_CL_BUILD_LOG = 0x1183,
  TW_CL_SUBGROUP_SIZES = 0x4108,
  TW_CL_SYSTEM_MEMORY = 1 << 2, /* of TW_CL_SVM */
  TW_CL_MAX_DEVICES = 64
};

struct tw_cl_functions {
  int (*platforms)(unsigned, void **, unsigned *);
  int (*devices)(void *, uint64_t, unsigned, void **, unsigned *);
  int (*device_fact)(void *, unsigned, size_t, void *, size_t *);
  int (*queue_fact)(void *, unsigned, size_t, void *, size_t *);
  int (*build_fact)(void *, void *, unsigned, size_t, void *, size_t *);
  void *(*create_context)(const intptr_t *, unsigned, void *const *, void *, void *, int *);
  void *(*create_queue)(void *, void *, const uint64_t *, int *);
  void *(*create_program)(void *, const void *, size_t, int *);
  void *(*create_kernel)(void *, const char *, int *);
  int (*build)(void *, unsigned, void *const *, const char *, void *, void *);
  int (*set_argument)(void *, unsigned, size_t, const void *);
  int (*set_pointer)(void *, unsigned, const void *);
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

/* Whether a device has subgroups of as many lanes as the code was compiled for. */
static int tw_cl_fits(void *device, const struct tw_gpu_code *code) {
  size_t sizes[16] = {0}, bytes = 0;
  if (code->maker != TW_OPENCL ||
      tw_cl.call.device_fact(device, TW_CL_SUBGROUP_SIZES, sizeof(sizes), sizes, &bytes))
    return 0;
  for (size_t i = 0; i < bytes / sizeof(sizes[0]); ++i)
    if (sizes[i] == code->arch)
      return 1;
  return 0;
}

static const struct tw_gpu_code *tw_cl_choose(const struct tw_variant *variant, void *device) {
  for (unsigned i = 0; i < variant->num_gpu; ++i)
    if (tw_cl_fits(device, &variant->gpu[i]))
      return &variant->gpu[i];
  return NULL;
}

static int tw_cl_build(const struct tw_gpu_launch *job, void *device, struct tw_cl_code *built,
                       struct tilewright_error *error) {
  const struct tw_gpu_code *code = built->code;
  const char *function = "clCreateProgramWithIL";
  int result = 0;
  uint64_t local_bytes = 0;
  char log[256] = "";
  if (tw_cl.call.device_fact(device, TW_CL_LOCAL_BYTES, sizeof(local_bytes), &local_bytes, NULL) ==
          0 &&
      code->shared_bytes > local_bytes)
    return tw_fail(error, TILEWRIGHT_DRIVER,
                   "%s needs %u bytes of shared memory, and a program on this device may have %u",
                   code->symbol, code->shared_bytes, (unsigned)local_bytes);
  built->program =
      tw_cl.call.create_program(built->context, code->image, code->image_bytes, &result);
  if (result == 0) {
    function = "clBuildProgram";
    result = tw_cl.call.build(built->program, 1, &device, "", NULL, NULL);
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
  return result ? tw_cl_fail(error, result, function, job->kernel->name) : TILEWRIGHT_SUCCESS;
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
                                     struct tilewright_error *error) {
  const struct tw_gpu_code *code = tw_cl_choose(job->variant, device);
  char name[64] = "unknown";
  for (struct tw_cl_code *built = tw_cl.codes; built; built = built->next)
    if (built->context == context && built->code == code)
      return built;
  if (!code) {
    (void)tw_cl.call.device_fact(device, TW_CL_DEVICE_NAME, sizeof(name) - 1, name, NULL);
    (void)tw_fail(error, TILEWRIGHT_NO_ARCH,
                  "%s has no code for %.60s, which has no subgroups of the code's lanes",
                  job->kernel->name, name);
    return NULL;
  }
  struct tw_cl_code *built = calloc(1, sizeof(*built));
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

/* Makes the context and queue of a device, whose kernels take arrays of the host. */
static int tw_cl_enter(struct tw_cl_device *device, struct tilewright_error *error) {
  uint64_t svm = 0;
  int result = 0;
  if (device->queue)
    return TILEWRIGHT_SUCCESS;
  if (tw_cl.call.device_fact(device->id, TW_CL_SVM, sizeof(svm), &svm, NULL) ||
      !(svm & TW_CL_SYSTEM_MEMORY))
    return tw_fail(error, TILEWRIGHT_DRIVER,
                   "kernels on this OpenCL device do not reach memory of the host: pass a "
                   "cl_command_queue as launch.stream, and pointers of its context");
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
  for (unsigned i = 0; i < code->num_parameters; ++i) {
    unsigned argument = code->parameters[i];
    const struct tw_argument *facts = &job->kernel->arguments[argument];
    const uint64_t *value = &job->values[argument];
    int result = facts->is_pointer
                     ? tw_cl.call.set_pointer(built->kernel, i, (const void *)(uintptr_t)*value)
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
  struct tw_cl_code *built = tw_cl_load(job, context, id, error);
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
