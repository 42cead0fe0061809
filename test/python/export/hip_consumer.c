/* A program that launches the package of export_kernels.py on AMD's GPUs, in what C11 and C++17
 * have in common: `hip_consumer TEST` prints "passed", or says what is wrong and exits with 1. */
#include "kernels.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int holds, const char *what) {
  if (!holds) {
    printf("wrong: %s\n", what);
    exit(1);
  }
}

static void check_success(int result, const struct tilewright_error *error) {
  if (result)
    printf("TW%04d %s\n", result, error->message);
  check(result == 0, "a launch failed");
  check(error->code == 0, "a success with the number of a failure");
}

static void check_refusal(int result, const struct tilewright_error *error, int code,
                          const char *words) {
  if (result != code || error->code != code || !strstr(error->message, words)) {
    printf("TW%04d %s\n", result, error->message);
    check(0, words);
  }
}

/* The runtime as a program uses it that has its own memory. */
static struct {
  int (*current)(int *);
  int (*choose)(int);
  int (*allocate)(void **, size_t);
  int (*to_device)(void *, const void *, size_t);
  int (*to_host)(void *, const void *, size_t);
  int (*last_error)(void);
  const char *(*record)(void);
  void (*configure)(const char *);
  int (*live)(void);
} hip;

static void find(void *library, const char *name, void *place) {
  void *function = dlsym(library, name);
  check(function != NULL, name);
  memcpy(place, &function, sizeof(function));
}

static void open_hip(const char *words) {
  void *library = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_LOCAL);
  check(library != NULL, "no libamdhip64");
  find(library, "hipGetDevice", &hip.current);
  find(library, "hipSetDevice", &hip.choose);
  find(library, "hipMalloc", &hip.allocate);
  find(library, "hipMemcpyHtoD", &hip.to_device);
  find(library, "hipMemcpyDtoH", &hip.to_host);
  find(library, "hipGetLastError", &hip.last_error);
  find(library, "hipDoubleRecord", &hip.record);
  find(library, "hipDoubleConfigure", &hip.configure);
  find(library, "hipDoubleLiveObjects", &hip.live);
  if (words)
    hip.configure(words);
}

enum { COUNT = 1003, SIDE = 64 };
static float input[COUNT + 1], output[COUNT + 1];

static float *on_gpu(const float *from, size_t count) {
  void *address = NULL;
  check(hip.allocate(&address, count * sizeof(float)) == 0, "no memory of the GPU");
  check(hip.to_device(address, from, count * sizeof(float)) == 0, "a copy to the GPU");
  return (float *)address;
}

static void check_scale(const struct tilewright_launch *launch, int count) {
  struct tilewright_error error;
  for (int i = 0; i <= COUNT; ++i) {
    input[i] = (float)(i % 97) - 48.0f;
    output[i] = -1.0f;
  }
  float *x = on_gpu(input, COUNT + 1), *y = on_gpu(output, COUNT + 1);
  check_success(scale(x, y, count, 3.0f, launch, &error), &error);
  check(hip.to_host(output, y, sizeof(output)) == 0, "a copy back");
  for (int i = 0; i < count; ++i)
    check(output[i] == 3.0f * input[i], "an element of scale");
  check(output[count] == -1.0f, "an element behind the last");
}

static void check_product(int m, int n, int k) {
  struct tilewright_error error;
  float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE] = {0};
  for (int i = 0; i < SIDE * SIDE; ++i) {
    a[i] = (float)(i % 7 - 3);
    b[i] = (float)(i % 5 - 2);
  }
  const struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_CURRENT_GPU, NULL};
  float *x = on_gpu(a, SIDE * SIDE), *y = on_gpu(b, SIDE * SIDE), *z = on_gpu(c, SIDE * SIDE);
  check_success(matmul(x, y, z, m, n, k, k, n, n, &there, &error), &error);
  check(hip.to_host(c, z, sizeof(c)) == 0, "a copy back");
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
      check(sum == c[i * n + j], "an element of the product"); /* small integers: exact */
    }
}

/* On the current device: values, the grid, the stream, loading ahead, unloading. */
static void test_values(void) {
  struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_CURRENT_GPU, (void *)0x70};
  struct tilewright_error error;
  open_hip(NULL);
  check_success(kernels_load(&there, &error), &error);
  check(strstr(hip.record(), "hipModuleLoadDataEx") != NULL, "nothing was loaded");
  check(strstr(hip.record(), "hipModuleLaunchKernel") == NULL, "something was launched");
  check(strstr(hip.record(), "hipThreadExchangeStreamCaptureMode 2") != NULL,
        "loading would break the capture of a stream");
  check_scale(&there, COUNT - 1);
  check_scale(&there, 992);
  there.device = TILEWRIGHT_GPU(0);
  check_scale(&there, COUNT - 1);
  const char *launch = strstr(hip.record(), "hipModuleLaunchKernel");
  check(launch && !strstr(launch, "hipModuleLoadDataEx"), "a launch loaded what was loaded");
  check(strstr(launch, "stream=0x70") != NULL, "another stream");
  check(strstr(launch, "grid=16,1,1") && strstr(launch, "grid=4,1,1"), "another grid");
  check_product(64, 64, 32);
  check_product(37, 23, 11);
  int live = hip.live();
  kernels_unload();
  check(hip.live() < live, "unloading left the modules");
  check_scale(&there, 992);
}

static int count_of(const char *text, const char *word) {
  int count = 0;
  while ((text = strstr(text, word)) != NULL) {
    ++count;
    text += strlen(word);
  }
  return count;
}

/* By number: each GPU has modules of its own, and the caller's device stays. */
static void test_numbers(void) {
  struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_GPU(1), NULL};
  struct tilewright_error error;
  int current = -1;
  open_hip("devices=3");
  check(hip.choose(2) == 0, "no third GPU");
  for (int round = 0; round < 2; ++round)
    for (int number = 0; number < 2; ++number) {
      there.device = number ? TILEWRIGHT_HIP_GPU(number) : TILEWRIGHT_GPU(number);
      check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
    }
  check(count_of(hip.record(), "hipModuleLoadDataEx") == 2, "once for each GPU");
  check(hip.current(&current) == 0 && current == 2, "another device was left current");
  there.device = TILEWRIGHT_AUTO; /* the processor, where there is code for it */
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  check(count_of(hip.record(), "hipModuleLaunchKernel") == 4, "the processor's launch");
  there.device = TILEWRIGHT_GPU(3);
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_GPU, "GPU 3");
  check(hip.last_error() == 0, "a failure that was told is left behind");
  there.device = 7;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_GPU, "is 7");
  there.device = TILEWRIGHT_CUDA_GPU(0);
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_DRIVER,
                "no CUDA driver");
  kernels_unload();
  check(hip.live() == 0, "unloading left something");
  check(hip.current(&current) == 0 && current == 2, "unloading changed the current device");
}

/* Where only the GPU has code, anywhere is the thread's current device. */
static void test_anywhere(void) {
  const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_AUTO, NULL};
  struct tilewright_error error;
  open_hip("devices=2");
  check(hip.choose(1) == 0, "no second GPU");
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  check(count_of(hip.record(), "hipModuleLaunchKernel") == 1, "no launch");
  check(count_of(hip.record(), "hipSetDevice") == 1, "another device");
}

static int fail_launch(const char *words, int code, const char *expected) {
  const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
  struct tilewright_error error;
  hip.configure(words);
  kernels_unload();
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, code, expected);
  check(scale(input, output, 64, 1.0f, &there, NULL) == code, "without a place for words");
  return hip.last_error();
}

static void test_failures(void) {
  struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
  struct tilewright_error error;
  open_hip("");
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  fail_launch("arch=gfx906", TILEWRIGHT_NO_ARCH, "a GPU of gfx906; the package has ");
  fail_launch("fail=hipModuleLoadDataEx:2", TILEWRIGHT_NO_MEMORY,
              "hipModuleLoadDataEx returned 2 (hipErrorOutOfMemory");
  check(fail_launch("fail=hipModuleLaunchKernel:719", TILEWRIGHT_DRIVER,
                    "hipModuleLaunchKernel returned 719 (hipErrorLaunchFailure") == 0,
        "a failure that was told is left behind");
  fail_launch("fail=hipModuleLoadDataEx:900", TILEWRIGHT_DRIVER, "StreamCaptureUnsupported");
  fail_launch("fail=hipModuleGetFunction:500", TILEWRIGHT_DRIVER, "hipModuleGetFunction returned");
  fail_launch("fail=hipGetDevice:3", TILEWRIGHT_DRIVER, "returned 3");
  fail_launch("fail=hipDeviceGetAttribute:1", TILEWRIGHT_DRIVER, "hipDeviceGetAttribute");
  hip.configure("");
  kernels_unload();
  check(hip.live() == 0, "failures left something");
  check_refusal(scale((float *)((uintptr_t)1 << 48), output, 64, 1.0f, &there, &error), &error,
                TILEWRIGHT_NULL_POINTER, "`x` of scale is no address");
  there.grid[1] = 65536;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_BAD_GRID,
                "65535");
  there.grid[1] = 1;
  there.grid[0] = 1 << 26;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_BAD_GRID,
                "along its first axis");
}

static void *launch_often(void *argument) {
  const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(*(int *)argument), NULL};
  struct tilewright_error error;
  int current = -1;
  for (int round = 0; round < 200; ++round)
    check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  check(hip.current(&current) == 0 && current == 0, "another device was left current");
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[4];
  int numbers[4] = {0, 1, 0, 1};
  open_hip("devices=2");
  for (int i = 0; i < 4; ++i)
    check(pthread_create(&threads[i], NULL, launch_often, &numbers[i]) == 0, "no thread");
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  check(count_of(hip.record(), "hipModuleLoadDataEx") == 2, "loaded once for each GPU");
  pid_t child = fork();
  if (child == 0) {
    launch_often(&numbers[1]);
    _exit(7);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
        "launches in a forked child");
  kernels_unload();
  check(hip.live() == 0, "unloading left something");
}

/* Both drivers, and the processor, in one program. */
static void test_both(void) {
  struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
  struct tilewright_error error;
  float y[64], x[64] = {1, 2, 3};
  open_hip(NULL);
  check_scale(&there, 992);
  const char *(*cuda_record)(void) = NULL;
  there.device = TILEWRIGHT_GPU(0); /* of CUDA, which goes first */
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  there.device = TILEWRIGHT_CUDA_GPU(0);
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  find(dlopen("libcuda.so.1", RTLD_NOW), "cudaDoubleRecord", &cuda_record);
  check(count_of(cuda_record(), "cuLaunchKernel") == 2, "launches of CUDA");
  check(count_of(hip.record(), "hipModuleLaunchKernel") == 1, "launches of HIP");
  there.device = TILEWRIGHT_CURRENT_GPU; /* no context is current */
  check_scale(&there, 992);
  there.device = TILEWRIGHT_AUTO;
  check_success(scale(x, y, 64, 2.0f, &there, &error), &error);
  check(y[2] == 6.0f, "a launch on the processor");
}

static void test_no_driver(void) {
  struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
  struct tilewright_error error;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_DRIVER,
                "no HIP runtime on this machine: libamdhip64.so");
  there.device = TILEWRIGHT_GPU(0);
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_DRIVER,
                "no CUDA driver on this machine");
  check(strstr(error.message, "; there is no HIP runtime") != NULL, "both are named");
  there.device = TILEWRIGHT_AUTO;
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
}

static void test_old_driver(void) {
  const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
  struct tilewright_error error;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_DRIVER,
                "the HIP runtime is too old");
}

static void test_broken_driver(void) {
  const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
  struct tilewright_error error;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_DRIVER,
                "libamdhip64.so.5: invalid ELF header");
}

#ifdef WRAPS_ACCESS
/* What `access` says of a file that begins with FILE, as the environment has it. */
#ifdef __cplusplus
extern "C"
#endif
    int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode) {
  const char *refused = getenv("REFUSED_FILE"), *missing = getenv("MISSING_FILE");
  int is_missing = missing && strncmp(path, missing, strlen(missing)) == 0;
  int is_refused = refused && strncmp(path, refused, strlen(refused)) == 0 && mode != F_OK;
  errno = is_missing ? ENOENT : EACCES;
  return is_missing || is_refused ? -1 : 0;
}

static void fail_opening(const char *missing, const char *refused, int code, const char *words) {
  pid_t child = fork();
  if (child == 0) {
    const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_HIP_GPU(0), NULL};
    struct tilewright_error error;
    setenv("MISSING_FILE", missing, 1);
    setenv("REFUSED_FILE", refused, 1);
    check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, code, words);
    _exit(7);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
        words);
}

static void test_opening(void) {
  open_hip("devices=0");
  fail_opening("/dev/kfd", "-", TILEWRIGHT_NO_GPU, "there is no /dev/kfd");
  fail_opening("-", "/dev/kfd", TILEWRIGHT_NO_PERMISSION, "may not open /dev/kfd");
  fail_opening("-", "/dev/dri/renderD", TILEWRIGHT_NO_PERMISSION, "none of the GPUs' own files");
  fail_opening("-", "/dev/dri/renderD129", TILEWRIGHT_NO_GPU, "hipErrorNoDevice");
  hip.configure("fail=hipInit:3");
  fail_opening("-", "-", TILEWRIGHT_DRIVER, "hipInit returned 3");
}
#else
static void test_opening(void) { check(0, "this program does not replace access()"); }
#endif

#ifdef HAS_FFI
/* TVMFFIAny and DLTensor, as tvm/ffi/c_api.h and dlpack.h lay them out. */
struct any {
  int32_t type;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void *pointer;
  } value;
};
struct tensor {
  void *data;
  int32_t device_type, device_id, num_dims;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
#ifdef __cplusplus
extern "C"
#endif
    int __tvm_ffi_scale(void *self, const struct any *given, int32_t count, struct any *result);

static int call_ffi(int device_type, int device_id) {
  struct tensor tensors[2];
  struct any given[5], result;
  memset(tensors, 0, sizeof(tensors));
  memset(given, 0, sizeof(given));
  for (int i = 0; i < 2; ++i) {
    tensors[i].data = i ? output : input;
    tensors[i].device_type = device_type;
    tensors[i].device_id = device_id;
    tensors[i].code = 2; /* floats */
    tensors[i].bits = 32;
    tensors[i].lanes = 1;
    given[i].type = 7; /* a DLTensor */
    given[i].value.pointer = &tensors[i];
  }
  given[2].type = 1;
  given[2].value.integer = 64;
  given[3].type = 3;
  given[3].value.real = 2.0;
  given[4].type = 1;
  given[4].value.integer = 1;
  return __tvm_ffi_scale(NULL, given, 5, &result);
}

/* Tensors of ROCm launch on their GPU, and of no other maker. */
static void test_ffi(void) {
  enum { cpu = 1, cuda = 2, rocm = 10, rocm_host = 11 };
  open_hip("devices=2");
  check(call_ffi(rocm, 1) == 0, "a tensor of the second GPU");
  check(count_of(hip.record(), "hipModuleLaunchKernel") == 1, "no launch");
  check(count_of(hip.record(), "hipSetDevice 1") == 1, "another GPU");
  input[3] = 21.0f;
  check(call_ffi(rocm_host, 0) == 0 && output[3] == 42.0f, "a tensor of the host");
  check(call_ffi(cpu, 0) == 0, "a tensor of the processor");
  check(call_ffi(cuda, 0) == -1, "a tensor of a maker whose driver is missing");
  check(call_ffi(rocm, 2) == -1 && call_ffi(rocm, -1) == -1, "a GPU that is not there");
  check(count_of(hip.record(), "hipModuleLaunchKernel") == 1, "a launch too many");
}
#else
static void test_ffi(void) { check(0, "this program calls no function of TVM-FFI"); }
#endif

int main(int count, char **words) {
  static const struct {
    const char *name;
    void (*run)(void);
  } tests[] = {{"values", test_values},
               {"numbers", test_numbers},
               {"anywhere", test_anywhere},
               {"failures", test_failures},
               {"threads", test_threads},
               {"both", test_both},
               {"no_driver", test_no_driver},
               {"old_driver", test_old_driver},
               {"opening", test_opening},
               {"ffi", test_ffi},
               {"broken_driver", test_broken_driver}};
  for (size_t i = 0; count > 1 && i < sizeof(tests) / sizeof(tests[0]); ++i)
    if (strcmp(words[1], tests[i].name) == 0) {
      tests[i].run();
      kernels_unload();
      puts("passed");
      return 0;
    }
  puts("which test?");
  return 2;
}
