// The products of wgmma: 16 rows of a warp times all columns, on the registers of an accumulator.
#ifndef BACKEND_WARPSIM_CORE_WARPGROUPARITHMETIC_H
#define BACKEND_WARPSIM_CORE_WARPGROUPARITHMETIC_H
#include "backend/warpsim/core/matrix/MatrixArithmetic.h"

namespace tw::warpsim {

constexpr unsigned kRowsOfWarp = 16, kMaxWarpgroupDepth = 32;

/// Eight columns of the accumulator in the registers of a warp (PTX ISA, "Register Fragments for
/// wgmma"): element (row g + 8 h, column 2 t + i) is at [2 h + i][4 g + t].
template <typename T> struct AccumulatorBlock {
  alignas(32) T sums[4][32];
};

/// A for the lanes of each sum: element (row g + 8 h, k) is at [k][h][4 g + t], for every t.
template <typename T> struct LaneRows {
  alignas(32) T values[kMaxWarpgroupDepth][2][32];
};

/// The numbers of B for eight columns, [k][i][8]: column 2 t + i is at t and at t + 4.
constexpr unsigned blockSizeOf(unsigned depth) { return depth * 2 * 8; }
/// Element (k, column) of B in an array of such blocks; the second copy is 4 further.
constexpr unsigned placeInColumns(unsigned depth, unsigned k, unsigned column) {
  return column / 8 * blockSizeOf(depth) + (k * 2 + column % 2) * 8 + column % 8 / 2;
}

/// Adds the products of a depth to a block, in the order of k; fused, or wrapped to 32 bits.
void addProducts(const LaneRows<float> &a, const float *b, unsigned depth,
                 AccumulatorBlock<float> &block);
void addProducts(const LaneRows<int32_t> &a, const int32_t *b, unsigned depth,
                 AccumulatorBlock<int32_t> &block);

/// The same by way of a small matrix, for sums that `multiply` rounds in another way. `a` are rows.
template <typename T, typename Multiply>
void multiplyBlock(const T *a, const T *b, unsigned depth, AccumulatorBlock<T> &block,
                   Multiply multiply) {
  MatrixProduct<T> product;
  product.rows = kRowsOfWarp;
  product.depth = depth;
  for (unsigned i = 0; i < kRowsOfWarp * depth; ++i)
    product.a[i] = a[i];
  for (unsigned k = 0; k < depth; ++k)
    for (unsigned column = 0; column < kMatrixColumns; ++column)
      product.b[k * kMatrixColumns + column] = b[placeInColumns(depth, k, column)];
  auto each = [&](auto visit) {
    for (unsigned row = 0; row < kRowsOfWarp; ++row)
      for (unsigned column = 0; column < kMatrixColumns; ++column)
        visit(product.c[row * kMatrixColumns + column],
              block.sums[row / 8 * 2 + column % 2][row % 8 * 4 + column / 2]);
  };
  each([](T &inMatrix, const T &inBlock) { inMatrix = inBlock; });
  multiply(product);
  each([](const T &inMatrix, T &inBlock) { inBlock = inMatrix; });
}

} // namespace tw::warpsim
#endif
