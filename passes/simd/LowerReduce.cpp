// Reductions, histograms and scans: partial results live in vector registers, several of them where
// the reduced dimension is also the vector dimension.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

// Independent partial results, to cover the latency of the combining operation.
static constexpr int64_t kPartialResults = 4;

static SmallVector<Value> evaluateAll(SimdFunction &f, ValueRange sources, const Coordinates &at) {
  return llvm::map_to_vector(sources, [&](Value source) { return f.evaluateVector(source, at); });
}

static Value everySecondLane(SimdFunction &f, Value vector, int64_t first) {
  SmallVector<int64_t> lanes;
  for (int64_t lane = first; lane < cast<VectorType>(vector.getType()).getDimSize(0); lane += 2)
    lanes.push_back(lane);
  return vector::ShuffleOp::create(f.builder, f.loc, vector, vector, lanes);
}

/// Combines the lanes of vectors (a power of two of them) into scalars, neighbours in order.
static SmallVector<Value> combineLanes(SimdFunction &f, Region &region, SmallVector<Value> values) {
  int64_t lanes = cast<VectorType>(values.front().getType()).getDimSize(0);
  for (; lanes > 1; lanes /= 2) {
    SmallVector<Value> even, odd;
    for (Value value : values) {
      even.push_back(everySecondLane(f, value, 0));
      odd.push_back(everySecondLane(f, value, 1));
    }
    values = f.combine(region, even, odd);
  }
  for (Value &value : values)
    value = vector::ExtractOp::create(f.builder, f.loc, value, 0);
  return values;
}

/// The largest number of partial results that divides the number of vectors.
static int64_t numPartials(int64_t vectors) {
  int64_t count = kPartialResults;
  while (vectors % count != 0)
    count /= 2;
  return count;
}

/// Folds whole vectors one after the other, each of them first: for combinations with an order.
static SmallVector<Value> reduceInOrder(SimdFunction &f, ReduceOp op, const Coordinates &outer,
                                        int64_t lanes) {
  int axis = int(op.getAxis());
  int64_t extent = shapeOf(op.getSources().front().getType())[axis];
  int64_t main = extent / lanes * lanes;
  auto foldVector = [&](Value index, int64_t count) {
    Coordinates at = outer;
    at.index[axis] = index;
    at.vectorDim = count > 1 ? axis : -1;
    at.lanes = count;
    SmallVector<Value> values = evaluateAll(f, op.getSources(), at);
    return count > 1 ? combineLanes(f, op.getCombine(), values) : values;
  };
  auto foldRange = [&](int64_t lower, int64_t upper, int64_t step, SmallVector<Value> result) {
    return f.emitLoop(lower, upper, step, result, [&](Value index, ValueRange old) {
      Scope scope(f, index);
      return f.combine(op.getCombine(), SmallVector<Value>(old), foldVector(index, step));
    });
  };
  SmallVector<Value> result = foldRange(lanes, main, lanes, foldVector(f.constantIndex(0), lanes));
  return foldRange(main, extent, 1, result);
}

/// Reduces along the vector dimension at the other coordinates of `outer`.
static SmallVector<Value> reduceLanes(SimdFunction &f, ReduceOp op, const Coordinates &outer,
                                      int64_t lanes) {
  if (!op.isCommutative())
    return reduceInOrder(f, op, outer, lanes);
  int axis = int(op.getAxis());
  int64_t extent = shapeOf(op.getSources().front().getType())[axis];
  int64_t main = extent / lanes * lanes, partials = numPartials(main / lanes);
  size_t n = op.getSources().size();
  Coordinates at = outer;
  auto evaluatePartial = [&](Value index, int64_t partial) {
    at.index[axis] =
        f.builder.createOrFold<arith::AddIOp>(f.loc, index, f.constantIndex(partial * lanes));
    at.vectorDim = lanes > 1 ? axis : -1;
    at.lanes = lanes;
    return evaluateAll(f, op.getSources(), at);
  };
  int64_t step = partials * lanes, full = knownLength(f.prefixes, axis, main, step);
  SmallVector<Value> carried;
  {
    Scope scope(f);
    if (full > 0)
      assumeKnown(f.prefixes, axis, full, f.assumedTrue);
    for (int64_t partial = 0; partial < partials; ++partial)
      llvm::append_range(carried, evaluatePartial(f.constantIndex(0), partial));
  }
  auto foldRange = [&](int64_t lower, int64_t upper) {
    carried = emitRowLoop(f, lower, upper, step, carried, [&](Value index, ValueRange old) {
      Scope scope(f, index);
      if (upper <= full)
        assumeKnown(f.prefixes, axis, full, f.assumedTrue);
      SmallVector<Value> next;
      for (int64_t partial = 0; partial < partials; ++partial)
        llvm::append_range(next,
                           f.combine(op.getCombine(), SmallVector<Value>(old.slice(partial * n, n)),
                                     evaluatePartial(index, partial)));
      return next;
    });
  };
  foldRange(step, full);
  foldRange(std::max(full, step), main);
  for (int64_t count = partials / 2; count >= 1; count /= 2)
    for (int64_t partial = 0; partial < count; ++partial) {
      SmallVector<Value> sum = f.combine(op.getCombine(), ArrayRef(carried).slice(partial * n, n),
                                         ArrayRef(carried).slice((partial + count) * n, n));
      llvm::copy(sum, carried.begin() + partial * n);
    }
  SmallVector<Value> result(ArrayRef(carried).take_front(n));
  if (lanes > 1)
    result = combineLanes(f, op.getCombine(), result);
  return f.emitLoop(main, extent, 1, result, [&](Value index, ValueRange old) {
    Scope scope(f, index);
    Coordinates one = outer;
    one.index[axis] = index;
    return f.combine(op.getCombine(), SmallVector<Value>(old),
                     evaluateAll(f, op.getSources(), one));
  });
}

/// Reduces along a dimension other than the vector dimension, for `chunks` neighbouring vectors of
/// results at once; yields the results of each chunk in turn.
static SmallVector<Value> reduceRows(SimdFunction &f, ReduceOp op, const Coordinates &resultAt,
                                     int64_t chunks) {
  int axis = int(op.getAxis());
  int64_t extent = shapeOf(op.getSources().front().getType())[axis];
  size_t n = op.getSources().size();
  Coordinates at = resultAt;
  at.index.insert(at.index.begin() + axis, f.constantIndex(0));
  if (at.vectorDim >= axis)
    ++at.vectorDim;
  auto evaluateChunks = [&](Value index) {
    SmallVector<Value> values;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      Coordinates one = at;
      one.index[axis] = index;
      if (chunk > 0)
        one.index[at.vectorDim] = f.builder.createOrFold<arith::AddIOp>(
            f.loc, at.index[at.vectorDim], f.constantIndex(chunk * at.lanes));
      llvm::append_range(values, evaluateAll(f, op.getSources(), one));
    }
    return values;
  };
  SmallVector<Value> first = evaluateChunks(f.constantIndex(0));
  return f.emitLoop(1, extent, 1, first, [&](Value index, ValueRange old) {
    Scope scope(f, index);
    SmallVector<Value> values = evaluateChunks(index), next;
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      llvm::append_range(next,
                         f.combine(op.getCombine(), SmallVector<Value>(old.slice(chunk * n, n)),
                                   ArrayRef(values).slice(chunk * n, n)));
    return next;
  });
}

LogicalResult SimdFunction::lowerReduce(ReduceOp op) {
  SmallVector<Value> sources(op.getSources());
  SmallVector<int64_t> shape(shapeOf(sources.front().getType()));
  int axis = int(op.getAxis());
  auto [vectorDim, lanes] = chooseVector(sources, shape);
  if (!isVectorizable(op.getCombine()))
    std::tie(vectorDim, lanes) = std::pair(axis, int64_t(1));
  SmallVector<TileBuffer> results;
  if (shape.size() > 1)
    for (Value result : op.getResults())
      results.push_back(destinationOf(result));
  auto storeResults = [&](const Coordinates &at, ArrayRef<Value> values) {
    for (auto [buffer, value] : llvm::zip(results, values))
      storeBuffer(buffer, at, value);
  };
  if (shape.size() == 1) {
    SmallVector<Type> types =
        llvm::map_to_vector(op.getResultTypes(), [&](Type t) { return lowered(t); });
    SmallVector<Value> values = withFullMasks(
        sources, types,
        [&, lanes = lanes] {
          Coordinates outer;
          outer.index = {constantIndex(0)};
          return reduceLanes(*this, op, outer, lanes);
        },
        op.isCommutative() && lanes > 1 ? lanes * numPartials(shape[0] / lanes) : 0);
    for (auto [result, value] : llvm::zip(op.getResults(), values))
      scalars[result] = value;
    return success();
  }
  SmallVector<int64_t> resultShape(shape);
  resultShape.erase(resultShape.begin() + axis);
  withFullMasks(sources, [&, vectorDim = vectorDim, lanes = lanes] {
    if (vectorDim == axis)
      return emitOuterLoops(shape, axis, [&](const Coordinates &outer) {
        SmallVector<Value> values = reduceLanes(*this, op, outer, lanes);
        Coordinates at = outer;
        at.index.erase(at.index.begin() + axis);
        storeResults(at, values);
      });
    int64_t chunks = numPartials(shape[vectorDim] % lanes == 0 ? shape[vectorDim] / lanes : 1);
    emitNest(resultShape, vectorDim - (vectorDim > axis), lanes * chunks, [&](Coordinates at) {
      bool isVector = at.vectorDim >= 0;
      at.lanes = isVector ? lanes : 1;
      int64_t count = isVector ? chunks : 1;
      SmallVector<Value> values = reduceRows(*this, op, at, count);
      for (int64_t chunk = 0; chunk < count; ++chunk) {
        Coordinates one = at;
        if (chunk > 0)
          one.index[at.vectorDim] = builder.createOrFold<arith::AddIOp>(
              loc, at.index[at.vectorDim], constantIndex(chunk * lanes));
        storeResults(one, ArrayRef(values).slice(chunk * results.size(), results.size()));
      }
    });
  });
  for (auto [result, buffer] : llvm::zip(op.getResults(), results))
    buffers[result] = buffer;
  return success();
}

//===-- Histograms ----------------------------------------------------------------------------===//

// Neighbours often are equal: each counts in a copy of its own, so that none waits for the one
// before it. Not where copies would not fit the first-level cache.
static constexpr int64_t kHistogramCopies = 4, kMostCopiedBins = 1024;

/// Adds one at the element's place of a copy; all that is in no bin has a place behind the bins.
static void countElements(SimdFunction &f, HistogramOp op, const Coordinates &at,
                          const TileBuffer &counts, int64_t numBins) {
  Type i32 = f.builder.getI32Type(), i64 = f.builder.getI64Type();
  Value values = f.evaluateVector(op.getSource(), at);
  bool isVector = at.vectorDim >= 0;
  Value bins = f.constantOf(elementTypeOf(op.getSource().getType()), numBins);
  if (isVector)
    bins = f.splat(bins, at.lanes);
  Value places = arith::MinUIOp::create(f.builder, f.loc, values, bins);
  for (int64_t lane = 0; lane < (isVector ? at.lanes : 1); ++lane) {
    Value place =
        isVector ? vector::ExtractOp::create(f.builder, f.loc, places, lane).getResult() : places;
    if (place.getType() != i64)
      place = arith::ExtUIOp::create(f.builder, f.loc, i64, place);
    Value address = f.bufferAddress(counts, {f.constantIndex(lane % counts.shape.front()), place});
    Value count = LLVM::LoadOp::create(f.builder, f.loc, i32, address, elementBytes(i32));
    count = arith::AddIOp::create(f.builder, f.loc, count, f.constantOf(i32, 1));
    LLVM::StoreOp::create(f.builder, f.loc, count, address, elementBytes(i32));
  }
}

LogicalResult SimdFunction::lowerHistogram(HistogramOp op) {
  Type i32 = builder.getI32Type();
  int64_t numBins = op.getType().getDimSize(0),
          copies = numBins > kMostCopiedBins ? 1 : kHistogramCopies;
  int64_t lanes = machine.getVectorBytes() / elementBytes(i32);
  TileBuffer counts = allocate({copies, int64_t(llvm::alignTo(numBins + 1, lanes))}, i32, current);
  emitNest(counts.shape, 1, lanes, [&](const Coordinates &at) {
    storeBuffer(counts, at, splat(constantOf(i32, 0), at.lanes));
  });
  ArrayRef<int64_t> shape = shapeOf(op.getSource().getType());
  int64_t sourceLanes = chooseVector({op.getSource()}, shape).second;
  withFullMasks({op.getSource()}, [&] {
    emitNest(shape, 0, sourceLanes,
             [&](const Coordinates &at) { countElements(*this, op, at, counts, numBins); });
  });
  TileBuffer result = destinationOf(op.getResult());
  emitNest({numBins}, 0, lanes, [&](const Coordinates &at) {
    Coordinates from = at;
    from.index.insert(from.index.begin(), constantIndex(0));
    from.vectorDim = at.vectorDim < 0 ? -1 : 1;
    Value sum = loadBuffer(counts, from);
    for (int64_t copy = 1; copy < copies; ++copy) {
      from.index[0] = constantIndex(copy);
      sum = arith::AddIOp::create(builder, loc, sum, loadBuffer(counts, from));
    }
    storeBuffer(result, at, sum);
  });
  buffers[op.getResult()] = result;
  return success();
}

//===-- Scans ---------------------------------------------------------------------------------===//

/// Scans along the axis for one position (or vector of positions) of the other dimensions.
static void scanLine(SimdFunction &f, ScanOp op, Coordinates at, ArrayRef<TileBuffer> results) {
  int axis = int(op.getAxis());
  int64_t extent = shapeOf(op.getSources().front().getType())[axis];
  auto position = [&](Value index) -> Value {
    if (!op.getReverse())
      return index;
    return f.builder.createOrFold<arith::SubIOp>(f.loc, f.constantIndex(extent - 1), index);
  };
  auto store = [&](ArrayRef<Value> values) {
    for (auto [buffer, value] : llvm::zip(results, values))
      f.storeBuffer(buffer, at, value);
  };
  at.index[axis] = position(f.constantIndex(0));
  SmallVector<Value> first = evaluateAll(f, op.getSources(), at);
  store(first);
  f.emitLoop(1, extent, 1, first, [&](Value index, ValueRange old) {
    Scope scope(f, index);
    at.index[axis] = position(index);
    SmallVector<Value> next =
        f.combine(op.getCombine(), SmallVector<Value>(old), evaluateAll(f, op.getSources(), at));
    store(next);
    return next;
  });
}

namespace {
/// Scans along the dimension of the vectors: within a vector by doubling distances (Hillis and
/// Steele, "Data Parallel Algorithms", 1986), and from vector to vector by the last lane's result.
struct VectorScan {
  SimdFunction &f;
  ScanOp op;
  int64_t lanes;

  /// Lanes that are `distance` earlier, in the order of the scan; the first lanes keep themselves.
  Value earlier(Value vector, int64_t distance) {
    SmallVector<int64_t> from;
    for (int64_t lane = 0; lane < lanes; ++lane) {
      int64_t source = op.getReverse() ? lane + distance : lane - distance;
      from.push_back(source >= 0 && source < lanes ? source : lane);
    }
    return vector::ShuffleOp::create(f.builder, f.loc, vector, vector, from);
  }

  /// Lanes that have one `distance` earlier.
  Value haveEarlier(int64_t distance) {
    SmallVector<bool> have;
    for (int64_t lane = 0; lane < lanes; ++lane)
      have.push_back(op.getReverse() ? lane + distance < lanes : lane >= distance);
    auto type = VectorType::get({lanes}, f.builder.getI1Type());
    return arith::ConstantOp::create(f.builder, f.loc, DenseIntElementsAttr::get(type, have));
  }

  SmallVector<Value> within(SmallVector<Value> values) {
    for (int64_t distance = 1; distance < lanes; distance *= 2) {
      SmallVector<Value> before;
      for (Value value : values)
        before.push_back(earlier(value, distance));
      SmallVector<Value> sums = f.combine(op.getCombine(), before, values);
      for (auto [value, sum] : llvm::zip(values, sums))
        value = arith::SelectOp::create(f.builder, f.loc, haveEarlier(distance), sum, value);
    }
    return values;
  }

  SmallVector<Value> lastOf(ArrayRef<Value> values) {
    return llvm::map_to_vector(values, [&](Value value) -> Value {
      int64_t last = op.getReverse() ? 0 : lanes - 1;
      return f.splat(vector::ExtractOp::create(f.builder, f.loc, value, last), lanes);
    });
  }

  void scanLine(Coordinates at, ArrayRef<TileBuffer> results) {
    int axis = int(op.getAxis());
    int64_t extent = shapeOf(op.getSources().front().getType())[axis];
    at.vectorDim = axis;
    at.lanes = lanes;
    auto evaluateAt = [&](Value index) {
      at.index[axis] = !op.getReverse() ? index
                                        : f.builder.createOrFold<arith::SubIOp>(
                                              f.loc, f.constantIndex(extent - lanes), index);
      return within(evaluateAll(f, op.getSources(), at));
    };
    auto store = [&](ArrayRef<Value> values) {
      for (auto [buffer, value] : llvm::zip(results, values))
        f.storeBuffer(buffer, at, value);
    };
    SmallVector<Value> first = evaluateAt(f.constantIndex(0));
    store(first);
    f.emitLoop(lanes, extent, lanes, lastOf(first), [&](Value index, ValueRange carried) {
      Scope scope(f, index);
      SmallVector<Value> values = evaluateAt(index);
      values = f.combine(op.getCombine(), SmallVector<Value>(carried), values);
      store(values);
      return lastOf(values);
    });
  }
};
} // namespace

/// Lanes for a scan along its own dimension; 1 where that does not fit.
static int64_t lanesAlongAxis(SimdFunction &f, ScanOp op) {
  unsigned bytes = 4;
  for (Value source : op.getSources())
    bytes = std::max(bytes, elementBytes(elementTypeOf(source.getType())));
  int64_t lanes = f.machine.getVectorBytes() / bytes;
  int64_t extent = shapeOf(op.getSources().front().getType())[op.getAxis()];
  bool fits = isVectorizable(op.getCombine()) && extent % lanes == 0;
  return fits ? lanes : 1;
}

LogicalResult SimdFunction::lowerScan(ScanOp op) {
  SmallVector<Value> sources(op.getSources());
  SmallVector<int64_t> shape(shapeOf(sources.front().getType()));
  int axis = int(op.getAxis());
  SmallVector<TileBuffer> results;
  for (Value result : op.getResults())
    results.push_back(allocate(result));
  // Lines are independent: they are the lanes where another dimension is long enough.
  int vectorDim = int(shape.size()) - 1;
  int64_t lanes = machine.getVectorBytes() / 4;
  bool canVectorize = isVectorizable(op.getCombine()) && vectorDim != axis && shape[vectorDim] > 1;
  SmallVector<int64_t> lines = shape;
  lines[axis] = 1;
  if (int64_t along = lanesAlongAxis(*this, op); !canVectorize && vectorDim == axis && along > 1) {
    withFullMasks(sources, [&] {
      VectorScan scan = {*this, op, along};
      emitOuterLoops(shape, axis, [&](const Coordinates &at) { scan.scanLine(at, results); });
    });
    for (auto [result, buffer] : llvm::zip(op.getResults(), results))
      buffers[result] = buffer;
    return success();
  }
  if (canVectorize)
    lanes = std::min<int64_t>(lanes, llvm::bit_floor(uint64_t(shape[vectorDim])));
  emitNest(lines, vectorDim, canVectorize ? lanes : 1,
           [&](const Coordinates &at) { scanLine(*this, op, at, results); });
  for (auto [result, buffer] : llvm::zip(op.getResults(), results))
    buffers[result] = buffer;
  return success();
}
