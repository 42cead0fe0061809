/* A program that uses the package of export_kernels.py, in what C11 and C++17 have in common:
 * `consumer TEST` prints "passed", or says what is wrong and exits with 1. */
#include "kernels.h"
#include "driver.h"
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
    printf("TW%04d %s\n", error->code, error->message);
  check(result == 0, "the launch failed");
}

/* Expects a failure with that number whose message has these words. */
static void check_refusal(int result, const struct tilewright_error *error, int code,
                          const char *words) {
  if (result != code || error->code != code || !strstr(error->message, words)) {
    printf("TW%04d %s\n", result, error->message);
    check(0, words);
  }
}

enum { COUNT = 1003 };
ALIGNED static float input[COUNT + 1], output[COUNT + 1];

static void fill(void) {
  for (int i = 0; i <= COUNT; ++i) {
    input[i] = (float)(i % 97) - 48.0f;
    output[i] = -1.0f;
  }
}

static void check_scaled(const float *x, const float *y, int count, float factor) {
  for (int i = 0; i < count; ++i)
    check(y[i] == factor * x[i], "an element of scale");
}

/* n is divisible by 16 or not, and pointers are aligned or not: both specializations. */
static void test_scale(void) {
  struct tilewright_error error;
  struct tilewright_launch here = {{0, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct scale_arguments arguments = {NULL, NULL, 0, 0};
  fill();
  arguments.x = input;
  arguments.out = output;
  arguments.n = COUNT;
  arguments.factor = 2.5f;
  check_success(scale_launch(&arguments, &here, &error), &error);
  check_scaled(input, output, COUNT, 2.5f);
  check(output[COUNT] == -1.0f, "an element behind the last");
  fill();
  check_success(scale(input, output, 992, 3.0f, &here, NULL), &error);
  check_scaled(input, output, 992, 3.0f);
  check(output[992] == -1.0f, "an element behind the last");
  fill();
  check_success(scale(input + 1, output + 1, 500, 4.0f, &here, &error), &error);
  check_scaled(input + 1, output + 1, 500, 4.0f);
  here.grid[0] = 1; /* of 64 elements, as n is not divisible */
  fill();
  check_success(scale(input, output, COUNT, 5.0f, &here, &error), &error);
  check_scaled(input, output, 64, 5.0f);
  check(output[64] == -1.0f, "an element of another program");
  check_success(scale(input, output, 0, 5.0f, NULL, &error), &error); /* an empty grid */
  fill();
  here.grid[0] = 0;
  check_success(scale_anywhere(input, output, 100, 6.0f, &here, &error), &error);
  check_scaled(input, output, 100, 6.0f);
  check_success(scale_anywhere(output, output, 100, 0.5f, &here, &error), &error); /* in place */
  check_scaled(input, output, 100, 3.0f);
}

static void check_product(const float *a, const float *b, const float *c, int m, int n, int k) {
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l)
        sum += a[i * k + l] * b[l * n + j];
      check(sum == c[i * n + j], "an element of the product"); /* small integers: exact */
    }
}

static void make_product(int m, int n, int k, const struct tilewright_launch *launch) {
  struct tilewright_error error;
  float *a = (float *)aligned_alloc(64, 64 * 64 * sizeof(float));
  float *b = (float *)aligned_alloc(64, 64 * 64 * sizeof(float));
  float *c = (float *)aligned_alloc(64, 64 * 64 * sizeof(float));
  for (int i = 0; i < 64 * 64; ++i) {
    a[i] = (float)(i % 7 - 3);
    b[i] = (float)(i % 5 - 2);
    c[i] = -1;
  }
  check_success(matmul(a, b, c, m, n, k, k, n, n, launch, &error), &error);
  check_product(a, b, c, m, n, k);
  free(a);
  free(b);
  free(c);
}

static void test_matmul(void) {
  const struct tilewright_launch here = {{0, 0, 0}, TILEWRIGHT_CPU, NULL};
  make_product(64, 64, 32, &here); /* the exact shape */
  make_product(48, 32, 16, &here);
  make_product(37, 23, 11, &here);
}

static void test_mixed(void) {
  const uint16_t half_one = 0x3c00, brain_one = 0x3f80;
  const struct tilewright_launch here = {{1, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct tilewright_error error;
  uint16_t half[32], brain[32];
  double wide[32], out[32];
  for (int i = 0; i < 32; ++i) {
    half[i] = half_one;
    brain[i] = brain_one;
    wide[i] = i;
  }
  /* Rounds once, to even; overflows; the least subnormals; a NaN keeps its sign. */
  wide[1] = 1.0 + 0x1p-11, wide[2] = 1.0 + 0x1.8p-10, wide[3] = 65520.0, wide[4] = 0x1p-24;
  wide[5] = 0x1p-25, wide[6] = 1.0 + 0x1p-11 + 0x1p-40, wide[7] = -0.0, wide[8] = 1e300;
  check_success(mixed(half, brain, wide, out, 0.5f, 0.25, 1, 200, -3, &here, &error), &error);
  for (int i = 0; i < 32; ++i)
    check(out[i] == 2.0 + wide[i] + 0.5 + 0.25 + 200 - 3, "a sum of mixed types");
  check(half[1] == 0x3c00 && half[2] == 0x3c02 && half[3] == 0x7c00, "rounding to float16");
  check(half[4] == 1 && half[5] == 0 && half[6] == 0x3c01, "small float16");
  check(half[7] == 0x8000 && half[8] == 0x7c00 && half[9] == 0x4880, "signs of float16");
  check(brain[1] == 0x3f80 && brain[3] == 0x4780 && brain[9] == 0x4110, "rounding to bfloat16");
  check_success(mixed(half, brain, wide, out, 0.5f, 0.25, 0, 200, -3, &here, &error), &error);
  check(out[0] == 0.0 && out[9] == 0.0, "a flag that is false");
}

static void test_transpose(void) {
  enum { TILES = 40, SIDE = 64 };
  const struct tilewright_launch here = {{TILES, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct tilewright_error error;
  float *x = (float *)malloc(TILES * SIDE * SIDE * sizeof(float));
  float *y = (float *)malloc(TILES * SIDE * SIDE * sizeof(float));
  for (int i = 0; i < TILES * SIDE * SIDE; ++i)
    x[i] = (float)i;
  check_success(transpose(x, y, &here, &error), &error);
  for (int t = 0; t < TILES; ++t)
    for (int i = 0; i < SIDE * SIDE; ++i)
      check(y[t * SIDE * SIDE + i % SIDE * SIDE + i / SIDE] == x[t * SIDE * SIDE + i],
            "an element of the transpose");
  free(x);
  free(y);
}

/* Element (r, c) is r + c: its column sums to 2016 + 64 c, and then its row to 127 times that. */
static void test_center(void) {
  enum { TILES = 40, ROWS = 64, COLUMNS = 128 };
  const struct tilewright_launch here = {{TILES, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct tilewright_error error;
  float *x = (float *)malloc(TILES * ROWS * COLUMNS * sizeof(float));
  float *y = (float *)malloc(TILES * ROWS * COLUMNS * sizeof(float));
  for (int i = 0; i < TILES * ROWS * COLUMNS; ++i)
    x[i] = (float)(i / COLUMNS % ROWS + i % COLUMNS);
  check_success(center(x, y, &here, &error), &error);
  for (int i = 0; i < TILES * ROWS * COLUMNS; ++i) {
    int r = i / COLUMNS % ROWS, c = i % COLUMNS;
    int row = COLUMNS * (r - 2016) - 63 * (COLUMNS * (COLUMNS - 1) / 2);
    check(y[i] == (float)(r + c - 2016 - ROWS * c - row), "an element of center");
  }
  free(x);
  free(y);
}

static void test_print(void) {
  const int32_t values[4] = {3, -1, 4, 1};
  const struct tilewright_launch here = {{2, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct tilewright_error error;
  kernels_set_threads(1);
  check_success(shout(values, &here, &error), &error);
}

static int num_ranges;
static void serial_for(void *context, size_t count, void (*body)(void *, size_t, size_t),
                       void *data) {
  *(int *)context += 1;
  for (size_t i = 0; i < count; i += 2)
    body(data, i, i + 2 < count ? i + 2 : count);
}

static void test_parallel_for(void) {
  kernels_set_parallel_for(serial_for, &num_ranges);
  test_scale();
  test_center();
  check(num_ranges > 1, "the program's own loop was not called");
  kernels_set_parallel_for(NULL, NULL);
}

static void *launch_often(void *argument) {
  const struct tilewright_launch here = {{0, 0, 0}, TILEWRIGHT_CPU, NULL};
  struct tilewright_error error;
  float x[256], y[256];
  (void)argument;
  for (int i = 0; i < 256; ++i)
    x[i] = (float)i;
  for (int round = 0; round < 300; ++round) {
    check_success(scale(x, y, 255, (float)round, &here, &error), &error);
    check_scaled(x, y, 255, (float)round);
  }
  return NULL;
}

static void test_threads(void) {
  pthread_t threads[4];
  kernels_set_threads(3);
  for (int i = 0; i < 4; ++i)
    check(pthread_create(&threads[i], NULL, launch_often, NULL) == 0, "no thread");
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  kernels_unload();
  launch_often(NULL); /* starts again */
  pid_t child = fork();
  if (child == 0) {
    launch_often(NULL);
    _exit(7);
  }
  int status = 0;
  check(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
        "launches in a forked child");
  kernels_unload();
}

static void test_refusals(void) {
  struct tilewright_error error;
  struct tilewright_launch here = {{0, 0, 0}, TILEWRIGHT_CPU, NULL};
  fill();
  here.grid[1] = 5;
  check_refusal(scale(input, output, 8, 1, &here, &error), &error, TILEWRIGHT_BAD_GRID,
                "no first extent");
  here.grid[1] = 0;
  check_refusal(scale(NULL, output, 8, 1, &here, &error), &error, TILEWRIGHT_NULL_POINTER, "`x`");
  check_refusal(scale(output, output, 8, 1, &here, &error), &error, TILEWRIGHT_OVERLAP, "`out`");
  check_refusal(scale(input, output, -800, 1, &here, &error), &error, TILEWRIGHT_BAD_GRID, "(-");
  check_refusal(shout((const int32_t *)input, &here, &error), &error, TILEWRIGHT_BAD_GRID,
                "no grid");
  here.grid[0] = 1;
  here.grid[1] = -1;
  check_refusal(scale(input, output, 8, 1, &here, &error), &error, TILEWRIGHT_BAD_GRID, "1, -1, 1");
  here.device = TILEWRIGHT_GPU(0);
  here.grid[1] = 1;
  check_refusal(scale(input, output, 8, 1, &here, &error), &error, TILEWRIGHT_NO_DRIVER, "driver");
  here.device = TILEWRIGHT_CURRENT_GPU;
  check_refusal(scale(input, output, 8, 1, &here, &error), &error, TILEWRIGHT_NO_DRIVER, "driver");
  struct scale_arguments arguments = {input, output, 8, 1};
  check_refusal(scale_run(&arguments, &here, &error, 1), &error, TILEWRIGHT_INTERFACE, "header");
  check_refusal(scale_launch(NULL, &here, &error), &error, TILEWRIGHT_NULL_POINTER,
                "arguments of scale");
  check(scale_launch(NULL, NULL, NULL) == TILEWRIGHT_NULL_POINTER, "no place for the error");
  /* Where there is no GPU, anywhere is the processor. */
  check_success(scale(input, output, 60, 2.0f, NULL, &error), &error);
  check_scaled(input, output, 60, 2.0f);
}

/* A copy of host memory on the GPU; freed with the process. */
static float *on_gpu(const struct driver *driver, const float *from, size_t count) {
  uint64_t address = 0;
  check(driver->allocate(&address, count * sizeof(float)) == 0, "no memory of the GPU");
  check(driver->to_device(address, from, count * sizeof(float)) == 0, "a copy to the GPU");
  return (float *)(uintptr_t)address;
}

static void scale_on_gpu(const struct driver *driver, const struct tilewright_launch *launch,
                         int count) {
  struct tilewright_error error;
  fill();
  float *x = on_gpu(driver, input, COUNT), *y = on_gpu(driver, output, COUNT);
  check_success(scale(x, y, count, 3.0f, launch, &error), &error);
  check(driver->to_host(output, (uint64_t)(uintptr_t)y, COUNT * sizeof(float)) == 0, "a copy back");
  check_scaled(input, output, count, 3.0f);
  check(output[count] == -1.0f, "an element behind the last");
}

static struct driver with_context(void) {
  struct driver driver = open_driver();
  void *context = NULL;
  check(driver.init && driver.init(0) == 0, "no driver");
  check(driver.retain(&context, 0) == 0 && driver.push(context) == 0, "no context");
  return driver;
}

/* In the caller's context: numbers, the exact shape, the stream, loading ahead. */
static void test_gpu(void) {
  struct driver driver = with_context();
  struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_CURRENT_GPU, (void *)0x70};
  struct tilewright_error error;
  check_success(kernels_load(&there, &error), &error);
  const char *record = driver.record();
  check(strstr(record, "cuModuleLoadDataEx") != NULL, "nothing was loaded");
  check(strstr(record, "cuLaunchKernel") == NULL, "something was launched");
  check(strstr(record, "cuThreadExchangeStreamCaptureMode 2") != NULL,
        "loading would break the capture of a stream");
  driver.configure("execute=sm_80");
  scale_on_gpu(&driver, &there, COUNT - 1);
  scale_on_gpu(&driver, &there, 992);
  record = driver.record();
  check(strstr(record, "cuModuleLoadDataEx") == NULL, "a launch loaded what was loaded");
  check(strstr(record, "stream=0x70") != NULL, "another stream");
  check(strstr(record, "grid=16,1,1") && strstr(record, "grid=4,1,1"), "another grid");
  float values[64 * 64] = {0};
  float *a = on_gpu(&driver, values, 64 * 64), *b = on_gpu(&driver, values, 64 * 64),
        *c = on_gpu(&driver, values, 64 * 64);
  check_success(matmul(a, b, c, 64, 64, 32, 32, 64, 64, NULL, &error), &error);
  int live = driver.live();
  kernels_unload();
  check(driver.live() < live, "unloading left the modules");
}

/* By number: the caller's context is none before and after, and another GPU is another context. */
static void test_gpu_numbers(void) {
  struct driver driver = open_driver();
  struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_GPU(1), NULL};
  struct tilewright_error error;
  void *context = &error;
  check(driver.init != NULL, "no driver");
  driver.configure("devices=2");
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  there.device = TILEWRIGHT_GPU(0);
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  check(driver.current(&context) == 0 && context == NULL, "a context was left current");
  const char *load = strstr(driver.record(), "cuModuleLoadDataEx");
  check(load && (load = strstr(load + 1, "cuModuleLoadDataEx")) != NULL, "one GPU loaded nothing");
  check(!strstr(load + 1, "cuModuleLoadDataEx"), "a GPU loaded twice");
  there.device = TILEWRIGHT_GPU(2);
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_GPU, "GPU 2");
  there.device = TILEWRIGHT_CURRENT_GPU;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_GPU,
                "current CUDA context");
  kernels_unload();
  check(driver.live() == 0, "unloading left something");
  driver.configure("devices=1 capability=75");
  there.device = TILEWRIGHT_GPU(0);
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_ARCH,
                "compute capability 7.5; the package has sm_80");
  kernels_unload();
  driver.configure("fail=cuModuleLoadDataEx:2");
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_NO_MEMORY,
                "cuModuleLoadDataEx returned 2 (CUDA_ERROR_OUT_OF_MEMORY");
  driver.configure("fail=cuLaunchKernel:719");
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_DRIVER,
                "CUDA_ERROR_LAUNCH_FAILED");
  driver.configure("machine_code=refused");
  kernels_unload();
  check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  check(strstr(driver.record(), "cuModuleLoadDataEx PTX") != NULL, "PTX was not tried");
  there.grid[1] = 65536;
  check_refusal(scale(input, output, 64, 1.0f, &there, &error), &error, TILEWRIGHT_BAD_GRID, "65535");
}

static void *launch_on_gpu(void *argument) {
  const struct tilewright_launch there = {{1, 0, 0}, TILEWRIGHT_GPU(0), NULL};
  struct tilewright_error error;
  (void)argument;
  for (int round = 0; round < 200; ++round)
    check_success(scale(input, output, 64, 1.0f, &there, &error), &error);
  return NULL;
}

static void test_gpu_threads(void) {
  struct driver driver = open_driver();
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i)
    check(pthread_create(&threads[i], NULL, launch_on_gpu, NULL) == 0, "no thread");
  for (int i = 0; i < 4; ++i)
    pthread_join(threads[i], NULL);
  const char *load = strstr(driver.record(), "cuModuleLoadDataEx");
  check(load && !strstr(load + 1, "cuModuleLoadDataEx"), "loaded once by four threads");
  kernels_unload();
  check(driver.live() == 0, "unloading left something");
}

int main(int count, char **words) {
  static const struct {
    const char *name;
    void (*run)(void);
  } tests[] = {{"scale", test_scale},         {"matmul", test_matmul},
               {"mixed", test_mixed},         {"transpose", test_transpose},
               {"center", test_center},
               {"print", test_print},         {"parallel_for", test_parallel_for},
               {"threads", test_threads},     {"refusals", test_refusals},
               {"gpu", test_gpu},             {"gpu_numbers", test_gpu_numbers},
               {"gpu_threads", test_gpu_threads}};
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
