// Tiles that are contiguous along one dimension where they are read and along another where they
// are written: square blocks are transposed in registers instead of gathered.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/SimdFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

SmallVector<Value> SimdFunction::transposeSquare(SmallVector<Value> rows) {
  int64_t size = rows.size();
  // Blocks of width x width trade places across the diagonal, from half the size down to one
  // element.
  for (int64_t width = size / 2; width >= 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < size; ++lane) {
      bool isUpper = (lane / width) % 2;
      low.push_back(isUpper ? size + lane - width : lane);
      high.push_back(isUpper ? size + lane : lane + width);
    }
    for (int64_t row = 0; row < size; ++row) {
      if ((row / width) % 2)
        continue;
      Value upper = rows[row], lower = rows[row + width];
      rows[row] = vector::ShuffleOp::create(builder, loc, upper, lower, low);
      rows[row + width] = vector::ShuffleOp::create(builder, loc, upper, lower, high);
    }
  }
  return rows;
}

bool SimdFunction::emitTransposed(Value tile, ArrayRef<Value> batch, int readDim, int writeDim,
                                  int64_t lanes, StoreVector store) {
  SmallVector<int64_t> blocks(shapeOf(tile.getType()));
  if (readDim == writeDim || readDim < int(batch.size()) || writeDim < int(batch.size()) ||
      lanes < 2 || blocks[readDim] % lanes != 0 || blocks[writeDim] % lanes != 0)
    return false;
  blocks[readDim] /= lanes;
  blocks[writeDim] /= lanes;
  blocks.erase(blocks.begin(), blocks.begin() + batch.size());
  emitNest(blocks, int(blocks.size()) - 1, 1, [&](const Coordinates &block) {
    Coordinates at;
    at.index.assign(batch.begin(), batch.end());
    llvm::append_range(at.index, block.index);
    for (int dim : {readDim, writeDim})
      at.index[dim] = builder.createOrFold<arith::MulIOp>(loc, at.index[dim], constantIndex(lanes));
    at.lanes = lanes;
    auto shifted = [&](int vectorDim, int otherDim, int64_t offset) {
      Coordinates one = at;
      one.vectorDim = vectorDim;
      one.index[otherDim] =
          builder.createOrFold<arith::AddIOp>(loc, at.index[otherDim], constantIndex(offset));
      return one;
    };
    SmallVector<Value> rows;
    for (int64_t i = 0; i < lanes; ++i)
      rows.push_back(evaluateVector(tile, shifted(readDim, writeDim, i)));
    for (auto [i, value] : llvm::enumerate(transposeSquare(rows)))
      store(shifted(writeDim, readDim, i), value);
  });
  return true;
}
