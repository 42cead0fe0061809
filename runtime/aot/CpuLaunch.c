/* A package's kernels on the processor: which level it has, and the programs of a grid. */
#include "runtime/aot/Tables.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

/* The parallel loop of the host program, or null for the package's own threads. */
static struct {
  pthread_mutex_t mutex;
  tilewright_parallel_for call;
  void *context;
} tw_parallel = {.mutex = PTHREAD_MUTEX_INITIALIZER};

#if defined(__x86_64__)
/* Whether the operating system keeps these parts of the vector registers (XCR0). */
static int tw_keeps_registers(unsigned mask) {
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  (void)high;
  return (low & mask) == mask;
}

/* The level of x86-64 that this processor reaches (psABI, "Micro-Architecture Levels"). */
static int tw_find_level(void) {
  enum { sse3 = 1 << 0, ssse3 = 1 << 9, fma = 1 << 12, cx16 = 1 << 13, sse41 = 1 << 19 };
  enum { sse42 = 1 << 20, movbe = 1 << 22, popcnt = 1 << 23, osxsave = 1 << 27, avx = 1 << 28 };
  enum { f16c = 1 << 29, lahf = 1 << 0, lzcnt = 1 << 5 };
  const unsigned v2 = sse3 | ssse3 | cx16 | sse41 | sse42 | popcnt;
  const unsigned v3 = fma | movbe | osxsave | avx | f16c;
  const unsigned bmi_avx2 = 1u << 3 | 1u << 5 | 1u << 8;
  const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  unsigned a, b, c, d, more, extended;
  if (!__get_cpuid(1, &a, &b, &c, &d))
    return 1;
  const unsigned basic = c;
  more = __get_cpuid_count(7, 0, &a, &b, &c, &d) ? b : 0;
  extended = __get_cpuid(0x80000001u, &a, &b, &c, &d) ? c : 0;
  if ((basic & v2) != v2 || !(extended & lahf))
    return 1;
  if ((basic & v3) != v3 || (more & bmi_avx2) != bmi_avx2 || !(extended & lzcnt) ||
      !tw_keeps_registers(0x6))
    return 2;
  return (more & avx512) == avx512 && tw_keeps_registers(0xe6) ? 4 : 3;
}
#else
static int tw_find_level(void) { return 0; }
#endif

static int tw_level(void) {
  static atomic_int known; /* the level and one more */
  int level = atomic_load_explicit(&known, memory_order_relaxed);
  if (!level) {
    level = tw_find_level() + 1;
    atomic_store_explicit(&known, level, memory_order_relaxed);
  }
  return level - 1;
}

static const struct tw_cpu_code *tw_choose_cpu(const struct tw_variant *variant) {
  for (unsigned i = 0; i < variant->num_cpu; ++i)
    if (variant->cpu[i].level <= tw_level())
      return &variant->cpu[i];
  return NULL;
}

/* One launch as its threads see it. */
struct tw_cpu_job {
  const struct tw_cpu_code *code;
  const uint64_t *arguments;
  const int64_t *grid;
  char *scratch; /* a piece for each worker; null where each range allocates its own */
  uint64_t stride;
  uint32_t *locks; /* of the pool's one job; null where other kernels may run at the same time */
  atomic_int is_out_of_memory;
};

/* Programs [begin, end) of the grid, x fastest, in the default floating-point environment: round to
 * nearest even, denormals kept. Non-temporal stores are ordered before the launch returns. */
static void tw_run_programs(const struct tw_cpu_job *job, void *scratch, uint64_t begin,
                            uint64_t end) {
  const uint64_t x = (uint64_t)job->grid[0], y = (uint64_t)job->grid[1];
  struct tw_program program;
  memset(&program, 0, sizeof(program));
  for (int axis = 0; axis < 3; ++axis)
    program.num_programs[axis] = (int32_t)job->grid[axis];
  program.program_id[0] = (int32_t)(begin % x);
  program.program_id[1] = (int32_t)(begin / x % y);
  program.program_id[2] = (int32_t)(begin / x / y);
  program.scratch = scratch;
  program.until_poll = INT32_MAX;
  program.locks = job->locks;
#if defined(__x86_64__)
  unsigned saved = _mm_getcsr();
  _mm_setcsr(0x1f80);
#endif
  for (uint64_t i = begin; i < end; ++i) {
    job->code->entry(job->arguments, &program);
    if (++program.program_id[0] < program.num_programs[0])
      continue;
    program.program_id[0] = 0;
    if (++program.program_id[1] < program.num_programs[1])
      continue;
    program.program_id[1] = 0;
    ++program.program_id[2];
  }
#if defined(__x86_64__)
  _mm_sfence();
  _mm_setcsr(saved);
#endif
}

static void tw_run_chunk(void *data, int worker, uint64_t begin, uint64_t end) {
  const struct tw_cpu_job *job = data;
  tw_run_programs(job, job->scratch ? job->scratch + job->stride * (uint64_t)worker : NULL, begin,
                  end);
}

/* A range of the host program's loop: it may run on any thread, so its temporaries are its own. */
static void tw_run_range(void *data, size_t begin, size_t end) {
  struct tw_cpu_job *job = data;
  void *scratch = NULL;
  if (begin >= end)
    return;
  if (job->stride && posix_memalign(&scratch, 4096, job->stride)) {
    atomic_store(&job->is_out_of_memory, 1);
    return;
  }
  tw_run_programs(job, scratch, begin, end);
  free(scratch);
}

/* Pieces begin on pages, so that two threads share no cache line and no page. */
static int tw_reserve_scratch(uint64_t bytes) {
  if (bytes <= tw_pool.scratch_bytes)
    return 1;
  void *fresh = NULL;
  if (posix_memalign(&fresh, 4096, bytes))
    return 0;
  free(tw_pool.scratch);
  tw_pool.scratch = fresh;
  tw_pool.scratch_bytes = bytes;
  return 1;
}

static void tw_run_on_pool(struct tw_cpu_job *job, uint64_t count) {
  pthread_mutex_lock(&tw_pool.launch);
  const uint64_t workers = (uint64_t)tw_pool_prepare(count);
  if (job->stride && !tw_reserve_scratch(job->stride * workers))
    atomic_store(&job->is_out_of_memory, 1);
  else {
    job->scratch = job->stride ? tw_pool.scratch : NULL;
    job->locks = tw_pool.locks;
    tw_pool_run(count, tw_run_chunk, job);
  }
  pthread_mutex_unlock(&tw_pool.launch);
}

static int tw_cpu_launch(const struct tw_kernel *kernel, const struct tw_variant *variant,
                         const uint64_t *values, const int64_t *grid,
                         struct tilewright_error *error) {
  const struct tw_cpu_code *code = tw_choose_cpu(variant);
  if (!code && variant->num_cpu == 0)
    return tw_fail(error, TILEWRIGHT_NO_PROCESSOR, "the package has no code of %s for processors",
                   kernel->name);
  if (!code)
    return tw_fail(error, TILEWRIGHT_NO_PROCESSOR,
                   "%s has code for x86-64-v%d and above, and this processor is x86-64-v%d",
                   kernel->name, variant->cpu[variant->num_cpu - 1].level, tw_level());
  uint64_t bits[TW_MAX_ARGUMENTS];
  for (unsigned i = 0; i < code->num_parameters; ++i)
    bits[i] = values[code->parameters[i]];
  struct tw_cpu_job job = {code, bits, grid, NULL, (code->scratch_bytes + 4095) / 4096 * 4096, NULL, 0};
  uint64_t count = (uint64_t)grid[0] * (uint64_t)grid[1];
  if (__builtin_mul_overflow(count, (uint64_t)grid[2], &count))
    return tw_fail(error, TILEWRIGHT_BAD_GRID,
                   "the grid of %s has more programs than can be counted", kernel->name);
  pthread_mutex_lock(&tw_parallel.mutex);
  tilewright_parallel_for parallel = tw_parallel.call;
  void *context = tw_parallel.context;
  pthread_mutex_unlock(&tw_parallel.mutex);
  if (parallel)
    parallel(context, (size_t)count, tw_run_range, &job);
  else
    tw_run_on_pool(&job, count);
  if (atomic_load(&job.is_out_of_memory))
    return tw_fail(error, TILEWRIGHT_NO_MEMORY, "no memory for the temporaries of %s",
                   kernel->name);
  return TILEWRIGHT_SUCCESS;
}

static void tw_set_parallel(tilewright_parallel_for call, void *context) {
  tw_watch_forks();
  pthread_mutex_lock(&tw_parallel.mutex);
  tw_parallel.call = call;
  tw_parallel.context = context;
  pthread_mutex_unlock(&tw_parallel.mutex);
}
