/* A program that is pinned to one core between two launches: behind the temporaries that a launch asks
 * for is a page that nobody may touch. Prints "passed", or crashes. */
#include "kernels.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, TILES = 256, ELEMENTS = 64 * 128, MOST = 64 };
int __wrap_posix_memalign(void **place, size_t alignment, size_t bytes);
void __wrap_free(void *memory);
void __real_free(void *memory);

static void *guarded[MOST];
static int num_guarded;

int __wrap_posix_memalign(void **place, size_t alignment, size_t bytes) {
  size_t whole = (bytes + PAGE - 1) / PAGE * PAGE;
  char *memory = (char *)mmap(NULL, whole + PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  (void)alignment;
  if (memory == MAP_FAILED || num_guarded == MOST || mprotect(memory + whole, PAGE, PROT_NONE))
    return 12;
  guarded[num_guarded++] = memory;
  *place = memory;
  return 0;
}

/* Guarded memory stays until the program ends. */
void __wrap_free(void *memory) {
  for (int i = 0; i < num_guarded; ++i)
    if (guarded[i] == memory)
      return;
  __real_free(memory);
}

int main(void) {
  const struct tilewright_launch here = {{0, 0, 0}, TILEWRIGHT_CPU, NULL};
  const struct tilewright_launch tiles = {{TILES, 0, 0}, TILEWRIGHT_CPU, NULL};
  const size_t bytes = (size_t)TILES * ELEMENTS * sizeof(float);
  float *x = (float *)malloc(bytes), *y = (float *)malloc(bytes);
  if (!x || !y)
    return 1;
  memset(x, 0, bytes);
  if (scale(x, y, 65536, 1.0f, &here, NULL)) /* starts a thread for each core, without temporaries */
    return 1;
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof(all), &all))
    return 1;
  int core = 0;
  while (!CPU_ISSET(core, &all))
    ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  if (sched_setaffinity(0, sizeof(one), &one))
    return 1;
  for (int round = 0; round < 40; ++round)
    if (center(x, y, &tiles, NULL))
      return 1;
  kernels_unload();
  free(x);
  free(y);
  puts("passed");
  return 0;
}
