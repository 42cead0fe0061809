/* A program that launches the package of export_kernels.py on an OpenCL device: `opencl_consumer
 * TEST` prints "passed", or says what is wrong and exits with 1. `opencl_consumer double WORDS CODE
 * TEXT KERNEL [queue]` configures the double of the driver by the words and launches a kernel: with
 * a code, the launch has to fail with it and the text in its message, before anything is launched;
 * with 0, the text has to be in the record of the double's calls. */
#include "kernels.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1003, THREADS = 4 };

static void check(int holds, const char *what) {
  if (!holds) {
    printf("wrong: %s\n", what);
    exit(1);
  }
}

static void check_refusal(int device, int code, const char *words) {
  struct tilewright_launch launch = {{0, 0, 0}, device, NULL};
  struct tilewright_error error;
  float x[2] = {1.0f, 2.0f}, y[2] = {0.0f, 0.0f};
  int result = scale(x, y, 2, 3.0f, &launch, &error);
  if (result != code || error.code != code || !strstr(error.message, words)) {
    printf("TW%04d %s\n", result, error.message);
    check(0, words);
  }
}

/* With a queue the launch goes into it, and `finish` waits. */
static void check_scale_in(int device, void *queue, int (*finish)(void *)) {
  struct tilewright_launch launch = {{0, 0, 0}, device, queue};
  struct tilewright_error error;
  float x[COUNT + 1], y[COUNT + 1];
  for (int i = 0; i <= COUNT; ++i) {
    x[i] = (float)(i % 97) - 48.0f;
    y[i] = -1.0f;
  }
  int result = scale(x, y, COUNT, 3.0f, &launch, &error);
  if (result)
    printf("TW%04d %s\n", result, error.message);
  check(result == 0, "a launch failed");
  if (queue)
    check(finish(queue) == 0, "the queue");
  for (int i = 0; i < COUNT; ++i)
    check(y[i] == 3.0f * x[i], "an element of scale");
  check(y[COUNT] == -1.0f, "an element behind those of scale");
}

static void check_scale(int device) { check_scale_in(device, NULL, NULL); }

static void find(void *library, const char *name, void *place) {
  void *function = dlsym(library, name);
  check(function != NULL, name);
  memcpy(place, &function, sizeof(function));
}

/* A queue that the program makes of its own context. */
static void *make_queue(void *library, int (**finish)(void *)) {
  int (*platforms)(unsigned, void **, unsigned *);
  int (*devices)(void *, unsigned long, unsigned, void **, unsigned *);
  void *(*create_context)(const void *, unsigned, void **, void *, void *, int *);
  void *(*create_queue)(void *, void *, const void *, int *);
  void *platform = NULL, *device = NULL;
  int result = 0;
  check(library != NULL, "no library of OpenCL");
  find(library, "clGetPlatformIDs", &platforms);
  find(library, "clGetDeviceIDs", &devices);
  find(library, "clCreateContext", &create_context);
  find(library, "clCreateCommandQueueWithProperties", &create_queue);
  if (finish)
    find(library, "clFinish", finish);
  check(platforms(1, &platform, NULL) == 0, "no platform");
  check(devices(platform, 0xFFFFFFFF, 1, &device, NULL) == 0, "no device");
  void *context = create_context(NULL, 1, &device, NULL, NULL, &result);
  void *queue = create_queue(context, device, NULL, &result);
  check(result == 0, "no queue");
  return queue;
}

static void check_queue(void) {
  int (*finish)(void *);
  void *queue = make_queue(dlopen("libintelocl.so", RTLD_NOW), &finish);
  for (int i = 0; i < 2; ++i)
    check_scale_in(TILEWRIGHT_OPENCL_DEVICE(0), queue, finish);
}

/* `words` as the first comment says. Kernels run nothing there. */
static void check_double(int count, char **words) {
  void (*configure)(const char *);
  const char *(*record)(void);
  struct tilewright_launch launch = {{0, 0, 0}, TILEWRIGHT_OPENCL_DEVICE(0), NULL};
  struct tilewright_error error = {0, ""};
  uint16_t half[32] = {0}, brain[32] = {0};
  static uint16_t left[32 * 64 + 8] __attribute__((aligned(64)));
  static uint16_t right[64 * 32] __attribute__((aligned(64)));
  static float sums[32 * 32];
  double wide[32] = {0}, out[32] = {0};
  float x[COUNT] = {0}, y[COUNT] = {0};
  void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
  check(count >= 4 && library != NULL, "no double");
  find(library, "openclDoubleConfigure", &configure);
  find(library, "openclDoubleRecord", &record);
  configure(words[0]);
  if (count > 4)
    launch.stream = make_queue(library, NULL);
  int code = atoi(words[1]), result = 0;
  if (strcmp(words[3], "mixed") == 0) {
    launch.grid[0] = 1;
    result = mixed(half, brain, wide, out, 0.5f, 0.25, 1, 200, -3, &launch, &error);
  } else if (strcmp(words[3], "product") == 0 || strcmp(words[3], "shifted") == 0) {
    launch.grid[0] = 1; /* rows of blocks begin at multiples of 64 bytes */
    result = product(left + (words[3][0] == 's' ? 8 : 0), right, sums, 64, &launch, &error);
  } else {
    launch.grid[0] = strcmp(words[3], "far") == 0 ? INT32_MAX : 0;
    result = scale(x, y, COUNT, 3.0f, &launch, &error);
  }
  printf("TW%04d %s\n%s", result, error.message, record());
  check(result == code && error.code == code, "the code");
  check(strstr(code ? error.message : record(), words[2]) != NULL, words[2]);
  check(!code == !!strstr(record(), "clEnqueueNDRangeKernel"), "whether anything is launched");
}

static void *launch_often(void *ignored) {
  for (int i = 0; i < 100; ++i)
    check_scale(TILEWRIGHT_OPENCL_DEVICE(0));
  return ignored;
}

static void check_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; ++i)
    check(pthread_create(&threads[i], NULL, launch_often, NULL) == 0, "no thread");
  for (int i = 0; i < THREADS; ++i)
    (void)pthread_join(threads[i], NULL);
}

static void check_fork(void) {
  int status = 0;
  check_scale(TILEWRIGHT_OPENCL_DEVICE(0));
  pid_t child = fork();
  if (child == 0) {
    check_refusal(TILEWRIGHT_OPENCL_DEVICE(0), TILEWRIGHT_DRIVER, "forked");
    _exit(0);
  }
  check(waitpid(child, &status, 0) == child && status == 0, "the forked child");
}

int main(int count, char **words) {
  const char *test = count > 1 ? words[1] : "";
  if (strcmp(test, "values") == 0) {
    check_scale(TILEWRIGHT_OPENCL_DEVICE(0));
    check_scale(TILEWRIGHT_AUTO);
    kernels_unload();
    check_scale(TILEWRIGHT_OPENCL_DEVICE(0));
  } else if (strcmp(test, "failures") == 0) {
    check_scale(TILEWRIGHT_OPENCL_DEVICE(0));
    check_refusal(TILEWRIGHT_OPENCL_DEVICE(9), TILEWRIGHT_NO_GPU, "no OpenCL device 9");
    check_fork();
  } else if (strcmp(test, "threads") == 0)
    check_threads();
  else if (strcmp(test, "queue") == 0)
    check_queue();
  else if (strcmp(test, "double") == 0)
    check_double(count - 2, words + 2);
  else if (strcmp(test, "absent") == 0)
    check_refusal(TILEWRIGHT_OPENCL_DEVICE(0), TILEWRIGHT_NO_DRIVER, "no OpenCL driver");
  else
    check(0, "no such test");
  kernels_unload();
  printf("passed\n");
  return 0;
}
