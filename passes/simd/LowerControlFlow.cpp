// Loops and branches: scalars stay values, tiles that they carry live in fixed buffers (slots).
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/simd/Scope.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

static SmallVector<Value> tilesOf(ValueRange values) {
  return llvm::filter_to_vector(values, isTile);
}

static SmallVector<Value> loweredScalars(SimdFunction &f, ValueRange values) {
  SmallVector<Value> result;
  for (Value value : values)
    if (!isTile(value))
      result.push_back(f.scalarOf(value));
  return result;
}

static void mapScalars(SimdFunction &f, ValueRange from, ValueRange to) {
  size_t next = 0;
  for (Value value : from)
    if (!isTile(value))
      f.scalars[value] = to[next++];
}

static void mapTiles(SimdFunction &f, ValueRange from, ArrayRef<TileBuffer> slots) {
  for (auto [tile, slot] : llvm::zip(tilesOf(from), slots))
    f.buffers[tile] = slot;
}

static SmallVector<TileBuffer> allocateSlots(SimdFunction &f, ValueRange values) {
  return llvm::map_to_vector(tilesOf(values), [&](Value tile) { return f.allocate(tile); });
}

static void fillSlots(SimdFunction &f, ValueRange values, ArrayRef<TileBuffer> slots) {
  for (auto [tile, slot] : llvm::zip(tilesOf(values), slots)) {
    f.memo.clear();
    f.keep(tile, slot);
  }
}

/// The buffers that evaluating a tile reads.
static void collectReads(SimdFunction &f, Value tile, llvm::DenseSet<Value> &reads) {
  if (!isTile(tile))
    return;
  auto buffer = f.buffers.find(tile);
  if (buffer != f.buffers.end()) {
    reads.insert(buffer->second.base);
    return;
  }
  if (Operation *op = tile.getDefiningOp())
    for (Value operand : op->getOperands())
      collectReads(f, operand, reads);
}

void SimdFunction::writeCarried(ValueRange yielded, ValueRange carried,
                                ArrayRef<TileBuffer> slots) {
  struct Pending {
    Value tile, old;
    TileBuffer slot;
    llvm::DenseSet<Value> reads;
  };
  SmallVector<Pending> pending;
  for (auto [tile, old, slot] : llvm::zip(tilesOf(yielded), tilesOf(carried), slots)) {
    auto home = buffers.find(tile);
    if (home != buffers.end() && home->second.base == slot.base)
      continue; // computed in place
    Pending next = {tile, old, slot, {}};
    collectReads(*this, tile, next.reads);
    pending.push_back(next);
  }
  SmallVector<std::pair<TileBuffer, Pending>> copies;
  while (!pending.empty()) {
    auto isReady = [&](const Pending &candidate) {
      for (const Pending &other : pending)
        if (&other != &candidate && other.reads.contains(candidate.slot.base))
          return false;
      // In place, only the element being written may be read.
      bool ownReads = candidate.reads.contains(candidate.slot.base);
      return !ownReads ||
             (!plan.isKept(candidate.tile) && candidate.tile.hasOneUse() &&
              readsOnlyOwnElement(candidate.tile.getDefiningOp(), candidate.old, plan));
    };
    auto *ready = llvm::find_if(pending, isReady);
    memo.clear();
    if (ready != pending.end()) {
      keep(ready->tile, ready->slot);
      pending.erase(ready);
      continue;
    }
    // A cycle: compute one into a temporary and move it at the end.
    TileBuffer temporary = allocate(pending.front().tile);
    keep(pending.front().tile, temporary);
    copies.push_back({temporary, pending.front()});
    pending.erase(pending.begin());
  }
  for (auto &[temporary, target] : copies) {
    buffers[target.tile] = temporary;
    memo.clear();
    keep(target.tile, target.slot);
  }
}

/// Reuses the slot of a loop-carried tile for its next value where nothing reads the old one later.
TileBuffer SimdFunction::destinationOf(Value tile) {
  Operation *op = tile.getDefiningOp();
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || op->getBlock() != loop.getBody())
    return allocate(tile);
  for (auto [position, yielded] : llvm::enumerate(loop.getBody()->getTerminator()->getOperands())) {
    if (yielded != tile)
      continue;
    Value old = loop.getRegionIterArg(position);
    bool isLastReader = llvm::all_of(plan.sitesOf(old), [&](Operation *site) {
      Operation *ancestor = loop.getBody()->findAncestorOpInBlock(*site);
      if (site == op)
        return readsOnlyOwnElement(op, old, plan);
      return ancestor && ancestor != op && ancestor->isBeforeInBlock(op);
    });
    if (isLastReader)
      return buffers.find(old)->second;
  }
  return allocate(tile);
}

/// Enters a loop that stores a sum in its last step: emits tests for its first and its last step.
/// The difference of a signed loop's bounds fits an unsigned number.
static void enterProductLoop(SimdFunction &f, ProductLoop &product, scf::ForOp lowered) {
  using P = arith::CmpIPredicate;
  Value index = lowered.getInductionVar();
  Value left = arith::SubIOp::create(f.builder, f.loc, lowered.getUpperBound(), index);
  product.isFirst = arith::CmpIOp::create(f.builder, f.loc, P::eq, index, lowered.getLowerBound());
  product.isLast = arith::CmpIOp::create(f.builder, f.loc, P::ule, left, lowered.getStep());
  f.productLoops[product.product] = product;
}

/// A loop without a step has not stored what the sum begins with.
static LogicalResult storeSumOfNothing(SimdFunction &f, const ProductLoop &product,
                                       scf::ForOp lowered) {
  f.stored.insert(product.store);
  Value isEmpty = f.builder.createOrFold<arith::CmpIOp>(
      f.loc, arith::CmpIPredicate::sge, lowered.getLowerBound(), lowered.getUpperBound());
  if (matchPattern(isEmpty, m_Zero()))
    return success();
  LogicalResult result = success();
  auto store = [&] {
    if (product.start)
      f.keep(product.start, f.buffers.find(product.sum)->second);
    f.memo.clear();
    result = f.lowerStore(product.store);
    return Value();
  };
  choose(f, isEmpty, Type(), store, [] { return Value(); });
  return result;
}

LogicalResult SimdFunction::lowerFor(scf::ForOp op) {
  SmallVector<TileBuffer> slots = allocateSlots(*this, op.getResults());
  std::optional<ProductLoop> product = planProductLoop(*this, op);
  for (auto [init, result, slot] :
       llvm::zip(tilesOf(op.getInitArgs()), tilesOf(op.getResults()), slots))
    if (!product || !product->start || product->sum != result)
      fillSlots(*this, init, slot);
  mapTiles(*this, op.getResults(), slots);
  loc = op.getLoc();
  auto loop =
      scf::ForOp::create(builder, loc, scalarOf(op.getLowerBound()), scalarOf(op.getUpperBound()),
                         scalarOf(op.getStep()), loweredScalars(*this, op.getInitArgs()));
  scalars[op.getInductionVar()] = loop.getInductionVar();
  mapScalars(*this, op.getRegionIterArgs(), loop.getRegionIterArgs());
  mapTiles(*this, op.getRegionIterArgs(), slots);
  {
    Scope scope(*this);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    if (product)
      enterProductLoop(*this, *product, loop);
    if (failed(lowerBlock(*op.getBody())))
      return failure();
    Operation *yield = op.getBody()->getTerminator();
    loc = op.getLoc();
    writeCarried(yield->getOperands(), op.getRegionIterArgs(), slots);
    if (loop.getNumResults() > 0)
      scf::YieldOp::create(builder, loc, loweredScalars(*this, yield->getOperands()));
  }
  mapScalars(*this, op.getResults(), loop.getResults());
  memo.clear();
  return product ? storeSumOfNothing(*this, *product, loop) : success();
}

LogicalResult SimdFunction::lowerIf(scf::IfOp op) {
  SmallVector<TileBuffer> slots = allocateSlots(*this, op.getResults());
  SmallVector<Type> types;
  for (Value result : op.getResults())
    if (!isTile(result))
      types.push_back(lowered(result.getType()));
  auto choice = scf::IfOp::create(builder, loc, types, scalarOf(op.getCondition()),
                                  !op.getElseRegion().empty());
  for (auto [from, to] : llvm::zip(op->getRegions(), choice->getRegions())) {
    if (from.empty())
      continue;
    Scope scope(*this);
    OpBuilder::InsertionGuard guard(builder);
    Block *block = &to.front();
    if (types.empty())
      builder.setInsertionPointToStart(block);
    else
      builder.setInsertionPointToEnd(block);
    if (failed(lowerBlock(from.front())))
      return failure();
    Operation *yield = from.front().getTerminator();
    fillSlots(*this, yield->getOperands(), slots);
    if (!types.empty())
      scf::YieldOp::create(builder, op.getLoc(), loweredScalars(*this, yield->getOperands()));
  }
  mapScalars(*this, op.getResults(), choice.getResults());
  mapTiles(*this, op.getResults(), slots);
  memo.clear();
  return success();
}

LogicalResult SimdFunction::lowerWhile(scf::WhileOp op) {
  SmallVector<TileBuffer> before = allocateSlots(*this, op.getBeforeArguments());
  SmallVector<TileBuffer> after = allocateSlots(*this, op.getResults());
  fillSlots(*this, op.getInits(), before);
  SmallVector<Type> types;
  for (Value result : op.getResults())
    if (!isTile(result))
      types.push_back(lowered(result.getType()));
  SmallVector<Value> inits = loweredScalars(*this, op.getInits());
  auto loop = scf::WhileOp::create(builder, loc, types, inits);
  auto makeBlock = [&](Region &region, TypeRange blockTypes) {
    SmallVector<Location> locations(blockTypes.size(), op.getLoc());
    return builder.createBlock(&region, {}, blockTypes, locations);
  };
  auto lowerRegion = [&](Region &from, Region &to, TypeRange blockTypes,
                         ArrayRef<TileBuffer> arguments) -> LogicalResult {
    Scope scope(*this);
    OpBuilder::InsertionGuard guard(builder);
    Block *block = makeBlock(to, blockTypes);
    builder.setInsertionPointToEnd(block);
    mapScalars(*this, from.getArguments(), block->getArguments());
    mapTiles(*this, from.getArguments(), arguments);
    if (failed(lowerBlock(from.front())))
      return failure();
    if (auto condition = dyn_cast<scf::ConditionOp>(from.front().getTerminator())) {
      writeCarried(condition.getArgs(), op.getResults(), after);
      scf::ConditionOp::create(builder, op.getLoc(), scalarOf(condition.getCondition()),
                               loweredScalars(*this, condition.getArgs()));
      return success();
    }
    Operation *yield = from.front().getTerminator();
    writeCarried(yield->getOperands(), op.getBeforeArguments(), before);
    scf::YieldOp::create(builder, op.getLoc(), loweredScalars(*this, yield->getOperands()));
    return success();
  };
  if (failed(lowerRegion(op.getBefore(), loop.getBefore(), ValueRange(inits).getTypes(), before)) ||
      failed(lowerRegion(op.getAfter(), loop.getAfter(), types, after)))
    return failure();
  mapScalars(*this, op.getResults(), loop.getResults());
  mapTiles(*this, op.getResults(), after);
  memo.clear();
  return success();
}
