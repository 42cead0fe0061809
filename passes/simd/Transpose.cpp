// Tiles that are contiguous along one dimension where they are read and along another where they
// are written: square blocks are transposed in registers instead of gathered.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

/// The mark of loops that are not unrolled.
static Attribute rolledLoop(MLIRContext *context) {
  auto unroll = LLVM::LoopUnrollAttr::get(context, /*disable=*/BoolAttr::get(context, true), {}, {},
                                          {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {}, {}, {}, {}, {}, {}, {}, {},
                                       {}, {}, {});
}

/// The size of the segments in which every machine shuffles vectors in one instruction without a
/// vector of indices: such shuffles move elements within 16 bytes, or 16 bytes at a time.
static constexpr int64_t kSegmentBytes = 16;

/// Lanes of two vectors one behind the other: within each segment, groups of `width` lanes of both
/// in turn, from the segment's lower or upper half.
static SmallVector<int64_t> interleavedHalves(int64_t size, int64_t segment, int64_t width,
                                              bool isUpper) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < size; ++lane) {
    int64_t group = lane % segment / width;
    int64_t inSegment = group / 2 * width + (isUpper ? segment / 2 : 0) + lane % width;
    lanes.push_back(group % 2 * size + lane / segment * segment + inSegment);
  }
  return lanes;
}

/// Lanes of two vectors one behind the other: each second segment, from the first or the second on.
static SmallVector<int64_t> everySecondSegment(int64_t size, int64_t segment, bool isOdd) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = 0; lane < size; ++lane)
    lanes.push_back((2 * (lane / segment) + isOdd) * segment + lane % segment);
  return lanes;
}

/// Joins each vector with the one at some distance, for distances 1, 2, 4 ...: `choose` gives the
/// lanes of both that become the first and the second of the two. Each step trades one bit of the
/// vectors' numbers for one of the lanes'.
static void
joinPairs(SimdFunction &f, MutableArrayRef<Value> vectors,
          llvm::function_ref<SmallVector<int64_t>(int64_t distance, bool isSecond)> choose) {
  for (size_t distance = 1; distance < vectors.size(); distance *= 2)
    for (size_t i = 0; i < vectors.size(); ++i) {
      if ((i / distance) % 2)
        continue;
      Value first = vectors[i], second = vectors[i + distance];
      for (bool isSecond : {false, true})
        vectors[isSecond ? i + distance : i] =
            vector::ShuffleOp::create(f.builder, f.loc, first, second, choose(distance, isSecond));
    }
}

/// Transposes the square blocks that the segments of these vectors make one below the other.
static void transposeInSegments(SimdFunction &f, MutableArrayRef<Value> vectors, int64_t size) {
  const int64_t segment = vectors.size();
  joinPairs(f, vectors, [&](int64_t distance, bool isSecond) {
    return interleavedHalves(size, segment, distance, isSecond);
  });
  // The lanes' bits come from the uppermost on.
  for (int64_t i = 0; i < segment; ++i) {
    int64_t reversed = 0;
    for (int64_t bit = 1; bit < segment; bit *= 2)
      reversed = 2 * reversed + (i / bit) % 2;
    if (i < reversed)
      std::swap(vectors[i], vectors[reversed]);
  }
}

/// A loop that stays one: unrolled, all shuffles of a block would be one expression, on which the
/// time of compilers grows faster than its size.
static void emitRolledLoop(SimdFunction &f, int64_t count, llvm::function_ref<void(Value)> body) {
  f.emitLoop(0, count, 1, {}, [&](Value index, ValueRange) {
    Scope scope(f, index);
    body(index);
    if (scf::ForOp loop = scf::getForInductionVarOwner(index))
      loop->setAttr("loop_annotation", rolledLoop(f.builder.getContext()));
    return SmallVector<Value>();
  });
}

void SimdFunction::transposeSquare(int64_t size, Type element,
                                   llvm::function_ref<Value(Value)> rowAt,
                                   llvm::function_ref<void(Value, Value)> storeColumn) {
  const int64_t segment = std::min<int64_t>(size, kSegmentBytes / elementBytes(element));
  const int64_t numSegments = size / segment;
  TileBuffer parts;
  if (numSegments > 1)
    parts = allocate({segment, numSegments, size}, element);
  auto partAt = [&](Value column, Value block) {
    return Coordinates{{column, block, constantIndex(0)}, /*vectorDim=*/2, size};
  };
  emitRolledLoop(*this, numSegments, [&](Value block) {
    Value first = scaleIndex(block, segment);
    SmallVector<Value> vectors;
    for (int64_t i = 0; i < segment; ++i)
      vectors.push_back(rowAt(addIndex(first, i)));
    transposeInSegments(*this, vectors, size);
    for (auto [column, value] : llvm::enumerate(vectors))
      if (numSegments == 1)
        storeColumn(constantIndex(column), value);
      else
        storeBuffer(parts, partAt(constantIndex(column), block), value);
  });
  if (numSegments == 1)
    return;
  emitRolledLoop(*this, segment, [&](Value column) {
    SmallVector<Value> vectors;
    for (int64_t block = 0; block < numSegments; ++block)
      vectors.push_back(loadBuffer(parts, partAt(column, constantIndex(block))));
    joinPairs(*this, vectors,
              [&](int64_t, bool isSecond) { return everySecondSegment(size, segment, isSecond); });
    for (auto [block, value] : llvm::enumerate(vectors))
      storeColumn(addIndex(column, block * segment), value);
  });
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
    auto shifted = [&](int vectorDim, int otherDim, Value offset) {
      Coordinates one = at;
      one.vectorDim = vectorDim;
      one.index[otherDim] = builder.createOrFold<arith::AddIOp>(loc, at.index[otherDim], offset);
      return one;
    };
    transposeSquare(
        lanes, elementTypeOf(tile.getType()),
        [&](Value row) { return evaluateVector(tile, shifted(readDim, writeDim, row)); },
        [&](Value column, Value value) { store(shifted(writeDim, readDim, column), value); });
  });
  return true;
}
