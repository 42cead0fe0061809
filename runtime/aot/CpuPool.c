/* A package's own threads: started at the first launch on the processor that needs them, asleep
 * between launches. */
#include "runtime/aot/Tables.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void tw_watch_forks(void); /* before the first lock is taken */

/* Work over [begin, end) by worker number `worker`; 0 is the caller. */
typedef void (*tw_chunk)(void *data, int worker, uint64_t begin, uint64_t end);

enum {
  TW_MAX_THREADS = 1024,
  TW_SPINS = 1500, /* some 20 microseconds: about as long as a wake-up takes */
  TW_CHUNKS_PER_RANGE = 8,
  TW_MAX_RANGES = 64 /* further workers share the ranges of others */
};

/* What is left of a worker's part of a job. */
struct tw_range {
  _Alignas(64) _Atomic uint64_t next;
  uint64_t end;
};

/* The word of a job: whether it is open, how many workers are inside, and its generation. A worker
 * enters an open job only, and a job's fields change only while it is closed and empty. */
#define TW_OPEN (1u << 15)
#define TW_INSIDE (TW_OPEN - 1)
#define TW_GENERATION (1u << 16)

static struct {
  pthread_mutex_t launch; /* held by the one caller whose job runs, who owns what is not atomic */
  pthread_mutex_t mutex;  /* of the two conditions */
  pthread_cond_t is_open, is_left;
  _Atomic uint32_t state;
  atomic_int num_asleep, is_caller_asleep, is_stopping;
  struct tw_range ranges[TW_MAX_RANGES];
  int num_ranges;
  tw_chunk chunk;
  void *data;
  int num_threads, wanted_threads;
  char *scratch;
  uint64_t scratch_bytes;
  pthread_t threads[TW_MAX_THREADS];
  _Alignas(64) uint32_t locks[TW_LOCK_BYTES / sizeof(uint32_t)]; /* none is held between two jobs */
} tw_pool = {.launch = PTHREAD_MUTEX_INITIALIZER,
             .mutex = PTHREAD_MUTEX_INITIALIZER,
             .is_open = PTHREAD_COND_INITIALIZER,
             .is_left = PTHREAD_COND_INITIALIZER};

static void tw_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  (void)sched_yield();
#endif
}

/* Where the range of a worker begins. Equal ranges are often a power of two apart, and so is what
 * the programs of two workers read and write: in the same sets of a cache that the two share. */
static uint64_t tw_begin_of_range(uint64_t count, int worker) {
  enum { shift = 3, num_shifts = 8, longest_shift = 32 };
  const uint64_t number = (uint64_t)worker, ranges = (uint64_t)tw_pool.num_ranges;
  const uint64_t each = count / ranges, longer = count % ranges;
  const uint64_t wanted = shift * (number % num_shifts);
  uint64_t moved = each / longest_shift < wanted ? each / longest_shift : wanted;
  return each * number + (number < longer ? number : longer) + moved;
}

/* A range for each worker: what programs of the last launch left in a core's caches, those of the
 * next find there. */
static void tw_reset_ranges(uint64_t count) {
  int workers = tw_pool.num_threads + 1;
  tw_pool.num_ranges = workers < TW_MAX_RANGES ? workers : TW_MAX_RANGES;
  for (int i = 0; i < tw_pool.num_ranges; ++i) {
    int is_last = i + 1 == tw_pool.num_ranges;
    tw_pool.ranges[i].end = is_last ? count : tw_begin_of_range(count, i + 1);
    atomic_store_explicit(&tw_pool.ranges[i].next, tw_begin_of_range(count, i),
                          memory_order_relaxed);
  }
}

/* In chunks that shrink with what is left, so that programs of unequal length balance. */
static void tw_take_range(struct tw_range *range, int worker) {
  uint64_t begin = atomic_load(&range->next);
  while (begin < range->end) {
    uint64_t size = (range->end - begin) / TW_CHUNKS_PER_RANGE;
    size = size ? size : 1;
    if (!atomic_compare_exchange_weak(&range->next, &begin, begin + size))
      continue;
    tw_pool.chunk(tw_pool.data, worker, begin, begin + size);
    begin = atomic_load(&range->next);
  }
}

/* A worker that is done with its own range helps with those behind it. The caller goes through all
 * in order, so a program may wait for earlier ones. */
static void tw_take_chunks(int worker) {
  for (int i = 0; i < tw_pool.num_ranges; ++i)
    tw_take_range(&tw_pool.ranges[(worker + i) % tw_pool.num_ranges], worker);
}

static void tw_sleep_worker(uint32_t seen) {
  pthread_mutex_lock(&tw_pool.mutex);
  atomic_fetch_add(&tw_pool.num_asleep, 1);
  while (atomic_load(&tw_pool.state) == seen && !atomic_load(&tw_pool.is_stopping))
    pthread_cond_wait(&tw_pool.is_open, &tw_pool.mutex);
  atomic_fetch_sub(&tw_pool.num_asleep, 1);
  pthread_mutex_unlock(&tw_pool.mutex);
}

static void tw_wake(pthread_cond_t *condition) {
  pthread_mutex_lock(&tw_pool.mutex);
  pthread_cond_broadcast(condition);
  pthread_mutex_unlock(&tw_pool.mutex);
}

static void *tw_serve(void *number) {
  int worker = (int)(intptr_t)number, spins = 0;
  uint32_t served = ~0u; /* the generation that this worker left */
  while (!atomic_load_explicit(&tw_pool.is_stopping, memory_order_relaxed)) {
    uint32_t seen = atomic_load_explicit(&tw_pool.state, memory_order_acquire);
    if (!(seen & TW_OPEN) || (seen & ~(TW_OPEN | TW_INSIDE)) == served) {
      if (++spins < TW_SPINS)
        tw_relax();
      else
        tw_sleep_worker(seen);
      continue;
    }
    if (!atomic_compare_exchange_weak(&tw_pool.state, &seen, seen + 1))
      continue;
    tw_take_chunks(worker);
    served = seen & ~(TW_OPEN | TW_INSIDE);
    spins = 0;
    uint32_t left = atomic_fetch_sub(&tw_pool.state, 1) - 1;
    if (!(left & TW_INSIDE) && atomic_load(&tw_pool.is_caller_asleep))
      tw_wake(&tw_pool.is_left);
  }
  return NULL;
}

/* In a forked child none of the threads are there, and locks may be anyone's. */
static void tw_forget_threads(void) {
  pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t empty = PTHREAD_COND_INITIALIZER;
  tw_pool.launch = tw_pool.mutex = unlocked;
  tw_pool.is_open = tw_pool.is_left = empty;
  tw_pool.num_threads = 0;
  tw_pool.scratch = NULL;
  tw_pool.scratch_bytes = 0;
  memset(tw_pool.locks, 0, sizeof(tw_pool.locks));
  atomic_store(&tw_pool.state, 0);
  atomic_store(&tw_pool.num_asleep, 0);
  atomic_store(&tw_pool.is_caller_asleep, 0);
}

/* The kernel refuses a set that is smaller than its own, so larger ones are tried. */
static int tw_usable_cores(void) {
  int count = 0;
  for (size_t cores = TW_MAX_THREADS; !count && cores <= 1u << 20; cores *= 4) {
    cpu_set_t *set = CPU_ALLOC(cores);
    size_t bytes = CPU_ALLOC_SIZE(cores);
    if (set && sched_getaffinity(0, bytes, set) == 0)
      count = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
  }
  return count < 1 ? 1 : count < TW_MAX_THREADS ? count : TW_MAX_THREADS;
}

/* The threads that are wanted, the caller among them. Under `launch`. */
static int tw_team_size(void) {
  return tw_pool.wanted_threads > 0 ? tw_pool.wanted_threads : tw_usable_cores();
}

/* Workers take no signals: those are for the threads that the program itself made. */
static void tw_start_threads(int wanted) {
  sigset_t all, before;
  atomic_store(&tw_pool.is_stopping, 0);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (tw_pool.num_threads < wanted) {
    void *number = (void *)(intptr_t)(tw_pool.num_threads + 1);
    if (pthread_create(&tw_pool.threads[tw_pool.num_threads], NULL, tw_serve, number))
      break; /* no more are to be had: the team is smaller */
    ++tw_pool.num_threads;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void tw_stop_threads(void) {
  atomic_store(&tw_pool.is_stopping, 1);
  tw_wake(&tw_pool.is_open);
  for (int i = 0; i < tw_pool.num_threads; ++i)
    pthread_join(tw_pool.threads[i], NULL);
  tw_pool.num_threads = 0;
}

static void tw_wait_for_workers(void) {
  for (int spins = 0; spins < TW_SPINS; ++spins) {
    if (!(atomic_load_explicit(&tw_pool.state, memory_order_acquire) & TW_INSIDE))
      return;
    tw_relax();
  }
  pthread_mutex_lock(&tw_pool.mutex);
  atomic_store(&tw_pool.is_caller_asleep, 1);
  while (atomic_load(&tw_pool.state) & TW_INSIDE)
    pthread_cond_wait(&tw_pool.is_left, &tw_pool.mutex);
  atomic_store(&tw_pool.is_caller_asleep, 0);
  pthread_mutex_unlock(&tw_pool.mutex);
}

/* Starts the threads that a job of `count` chunks is to have; the largest number of workers that
 * may be in it, which is more than are wanted now where more were started. Under `launch`. */
static int tw_pool_prepare(uint64_t count) {
  if (count <= 1)
    return 1;
  const int wanted = tw_team_size() - 1;
  if (tw_pool.num_threads < wanted)
    tw_start_threads(wanted);
  return tw_pool.num_threads + 1;
}

/* Runs a prepared job on the caller and the pool's threads. Under `launch`. */
static void tw_pool_run(uint64_t count, tw_chunk chunk, void *data) {
  tw_pool.chunk = chunk;
  tw_pool.data = data;
  tw_reset_ranges(count);
  if (count <= 1 || tw_pool.num_threads == 0) {
    tw_take_chunks(0);
    return;
  }
  atomic_store(&tw_pool.state, (atomic_load(&tw_pool.state) + TW_GENERATION) | TW_OPEN);
  if (atomic_load(&tw_pool.num_asleep))
    tw_wake(&tw_pool.is_open);
  tw_take_chunks(0);
  atomic_fetch_and(&tw_pool.state, ~TW_OPEN);
  tw_wait_for_workers();
}

static void tw_pool_unload(void) {
  pthread_mutex_lock(&tw_pool.launch);
  tw_stop_threads();
  free(tw_pool.scratch);
  tw_pool.scratch = NULL;
  tw_pool.scratch_bytes = 0;
  pthread_mutex_unlock(&tw_pool.launch);
}

static void tw_pool_resize(int count) {
  tw_watch_forks();
  pthread_mutex_lock(&tw_pool.launch);
  tw_stop_threads();
  tw_pool.wanted_threads = count < 0 ? 0 : count < TW_MAX_THREADS ? count : TW_MAX_THREADS;
  pthread_mutex_unlock(&tw_pool.launch);
}
