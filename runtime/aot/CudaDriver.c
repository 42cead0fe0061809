/* The CUDA driver: its functions, and the contexts of its GPUs. */
#include "runtime/aot/Tables.h"

static const char *const tw_cuda_libraries[] = {"libcuda.so.1", NULL};

static const struct tw_driver_function tw_cuda_functions[] = {
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
    {"cuLaunchKernelEx", offsetof(struct tw_driver, launch_by_configuration), 1},
    {"cuCtxGetId", offsetof(struct tw_driver, context_id), 1},
    {"cuTensorMapEncodeTiled", offsetof(struct tw_driver, encode_map), 1},
    {"cuThreadExchangeStreamCaptureMode", offsetof(struct tw_driver, capture_mode), 1},
};

static const char *tw_cuda_arch_name(unsigned arch, char *text, size_t bytes) {
  (void)snprintf(text, bytes, "compute capability %u.%u", arch / 10, arch % 10);
  return text;
}

static int tw_cuda_find_current(const struct tw_gpus *gpus, struct tw_gpu_current *current) {
  int result = gpus->call.current(&current->handle);
  current->is_there = result == 0 && current->handle != NULL;
  if (current->is_there && gpus->call.context_id &&
      gpus->call.context_id(current->handle, &current->id))
    current->id = 0;
  return result;
}

static int tw_cuda_describe(const struct tw_gpus *gpus, struct tw_gpu_context *context) {
  enum { major = 75, minor = 76, shared_bytes = 97 };
  int first = 0, second = 0, shared = 0;
  int result = gpus->call.context_device(&context->device);
  if (result == 0)
    result = gpus->call.attribute(&first, major, context->device);
  if (result == 0)
    result = gpus->call.attribute(&second, minor, context->device);
  if (result == 0)
    result = gpus->call.attribute(&shared, shared_bytes, context->device);
  context->arch = (unsigned)(10 * first + second);
  context->max_shared_bytes = (unsigned)shared;
  return result;
}

/* Makes the primary context of a GPU current. It is kept until the package is unloaded. */
static int tw_cuda_enter(const struct tw_gpus *gpus, int number, int *left,
                         struct tilewright_error *error) {
  int device = 0;
  void *handle = NULL;
  *left = 0;
  if (gpus->call.device(&device, number))
    return tw_fail(error, TILEWRIGHT_NO_GPU, "there is no GPU %d of CUDA", number);
  int result = gpus->call.retain(&handle, device);
  if (result)
    return tw_driver_fail(gpus, error, result, offsetof(struct tw_driver, retain), "using a GPU");
  result = gpus->call.push(handle);
  if (result) {
    (void)gpus->call.release(device);
    return tw_driver_fail(gpus, error, result, offsetof(struct tw_driver, push), "using a GPU");
  }
  return TILEWRIGHT_SUCCESS;
}

/* A context that was destroyed is not entered. */
static int tw_cuda_enter_again(const struct tw_gpus *gpus, const struct tw_gpu_context *context,
                               int *left) {
  unsigned long long id = 0;
  *left = 0;
  if (gpus->call.context_id) {
    int result = gpus->call.context_id(context->handle, &id);
    if (result || id != context->id)
      return result ? result : TW_INVALID_CONTEXT;
  }
  return gpus->call.push(context->handle);
}

static void tw_cuda_leave(const struct tw_gpus *gpus, int number, int left) {
  void *handle = NULL;
  (void)number, (void)left;
  (void)gpus->call.pop(&handle);
}

/* The first use of a context keeps its hold of it. */
static void tw_cuda_drop(struct tw_gpus *gpus, int number, struct tw_gpu_context *context) {
  int device = 0;
  pthread_mutex_lock(&gpus->mutex);
  int is_first = context && !context->is_primary;
  if (is_first)
    context->is_primary = 1;
  pthread_mutex_unlock(&gpus->mutex);
  if (!is_first && gpus->call.device(&device, number) == 0)
    (void)gpus->call.release(device);
}

/* CUlaunchAttribute and CUlaunchConfig of the driver's header. */
struct tw_cuda_attribute {
  int id;
  char padding[4];
  union {
    int number;
    unsigned long long words[8];
  } value;
};
struct tw_cuda_configuration {
  unsigned grid[3], block[3], shared_bytes;
  void *stream;
  struct tw_cuda_attribute *attributes;
  unsigned num_attributes;
};

static int tw_cuda_launch_early(const struct tw_gpus *gpus, const struct tw_driver_launch *launch) {
  enum { serializes_by_program = 6 }; /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION */
  struct tw_cuda_attribute attribute = {serializes_by_program, {0}, {1}};
  struct tw_cuda_configuration configuration = {{launch->grid[0], launch->grid[1], launch->grid[2]},
                                                {launch->num_threads, 1, 1},
                                                launch->shared_bytes,
                                                launch->stream,
                                                &attribute,
                                                1};
  return gpus->call.launch_by_configuration(&configuration, launch->function, launch->parameters,
                                            NULL);
}

static const struct tw_gpu_maker tw_cuda = {.driver = "CUDA driver",
                                            .libraries = tw_cuda_libraries,
                                            .functions = tw_cuda_functions,
                                            .num_functions = sizeof(tw_cuda_functions) /
                                                             sizeof(tw_cuda_functions[0]),
                                            .shared_bytes_without_request = 48 * 1024,
                                            .arch_name = tw_cuda_arch_name,
                                            .find_current = tw_cuda_find_current,
                                            .describe = tw_cuda_describe,
                                            .enter_again = tw_cuda_enter_again,
                                            .leave = tw_cuda_leave,
                                            .enter = tw_cuda_enter,
                                            .launch_early = tw_cuda_launch_early,
                                            .drop = tw_cuda_drop};
