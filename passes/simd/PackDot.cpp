// Operands of matrix products where the micro-kernel reads them: B in panels of interleaved
// neighbours along k, A as it lies in memory where that is row by row, else copied so.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/DotPlan.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

/// A is read once for each panel of B: beyond so many, rows of a copy that lie side by side win.
static constexpr int64_t kMostPanelsInPlace = 8;

/// The most bytes of B, from its first row to its last, that are used where they lie in memory:
/// half of a 32 KiB cache, the smallest one nearest to a core. Rows that lie farther apart may all
/// compete for the same cache sets.
static constexpr int64_t kMostBytesInPlace = 16 << 10;

/// Bytes of B that are in flight while it is read row by row.
static constexpr int64_t kBytesAhead = 4 << 10;
/// The line size of a cache; where lines are longer, some are prefetched twice.
static constexpr int64_t kLineBytes = 1 << 6;

/// Elements of an operand in the type that the micro-kernel takes.
static Value convertOperand(SimdFunction &f, const DotPlan &plan, const DotOperand &source,
                            Value value) {
  Type element = elementTypeOf(source.tile.getType());
  value = f.asElement(value, element);
  if (!source.isUnsigned || element == plan.operand)
    return convertDotElements(f, value, plan.operand);
  Type type = plan.operand;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    type = vector.clone(type);
  return arith::ExtUIOp::create(f.builder, f.loc, type, value);
}

/// Vectors of equally many lanes as one: lane 0 of each, then lane 1 of each ...
static Value interleave(SimdFunction &f, ArrayRef<Value> vectors) {
  if (vectors.size() == 1)
    return vectors.front();
  SmallVector<Value> even, odd;
  for (auto [i, vector] : llvm::enumerate(vectors))
    (i < vectors.size() / 2 ? even : odd).push_back(vector);
  Value first = interleave(f, even), second = interleave(f, odd);
  int64_t size = cast<VectorType>(first.getType()).getNumElements();
  int64_t run = even.size();
  SmallVector<int64_t> order;
  for (int64_t begin = 0; begin < size; begin += run)
    for (int64_t source : {begin, size + begin})
      for (int64_t i = 0; i < run; ++i)
        order.push_back(source + i);
  return vector::ShuffleOp::create(f.builder, f.loc, first, second, order);
}

//===-- What is needed of a product -----------------------------------------------------------===//

/// The load of an operand that masks fill up with zeros; none where it is something else.
static LoadOp zeroFilledLoad(SimdFunction &f, const DotOperand &source) {
  auto load = source.tile.getDefiningOp<LoadOp>();
  if (!load || f.plan.isKept(load.getResult()) || isFetchedAgain(load))
    return {};
  Value other = load.getOther();
  bool isZero = !other || matchPattern(other, m_Zero()) || matchPattern(other, m_PosZeroFloat());
  return isZero ? load : LoadOp();
}

/// Where the mask of an operand ends, if it decides about nothing but rows and columns.
static MaskEnds endsOfOperand(SimdFunction &f, const DotOperand &source, size_t numBatch) {
  LoadOp load = zeroFilledLoad(f, source);
  if (!load || !load.getMask())
    return {{}, false};
  MaskEnds ends = emitMaskEnds(f, load.getMask(), shapeOf(load.getType()));
  for (size_t dim = 0; dim < numBatch; ++dim)
    ends.areAll &= !ends.along[dim].holds;
  return ends;
}

/// Whole blocks of `size` up to `end`; `most` where that is null.
static Value blocksUpTo(SimdFunction &f, Value end, int64_t size, int64_t most) {
  if (!end)
    return f.constantIndex(most);
  Value filled = addIndex(f, end, size - 1);
  Value blocks = f.builder.createOrFold<arith::DivUIOp>(f.loc, filled, f.constantIndex(size));
  return f.builder.createOrFold<arith::MinSIOp>(f.loc, blocks, f.constantIndex(most));
}

/// Emits a test that a mask holds for `count` elements along a dimension; returns null if nothing
/// tests it.
static Value holdsFor(SimdFunction &f, const MaskEnd &end, Value count) {
  if (!end.holds)
    return {};
  return f.builder.createOrFold<arith::CmpIOp>(f.loc, arith::CmpIPredicate::sge, end.holds, count);
}

static Value both(SimdFunction &f, Value x, Value y) {
  return x && y ? f.builder.createOrFold<arith::AndIOp>(f.loc, x, y) : x ? x : y;
}

DotExtent tw::simd::emitExtent(SimdFunction &f, const DotPlan &plan, size_t numBatch,
                               StoreOp store) {
  MaskEnd rows, columns, ofA, ofB;
  DotExtent needed;
  // Sums over A's rows read all of them.
  const bool isFixed = plan.matrix || plan.usesBOnce || plan.shiftsB();
  if (store && !isFixed) {
    MaskEnds ends = emitMaskEnds(f, store.getMask(), shapeOf(store.getValue().getType()));
    rows = ends.along[numBatch];
    columns = ends.along[numBatch + 1];
  }
  needed.a.areAll = needed.b.areAll = false;
  if (!isFixed) {
    needed.a = endsOfOperand(f, plan.aSource, numBatch);
    needed.b = endsOfOperand(f, plan.bSource, numBatch);
  }
  if (!needed.a.along.empty() && !needed.b.along.empty()) {
    ofA = needed.a.along[numBatch + 1];
    ofB = needed.b.along[numBatch];
  }
  Value blocks = blocksUpTo(f, rows.ends, plan.rows, llvm::divideCeil(plan.m, plan.rows));
  needed.rows = f.builder.createOrFold<arith::MinSIOp>(f.loc, scaleIndex(f, blocks, plan.rows),
                                                       f.constantIndex(plan.m));
  needed.panels = blocksUpTo(f, columns.ends, plan.panel(), plan.n / plan.panel());
  needed.steps = f.constantIndex(plan.steps());
  if (!ofA.ends || !ofB.ends)
    return needed;
  // Behind the end of one operand the other's elements may be infinite: zero times that is NaN.
  Value last = f.builder.createOrFold<arith::MaxSIOp>(f.loc, ofA.ends, ofB.ends);
  needed.steps = blocksUpTo(f, last, plan.group, plan.steps());
  return needed;
}

//===-- A -------------------------------------------------------------------------------------===//

static void copyA(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                  const TileBuffer &packed) {
  Value tile = plan.aSource.tile;
  int64_t lanes = 0;
  int readDim = 0, numBatch = int(batch.size()), lastDim = numBatch + 1;
  std::tie(readDim, lanes) = f.chooseVector({tile}, shapeOf(tile.getType()));
  // Whole registers of narrow elements, which are as wide in the copy.
  if (readDim == lastDim && elementTypeOf(tile.getType()) == plan.operand)
    lanes = std::min<int64_t>(f.machine.vectorBytes / elementBytes(plan.operand),
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

/// How many neighbours along m are read at once where A lies along m, and an instruction takes
/// groups along k: a copy step by step needs no more than to interleave the rows of a group, while
/// one row by row would be transposed element by element. 0: copied row by row.
static int64_t lanesAlongM(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  Value tile = plan.aSource.tile;
  if (plan.group == 1 || plan.matrix ||
      f.chooseVector({tile}, shapeOf(tile.getType())).first != int(numBatch))
    return 0;
  int64_t lanes = f.machine.vectorBytes / elementBytes(plan.operand);
  lanes = std::min<int64_t>(lanes, plan.m & -plan.m);
  return lanes > 1 ? lanes : 0;
}

/// Copies A to [steps, m * group].
static void copyAlongM(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch, int64_t lanes,
                       const TileBuffer &packed) {
  f.emitNest({plan.steps(), plan.m / lanes}, 1, 1, [&](const Coordinates &at) {
    Value row = scaleIndex(f, at.index[1], lanes), k = scaleIndex(f, at.index[0], plan.group);
    SmallVector<Value> columns;
    for (int64_t i = 0; i < plan.group; ++i) {
      Coordinates from = matrixAt(batch, row, addIndex(f, k, i), 0, lanes);
      Value value = f.evaluateVector(plan.aSource.tile, from);
      columns.push_back(convertOperand(f, plan, plan.aSource, value));
    }
    Coordinates to =
        matrixAt({}, at.index[0], scaleIndex(f, row, plan.group), 1, lanes * plan.group);
    f.storeBuffer(packed, to, interleave(f, columns));
  });
}

/// Returns the load of an operand that memory holds row by row at equal distances, as far as can be
/// told without its mask; null if there is none.
static LoadOp rowsInMemory(SimdFunction &f, const DotPlan &plan, const DotOperand &source,
                           size_t numBatch) {
  auto load = source.tile.getDefiningOp<LoadOp>();
  if (!load || f.plan.isKept(load.getResult()) || isFetchedAgain(load) ||
      elementTypeOf(load.getType()) != plan.operand)
    return {};
  AxisChange rows = f.facts.along(load.getPtr(), numBatch);
  bool isEqual = rows.kind == AxisChange::Constant || rows.kind == AxisChange::Affine;
  return isEqual && f.facts.along(load.getPtr(), numBatch + 1).isUnit() ? load : LoadOp();
}

static Value asInteger(SimdFunction &f, Value pointer) {
  return LLVM::PtrToIntOp::create(f.builder, f.loc, f.builder.getI64Type(), pointer);
}

/// The first row of a load as it lies, and the bytes to the next.
static std::pair<Value, Value> rowsOf(SimdFunction &f, LoadOp load, ArrayRef<Value> batch) {
  Value zero = f.constantIndex(0);
  Coordinates first = matrixAt(batch, zero, zero);
  Value base = f.evaluate(load.getPtr(), first);
  if (shapeOf(load.getType())[batch.size()] == 1)
    return std::pair(base, zero);
  Value second = f.evaluate(load.getPtr(), matrixAt(batch, f.constantIndex(1), zero));
  Value distance =
      arith::SubIOp::create(f.builder, f.loc, asInteger(f, second), asInteger(f, base));
  return std::pair(base, distance);
}

/// The same; none where the mask is not known to be full here.
static std::optional<std::pair<Value, Value>> readInPlace(SimdFunction &f, LoadOp load,
                                                          ArrayRef<Value> batch) {
  if (load.getMask() && !isFullMask(f, load.getMask()))
    return std::nullopt;
  return rowsOf(f, load, batch);
}

/// Operand A where it lies if its mask holds for what is needed of it, which its ends say.
static DotRows placeNeededA(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                            LoadOp load, const TileBuffer &packed, Value rowBytes,
                            const DotExtent &needed) {
  int64_t groupBytes = plan.group * elementBytes(plan.operand);
  const MaskEnd &rows = needed.a.along[batch.size()], &steps = needed.a.along[batch.size() + 1];
  Value inPlace = both(f, holdsFor(f, rows, needed.rows),
                       holdsFor(f, steps, scaleIndex(f, needed.steps, plan.group)));
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
  int64_t groupBytes = plan.group * elementBytes(plan.operand);
  Value rowBytes = f.constantIndex(plan.steps() * groupBytes);
  auto home = f.buffers.find(plan.aSource.tile);
  if (home != f.buffers.end() && batch.empty() && home->second.element == plan.operand)
    return {home->second.base, rowBytes, groupBytes};
  if (int64_t lanes = lanesAlongM(f, plan, batch.size())) {
    TileBuffer packed = f.allocate({plan.steps(), plan.m * plan.group}, plan.operand);
    f.withFullMasks({plan.aSource.tile}, [&] { copyAlongM(f, plan, batch, lanes, packed); });
    return {packed.base, f.constantIndex(groupBytes), plan.m * groupBytes};
  }
  LoadOp load;
  if (plan.n / plan.panel() <= kMostPanelsInPlace)
    load = rowsInMemory(f, plan, plan.aSource, batch.size());
  // In front of the branches: a buffer of one of them would be reused by what follows.
  TileBuffer packed = f.allocate({plan.m, plan.k}, plan.operand);
  if (!load) {
    f.withFullMasks({plan.aSource.tile}, [&] { copyA(f, plan, batch, packed); });
    return {packed.base, rowBytes, groupBytes};
  }
  if (needed.a.areAll)
    return placeNeededA(f, plan, batch, load, packed, rowBytes, needed);
  SmallVector<Value> place =
      f.withFullMasks({plan.aSource.tile}, {packed.base.getType(), rowBytes.getType()},
                      [&]() -> SmallVector<Value> {
                        if (auto rows = readInPlace(f, load, batch))
                          return {rows->first, rows->second};
                        copyA(f, plan, batch, packed);
                        return {packed.base, rowBytes};
                      });
  return {place[0], place[1], groupBytes};
}

//===-- B -------------------------------------------------------------------------------------===//

/// Elements of B, shifted where they are: half the range more or less makes unsigned bytes of
/// signed ones, and the other way round.
static Value shiftB(SimdFunction &f, const DotPlan &plan, Value value) {
  if (!plan.shiftsB())
    return value;
  Value half = f.constantOf(plan.operand, -128);
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    half = f.splat(half, vector.getNumElements());
  return arith::XOrIOp::create(f.builder, f.loc, value, half);
}

Value tw::simd::loadBRow(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch, Value step,
                         Value column, int64_t numColumns) {
  Value k = scaleIndex(f, step, plan.group);
  SmallVector<Value> rows;
  for (int64_t i = 0; i < plan.group; ++i) {
    Coordinates at =
        matrixAt(batch, addIndex(f, k, i), column, numColumns > 1 ? 1 : -1, numColumns);
    Value row = convertOperand(f, plan, plan.bSource, f.evaluateVector(plan.bSource.tile, at));
    // An odd number of columns is cut into single ones.
    rows.push_back(plan.group > 1 && numColumns == 1 ? f.splat(row, 1) : row);
  }
  return shiftB(f, plan, interleave(f, rows));
}

/// Loads behind operand B whose rows lie apart, with the bytes from a row to the next.
using DistantRows = SmallVector<std::pair<LoadOp, Value>>;

/// None where B is only read: then a processor has many rows under way by itself. What is computed
/// of them leaves it room for few.
static DistantRows distantRowsOfB(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch) {
  DistantRows rows;
  if (plan.bSource.tile.getDefiningOp<LoadOp>())
    return rows;
  ArrayRef<int64_t> shape = shapeOf(plan.bSource.tile.getType());
  auto isKept = [&](Value value) { return f.buffers.contains(value) || f.plan.isKept(value); };
  llvm::DenseSet<Value> inPlace = tilesAtOwnPlaces({plan.bSource.tile}, isKept);
  llvm::SmallSetVector<Value, 8> tiles;
  tiles.insert(plan.bSource.tile);
  for (size_t i = 0; i < tiles.size(); ++i) {
    Value tile = tiles[i];
    if (!inPlace.contains(tile) || isKept(tile) || !tile.getDefiningOp())
      continue;
    tiles.insert_range(tile.getDefiningOp()->getOperands());
    auto load = tile.getDefiningOp<LoadOp>();
    if (!load || isFetchedAgain(load))
      continue;
    AxisChange change = f.facts.along(load.getPtr(), batch.size());
    bool isApart = change.kind == AxisChange::Affine ||
                   (change.kind == AxisChange::Constant && std::abs(change.step) > shape.back());
    if (isApart && shape[batch.size()] > 1 &&
        f.facts.along(load.getPtr(), batch.size() + 1).isUnit())
      rows.push_back({load, rowsOf(f, load, batch).second});
  }
  return rows;
}

/// Asks for columns of rows that will be read some steps later: processors foresee no row behind
/// the end of a page.
static void fetchAhead(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                       const DistantRows &rows, Value step, Value column, int64_t numColumns) {
  for (auto [load, distance] : rows) {
    unsigned bytes = elementBytes(elementTypeOf(load.getType()));
    int64_t ahead = std::max<int64_t>(kBytesAhead / (plan.n * bytes), plan.group);
    Value first =
        f.evaluate(load.getPtr(), matrixAt(batch, scaleIndex(f, step, plan.group), column));
    for (int64_t row = ahead; row < ahead + plan.group; ++row)
      for (int64_t line = 0; line < numColumns * bytes; line += kLineBytes) {
        Value offset = addIndex(f, scaleIndex(f, distance, row), line);
        Value place = LLVM::GEPOp::create(f.builder, f.loc, first.getType(), f.builder.getI8Type(),
                                          first, ValueRange{offset});
        LLVM::Prefetch::create(f.builder, f.loc, place, /*rw=*/0, /*hint=*/3, /*cache=*/1);
      }
  }
}

bool tw::simd::readsBAlongK(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  Value tile = plan.bSource.tile;
  auto [vectorDim, lanes] = f.chooseVector({tile}, shapeOf(tile.getType()));
  return vectorDim == int(numBatch) && plan.lanes > 1 && plan.k % (plan.group * plan.lanes) == 0;
}

/// Returns true if the mask of a load affects only the load's own elements.
static bool isMaskedInPlace(LoadOp load) {
  auto isKept = [](Value) { return false; };
  return tilesAtOwnPlaces({load.getResult()}, isKept).contains(load.getMask());
}

namespace {
struct PackedB {
  SimdFunction &f;
  const DotPlan &plan;
  ArrayRef<Value> batch;
  const DotExtent &needed;
  TileBuffer buffer;

  /// Stores part of row `row` of panel `panel`, from vector number `vector` on.
  void store(Value panel, Value row, Value vector, Value value) {
    Coordinates at;
    at.index = {panel, row, scaleIndex(f, vector, plan.lanes * plan.group)};
    auto type = dyn_cast<VectorType>(value.getType());
    at.vectorDim = type ? 2 : -1;
    at.lanes = type ? type.getNumElements() : 1;
    f.storeBuffer(buffer, at, value);
  }

  Value columnOf(Value panel, Value vector) {
    return f.builder.createOrFold<arith::AddIOp>(f.loc, scaleIndex(f, panel, plan.panel()),
                                                 scaleIndex(f, vector, plan.lanes));
  }

  /// Reads B along n, a whole row before the next: memory is fetched ahead so. Vectors of a panel
  /// go together, since narrow elements would fill a part of a register each.
  void packRows() {
    Value zero = f.constantIndex(0);
    DistantRows distant = distantRowsOfB(f, plan, batch);
    emitLoopUpTo(f, zero, needed.steps, 1, plan.steps(), {}, [&](Value step, ValueRange) {
      Scope rows(f);
      emitLoopUpTo(f, zero, needed.panels, 1, plan.n / plan.panel(), {},
                   [&](Value panel, ValueRange) {
                     Scope panels(f, panel);
                     Value column = scaleIndex(f, panel, plan.panel());
                     fetchAhead(f, plan, batch, distant, step, column, plan.panel());
                     store(panel, step, zero, loadBRow(f, plan, batch, step, column, plan.panel()));
                     return SmallVector<Value>();
                   });
      return SmallVector<Value>();
    });
  }

  void pack() { readsBAlongK(f, plan, batch.size()) ? packColumns() : packRows(); }

  /// Without B's mask where that holds for what is needed, which its ends say.
  void packNeeded() {
    auto load = plan.bSource.tile.getDefiningOp<LoadOp>();
    if (!needed.b.areAll || readsBAlongK(f, plan, batch.size()) || !isMaskedInPlace(load))
      return f.withFullMasks({plan.bSource.tile}, [&] { pack(); });
    const MaskEnd &steps = needed.b.along[batch.size()],
                  &columns = needed.b.along[batch.size() + 1];
    Value isFull = both(f, holdsFor(f, steps, scaleIndex(f, needed.steps, plan.group)),
                        holdsFor(f, columns, scaleIndex(f, needed.panels, plan.panel())));
    auto packFull = [&] {
      f.assumedTrue.insert(load.getMask());
      return packRows(), Value();
    };
    if (isFull)
      choose(f, isFull, Type(), packFull, [&] { return packRows(), Value(); });
    else
      packRows();
  }

  /// Reads B along k, in square blocks (of groups) that are transposed in registers.
  void packColumns() {
    int64_t step = plan.lanes * plan.group;
    Type group = plan.group > 1 ? f.builder.getI32Type() : plan.operand;
    Type wide = VectorType::get({plan.lanes}, group);
    Type narrow = VectorType::get({step}, plan.operand);
    auto bitcast = [&](Type type, Value value) -> Value {
      return plan.group > 1 ? vector::BitCastOp::create(f.builder, f.loc, type, value) : value;
    };
    f.emitNest(
        {plan.n / plan.panel(), plan.vectors, plan.k / step}, 2, 1, [&](const Coordinates &at) {
          Value k = scaleIndex(f, at.index[2], step);
          Value firstColumn = columnOf(at.index[0], at.index[1]);
          Value firstRow = scaleIndex(f, at.index[2], plan.lanes);
          auto columnAt = [&](Value lane) {
            Value column = f.builder.createOrFold<arith::AddIOp>(f.loc, firstColumn, lane);
            Value value = f.evaluateVector(plan.bSource.tile, matrixAt(batch, k, column, 0, step));
            return bitcast(wide, shiftB(f, plan, convertOperand(f, plan, plan.bSource, value)));
          };
          f.transposeSquare(plan.lanes, group, columnAt, [&](Value i, Value value) {
            Value row = f.builder.createOrFold<arith::AddIOp>(f.loc, firstRow, i);
            store(at.index[0], row, at.index[1], bitcast(narrow, value));
          });
        });
  }
};
} // namespace

static PackedB allocateB(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                         const DotExtent &needed) {
  TileBuffer buffer =
      f.allocate({plan.n / plan.panel(), plan.steps(), plan.panel() * plan.group}, plan.operand);
  return {f, plan, batch, needed, buffer};
}

TileBuffer tw::simd::packB(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch) {
  DotExtent all = emitExtent(f, plan, batch.size(), StoreOp());
  PackedB packed = allocateB(f, plan, batch, all);
  f.withFullMasks({plan.bSource.tile}, [&] { packed.pack(); });
  return packed.buffer;
}

/// Returns the load of B if B may be used where its rows lie, as far as is known at compile time;
/// null otherwise.
static LoadOp columnsInMemory(SimdFunction &f, const DotPlan &plan, size_t numBatch) {
  if (plan.k * plan.n * elementBytes(plan.operand) > kMostBytesInPlace)
    return {};
  return rowsInMemory(f, plan, plan.bSource, numBatch);
}

DotColumns tw::simd::placeB(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                            const DotExtent &needed) {
  int64_t bytes = elementBytes(plan.operand), laneBytes = plan.group * bytes;
  int64_t panelBytes = plan.panel() * laneBytes;
  auto home = f.buffers.find(plan.bSource.tile);
  if (plan.group == 1 && home != f.buffers.end() && batch.empty() &&
      home->second.element == plan.operand && plan.k * plan.n * bytes <= kMostBytesInPlace)
    return {home->second.base, f.constantIndex(panelBytes), f.constantIndex(plan.n * bytes)};
  LoadOp load = plan.group == 1 ? columnsInMemory(f, plan, batch.size()) : LoadOp();
  PackedB packed = allocateB(f, plan, batch, needed);
  SmallVector<Value> ofPacked = {packed.buffer.base, f.constantIndex(plan.steps() * panelBytes),
                                 f.constantIndex(panelBytes)};
  if (!load) {
    packed.packNeeded();
    return {ofPacked[0], ofPacked[1], ofPacked[2]};
  }
  TypeRange types = ValueRange(ofPacked).getTypes();
  SmallVector<Value> place =
      f.withFullMasks({plan.bSource.tile}, types, [&]() -> SmallVector<Value> {
        auto rows = readInPlace(f, load, batch);
        if (!rows)
          return packed.pack(), ofPacked;
        Value isFar =
            arith::CmpIOp::create(f.builder, f.loc, arith::CmpIPredicate::ugt, rows->second,
                                  f.constantIndex(kMostBytesInPlace / plan.k));
        choose(f, isFar, Type(), [&] { return packed.pack(), Value(); }, [] { return Value(); });
        auto select = [&](Value far, Value near) {
          return f.builder.createOrFold<arith::SelectOp>(f.loc, isFar, far, near);
        };
        return {select(ofPacked[0], rows->first), select(ofPacked[1], f.constantIndex(panelBytes)),
                select(ofPacked[2], rows->second)};
      });
  return {place[0], place[1], place[2]};
}

//===-- Sums of A's rows ----------------------------------------------------------------------===//

/// Neighbouring groups of A in memory; zeros behind the `count` that there are.
static Value loadGroups(SimdFunction &f, const DotPlan &plan, Value address, int64_t count) {
  auto type = VectorType::get({plan.lanes * plan.group}, plan.operand);
  unsigned alignment = elementBytes(plan.operand);
  if (count >= plan.lanes)
    return LLVM::LoadOp::create(f.builder, f.loc, type, address, alignment);
  SmallVector<bool> exists(type.getNumElements(), false);
  std::fill_n(exists.begin(), count * plan.group, true);
  auto maskType = VectorType::get(type.getShape(), f.builder.getI1Type());
  Value mask =
      arith::ConstantOp::create(f.builder, f.loc, DenseElementsAttr::get(maskType, exists));
  Value zeros = f.splat(f.constantOf(plan.operand, 0), type.getNumElements());
  return LLVM::MaskedLoadOp::create(f.builder, f.loc, type, address, mask, zeros, alignment);
}

namespace {
struct RowSums {
  SimdFunction &f;
  const DotPlan &plan;
  const DotRows &a;
  TileBuffer sums;

  /// Adds the elements of neighbouring groups to their lanes.
  Value add(Value row, Value step, int64_t count, Value sum) {
    Type i8 = f.builder.getI8Type();
    Value offset = f.builder.createOrFold<arith::AddIOp>(
        f.loc, f.builder.createOrFold<arith::MulIOp>(f.loc, row, a.rowBytes),
        scaleIndex(f, step, a.stepBytes));
    Value address = LLVM::GEPOp::create(f.builder, f.loc, a.base.getType(), i8, a.base, offset);
    Value ones = f.splat(f.constantOf(plan.operand, 1), plan.lanes * plan.group);
    return multiplyAdd(f, plan, loadGroups(f, plan, address, count), ones, sum);
  }

  /// A signed B was made larger by 128, an unsigned one smaller.
  void store(Value row, Value sum) {
    Value factor = f.constantOf(plan.compute, plan.bSource.isUnsigned ? 128 : -128);
    auto type = dyn_cast<VectorType>(sum.getType());
    if (type)
      factor = f.splat(factor, type.getNumElements());
    Coordinates at;
    at.index = {row};
    at.vectorDim = type ? 0 : -1;
    at.lanes = type ? type.getNumElements() : 1;
    f.storeBuffer(sums, at, arith::MulIOp::create(f.builder, f.loc, sum, factor));
  }

  /// Sums up a row whose groups are neighbours.
  void sumAlongK(Value row) {
    Value zeros = f.splat(f.constantOf(plan.compute, 0), plan.lanes);
    int64_t whole = plan.steps() / plan.lanes * plan.lanes;
    Value sum = f.emitLoop(0, whole, plan.lanes, {zeros}, [&](Value step, ValueRange old) {
      Scope scope(f);
      return SmallVector<Value>{add(row, step, plan.lanes, old[0])};
    })[0];
    if (whole < plan.steps())
      sum = add(row, f.constantIndex(whole), plan.steps() - whole, sum);
    store(row, vector::ReductionOp::create(f.builder, f.loc, vector::CombiningKind::ADD, sum));
  }

  /// Sums up `count` rows whose groups are neighbours at each step.
  void sumAlongM(Value row, int64_t count) {
    Value zeros = f.splat(f.constantOf(plan.compute, 0), plan.lanes);
    store(row, f.emitLoop(0, plan.steps(), 1, {zeros}, [&](Value step, ValueRange old) {
      Scope scope(f);
      return SmallVector<Value>{add(row, step, count, old[0])};
    })[0]);
  }
};
} // namespace

TileBuffer tw::simd::sumRows(SimdFunction &f, const DotPlan &plan, const DotRows &a) {
  bool isAlongK = a.stepBytes == plan.group * elementBytes(plan.operand);
  int64_t atOnce = isAlongK ? 1 : plan.lanes, whole = plan.m / atOnce * atOnce;
  RowSums rows = {f, plan, a, f.allocate({int64_t(llvm::alignTo(plan.m, atOnce))}, plan.compute)};
  f.emitLoop(0, whole, atOnce, {}, [&](Value row, ValueRange) {
    Scope scope(f);
    isAlongK ? rows.sumAlongK(row) : rows.sumAlongM(row, plan.lanes);
    return SmallVector<Value>();
  });
  if (whole < plan.m)
    rows.sumAlongM(f.constantIndex(whole), plan.m - whole);
  return rows.sums;
}
