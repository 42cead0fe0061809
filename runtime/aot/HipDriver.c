/* The HIP runtime: its functions, the current device of a thread, and the architectures of GPUs. */
#include "runtime/aot/Tables.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Newest first; the last is the name that frameworks give the one that they bring. */
static const char *const tw_hip_libraries[] = {"libamdhip64.so.7", "libamdhip64.so.6",
                                               "libamdhip64.so.5", "libamdhip64.so", NULL};

/* Of the two functions for properties the later one stays where a runtime has both. */
static const struct tw_driver_function tw_hip_functions[] = {
    {"hipRuntimeGetVersion", offsetof(struct tw_driver, version), 0},
    {"hipInit", offsetof(struct tw_driver, init), 0},
    {"hipGetDeviceCount", offsetof(struct tw_driver, device_count), 0},
    {"hipDeviceGetAttribute", offsetof(struct tw_driver, attribute), 0},
    {"hipGetDeviceProperties", offsetof(struct tw_driver, properties), 1},
    {"hipGetDevicePropertiesR0600", offsetof(struct tw_driver, properties), 1},
    {"hipGetDevice", offsetof(struct tw_driver, current_device), 0},
    {"hipSetDevice", offsetof(struct tw_driver, choose_device), 0},
    {"hipModuleLoadDataEx", offsetof(struct tw_driver, load), 0},
    {"hipModuleUnload", offsetof(struct tw_driver, unload), 0},
    {"hipModuleGetFunction", offsetof(struct tw_driver, function), 0},
    {"hipModuleLaunchKernel", offsetof(struct tw_driver, launch), 0},
    {"hipGetErrorName", offsetof(struct tw_driver, name_of_error), 0},
    {"hipGetErrorString", offsetof(struct tw_driver, text_of_error), 0},
    {"hipGetLastError", offsetof(struct tw_driver, last_error), 0},
    {"hipThreadExchangeStreamCaptureMode", offsetof(struct tw_driver, capture_mode), 1},
};

static const char *tw_hip_arch_name(unsigned arch, char *text, size_t bytes) {
  (void)snprintf(text, bytes, "gfx%x", arch);
  return text;
}

/* HIP 5.0 is the first that runs code objects of version 5. */
static int tw_hip_check_version(struct tw_gpus *gpus, struct tilewright_error *error) {
  enum { needed = 50000000 };
  int version = 0;
  if (gpus->call.version(&version) == 0 && version < needed)
    return tw_fail(error, TILEWRIGHT_NO_DRIVER,
                   "the HIP runtime is too old: %d.%d, and 5.0 is needed", version / 10000000,
                   version % 10000000 / 100000);
  return gpus->call.properties
             ? TILEWRIGHT_SUCCESS
             : tw_fail(error, TILEWRIGHT_NO_DRIVER,
                       "the HIP runtime is too old: it has no hipGetDeviceProperties");
}

static int tw_is_refused(const char *file) {
  return access(file, R_OK | W_OK) != 0 && (errno == EACCES || errno == EPERM);
}

/* By its files: /dev/kfd is the way to all GPUs, /dev/dri/renderD128 and so on to one each. */
static int tw_hip_explain_absence(struct tilewright_error *error) {
  enum { first_file = 128, end_file = 256 };
  int num_files = 0, num_refused = 0;
  char file[64];
  if (access("/dev/kfd", F_OK) != 0 && errno == ENOENT)
    return tw_fail(
        error, TILEWRIGHT_NO_GPU,
        "there is no /dev/kfd, by which processes reach AMD's GPUs: load amdgpu, and start "
        "containers with --device=/dev/kfd --device=/dev/dri");
  if (tw_is_refused("/dev/kfd"))
    return tw_fail(error, TILEWRIGHT_NO_PERMISSION,
                   "this user may not open /dev/kfd: add it to the groups render and video");
  for (int number = first_file; number < end_file; ++number) {
    (void)snprintf(file, sizeof(file), "/dev/dri/renderD%d", number);
    num_files += access(file, F_OK) == 0;
    num_refused += tw_is_refused(file);
  }
  if (num_files == 0 || num_refused < num_files)
    return 0;
  return tw_fail(
      error, TILEWRIGHT_NO_PERMISSION,
      "this user may open /dev/kfd, and none of the GPUs' own files /dev/dri/renderD*: add it "
      "to the group render");
}

/* A thread has a current device always. */
static int tw_hip_find_current(const struct tw_gpus *gpus, struct tw_gpu_current *current) {
  int device = 0;
  int result = gpus->call.current_device(&device);
  current->handle = NULL;
  current->id = (unsigned long long)device;
  current->is_there = result == 0;
  return result;
}

/* 0x90a of "gfx90a:sramecc+:xnack-": what follows are settings that the code runs under either way.
 */
static unsigned tw_hip_arch(const char *name) {
  char *end = NULL;
  if (strncmp(name, "gfx", 3) != 0)
    return 0;
  unsigned long arch = strtoul(name + 3, &end, 16);
  return *end == ':' || *end == '\0' ? (unsigned)arch : 0;
}

/* The name stands at one of two places of the structure (hip_runtime_api.h, hipDeviceProp_tR0600
 * and the structure of HIP 5). */
static int tw_hip_describe(const struct tw_gpus *gpus, struct tw_gpu_context *context) {
  enum { shared_bytes = 74, place = 1160, old_place = 396, name_bytes = 256 };
  _Alignas(16) char properties[4096] = {0};
  char name[name_bytes + 1] = {0};
  int shared = 0, device = (int)context->id;
  int result = gpus->call.properties(properties, device);
  if (result == 0)
    result = gpus->call.attribute(&shared, shared_bytes, device);
  int is_new = strncmp(properties + place, "gfx", 3) == 0;
  memcpy(name, properties + (is_new ? place : old_place), name_bytes);
  context->arch = tw_hip_arch(name);
  context->device = device;
  context->max_shared_bytes = (unsigned)shared;
  return result;
}

static int tw_hip_enter_device(const struct tw_gpus *gpus, int device, int *left) {
  int result = gpus->call.current_device(left);
  return result || *left == device ? result : gpus->call.choose_device(device);
}

static int tw_hip_enter_again(const struct tw_gpus *gpus, const struct tw_gpu_context *context,
                              int *left) {
  return tw_hip_enter_device(gpus, context->device, left);
}

static int tw_hip_enter(const struct tw_gpus *gpus, int number, int *left,
                        struct tilewright_error *error) {
  int result = tw_hip_enter_device(gpus, number, left);
  if (result == TW_INVALID_DEVICE) {
    (void)gpus->call.last_error();
    return tw_fail(error, TILEWRIGHT_NO_GPU, "there is no GPU %d of HIP", number);
  }
  size_t place = offsetof(struct tw_driver, choose_device);
  return result ? tw_driver_fail(gpus, error, result, place, "using a GPU") : TILEWRIGHT_SUCCESS;
}

static void tw_hip_leave(const struct tw_gpus *gpus, int number, int left) {
  if (left != number)
    (void)gpus->call.choose_device(left);
}

static void tw_hip_drop(struct tw_gpus *gpus, int number, struct tw_gpu_context *context) {
  (void)gpus, (void)number, (void)context;
}

static const struct tw_gpu_maker tw_hip = {.driver = "HIP runtime",
                                           .libraries = tw_hip_libraries,
                                           .functions = tw_hip_functions,
                                           .num_functions = sizeof(tw_hip_functions) /
                                                            sizeof(tw_hip_functions[0]),
                                           /* A dispatch counts threads in 32 bits (HSA Runtime
                                              Specification, "Kernel dispatch packet"). */
                                           .most_threads = UINT32_MAX,
                                           .address_bits = 48, /* of a buffer resource */
                                           .shared_bytes_without_request = UINT32_MAX,
                                           .arch_name = tw_hip_arch_name,
                                           .check_version = tw_hip_check_version,
                                           .explain_absence = tw_hip_explain_absence,
                                           .find_current = tw_hip_find_current,
                                           .describe = tw_hip_describe,
                                           .enter_again = tw_hip_enter_again,
                                           .leave = tw_hip_leave,
                                           .enter = tw_hip_enter,
                                           .drop = tw_hip_drop};
