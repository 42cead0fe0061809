// Products that stores take from registers, one by one or added up by a loop.
#include "ir/tile/ArgumentFacts.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/simd/Scope.h"
#include "passes/simd/product/DotPlan.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

//===-- Products that are stored from registers -----------------------------------------------===//

// A register tile is stored by straight code, so what is computed of it must be short.
static constexpr int64_t kMostCostOfStored = 8;

SmallVector<Value> tw::simd::treesOf(StoreOp store) {
  SmallVector<Value> trees = {store.getValue(), store.getPtr()};
  if (store.getMask())
    trees.push_back(store.getMask());
  return trees;
}

/// Returns true if the only operations between an operation and the store of its elements compute
/// those elements, each used once.
static bool isFollowedBy(OpResult result, StoreOp store) {
  Value last = result;
  for (Operation *next = result.getOwner()->getNextNode(); next != store;
       next = next->getNextNode()) {
    if (!last.hasOneUse() || *last.getUsers().begin() != next)
      return false;
    last = next->getResult(0);
  }
  return last.hasOneUse() && last == store.getValue();
}

/// Returns true if the vectors of the store are those of the product, with each element at the same
/// position.
static bool hasVectorsOf(SimdFunction &f, StoreOp store, Value product) {
  ArrayRef<int64_t> shape = shapeOf(product.getType());
  int last = int(shape.size()) - 1;
  auto [vectorDim, lanes] = f.chooseVector({store.getValue(), store.getPtr()}, shape);
  if (vectorDim != last || !f.facts.along(store.getPtr(), last).isUnit())
    return false;
  // Where constants decide a part of a mask, a loop of its own stores that part without one.
  auto isKept = [&](Value value) { return f.plan.isKept(value); };
  for (Value tile : tilesAtOwnPlaces(treesOf(store), isKept))
    if (auto prefix = knownPrefix(f.facts, tile); prefix && prefix->count > 0)
      return false;
  return readsOnlyOwnElement(store, product, f.plan);
}

/// The store that takes elements, a product's or those of a loop's sum of it, straight from
/// registers; null where they go to a buffer first.
static StoreOp storeOfElements(SimdFunction &f, OpResult elements, const DotPlan &plan) {
  const llvm::SmallSetVector<Operation *, 4> &sites = f.plan.sitesOf(elements);
  auto store = sites.size() == 1 ? dyn_cast<StoreOp>(sites.front()) : StoreOp();
  bool isFitting = store && store->getBlock() == elements.getOwner()->getBlock() &&
                   isFollowedBy(elements, store) && !plan.matrix &&
                   !f.source->hasAttr(kChecksAccesses);
  if (!isFitting || !hasVectorsOf(f, store, elements) ||
      f.plan.treeCost(store.getValue()) > kMostCostOfStored)
    return {};
  return store;
}

StoreOp tw::simd::storeOfProduct(SimdFunction &f, DotOp op, const DotPlan &plan) {
  StoreOp store = storeOfElements(f, cast<OpResult>(op.getResult()), plan);
  if (!store || f.plan.mayChangeReads(store, op))
    return {};
  f.stored.insert(store);
  return store;
}

/// The operations from one to the store that takes what they compute, which is not among them; none
/// where something else uses that.
static SmallVector<Operation *> chainToStore(OpResult first, StoreOp &store) {
  SmallVector<Operation *> chain = {first.getOwner()};
  for (Value last = first; last.hasOneUse(); last = chain.back()->getResult(0)) {
    Operation *user = *last.getUsers().begin();
    if (user->getBlock() != first.getOwner()->getBlock())
      return {};
    store = dyn_cast<StoreOp>(user);
    if (store)
      return store.getValue() == last ? chain : SmallVector<Operation *>();
    if (!isElementwise(user) || user->getNumResults() != 1)
      return {};
    chain.push_back(user);
  }
  return {};
}

/// Where the elements that a store at the end of a chain of computations takes are ready: moves the
/// chain there, behind what it does not need.
static void sinkToStore(DotOp op) {
  StoreOp store;
  SmallVector<Operation *> chain = chainToStore(cast<OpResult>(op.getResult()), store);
  if (chain.empty())
    return;
  for (Operation *next = op->getNextNode(); next != store; next = next->getNextNode())
    if (next->getNumRegions() > 0 || (!isMemoryEffectFree(next) && !isa<LoadOp>(next)))
      return;
  for (Operation *link : chain)
    link->moveBefore(store);
}

//===-- Products that loops add up ------------------------------------------------------------===//

/// The product that a loop adds to a tile that it carries, which nothing else in the loop uses.
static DotOp productOf(OpResult sum) {
  auto loop = dyn_cast<scf::ForOp>(sum.getOwner());
  if (!loop || loop.getUnsignedCmp())
    return {};
  unsigned position = sum.getResultNumber();
  BlockArgument carried = loop.getRegionIterArg(position);
  auto product = loop.getYieldedValues()[position].getDefiningOp<DotOp>();
  bool isSum = product && product->getBlock() == loop.getBody() && product->hasOneUse() &&
               product.getAcc() == carried && carried.hasOneUse();
  return isSum ? product : DotOp();
}

/// Returns true if a loop only reads memory, and reads none that `store` may write; if `store` is
/// null, it may read any memory.
static bool onlyReads(scf::ForOp loop, StoreOp store) {
  return llvm::all_of(loop.getBody()->without_terminator(), [&](Operation &op) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load)
      return isMemoryEffectFree(&op);
    return !isFetchedAgain(load) && !(store && mayAlias(store.getPtr(), load.getPtr()));
  });
}

static bool isDefinedBefore(Value value, Operation *op) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != op->getBlock() || definition->isBeforeInBlock(op);
}

/// Moves what a store needs besides a loop's sum in front of the loop.
static void liftOverLoop(OpResult sum) {
  StoreOp store;
  SmallVector<Operation *> chain;
  Operation *loop = sum.getOwner();
  if (productOf(sum) && onlyReads(cast<scf::ForOp>(loop), {}))
    chain = chainToStore(sum, store);
  if (chain.empty())
    return;
  for (Operation &op : llvm::make_early_inc_range(
           llvm::make_range(std::next(Block::iterator(loop)), Block::iterator(store)))) {
    if (llvm::is_contained(chain, &op))
      continue;
    auto load = dyn_cast<LoadOp>(op);
    bool isMovable = load ? !isFetchedAgain(load) : isMemoryEffectFree(&op);
    if (!isMovable || op.getNumRegions() > 0)
      return;
    if (llvm::all_of(op.getOperands(), [&](Value v) { return isDefinedBefore(v, loop); }))
      op.moveBefore(loop);
  }
}

void tw::simd::sinkProducts(Operation *function) {
  SmallVector<DotOp> products;
  SmallVector<OpResult> sums;
  function->walk([&](DotOp op) { products.push_back(op); });
  function->walk([&](scf::ForOp op) { llvm::append_range(sums, op->getResults()); });
  llvm::for_each(products, sinkToStore);
  if (!function->hasAttr(kChecksAccesses))
    llvm::for_each(sums, liftOverLoop);
}

/// Returns true if a store, preceded only by computations of the sum's elements, needs no other
/// result of the loop.
static bool needsOnlySum(StoreOp store, OpResult sum) {
  return llvm::all_of(sum.getOwner()->getResults(), [&](OpResult other) {
    return other == sum || llvm::none_of(other.getUsers(), [&](Operation *user) {
             return user->getBlock() == store->getBlock() && !store->isBeforeInBlock(user);
           });
  });
}

std::optional<ProductLoop> tw::simd::planProductLoop(SimdFunction &f, scf::ForOp loop) {
  for (OpResult sum : loop->getResults()) {
    DotOp product = productOf(sum);
    if (!product)
      continue;
    StoreOp store = storeOfElements(f, sum, planDot(product, f));
    if (!store || !needsOnlySum(store, sum) || !onlyReads(loop, store))
      continue;
    // What costs more to start from, or reads memory, is computed in front of the loop.
    Value start = loop.getInitArgs()[sum.getResultNumber()];
    if (f.plan.isKept(start) || f.plan.treeCost(start) > 1)
      start = {};
    return ProductLoop{product, sum, store, start, {}, {}};
  }
  return std::nullopt;
}
