// The inner loops of wgmma, in vectors of eight lanes.
#include "backend/warpsim/core/matrix/WarpgroupArithmetic.h"
#include "backend/warpsim/exec/LaneLoop.h"
#include "backend/warpsim/exec/VectorClones.h"

using namespace tw::warpsim;

constexpr unsigned kVector = 8;

/// Eight lanes of a sum, which chain along the depth; processors overlap the chains.
template <typename T, typename Add>
[[gnu::always_inline]] inline void addVector(const T *rows, const T *columns, unsigned depth,
                                             T *sums, Add add) {
  T chained[kVector];
  for (unsigned e = 0; e < kVector; ++e)
    chained[e] = sums[e];
  for (unsigned k = 0; k < depth; ++k, rows += 2 * 32, columns += 2 * kVector)
    for (unsigned e = 0; e < kVector; ++e)
      chained[e] = add(rows[e], columns[e], chained[e]);
  for (unsigned e = 0; e < kVector; ++e)
    sums[e] = chained[e];
}

template <typename T, typename Add>
[[gnu::always_inline]] inline void addBlock(const LaneRows<T> &a, const T *b, unsigned depth,
                                            AccumulatorBlock<T> &block, Add add) {
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned lane = 0; lane < 32; lane += kVector)
      addVector(&a.values[0][i / 2][lane], b + i % 2 * kVector, depth, &block.sums[i][lane], add);
}

[[gnu::always_inline]] inline void addFloats(const LaneRows<float> &a, const float *b,
                                             unsigned depth, AccumulatorBlock<float> &block) {
  addBlock(a, b, depth, block,
           [](float x, float y, float sum) { return __builtin_fmaf(x, y, sum); });
}

#if defined(__x86_64__)
[[gnu::target("arch=x86-64-v3")]] static void
addFloatsOnVectorUnit(const LaneRows<float> &a, const float *b, unsigned depth,
                      AccumulatorBlock<float> &block) {
  addFloats(a, b, depth, block);
}
#endif

void tw::warpsim::addProducts(const LaneRows<float> &a, const float *b, unsigned depth,
                              AccumulatorBlock<float> &block) {
#if defined(__x86_64__)
  if (hasVectorUnit())
    return addFloatsOnVectorUnit(a, b, depth, block);
#endif
  addFloats(a, b, depth, block);
}

TW_VECTOR_CLONES static void addIntegers(const LaneRows<int32_t> &a, const int32_t *b,
                                         unsigned depth, AccumulatorBlock<int32_t> &block) {
  addBlock(a, b, depth, block, [](int32_t x, int32_t y, int32_t sum) {
    return int32_t(uint32_t(sum) + uint32_t(x) * uint32_t(y));
  });
}

void tw::warpsim::addProducts(const LaneRows<int32_t> &a, const int32_t *b, unsigned depth,
                              AccumulatorBlock<int32_t> &block) {
  addIntegers(a, b, depth, block);
}
