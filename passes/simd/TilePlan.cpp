// Decides for every tile value whether it is computed where it is used or kept in a buffer.
#include "passes/simd/TilePlan.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/LoopForms.h"
#include "passes/analysis/PointerRoots.h"

using namespace mlir;
using namespace tw;
using namespace tw::simd;
using namespace tw::tile;

// Costs count vector instructions. A buffer costs a store, its loads and cache space; recomputation
// is preferred below this sum.
static constexpr int64_t kBufferCost = 8;

/// Returns true if values of this operation can be computed one register tile at a time.
static bool isDeferrable(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  return isElementwise(op) || isa<ArangeOp, ShapeOp, SplitOp, GatherOp, LoadOp>(op);
}

BlockArgument tw::simd::pointerArgument(Value pointer) {
  while (Operation *op = pointer.getDefiningOp()) {
    if (!isa<AddPtrOp, HintOp, PtrCastOp, ShapeOp>(op))
      return {};
    pointer = op->getOperand(0);
  }
  auto argument = cast<BlockArgument>(pointer);
  return isa<func::FuncOp>(argument.getOwner()->getParentOp()) ? argument : BlockArgument();
}

bool tw::simd::writesUserMemory(Operation *op) {
  auto access = dyn_cast<MemoryAccess>(op);
  return access && access.isOrdered();
}

bool tw::simd::isFetchedAgain(LoadOp load) {
  return load.getIsVolatile() || load.getCache() == CacheModifier::CV;
}

bool tw::simd::isStreamingStore(Operation *store) {
  BlockArgument argument = pointerArgument(store->getOperand(0));
  auto function = store->getParentOfType<func::FuncOp>();
  if (!argument || !function.getArgAttr(argument.getArgNumber(), kArgStreaming))
    return false;
  WalkResult result = function.walk([&](MemoryAccess other) {
    BlockArgument read = pointerArgument(other.getPointers());
    bool isSame = other.readsMemory() && (!read || read == argument);
    return isSame ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !result.wasInterrupted();
}

static bool containsAliasingWrite(Operation *op, Value pointer) {
  WalkResult result = op->walk([&](Operation *inner) {
    bool aliases = writesUserMemory(inner) && mayAlias(inner->getOperand(0), pointer);
    return aliases ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

// Fewer neighbours are not worth a lock.
static constexpr int64_t kFewestLocked = 4;

int tw::simd::updatedDim(Operation *atomic, const IndexFacts &facts) {
  auto rmw = dyn_cast<AtomicRmwOp>(atomic);
  if (!rmw || !rmw.use_empty() || rmw.getScope() == MemoryScope::System ||
      llvm::is_contained({AtomicKind::Xchg, AtomicKind::Load}, rmw.getKind()))
    return -1;
  Type type = rmw.getValue().getType(), element = elementTypeOf(type);
  if (!element.isF32() && !element.isF64() && !element.isInteger(32) && !element.isInteger(64))
    return -1;
  ArrayRef<int64_t> shape = shapeOf(type);
  for (int dim = int(shape.size()) - 1; dim >= 0; --dim)
    if (shape[dim] >= kFewestLocked && facts.along(rmw.getPtr(), dim).isUnit())
      return dim;
  return -1;
}

/// One that takes no lock may come between the read and the write of one that does.
void TilePlan::chooseLocked(ArrayRef<Operation *> atomics) {
  SmallVector<Operation *> open, plain;
  for (Operation *atomic : atomics)
    (updatedDim(atomic, facts) >= 0 ? open : plain).push_back(atomic);
  while (!plain.empty()) {
    Value pointer = plain.pop_back_val()->getOperand(0);
    auto meets = llvm::partition(
        open, [&](Operation *other) { return !mayAlias(other->getOperand(0), pointer); });
    plain.append(meets, open.end());
    open.erase(meets, open.end());
  }
  locked.insert_range(open);
}

TilePlan::TilePlan(Operation *function, const IndexFacts &facts) : facts(facts) {
  SmallVector<Operation *> order;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) { order.push_back(op); });
  SmallVector<Operation *> atomics;
  llvm::copy_if(order, std::back_inserter(atomics), isAtomic);
  chooseLocked(atomics);
  // Users stand behind definitions, so in reverse every user is decided first.
  for (Operation *op : llvm::reverse(order)) {
    for (Value result : op->getResults())
      if (isTile(result))
        decide(result);
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (isTile(argument))
          decide(argument);
  }
}

const llvm::SmallSetVector<Operation *, 4> &TilePlan::sitesOf(Value tile) const {
  static const llvm::SmallSetVector<Operation *, 4> none;
  auto found = sites.find(tile);
  return found == sites.end() ? none : found->second;
}

/// Returns true if the use is the address of a load or store of consecutive elements, of which only
/// the first element's address is computed.
bool TilePlan::isUnitAddress(OpOperand &use) {
  Operation *user = use.getOwner();
  if (!isa<LoadOp, StoreOp>(user) || use.getOperandNumber() != 0)
    return false;
  unsigned rank = shapeOf(use.get().getType()).size();
  return rank > 0 && facts.along(use.get(), rank - 1).kind != AxisChange::Unknown;
}

/// Adds the evaluations that a use causes. Paths that meet again at the same element of the same
/// root cause one, and others one each.
void TilePlan::addUse(OpOperand &use, Evaluations &total) {
  Operation *user = use.getOwner();
  bool keepsElement = (isElementwise(user) || isa<LoadOp, StoreOp>(user)) && !isUnitAddress(use);
  auto add = [&](std::pair<Operation *, unsigned> root, int64_t count) {
    int64_t &sum = total[root];
    sum = keepsElement ? std::max(sum, count) : sum + count;
  };
  bool isDeferred = user->getNumResults() > 0 && isTile(user->getResult(0)) && isDeferrable(user);
  // One result of a split may be kept, and the other be computed where it is used.
  if (!isDeferred || llvm::any_of(user->getResults(), [&](Value v) { return isKept(v); }))
    add({user, keepsElement ? 0 : 1 + use.getOperandNumber()}, 1);
  for (Value result : user->getResults())
    if (isDeferred && !isKept(result))
      for (auto [root, count] : evaluations[result])
        add(root, count);
}

void TilePlan::decide(Value tile) {
  Evaluations total;
  for (OpOperand &use : tile.getUses())
    addUse(use, total);
  llvm::SmallSetVector<Operation *, 4> &found = sites[tile];
  for (auto [root, count] : total)
    found.insert(root.first);
  evaluations[tile] = std::move(total);
  if (mustKeep(tile) || isDearerThanBuffer(tile))
    kept.insert(tile);
}

int64_t TilePlan::numEvaluations(Value tile) const {
  int64_t count = 0;
  for (auto [root, times] : evaluations.at(tile))
    count += times;
  return count;
}

bool TilePlan::mustKeep(Value tile) const {
  Operation *op = tile.getDefiningOp();
  if (!op || !isDeferrable(op))
    return true;
  for (Operation *user : tile.getUsers()) {
    if (auto reshape = dyn_cast<ReshapeOp>(user); reshape && !reshape.getSourceDims())
      return true;
    if (isa<SplitOp>(user) || (isa<GatherOp>(user) && user->getOperand(0) == tile))
      return true;
  }
  return isa<LoadOp>(op) && const_cast<TilePlan *>(this)->isOvertakenByWrite(op);
}

/// Returns true if an evaluation of the load would come after a write that may change what it
/// reads.
bool TilePlan::isOvertakenByWrite(Operation *load) {
  Value pointer = load->getOperand(0);
  Block *block = load->getBlock();
  for (Operation *site : sites[load->getResult(0)]) {
    Operation *ancestor = block->findAncestorOpInBlock(*site);
    for (Operation *op = load->getNextNode(); op && op != ancestor; op = op->getNextNode())
      if (containsAliasingWrite(op, pointer))
        return true;
    // Elements that share an address are read before any of them is written.
    bool isInPlace = site == ancestor && isa<StoreOp>(site) && site->getOperand(0) == pointer &&
                     readsOnlyOwnElement(site, load->getResult(0), *this) &&
                     areDistinct(facts, pointer);
    if (!isInPlace && containsAliasingWrite(ancestor, pointer))
      return true;
  }
  return false;
}

bool TilePlan::mayChangeReads(Operation *write, Operation *reader) const {
  SmallVector<Value> pending(reader->getOperands());
  llvm::DenseSet<Value> seen;
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!isTile(value) || !op || isKept(value) || !seen.insert(value).second)
      continue;
    if (isa<LoadOp>(op) && mayAlias(write->getOperand(0), op->getOperand(0)))
      return true;
    llvm::append_range(pending, op->getOperands());
  }
  return false;
}

static bool isInsideLoopOf(Operation *site, Block *block) {
  for (Operation *op = site; op && op->getBlock() != block; op = op->getParentOp())
    if (isa<scf::ForOp, scf::WhileOp>(op->getParentOp()))
      return true;
  return false;
}

/// Returns true if a loop repeats a product that takes its rows from the tile, which the loop does
/// not change: each step would copy the rows.
static bool isCopiedByLoop(Value tile) {
  return llvm::any_of(tile.getUses(), [&](OpOperand &use) {
    return isa<DotOp>(use.getOwner()) && use.getOperandNumber() == 0 &&
           isInsideLoopOf(use.getOwner(), tile.getDefiningOp()->getBlock());
  });
}

bool TilePlan::isDearerThanBuffer(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (elementTypeOf(tile.getType()).isInteger(1) || isa<arith::ConstantOp>(op))
    return false;
  if (isCopiedByLoop(tile))
    return true;
  // A buffer of the elements that are repeated is smaller, and costs as much to fill.
  if (isa<BroadcastOp, SplatOp>(op))
    return false;
  int64_t cost = treeCost(tile);
  if (cost * (numEvaluations(tile) - 1) >= kBufferCost)
    return true;
  bool isInLoop = llvm::any_of(
      sites[tile], [&](Operation *site) { return isInsideLoopOf(site, op->getBlock()); });
  if (isInLoop && (cost >= kBufferCost || isa<LoadOp>(op)))
    return true;
  // A tile repeated along outer dimensions is evaluated once per repetition.
  return cost >= kBufferCost && llvm::any_of(tile.getUsers(), [&](Operation *user) {
           auto broadcast = dyn_cast<BroadcastOp>(user);
           return broadcast &&
                  shapeOf(tile.getType()).drop_back() != shapeOf(broadcast.getType()).drop_back();
         });
}

int64_t tw::simd::operationCost(Operation *op) {
  if (isa<math::SqrtOp, arith::DivFOp, math::FmaOp, math::AbsFOp, math::FloorOp, math::CeilOp>(op))
    return isa<math::SqrtOp, arith::DivFOp>(op) ? 5 : 1;
  if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op))
    return matchPattern(op->getOperand(1), m_Constant()) ? 8 : 20; // by multiplication
  if (isa<arith::RemFOp>(op))
    return 20;
  if (op->getDialect()->getNamespace() == "math")
    return 14;
  return isa<LoadOp>(op) ? 2 : isa<GatherOp>(op) ? 8 : isElementwise(op) ? 1 : 0;
}

int64_t TilePlan::treeCost(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (!op || !isDeferrable(op))
    return 1;
  auto found = costs.find(tile);
  if (found != costs.end())
    return found->second;
  int64_t cost = operationCost(op);
  // Of an address that is one base and one step only the values count.
  bool isUnitLoad = isa<LoadOp>(op) && isUnitAddress(op->getOpOperand(0));
  for (Value operand : op->getOperands())
    if (isTile(operand) && !isUnitLoad)
      cost += treeCost(operand);
  cost = std::min<int64_t>(cost, 1 << 20); // shared subtrees count once per path
  costs[tile] = cost;
  return cost;
}

/// Returns true if an element is computed from its operands' elements at the same position. Hints
/// about neighbours do not qualify, since they let one element stand for others.
static bool keepsPlace(Operation *op) {
  if (auto hint = dyn_cast<HintOp>(op))
    return !hint.getContiguity() && !hint.getConstancy();
  return isElementwise(op) || isa<LoadOp>(op);
}

bool tw::simd::readsOnlyOwnElement(Operation *root, Value leaf, const TilePlan &plan) {
  SmallVector<std::pair<Value, unsigned>> pending; // a value, and whether it is aligned
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
  bool rootKeepsPlace = keepsPlace(root) || isa<StoreOp>(root);
  for (OpOperand &operand : root->getOpOperands()) {
    bool isAccumulator = isa<DotOp>(root) && operand.getOperandNumber() == 2;
    if (isTile(operand.get()))
      pending.push_back({operand.get(), rootKeepsPlace || isAccumulator});
  }
  while (!pending.empty()) {
    auto [value, isAligned] = pending.pop_back_val();
    if (!seen.insert({value, isAligned}).second)
      continue;
    if (value == leaf && !isAligned)
      return false;
    Operation *op = value.getDefiningOp();
    if (value == leaf || !op || plan.isKept(value))
      continue;
    for (Value operand : op->getOperands())
      if (isTile(operand))
        pending.push_back({operand, isAligned && keepsPlace(op)});
  }
  return true;
}

void tw::simd::walkTree(Value root, llvm::function_ref<bool(Value)> isLeaf, SmallVector<int> dims,
                        llvm::DenseSet<Value> &seen,
                        llvm::function_ref<void(Value, ArrayRef<int>)> visit) {
  if (!isa<RankedTensorType>(root.getType()) || !seen.insert(root).second)
    return;
  visit(root, dims);
  Operation *op = root.getDefiningOp();
  if (!op || isLeaf(root))
    return;
  if (auto shape = dyn_cast<ShapeOp>(op)) {
    std::optional<SmallVector<int>> behind = shape.getSourceDims();
    SmallVector<int> sourceDims(shapeOf(op->getOperand(0).getType()).size(), -1);
    for (auto [position, dim] : llvm::enumerate(behind.value_or(SmallVector<int>())))
      if (dim >= 0)
        sourceDims[dim] = dims[position];
    if (behind)
      walkTree(op->getOperand(0), isLeaf, std::move(sourceDims), seen, visit);
    return;
  }
  if (isa<SplitOp, GatherOp>(op))
    return;
  for (Value operand : op->getOperands())
    if (shapeOf(operand.getType()).size() == dims.size())
      walkTree(operand, isLeaf, dims, seen, visit);
}

SmallVector<int> tw::simd::identityDims(size_t rank) {
  return llvm::to_vector(llvm::seq<int>(0, rank));
}
