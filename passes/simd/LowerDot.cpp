// Matrix products: a register-tiled micro-kernel over operands that are packed where that pays
// (Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008).
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "passes/simd/DotPlan.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

//===-- Products that are stored from registers -----------------------------------------------===//

// A register tile is stored by straight code, so what is computed of it must be short.
static constexpr int64_t kMostCostOfStored = 8;

static SmallVector<Value> treesOf(StoreOp store) {
  SmallVector<Value> trees = {store.getValue(), store.getPtr()};
  if (store.getMask())
    trees.push_back(store.getMask());
  return trees;
}

/// Whether nothing but computations of a product's elements, each used once, stands between it and
/// the store of them.
static bool isFollowedBy(DotOp op, StoreOp store) {
  Value last = op.getResult();
  for (Operation *next = op->getNextNode(); next != store; next = next->getNextNode()) {
    if (!last.hasOneUse() || *last.getUsers().begin() != next)
      return false;
    last = next->getResult(0);
  }
  return last.hasOneUse() && last == store.getValue();
}

/// Whether a vector of the store is one of the product's, each element where the other has it.
static bool hasVectorsOf(SimdFunction &f, StoreOp store, Value product) {
  ArrayRef<int64_t> shape = shapeOf(product.getType());
  int last = int(shape.size()) - 1;
  auto [vectorDim, lanes] = f.chooseVector({store.getValue(), store.getPtr()}, shape);
  if (vectorDim != last || !f.contiguity.along(store.getPtr(), last).isUnit())
    return false;
  // Where constants decide a part of a mask, a loop of its own stores that part without one.
  auto isKept = [&](Value value) { return f.plan.isKept(value); };
  for (Value tile : tilesAtOwnPlaces(treesOf(store), isKept))
    if (auto prefix = knownPrefix(f.contiguity, tile); prefix && prefix->count > 0)
      return false;
  return readsOnlyOwnElement(store, product, f.plan);
}

/// The store that takes a product's elements straight from registers; null where they go to a
/// buffer first.
static StoreOp storeOfElements(SimdFunction &f, DotOp op, const DotPlan &plan) {
  const llvm::SmallSetVector<Operation *, 4> &sites = f.plan.sitesOf(op.getResult());
  auto store = sites.size() == 1 ? dyn_cast<StoreOp>(sites.front()) : StoreOp();
  bool isFitting = store && store->getBlock() == op->getBlock() && isFollowedBy(op, store) &&
                   !plan.matrix && !f.source->hasAttr(kChecksAccesses);
  if (!isFitting || !hasVectorsOf(f, store, op.getResult()) || isStreamingStore(store) ||
      f.plan.mayChangeReads(store, op) || f.plan.treeCost(store.getValue()) > kMostCostOfStored)
    return {};
  return store;
}

/// Where the elements that a store at the end of a chain of computations takes are ready: moves the
/// chain there, behind what it does not need.
static void sinkToStore(DotOp op) {
  SmallVector<Operation *> chain = {op};
  while (chain.back()->getNumResults() == 1 && chain.back()->hasOneUse()) {
    Operation *user = *chain.back()->getUsers().begin();
    if (user->getBlock() != op->getBlock())
      return;
    chain.push_back(user);
    if (!isElementwise(user))
      break;
  }
  auto store = dyn_cast<StoreOp>(chain.pop_back_val());
  if (!store)
    return;
  for (Operation *next = op->getNextNode(); next != store; next = next->getNextNode())
    if (next->getNumRegions() > 0 || (!isMemoryEffectFree(next) && !isa<LoadOp>(next)))
      return;
  for (Operation *link : chain)
    link->moveBefore(store);
}

void tw::simd::sinkProducts(Operation *function) {
  SmallVector<DotOp> products;
  function->walk([&](DotOp op) { products.push_back(op); });
  llvm::for_each(products, sinkToStore);
}

//===-- The micro-kernel ----------------------------------------------------------------------===//

namespace {
struct MicroKernel {
  SimdFunction &f;
  DotOp op;
  const DotPlan &plan;
  DotRows a;
  TileBuffer b;      // packed; of no use where B is used once
  TileBuffer sums;   // of B's columns, where A is shifted
  TileBuffer result; // of no use where `store` takes what is summed up
  StoreOp store;
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
    if (store)
      return storeTile(rows, firstRow, firstColumn, tile);
    size_t position = 0;
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      f.storeBuffer(result, at, convertDotElements(f, tile[position++], result.element));
    });
  }

  /// What is computed of the product's elements goes from registers to the user's memory, while the
  /// multipliers are busy with the next register tile.
  void storeTile(int64_t rows, Value firstRow, Value firstColumn, ArrayRef<Value> tile) {
    Scope scope(f);
    SmallVector<Coordinates> places;
    Type element = elementTypeOf(op.getType());
    forEachVector(rows, firstRow, firstColumn, [&](const Coordinates &at) {
      f.memo[memoKey(op.getResult(), at)] =
          f.asLowered(convertDotElements(f, tile[places.size()], element));
      places.push_back(at);
    });
    f.withFullMasks(treesOf(store), [&] {
      for (const Coordinates &at : places)
        f.storeToUser(store, at, f.evaluateVector(store.getValue(), at), /*isStreaming=*/false);
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
                                        scaleIndex(f, step, a.stepBytes));
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
                       const TileBuffer &result, StoreOp store) {
  if (plan.matrix)
    return emitMatrixProduct(f, op, plan, batch, result);
  plan.usesBOnce = plan.canUseBOnce() && !readsBAlongK(f, plan, batch.size());
  MicroKernel kernel = {f,  op,     plan,  placeA(f, plan, batch), {},
                        {}, result, store, llvm::to_vector(batch)};
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
  StoreOp store = storeOfElements(*this, op, dot);
  if (store)
    stored.insert(store);
  TileBuffer result = store ? TileBuffer() : destinationOf(op.getResult());
  int64_t batches = op.getAcc().getType().getRank() == 3 ? op.getAcc().getType().getDimSize(0) : 0;
  Scope scope(*this); // packed operands end here
  if (batches == 0)
    emitMatrix(*this, op, dot, {}, result, store);
  else
    emitLoop(0, batches, 1, {}, [&](Value index, ValueRange) {
      Scope batch(*this);
      emitMatrix(*this, op, dot, {index}, result, store);
      return SmallVector<Value>();
    });
  if (!store)
    buffers[op.getResult()] = result;
  return success();
}
