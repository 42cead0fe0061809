// The pass `reload-operands`: where the values of a loop would not fit in the registers, products
// read operands that the loop does not change from shared memory, in each iteration.
#include "ir/Diagnostic.h"
#include "ir/target/Processor.h"
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

/// Returns the operation that writes the tile to its buffer, if the buffer holds it for as long as
/// the load's block runs: it is written there once, before it is read. Null otherwise.
static Operation *writerOf(LoadSharedOp load) {
  auto alloc = load.getBuffer().getDefiningOp<AllocSharedOp>();
  if (!alloc || alloc.getSlots())
    return nullptr;
  SmallVector<Operation *> writers;
  for (Operation *user : alloc->getUsers())
    if (!isa<LoadSharedOp>(user))
      writers.push_back(user);
  bool isKept = writers.size() == 1 && isa<StoreSharedOp>(writers.front()) &&
                writers.front()->getBlock() == load->getBlock() &&
                writers.front()->isBeforeInBlock(load);
  return isKept ? writers.front() : nullptr;
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
          writerOf(load) && !productsWith(loop, load).empty())
        found.insert(load);
    }
  });
  SmallVector<LoadSharedOp> loads;
  for (Operation *op : found)
    loads.push_back(cast<LoadSharedOp>(op));
  return loads;
}

//===-- The change ---------------------------------------------------------------------------===//

/// Returns how many programs a processor holds at once, if each takes so much shared memory and all
/// registers that a lane may have.
static unsigned programsWith(scf::ForOp loop, uint64_t bytes, tile::TargetAttr target) {
  std::optional<Processor> processor = processorOf(loop);
  if (!processor)
    return 0;
  unsigned threads = threadsOf(loop->getParentOfType<ModuleOp>()).count();
  return processor->programsThatFit(threads / target.getWarpSize(), target.getRegisters(), bytes);
}

static uint64_t bytesOf(scf::ForOp loop) {
  return packedBytes(findLiveBuffers(loop->getParentOfType<func::FuncOp>()));
}

/// Returns the bytes of shared memory if the load is right behind the store: other buffers may take
/// the place of its tile then.
static uint64_t bytesWithEarly(LoadSharedOp load, scf::ForOp loop) {
  Operation *next = load->getNextNode();
  load->moveAfter(writerOf(load));
  uint64_t bytes = bytesOf(loop);
  load->moveBefore(next);
  return bytes;
}

/// Reads the tile where the loop's products need it, if shared memory can hold it that long. A tile
/// that may stay in registers does where the memory would cost programs.
static bool reload(scf::ForOp loop, LoadSharedOp load, bool mayStay, tile::TargetAttr target) {
  uint64_t before = mayStay ? bytesWithEarly(load, loop) : 0;
  SmallVector<OpOperand *> uses = productsWith(loop, load);
  SmallVector<Operation *> copies;
  OpBuilder builder(loop);
  for (OpOperand *use : uses) {
    builder.setInsertionPoint(use->getOwner());
    copies.push_back(builder.clone(*load));
    use->set(copies.back()->getResult(0));
  }
  uint64_t after = bytesOf(loop);
  bool costsPrograms =
      mayStay && programsWith(loop, after, target) < programsWith(loop, before, target);
  if (after <= target.getSharedBytes() && !costsPrograms)
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
    bool mayStay = needed + registersOfOperands(loop) <= registersForLoops(target);
    if (!reload(loop, load, mayStay, target))
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
