// The pass `reload-operands`: where the values of a loop would not fit in the registers, products
// read operands that the loop does not change from shared memory, in each iteration.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/layout/LayoutRules.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

namespace tw {
#define GEN_PASS_DEF_RELOADOPERANDS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tw::tile::isElementwise;

//===-- How many registers -------------------------------------------------------------------===//

/// Whether the tile is recomputed from little wherever it is needed: from constants, indices and
/// values that several elements share. `depth` limits the search.
static bool isComputedFromLittle(Value value, unsigned depth = 6) {
  Operation *op = value.getDefiningOp();
  if (!op ||
      isa<arith::ConstantOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ArangeOp>(
          op))
    return op != nullptr;
  return depth != 0 && isElementwise(op) && llvm::all_of(op->getOperands(), [=](Value operand) {
           return !isa<RankedTensorType>(operand.getType()) ||
                  isComputedFromLittle(operand, depth - 1);
         });
}

/// Registers of 32 bits that a tile's data takes in each thread; equal elements are held once.
static unsigned registersOf(Value value) {
  Type type = value.getType();
  if (!isa<RankedTensorType>(type) || !hasLayout(type))
    return 0;
  Type element = tile::elementTypeOf(type);
  if (!element.isIntOrFloat() || element.isInteger(1) || isComputedFromLittle(value))
    return 0;
  LinearLayout held = layoutOf(type).withoutFreeRegisters();
  return std::max<unsigned>(1, held.size(Place::Register) * tile::elementBytes(element) / 4);
}

/// The most registers that are in use at once in the loop's body.
static unsigned registersIn(scf::ForOp loop) {
  Block &body = *loop.getBody();
  llvm::DenseMap<Value, Operation *> lastUse;
  llvm::SetVector<Value> outer;
  loop->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (op != loop.getOperation() &&
          operand.getParentRegion()->isProperAncestor(&loop.getRegion()))
        outer.insert(operand);
  });
  unsigned count = 0;
  for (Value value : outer)
    count += registersOf(value);
  for (Value argument : loop.getRegionIterArgs())
    count += registersOf(argument);
  for (Operation &op : body)
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        lastUse[operand] = &op;
    });
  unsigned most = count;
  for (Operation &op : body) {
    for (Value operand : llvm::SetVector<Value>(op.operand_begin(), op.operand_end()))
      if (operand.getParentBlock() == &body && lastUse.lookup(operand) == &op &&
          !operand.getDefiningOp<LoadSharedOp>())
        count -= registersOf(operand);
    if (!isa<LoadSharedOp>(op))
      for (Value result : op.getResults())
        count += result.use_empty() ? 0 : registersOf(result);
    most = std::max(most, count);
  }
  return most;
}

//===-- Which operands -----------------------------------------------------------------------===//

/// Whether the buffer holds the tile for as long as the load's block runs: it is written there
/// once, before it is read.
static bool keepsTile(LoadSharedOp load) {
  auto alloc = load.getBuffer().getDefiningOp<AllocSharedOp>();
  if (!alloc || alloc.getSlots())
    return false;
  SmallVector<Operation *> writers;
  for (Operation *user : alloc->getUsers())
    if (!isa<LoadSharedOp>(user))
      writers.push_back(user);
  return writers.size() == 1 && isa<StoreSharedOp>(writers.front()) &&
         writers.front()->getBlock() == load->getBlock() && writers.front()->isBeforeInBlock(load);
}

/// The products of the loop that have the tile as an operand; none where others need it too.
static SmallVector<OpOperand *> productsWith(scf::ForOp loop, LoadSharedOp load) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : load->getUses()) {
    if (!loop->isProperAncestor(use.getOwner()))
      continue;
    auto mma = dyn_cast<MmaOp>(use.getOwner());
    if (!mma || use.get() == mma.getAcc())
      return {};
    uses.push_back(&use);
  }
  return uses;
}

static SmallVector<LoadSharedOp> findOperands(scf::ForOp loop) {
  llvm::SetVector<Operation *> found;
  loop->walk([&](MmaOp mma) {
    for (Value operand : {mma.getA(), mma.getB()}) {
      auto load = operand.getDefiningOp<LoadSharedOp>();
      if (load && !loop->isProperAncestor(load) && load->getBlock()->findAncestorOpInBlock(*loop) &&
          keepsTile(load) && !productsWith(loop, load).empty())
        found.insert(load);
    }
  });
  SmallVector<LoadSharedOp> loads;
  for (Operation *op : found)
    loads.push_back(cast<LoadSharedOp>(op));
  return loads;
}

//===-- The change ---------------------------------------------------------------------------===//

/// Reads the tile where the loop's products need it, if shared memory can hold it that long.
static bool reload(scf::ForOp loop, LoadSharedOp load, uint64_t sharedBytes) {
  SmallVector<OpOperand *> uses = productsWith(loop, load);
  SmallVector<Operation *> copies;
  OpBuilder builder(loop);
  for (OpOperand *use : uses) {
    builder.setInsertionPoint(use->getOwner());
    copies.push_back(builder.clone(*load));
    use->set(copies.back()->getResult(0));
  }
  if (packedBytes(findLiveBuffers(loop->getParentOfType<func::FuncOp>())) <= sharedBytes)
    return true;
  for (auto [use, copy] : llvm::zip(uses, copies)) {
    use->set(load.getResult());
    copy->erase();
  }
  return false;
}

static void reloadIn(scf::ForOp loop, tile::TargetAttr target) {
  unsigned spare = std::min(target.getSpareRegisters(), target.getRegisters());
  unsigned available = target.getRegisters() - spare, needed = registersIn(loop);
  SmallVector<LoadSharedOp> operands = findOperands(loop);
  while (needed > available && !operands.empty()) {
    auto *largest = llvm::max_element(operands, [](LoadSharedOp a, LoadSharedOp b) {
      return registersOf(a.getResult()) < registersOf(b.getResult());
    });
    LoadSharedOp load = *largest;
    operands.erase(largest);
    if (!reload(loop, load, target.getSharedBytes()))
      continue;
    emitCodedRemark(load, Code::ReloadedOperand)
        << "the loop of its products needs about " << needed
        << " registers: this operand is read from shared memory in each iteration";
    needed = registersIn(loop);
    if (load->use_empty())
      load.erase();
  }
}

namespace {
struct ReloadOperands : tw::impl::ReloadOperandsBase<ReloadOperands> {
  void runOnOperation() override {
    tile::TargetAttr target = targetOf(getOperation());
    if (!target)
      return;
    SmallVector<scf::ForOp> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (!loop.getBody()->getOps<MmaOp>().empty())
        loops.push_back(loop);
    });
    for (scf::ForOp loop : loops)
      reloadIn(loop, target);
  }
};
} // namespace
