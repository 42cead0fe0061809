// Operand A of matrix products: where it lies row by row, else copied so.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simd/Scope.h"
#include "passes/simd/product/Operands.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

static void copyA(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                  const TileBuffer &packed) {
  Value tile = plan.aSource.tile;
  int64_t lanes = 0;
  int readDim = 0, numBatch = int(batch.size()), lastDim = numBatch + 1;
  std::tie(readDim, lanes) = f.chooseVector({tile}, shapeOf(tile.getType()));
  // Whole registers of narrow elements, which are as wide in the copy.
  if (readDim == lastDim && elementTypeOf(tile.getType()) == plan.operand)
    lanes = std::min<int64_t>(f.machine.getVectorBytes() / elementBytes(plan.operand),
                              llvm::bit_floor(uint64_t(plan.k)));
  auto store = [&](const Coordinates &at, Value value) {
    Coordinates to = at;
    to.index.erase(to.index.begin(), to.index.begin() + numBatch);
    to.vectorDim = at.vectorDim < 0 ? -1 : at.vectorDim - numBatch;
    f.storeBuffer(packed, to, convertOperand(f, plan, plan.aSource, value));
  };
  if (f.emitTransposed(tile, batch, readDim, lastDim, lanes, store))
    return;
  f.emitNest({plan.m, plan.k}, std::max(readDim - numBatch, 0), readDim < numBatch ? 1 : lanes,
             [&](const Coordinates &at) {
               Coordinates from = matrixAt(batch, at.index[0], at.index[1], at.vectorDim, at.lanes);
               store(from, f.evaluateVector(tile, from));
             });
}

/// Copies A to [steps, m * group].
static void copyAlongM(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch, int64_t lanes,
                       const TileBuffer &packed) {
  f.emitNest({plan.steps(), plan.m / lanes}, 1, 1, [&](const Coordinates &at) {
    Value row = f.scaleIndex(at.index[1], lanes), k = f.scaleIndex(at.index[0], plan.group);
    SmallVector<Value> columns;
    for (int64_t i = 0; i < plan.group; ++i) {
      Coordinates from = matrixAt(batch, row, f.addIndex(k, i), 0, lanes);
      Value value = f.evaluateVector(plan.aSource.tile, from);
      columns.push_back(convertOperand(f, plan, plan.aSource, value));
    }
    Coordinates to =
        matrixAt({}, at.index[0], f.scaleIndex(row, plan.group), 1, lanes * plan.group);
    f.storeBuffer(packed, to, interleave(f, columns));
  });
}

/// Operand A where it lies if its mask holds for what is needed of it, which its ends say.
static DotRows placeNeededA(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                            LoadOp load, const TileBuffer &packed, Value rowBytes,
                            const DotExtent &needed) {
  int64_t groupBytes = plan.group * elementBytes(plan.operand);
  const MaskEnd &rows = needed.a.along[batch.size()], &steps = needed.a.along[batch.size() + 1];
  Value inPlace = both(f, holdsFor(f, rows, needed.rows),
                       holdsFor(f, steps, f.scaleIndex(needed.steps, plan.group)));
  auto [base, distance] = rowsOf(f, load, batch);
  if (!inPlace)
    return {base, distance, groupBytes};
  auto nothing = [] { return Value(); };
  choose(f, inPlace, Type(), nothing, [&] { return copyA(f, plan, batch, packed), Value(); });
  auto select = [&](Value near, Value copied) {
    return f.builder.createOrFold<arith::SelectOp>(f.loc, inPlace, near, copied);
  };
  return {select(base, packed.base), select(distance, rowBytes), groupBytes};
}

DotRows tw::simd::placeA(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                         const DotExtent &needed) {
  Value tile = plan.aSource.tile;
  int64_t groupBytes = plan.group * elementBytes(plan.operand);
  Value rowBytes = f.constantIndex(plan.steps() * groupBytes);
  if (plan.aPlace.kind == OperandPlace::Kind::Buffer)
    return {f.buffers.find(tile)->second.base, rowBytes, groupBytes};
  if (int64_t lanes = plan.lanesAlongM) {
    TileBuffer packed = f.allocate({plan.steps(), plan.m * plan.group}, plan.operand);
    f.withFullMasks({tile}, [&] { copyAlongM(f, plan, batch, lanes, packed); });
    return {packed.base, f.constantIndex(groupBytes), plan.m * groupBytes};
  }
  // In front of the branches: a buffer of one of them would be reused by what follows.
  TileBuffer packed = f.allocate({plan.m, plan.k}, plan.operand);
  LoadOp load = plan.aPlace.load;
  if (!load) {
    f.withFullMasks({tile}, [&] { copyA(f, plan, batch, packed); });
    return {packed.base, rowBytes, groupBytes};
  }
  if (needed.a.areAll)
    return placeNeededA(f, plan, batch, load, packed, rowBytes, needed);
  SmallVector<Value> place = f.withFullMasks({tile}, {packed.base.getType(), rowBytes.getType()},
                                             [&]() -> SmallVector<Value> {
                                               if (auto rows = readInPlace(f, load, batch))
                                                 return {rows->first, rows->second};
                                               copyA(f, plan, batch, packed);
                                               return {packed.base, rowBytes};
                                             });
  return {place[0], place[1], groupBytes};
}
