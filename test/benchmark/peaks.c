/* Loops at a processor's peak, which peaks.py compiles, and runs on every thread beside the rows of
 * the benchmark. */

#if defined(__x86_64__)

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Enough sums under way for two instructions a cycle of 6 cycles' latency. A turn adds to each of
 * them once. */
#define SUMS 12

#define SUMS_LOOP(NAME, FEATURES, VECTOR, ZERO, NEXT)                                              \
  __attribute__((target(FEATURES))) void NAME(long turns, char *place) {                           \
    VECTOR x = ZERO, sums[SUMS];                                                                   \
    __asm__ volatile("" : "+v"(x));                                                                \
    for (int i = 0; i < SUMS; ++i)                                                                 \
      sums[i] = x;                                                                                 \
    for (long turn = 0; turn < turns; ++turn)                                                      \
      _Pragma("GCC unroll 12") for (int i = 0; i < SUMS; ++i) sums[i] = NEXT;                      \
    __builtin_memcpy(place, sums, sizeof sums);                                                    \
  }

SUMS_LOOP(fma_256, "avx2,fma", __m256, _mm256_setzero_ps(), _mm256_fmadd_ps(x, x, sums[i]))
SUMS_LOOP(fma_512, "avx512f", __m512, _mm512_setzero_ps(), _mm512_fmadd_ps(x, x, sums[i]))
SUMS_LOOP(dpbf16_512, "avx512f,avx512bf16", __m512, _mm512_setzero_ps(),
          _mm512_dpbf16_ps(sums[i], (__m512bh)x, (__m512bh)x))
SUMS_LOOP(dpbusd_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(),
          _mm512_dpbusd_epi32(sums[i], x, x))

/* Linux gives the tile registers to a process that asks (arch_prctl(2), ARCH_REQ_XCOMP_PERM for
 * XTILEDATA). */
int may_use_amx(void) { return syscall(SYS_arch_prctl, 0x1023, 18) == 0; }

struct TileShapes {
  unsigned char palette, startRow, reserved[14];
  unsigned short rowBytes[16];
  unsigned char rows[16];
};

/* Two tiles of either operand and four sums, as many as there are registers; a turn loads what it
 * multiplies. */
#define TILES_LOOP(NAME, FEATURES, PRODUCT)                                                        \
  __attribute__((target("amx-tile," FEATURES))) void NAME(long turns, char *place) {               \
    struct TileShapes shapes = {.palette = 1};                                                     \
    for (int i = 0; i < 8; ++i) {                                                                  \
      shapes.rowBytes[i] = 64;                                                                     \
      shapes.rows[i] = 16;                                                                         \
    }                                                                                              \
    _tile_loadconfig(&shapes);                                                                     \
    _tile_zero(0);                                                                                 \
    _tile_zero(1);                                                                                 \
    _tile_zero(2);                                                                                 \
    _tile_zero(3);                                                                                 \
    for (long turn = 0; turn < turns; ++turn) {                                                    \
      _tile_loadd(4, place, 64);                                                                   \
      _tile_loadd(6, place + 1024, 64);                                                            \
      PRODUCT(0, 4, 6);                                                                            \
      _tile_loadd(7, place + 2048, 64);                                                            \
      PRODUCT(1, 4, 7);                                                                            \
      _tile_loadd(5, place + 3072, 64);                                                            \
      PRODUCT(2, 5, 6);                                                                            \
      PRODUCT(3, 5, 7);                                                                            \
    }                                                                                              \
    _tile_release();                                                                               \
  }

TILES_LOOP(tdpbf16ps, "amx-bf16", _tile_dpbf16ps)
TILES_LOOP(tdpbssd, "amx-int8", _tile_dpbssd)

/* out = x and out = x + y by stores that bypass the caches; the arrays begin at whole vectors. */
#define STREAM(NAME, FEATURES, STEP, STORE, VALUE)                                                 \
  __attribute__((target(FEATURES))) void NAME(long n, float *out, const float *x,                  \
                                              const float *y) {                                    \
    for (long i = 0; i + STEP <= n; i += STEP)                                                     \
      STORE(out + i, VALUE);                                                                       \
    _mm_sfence();                                                                                  \
    (void)y;                                                                                       \
  }

STREAM(copy_256, "avx", 8, _mm256_stream_ps, _mm256_load_ps(x + i))
STREAM(copy_512, "avx512f", 16, _mm512_stream_ps, _mm512_load_ps(x + i))
STREAM(add_256, "avx", 8, _mm256_stream_ps,
       _mm256_add_ps(_mm256_load_ps(x + i), _mm256_load_ps(y + i)))
STREAM(add_512, "avx512f", 16, _mm512_stream_ps,
       _mm512_add_ps(_mm512_load_ps(x + i), _mm512_load_ps(y + i)))

#endif
