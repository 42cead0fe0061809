/* A program that uses the package of box_kernels.py on the double of the CUDA driver, in what C11
 * and C++17 have in common: `box_consumer TEST` prints "passed", or says what is wrong and exits
 * with 1. */
#include "boxes.h"
#include "driver.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETTINGS "capability=90 execute=sm_90a"
enum { ROWS = 100, DEPTH = 128, COLUMNS = 128, SHIFT = 1, NUM_PARAMETERS = 6, NUM_MAPS = 3 };

static void check(int holds, const char *what) {
  if (!holds) {
    printf("wrong: %s\n", what);
    exit(1);
  }
}

#ifdef WITHOUT_ENCODER
/* The program is linked with --wrap=dlsym: the driver is one that knows no tensor maps. */
void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name) {
  return strcmp(name, "cuTensorMapEncodeTiled") ? __real_dlsym(library, name) : NULL;
}
#endif

/* Arrays on the GPU, with what they have on the host. */
struct problem {
  struct driver driver;
  uint64_t a, b, c;
  int left[ROWS * DEPTH + SHIFT], right[DEPTH * COLUMNS];
};

/* How a launch uses them. */
struct use {
  int rows, shift; /* of `a`, in elements */
  int a_row, b_row;
};
static const struct use whole = {ROWS, 0, DEPTH, COLUMNS};

static uint16_t half_of(int value) {
  static const uint16_t halves[5] = {0x0000, 0x3c00, 0x4000, 0x4200, 0x4400};
  return (uint16_t)(halves[value < 0 ? -value : value] | (value < 0 ? 0x8000 : 0));
}

static uint64_t put(const struct driver *driver, int *values, int count, unsigned *seed) {
  static uint16_t zero;
  uint64_t address = 0;
  check(driver->allocate(&address, (size_t)count * sizeof(zero)) == 0, "no memory of the GPU");
  for (int i = 0; i < count; ++i) {
    *seed = *seed * 1664525u + 1013904223u;
    values[i] = (int)(*seed >> 24) % 9 - 4;
    uint16_t half = half_of(values[i]);
    check(driver->to_device(address + 2 * (uint64_t)i, &half, sizeof(half)) == 0, "a copy");
  }
  return address;
}

/* A problem with a context that is current in this thread. */
static struct problem *new_problem(unsigned seed) {
  struct problem *made = (struct problem *)calloc(1, sizeof(*made));
  void *context = NULL;
  check(made != NULL, "no memory");
  made->driver = open_driver();
  check(made->driver.init && made->driver.init(0) == 0, "no driver");
  check(made->driver.retain(&context, 0) == 0 && made->driver.push(context) == 0, "no context");
  made->a = put(&made->driver, made->left, ROWS * DEPTH + SHIFT, &seed);
  made->b = put(&made->driver, made->right, DEPTH * COLUMNS, &seed);
  check(made->driver.allocate(&made->c, ROWS * COLUMNS * sizeof(float)) == 0, "no memory");
  return made;
}

/* With a negative stride, `b` begins at its last row. */
static int first_of(const struct use *use) {
  return use->b_row < 0 ? DEPTH * COLUMNS - COLUMNS : 0;
}

static float expected(const struct problem *p, const struct use *use, int row, int column) {
  int sum = 0;
  for (int k = 0; k < DEPTH; ++k)
    sum += p->left[use->shift + row * use->a_row + k] *
           p->right[first_of(use) + k * use->b_row + column];
  return (float)sum;
}

static void run(const struct problem *p, const struct use *use) {
  const struct tilewright_launch there = {{2, 0, 0}, TILEWRIGHT_CURRENT_GPU, NULL};
  struct tilewright_error error;
  static const float poison = -12345.0f;
  float *found = (float *)malloc(ROWS * COLUMNS * sizeof(float));
  check(found != NULL, "no memory");
  for (int i = 0; i < ROWS * COLUMNS; ++i)
    found[i] = poison;
  check(p->driver.to_device(p->c, found, ROWS * COLUMNS * sizeof(float)) == 0, "a copy");
  const uint16_t *a = (const uint16_t *)(uintptr_t)p->a + use->shift;
  const uint16_t *b = (const uint16_t *)(uintptr_t)p->b + first_of(use);
  float *c = (float *)(uintptr_t)p->c;
  if (product(DEPTH, a, b, c, use->rows, use->a_row, use->b_row, &there, &error)) {
    printf("TW%04d %s\n", error.code, error.message);
    check(0, "the launch failed");
  }
  check(p->driver.to_host(found, p->c, ROWS * COLUMNS * sizeof(float)) == 0, "a copy back");
  for (int i = 0; i < ROWS * COLUMNS; ++i)
    check(found[i] ==
              (i / COLUMNS < use->rows ? expected(p, use, i / COLUMNS, i % COLUMNS) : poison),
          "an element of the product");
  free(found);
}

/* How often the driver was called since its last settings. */
static int calls(const struct problem *p, const char *name) {
  int count = 0;
  for (const char *at = p->driver.record(); (at = strstr(at, name)) != NULL; ++at)
    ++count;
  return count;
}

/* The parameters of the only launch since the driver's last settings. */
static int num_parameters(const struct problem *p) {
  const char *at = strstr(p->driver.record(), "cuLaunchKernel");
  check(at != NULL && !strstr(at + 1, "cuLaunchKernel"), "not one launch");
  at = strstr(at, "parameters=");
  check(at != NULL, "a launch without parameters");
  int count = 1;
  for (; *at && *at != '\n'; ++at)
    count += *at == ',';
  return count;
}

/* Runs the product, and expects so many maps to be encoded for it and to be passed to it. */
static void expect(const struct problem *p, const struct use *use, int encoded, int passed) {
  p->driver.configure(SETTINGS);
  run(p, use);
  check(calls(p, "cuTensorMapEncodeTiled") == encoded, "another number of maps was encoded");
  check(num_parameters(p) == NUM_PARAMETERS + passed, "another number of maps was passed");
}

/* Maps are encoded for new numbers only, of which the last few of each array are kept. */
static void test_maps(void) {
  struct problem *p = new_problem(1), *other = new_problem(2);
  const struct use fewer = {70, 0, DEPTH, COLUMNS}, closer = {70, 0, 64, COLUMNS};
  expect(p, &whole, NUM_MAPS, NUM_MAPS);
  expect(p, &whole, 0, NUM_MAPS);
  expect(p, &fewer, 2, NUM_MAPS); /* of the arrays with these rows */
  expect(p, &closer, 1, NUM_MAPS);
  expect(other, &whole, NUM_MAPS, NUM_MAPS);
  expect(p, &whole, 0, NUM_MAPS);
  for (int rows = 60; rows < 64; ++rows) {
    const struct use some = {rows, 0, DEPTH, COLUMNS};
    expect(p, &some, 2, NUM_MAPS);
  }
  expect(p, &whole, 2, NUM_MAPS);
  boxes_unload();
  expect(p, &whole, NUM_MAPS, NUM_MAPS);
}

/* What no map describes runs code without; the next launch has maps again. */
static void test_without(void) {
  struct problem *p = new_problem(3);
  const struct use repeated = {ROWS, 0, 0, COLUMNS}, backward = {ROWS, 0, DEPTH, -COLUMNS};
  const struct use empty = {0, 0, DEPTH, COLUMNS}, shifted = {ROWS, SHIFT, DEPTH, COLUMNS};
  const struct use *uses[] = {&repeated, &backward, &empty, &shifted};
  expect(p, &whole, NUM_MAPS, NUM_MAPS);
  for (int i = 0; i < 4; ++i) {
    /* The map of `a` is kept where that of `b` cannot be. */
    expect(p, uses[i], 0, 0);
    expect(p, &whole, 0, NUM_MAPS);
  }
  p->driver.configure(SETTINGS " fail=cuTensorMapEncodeTiled:1");
  const struct use fewer = {70, 0, DEPTH, COLUMNS};
  run(p, &fewer);
  check(num_parameters(p) == NUM_PARAMETERS, "maps that the driver refused were passed");
  expect(p, &fewer, 2, NUM_MAPS);
}

/* Loading loads the code with maps and that without; no launch loads more. */
static void test_load(void) {
  struct problem *p = new_problem(4);
  const struct use repeated = {ROWS, 0, 0, COLUMNS};
  const struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_CURRENT_GPU, NULL};
  struct tilewright_error error;
  p->driver.configure(SETTINGS);
  int live = p->driver.live();
  check(boxes_load(&there, &error) == 0, "loading failed");
  /* The second specialization has no code with maps: it is for any address. */
  check(p->driver.live() == live + 3, "not both codes were loaded");
  expect(p, &whole, NUM_MAPS, NUM_MAPS);
  check(calls(p, "cuModuleLoadDataEx") == 0, "a launch loaded code");
  expect(p, &repeated, 0, 0);
  check(calls(p, "cuModuleLoadDataEx") == 0, "a launch loaded code");
  boxes_unload();
  check(p->driver.live() == live, "unloading left something");
}

/* A driver that knows no tensor maps is given no code with some. */
static void test_old_driver(void) {
  struct problem *p = new_problem(5);
  const struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_CURRENT_GPU, NULL};
  struct tilewright_error error;
  p->driver.configure(SETTINGS);
  int live = p->driver.live();
  check(boxes_load(&there, &error) == 0, "loading failed");
  check(p->driver.live() == live + 2, "other code was loaded");
  expect(p, &whole, 0, 0);
}

/* Earlier GPUs run code of their own. */
static void test_earlier_gpu(void) {
  struct problem *p = new_problem(6);
  p->driver.configure("capability=80 execute=sm_80");
  run(p, &whole);
  check(num_parameters(p) == NUM_PARAMETERS, "maps were passed");
}

/* Code that waits by itself for earlier launches is launched before they have ended, with maps and
 * without; earlier GPUs have none. */
static void test_early(void) {
  struct problem *p = new_problem(8);
  const struct use repeated = {ROWS, 0, 0, COLUMNS};
  expect(p, &whole, NUM_MAPS, NUM_MAPS);
  check(calls(p, "cuLaunchKernelEx product") == 1 && calls(p, " early\n") == 1, "a late launch");
  expect(p, &repeated, 0, 0);
  check(calls(p, " early\n") == 1, "a late launch without maps");
}

/* Programs of a cluster are launched together: a grid that has half of one is refused. */
static void test_clustered(void) {
  struct problem *p = new_problem(9);
  const struct tilewright_launch odd = {{3, 0, 0}, TILEWRIGHT_CURRENT_GPU, NULL};
  struct tilewright_error error;
  expect(p, &whole, NUM_MAPS, NUM_MAPS);
  const uint16_t *a = (const uint16_t *)(uintptr_t)p->a, *b = (const uint16_t *)(uintptr_t)p->b;
  int code = product(DEPTH, a, b, (float *)(uintptr_t)p->c, ROWS, DEPTH, COLUMNS, &odd, &error);
  check(code == TILEWRIGHT_BAD_GRID && strstr(error.message, "clusters of (2, 1, 1)"), "a refusal");
}

static void *launch_often(void *seed) {
  enum { ROUNDS = 6 };
  struct problem *p = new_problem(*(unsigned *)seed);
  for (int round = 0; round < ROUNDS; ++round) {
    const struct use some = {ROWS - round % 3, 0, round % 4 == 3 ? 0 : DEPTH, COLUMNS};
    run(p, &some);
  }
  free(p);
  return NULL;
}

static void test_threads(void) {
  enum { THREADS = 4 };
  struct problem *p = new_problem(7);
  pthread_t threads[THREADS];
  unsigned seeds[THREADS];
  p->driver.configure(SETTINGS);
  for (unsigned i = 0; i < THREADS; ++i) {
    seeds[i] = 100 + i;
    check(pthread_create(&threads[i], NULL, launch_often, &seeds[i]) == 0, "no thread");
  }
  for (int i = 0; i < THREADS; ++i)
    pthread_join(threads[i], NULL);
  check(calls(p, "cuModuleLoadDataEx PTX") == 2, "code was not loaded once");
  free(p);
}

int main(int count, char **words) {
  static const struct {
    const char *name;
    void (*run)(void);
  } tests[] = {{"maps", test_maps},
               {"without", test_without},
               {"load", test_load},
               {"old_driver", test_old_driver},
               {"earlier_gpu", test_earlier_gpu},
               {"early", test_early},
               {"clustered", test_clustered},
               {"threads", test_threads}};
  for (size_t i = 0; count > 1 && i < sizeof(tests) / sizeof(tests[0]); ++i)
    if (strcmp(words[1], tests[i].name) == 0) {
      tests[i].run();
      boxes_unload();
      puts("passed");
      return 0;
    }
  puts("which test?");
  return 2;
}
