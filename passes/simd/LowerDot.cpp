// Matrix products: a register-tiled micro-kernel over operands that are packed where that pays
// (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/DotPlan.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

namespace {
struct MicroKernel {
  SimdFunction &f;
  DotOp op;
  const DotPlan &plan;
  DotRows a;
  TileBuffer b;    // packed; of no use where B is used once
  TileBuffer sums; // of B's columns, where A is shifted
  TileBuffer result;
  SmallVector<Value> batch;

  /// One register tile of `rows` rows from row `firstRow`, columns of panel `panel`.
  void emit(int64_t rows, Value firstRow, Value panel) {
    Value firstColumn = scaleIndex(f, panel, plan.panel());
    SmallVector<Value> tile;
    forEachVector(rows, firstRow, firstColumn,
                  [&](const Coordinates &at) { tile.push_back(startOf(at)); });
    int64_t unroll = plan.steps() % 4 == 0 ? 4 : 1;
    tile = f.emitLoop(0, plan.steps(), unroll, tile, [&](Value index, ValueRange old) {
      Scope scope(f);
      SmallVector<Value> next(old);
      for (int64_t i = 0; i < unroll; ++i)
        emitStep(rows, firstRow, panel, addIndex(f, index, i), next);
      return next;
    });
    size_t position = 0;
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      f.storeBuffer(result, at, convertDotElements(f, tile[position++], result.element));
    });
  }

  Value startOf(const Coordinates &at) {
    Value start = convertDotElements(f, f.evaluateVector(op.getAcc(), at), plan.compute);
    if (!plan.shiftsA())
      return start;
    Coordinates column;
    column.index = {at.index.back()};
    column.vectorDim = 0;
    column.lanes = plan.lanes;
    return arith::AddIOp::create(f.builder, f.loc, start, f.loadBuffer(sums, column));
  }

  /// The element of A at a row and step (the group of them), repeated over the lanes of B.
  Value broadcastA(Value row, Value step) {
    unsigned bytes = elementBytes(plan.operand);
    Type i8 = f.builder.getI8Type();
    Value offset = f.builder.createOrFold<arith::MulIOp>(f.loc, row, a.rowBytes);
    Value rowBase = LLVM::GEPOp::create(f.builder, f.loc, a.base.getType(), i8, a.base, offset);
    Value address = LLVM::GEPOp::create(f.builder, f.loc, a.base.getType(), i8, rowBase,
                                        scaleIndex(f, step, plan.group * bytes));
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
    if (plan.usesBOnce) {
      Value column = addIndex(f, scaleIndex(f, panel, plan.panel()), vector * plan.lanes);
      return loadBRow(f, plan, batch, step, column, plan.lanes);
    }
    Coordinates at;
    at.index = {panel, step, f.constantIndex(vector * plan.lanes * plan.group)};
    at.vectorDim = plan.lanes > 1 ? 2 : -1;
    at.lanes = plan.lanes * plan.group;
    return f.loadBuffer(b, at);
  }

  void emitStep(int64_t rows, Value firstRow, Value panel, Value step, SmallVector<Value> &tile) {
    SmallVector<Value> columns;
    for (int64_t vector = 0; vector < plan.vectors; ++vector)
      columns.push_back(vectorOfB(panel, step, vector));
    for (int64_t row = 0; row < rows; ++row) {
      Value repeated = broadcastA(addIndex(f, firstRow, row), step);
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
        visit(matrixAt(batch, addIndex(f, firstRow, row),
                       addIndex(f, firstColumn, vector * plan.lanes), plan.lanes > 1 ? 1 : -1,
                       plan.lanes));
  }

  void emitPanels() {
    int64_t whole = plan.m / plan.rows * plan.rows;
    f.emitLoop(0, plan.n / plan.panel(), 1, {}, [&](Value panel, ValueRange) {
      Scope panels(f);
      f.emitLoop(0, whole, plan.rows, {}, [&](Value row, ValueRange) {
        Scope rows(f);
        emit(plan.rows, row, panel);
        return SmallVector<Value>();
      });
      if (whole < plan.m)
        emit(plan.m - whole, f.constantIndex(whole), panel);
      return SmallVector<Value>();
    });
  }
};
} // namespace

static void emitMatrix(SimdFunction &f, DotOp op, DotPlan plan, ArrayRef<Value> batch,
                       const TileBuffer &result) {
  if (plan.matrix)
    return emitMatrixProduct(f, op, plan, batch, result);
  plan.usesBOnce = plan.canUseBOnce() && !readsBAlongK(f, plan, batch.size());
  MicroKernel kernel = {f,  op, plan,   placeA(f, plan, batch),
                        {}, {}, result, llvm::to_vector(batch)};
  if (plan.usesBOnce) {
    f.withFullMasks({plan.bSource.tile}, [&] { kernel.emitPanels(); });
    return;
  }
  kernel.b = packB(f, plan, batch);
  if (plan.shiftsA())
    kernel.sums = sumColumns(f, plan, kernel.b);
  kernel.emitPanels();
}

LogicalResult SimdFunction::lowerDot(DotOp op) {
  DotPlan dot = planDot(op, *this);
  remarkOnMatrices(*this, op, dot);
  TileBuffer result = destinationOf(op.getResult());
  int64_t batches = op.getAcc().getType().getRank() == 3 ? op.getAcc().getType().getDimSize(0) : 0;
  Scope scope(*this); // packed operands end here
  if (batches == 0)
    emitMatrix(*this, op, dot, {}, result);
  else
    emitLoop(0, batches, 1, {}, [&](Value index, ValueRange) {
      Scope batch(*this);
      emitMatrix(*this, op, dot, {index}, result);
      return SmallVector<Value>();
    });
  buffers[op.getResult()] = result;
  return success();
}
