// Operand B of matrix products: where it lies, else packed in panels of interleaved neighbours
// along k.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/Scope.h"
#include "passes/simd/product/Operands.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

/// Bytes of B that are in flight while it is read row by row.
static constexpr int64_t kBytesAhead = 4 << 10;

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
  Value k = f.scaleIndex(step, plan.group);
  SmallVector<Value> rows;
  for (int64_t i = 0; i < plan.group; ++i) {
    Coordinates at = matrixAt(batch, f.addIndex(k, i), column, numColumns > 1 ? 1 : -1, numColumns);
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
        f.evaluate(load.getPtr(), matrixAt(batch, f.scaleIndex(step, plan.group), column));
    for (int64_t row = ahead; row < ahead + plan.group; ++row)
      for (int64_t line = 0; line < numColumns * bytes; line += f.machine.getLineBytes()) {
        Value offset = f.addIndex(f.scaleIndex(distance, row), line);
        Value place = LLVM::GEPOp::create(f.builder, f.loc, first.getType(), f.builder.getI8Type(),
                                          first, ValueRange{offset});
        LLVM::Prefetch::create(f.builder, f.loc, place, /*rw=*/0, /*hint=*/3, /*cache=*/1);
      }
  }
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
    at.index = {panel, row, f.scaleIndex(vector, plan.lanes * plan.group)};
    auto type = dyn_cast<VectorType>(value.getType());
    at.vectorDim = type ? 2 : -1;
    at.lanes = type ? type.getNumElements() : 1;
    f.storeBuffer(buffer, at, value);
  }

  Value columnOf(Value panel, Value vector) {
    return f.builder.createOrFold<arith::AddIOp>(f.loc, f.scaleIndex(panel, plan.panel()),
                                                 f.scaleIndex(vector, plan.lanes));
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
                     Value column = f.scaleIndex(panel, plan.panel());
                     fetchAhead(f, plan, batch, distant, step, column, plan.panel());
                     store(panel, step, zero, loadBRow(f, plan, batch, step, column, plan.panel()));
                     return SmallVector<Value>();
                   });
      return SmallVector<Value>();
    });
  }

  void pack() { plan.packsAlongK ? packColumns() : packRows(); }

  /// Without B's mask where that holds for what is needed, which its ends say.
  void packNeeded() {
    auto load = plan.bSource.tile.getDefiningOp<LoadOp>();
    if (!needed.b.areAll || plan.packsAlongK || !isMaskedInPlace(load))
      return f.withFullMasks({plan.bSource.tile}, [&] { pack(); });
    const MaskEnd &steps = needed.b.along[batch.size()],
                  &columns = needed.b.along[batch.size() + 1];
    Value isFull = both(f, holdsFor(f, steps, f.scaleIndex(needed.steps, plan.group)),
                        holdsFor(f, columns, f.scaleIndex(needed.panels, plan.panel())));
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
          Value k = f.scaleIndex(at.index[2], step);
          Value firstColumn = columnOf(at.index[0], at.index[1]);
          Value firstRow = f.scaleIndex(at.index[2], plan.lanes);
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

TileBuffer tw::simd::packB(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                           const DotExtent &needed) {
  PackedB packed = allocateB(f, plan, batch, needed);
  packed.packNeeded();
  return packed.buffer;
}

DotColumns tw::simd::placeB(SimdFunction &f, const DotPlan &plan, ArrayRef<Value> batch,
                            const DotExtent &needed) {
  int64_t bytes = elementBytes(plan.operand), panelBytes = plan.panel() * plan.group * bytes;
  if (plan.bPlace.kind == OperandPlace::Kind::Buffer)
    return {f.buffers.find(plan.bSource.tile)->second.base, f.constantIndex(panelBytes),
            f.constantIndex(plan.n * bytes)};
  PackedB packed = allocateB(f, plan, batch, needed);
  SmallVector<Value> ofPacked = {packed.buffer.base, f.constantIndex(plan.steps() * panelBytes),
                                 f.constantIndex(panelBytes)};
  LoadOp load = plan.bPlace.load;
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
                                  f.constantIndex(f.machine.getCacheBytes() / 2 / plan.k));
        choose(f, isFar, Type(), [&] { return packed.pack(), Value(); }, [] { return Value(); });
        auto select = [&](Value far, Value near) {
          return f.builder.createOrFold<arith::SelectOp>(f.loc, isFar, far, near);
        };
        return {select(ofPacked[0], rows->first), select(ofPacked[1], f.constantIndex(panelBytes)),
                select(ofPacked[2], rows->second)};
      });
  return {place[0], place[1], place[2]};
}
