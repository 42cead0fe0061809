// The pass `reload-operands`: where the values of a loop would not fit in the registers, products
// read operands that the loop does not change from shared memory, in each iteration.
#include "ir/Diagnostic.h"
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Passes.h"
#include "passes/analysis/RegisterUse.h"
#include "passes/analysis/SharedLiveness.h"
#include "passes/simt/LayoutRules.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/STLExtras.h"

namespace tw {
#define GEN_PASS_DEF_RELOADOPERANDS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw;
using namespace tw::simt;

//===-- Which operands -----------------------------------------------------------------------===//

/// Returns true if the buffer holds the tile for as long as the load's block runs: the tile is
/// written there once, before it is read.
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
  unsigned available = registersForTiles(target), needed = registersIn(loop);
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
