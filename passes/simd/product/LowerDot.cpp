// Matrix products: a register-tiled micro-kernel over operands that are packed where that pays
// (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/Scope.h"
#include "passes/simd/product/Operands.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

namespace {
struct MicroKernel {
  SimdFunction &f;
  DotOp op;
  const DotPlan &plan;
  DotExtent needed;
  DotRows a;
  DotColumns b;      // of no use where B is used once
  TileBuffer sums;   // of A's rows, where B is shifted
  TileBuffer result; // of no use where `store` takes what is summed up in one step
  StoreOp store;
  const ProductLoop *loop; // null: summed up in one step
  SmallVector<Value> batch;

  /// One register tile of `rows` rows from row `firstRow`, columns of panel `panel`.
  void emit(int64_t rows, Value firstRow, Value panel) {
    Value firstColumn = f.scaleIndex(panel, plan.panel());
    SmallVector<Value> tile = startTile(rows, firstRow, firstColumn);
    tile = emitSteps(rows, firstRow, panel, tile);
    auto toUser = [&] { return storeTile(rows, firstRow, firstColumn, tile), Value(); };
    auto toBuffer = [&] { return keepTile(rows, firstRow, firstColumn, tile), Value(); };
    if (loop)
      choose(f, loop->isLast, Type(), toUser, toBuffer);
    else
      store ? toUser() : toBuffer();
  }

  /// Four steps in an iteration, and one by one those that are left, if they are not known.
  SmallVector<Value> emitSteps(int64_t rows, Value firstRow, Value panel, SmallVector<Value> tile) {
    APInt known;
    const bool isKnown = matchPattern(needed.steps, m_ConstantInt(&known));
    int64_t unroll = !isKnown || known.getSExtValue() % 4 == 0 ? 4 : 1;
    auto emitUpTo = [&](Value from, Value to, int64_t atOnce) {
      tile =
          emitLoopUpTo(f, from, to, atOnce, plan.steps(), tile, [&](Value index, ValueRange old) {
            Scope scope(f);
            SmallVector<Value> next(old);
            for (int64_t i = 0; i < atOnce; ++i)
              emitStep(rows, firstRow, panel, f.addIndex(index, i), next);
            return next;
          });
    };
    Value begin = f.constantIndex(0);
    if (isKnown)
      return emitUpTo(begin, needed.steps, unroll), tile;
    Value whole =
        f.builder.createOrFold<arith::AndIOp>(f.loc, needed.steps, f.constantIndex(-unroll));
    emitUpTo(begin, whole, unroll);
    emitUpTo(whole, needed.steps, 1);
    return tile;
  }

  SmallVector<Value> startTile(int64_t rows, Value firstRow, Value firstColumn) {
    auto startFrom = [&](Value tile) {
      SmallVector<Value> vectors;
      forEachVector(rows, firstRow, firstColumn,
                    [&](const Coordinates &at) { vectors.push_back(startOf(tile, at)); });
      return vectors;
    };
    if (!loop || !loop->start)
      return startFrom(op.getAcc());
    Type vector = plan.lanes > 1 ? Type(VectorType::get({plan.lanes}, plan.compute)) : plan.compute;
    SmallVector<Type> types(rows * plan.vectors, vector);
    auto choice = scf::IfOp::create(f.builder, f.loc, types, loop->isFirst, /*withElse=*/true);
    for (auto [block, tile] : {std::pair(choice.thenBlock(), loop->start),
                               std::pair(choice.elseBlock(), Value(op.getAcc()))}) {
      OpBuilder::InsertionGuard guard(f.builder);
      Scope scope(f);
      f.builder.setInsertionPointToEnd(block);
      scf::YieldOp::create(f.builder, f.loc, startFrom(tile));
    }
    return SmallVector<Value>(choice.getResults());
  }

  void keepTile(int64_t rows, Value firstRow, Value firstColumn, ArrayRef<Value> tile) {
    size_t position = 0;
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      f.storeBuffer(result, at, convertDotElements(f, tile[position++], result.element));
    });
  }

  /// Stores what is computed from the product's elements, from registers to the user's memory,
  /// while the multipliers are busy with the next register tile.
  void storeTile(int64_t rows, Value firstRow, Value firstColumn, ArrayRef<Value> tile) {
    Scope scope(f);
    SmallVector<Coordinates> places;
    Type element = elementTypeOf(op.getType());
    Value elements = loop ? Value(loop->sum) : op.getResult();
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      f.memo[memoKey(elements, at)] =
          f.asLowered(convertDotElements(f, tile[places.size()], element));
      places.push_back(at);
    });
    f.withFullMasks(treesOf(store), [&] {
      auto storeAll = [&](bool isStreaming) {
        for (const Coordinates &at : places)
          storeToUser(f, store, at, isStreaming,
                      [&] { return f.evaluateVector(store.getValue(), at); });
        return Value();
      };
      bool isMasked = store.getMask() && !isFullMask(f, store.getMask());
      if (isMasked || !mayStream(f, store, places.front().vectorDim, plan.lanes))
        return (void)storeAll(false);
      Value isAligned = areAligned(f, rowAddresses(places), f.machine.getVectorBytes());
      choose(f, isAligned, Type(), [&] { return storeAll(true); }, [&] { return storeAll(false); });
    });
  }

  /// Where the rows of a register tile begin in the user's memory.
  SmallVector<Value> rowAddresses(ArrayRef<Coordinates> places) {
    SmallVector<Value> addresses;
    for (size_t i = 0; i < places.size(); i += plan.vectors) {
      Coordinates first = places[i];
      first.vectorDim = -1;
      first.lanes = 1;
      addresses.push_back(f.evaluate(store.getPtr(), first));
    }
    return addresses;
  }

  Value startOf(Value tile, const Coordinates &at) {
    Value start = convertDotElements(f, f.evaluateVector(tile, at), plan.compute);
    if (!plan.shiftsB())
      return start;
    Coordinates row;
    row.index = {at.index[batch.size()]};
    Value sum = f.splat(f.loadBuffer(sums, row), plan.lanes);
    return arith::AddIOp::create(f.builder, f.loc, start, sum);
  }

  Value addressAt(Value base, Value index, Value bytes) {
    Value offset = f.builder.createOrFold<arith::MulIOp>(f.loc, index, bytes);
    return LLVM::GEPOp::create(f.builder, f.loc, base.getType(), f.builder.getI8Type(), base,
                               offset);
  }

  /// The element of A at a row and step (the group of them), repeated over the lanes of B.
  Value broadcastA(Value row, Value step) {
    unsigned bytes = elementBytes(plan.operand);
    Value address =
        addressAt(addressAt(a.base, row, a.rowBytes), step, f.constantIndex(a.stepBytes));
    Type type = plan.group > 1 ? Type(f.builder.getI32Type()) : plan.operand;
    Value element = LLVM::LoadOp::create(f.builder, f.loc, type, address, bytes);
    if (plan.lanes == 1)
      return element;
    Value repeated = f.splat(element, plan.lanes);
    if (plan.group == 1)
      return repeated;
    Type whole = VectorType::get({plan.lanes * plan.group}, plan.operand);
    return vector::BitCastOp::create(f.builder, f.loc, whole, repeated);
  }

  Value vectorOfB(Value panel, Value step, int64_t vector) {
    if (plan.bPlace.kind == OperandPlace::Kind::Once) {
      Value column = f.addIndex(f.scaleIndex(panel, plan.panel()), vector * plan.lanes);
      return loadBRow(f, plan, batch, step, column, plan.lanes);
    }
    unsigned bytes = elementBytes(plan.operand);
    Value base = addressAt(addressAt(b.base, panel, b.panelBytes), step, b.stepBytes);
    Value offset = f.constantIndex(vector * plan.lanes * plan.group * bytes);
    Type type = VectorType::get({plan.lanes * plan.group}, plan.operand);
    return LLVM::LoadOp::create(f.builder, f.loc, plan.lanes > 1 ? type : plan.operand,
                                addressAt(base, offset, f.constantIndex(1)), bytes);
  }

  void emitStep(int64_t rows, Value firstRow, Value panel, Value step, SmallVector<Value> &tile) {
    SmallVector<Value> columns;
    for (int64_t vector = 0; vector < plan.vectors; ++vector)
      columns.push_back(vectorOfB(panel, step, vector));
    for (int64_t row = 0; row < rows; ++row) {
      Value repeated = broadcastA(f.addIndex(firstRow, row), step);
      for (int64_t vector = 0; vector < plan.vectors; ++vector) {
        Value &element = tile[row * plan.vectors + vector];
        element = multiplyAdd(f, plan, repeated, columns[vector], element);
      }
    }
  }

  void forEachVector(int64_t rows, Value firstRow, Value firstColumn,
                     llvm::function_ref<void(const Coordinates &)> visit) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t vector = 0; vector < plan.vectors; ++vector)
        visit(matrixAt(batch, f.addIndex(firstRow, row),
                       f.addIndex(firstColumn, vector * plan.lanes), plan.lanes > 1 ? 1 : -1,
                       plan.lanes));
  }

  void emitPanels() {
    int64_t whole = plan.m / plan.rows * plan.rows;
    Value zero = f.constantIndex(0), limit = f.constantIndex(whole);
    Value wholeNeeded = f.builder.createOrFold<arith::MinSIOp>(f.loc, needed.rows, limit);
    emitLoopUpTo(f, zero, needed.panels, 1, plan.n / plan.panel(), {},
                 [&](Value panel, ValueRange) {
                   Scope panels(f);
                   emitLoopUpTo(f, zero, wholeNeeded, plan.rows, whole / plan.rows, {},
                                [&](Value row, ValueRange) {
                                  Scope rows(f);
                                  emit(plan.rows, row, panel);
                                  return SmallVector<Value>();
                                });
                   if (whole < plan.m)
                     emitEdge(panel);
                   return SmallVector<Value>();
                 });
  }

  /// The rows behind the last whole register tile.
  void emitEdge(Value panel) {
    int64_t whole = plan.m / plan.rows * plan.rows;
    auto edge = [&] { return emit(plan.m - whole, f.constantIndex(whole), panel), Value(); };
    Value isNeeded = f.builder.createOrFold<arith::CmpIOp>(f.loc, arith::CmpIPredicate::sgt,
                                                           needed.rows, f.constantIndex(whole));
    if (matchPattern(isNeeded, m_One()))
      edge();
    else
      choose(f, isNeeded, Type(), edge, [] { return Value(); });
  }
};
} // namespace

static void emitMatrix(SimdFunction &f, DotOp op, const DotPlan &plan, ArrayRef<Value> batch,
                       const TileBuffer &result, StoreOp store, const ProductLoop *loop) {
  if (plan.matrix)
    return emitMatrixProduct(f, op, plan, batch, result);
  DotExtent needed = emitExtent(f, plan, batch.size(), store);
  MicroKernel kernel = {f,  op,     plan,  needed, placeA(f, plan, batch, needed), {},
                        {}, result, store, loop,   llvm::to_vector(batch)};
  if (plan.shiftsB())
    kernel.sums = sumRows(f, plan, kernel.a);
  if (plan.bPlace.kind == OperandPlace::Kind::Once) {
    f.withFullMasks({plan.bSource.tile}, [&] { kernel.emitPanels(); });
    return;
  }
  kernel.b = placeB(f, plan, batch, needed);
  kernel.emitPanels();
}

LogicalResult SimdFunction::lowerDot(DotOp op) {
  DotPlan dot = planDot(op, *this);
  remarkOnMatrices(*this, op, dot);
  auto found = productLoops.find(op);
  const ProductLoop *loop = found == productLoops.end() ? nullptr : &found->second;
  StoreOp store = loop ? loop->store : storeOfProduct(*this, op, dot);
  TileBuffer result = store && !loop ? TileBuffer() : destinationOf(op.getResult());
  int64_t batches = op.getAcc().getType().getRank() == 3 ? op.getAcc().getType().getDimSize(0) : 0;
  placeOperands(dot, *this, batches == 0 ? 0 : 1);
  Scope scope(*this); // packed operands end here
  if (batches == 0)
    emitMatrix(*this, op, dot, {}, result, store, loop);
  else
    emitLoop(0, batches, 1, {}, [&](Value index, ValueRange) {
      Scope batch(*this);
      emitMatrix(*this, op, dot, {index}, result, store, loop);
      return SmallVector<Value>();
    });
  if (!store || loop)
    buffers[op.getResult()] = result;
  return success();
}
