// Which barriers of a kernel have to order accesses to global memory, too: by the arguments that
// accesses go through, by what may run before and after, and by the atomics beside them.
#include "backend/gpu/GlobalOrder.h"
#include "ir/simt/Simt.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;
using namespace tw::gpu;

namespace {
struct GlobalAccess {
  Operation *op;
  unsigned place; // in the order of the text
  Value root;     // the argument, null where it is not known
  bool isWrite;
};

/// The memory that is accessed on one side of a barrier.
struct Side {
  llvm::SmallSetVector<Value, 8> read, written;
};
} // namespace

static Value rootOf(Value pointer) {
  while (auto step = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = step.getBase();
  auto argument = dyn_cast<BlockArgument>(pointer);
  bool isOfKernel = argument && isa<LLVM::LLVMFuncOp>(argument.getOwner()->getParentOp());
  return isOfKernel ? pointer : Value();
}

static std::optional<GlobalAccess> accessOf(Operation *op, unsigned place) {
  if (auto load = dyn_cast<simt::GlobalLoadOp>(op))
    return GlobalAccess{op, place, rootOf(load.getPtr()), /*isWrite=*/false};
  if (auto load = dyn_cast<simt::LoadBlockOp>(op))
    return GlobalAccess{op, place, rootOf(load.getBase()), /*isWrite=*/false};
  if (auto copy = dyn_cast<simt::GlobalToSharedOp>(op))
    return GlobalAccess{op, place, rootOf(copy.getPtr()), /*isWrite=*/false};
  if (auto copy = dyn_cast<simt::CopyArrayOp>(op))
    return GlobalAccess{op, place, rootOf(copy.getPtr()), /*isWrite=*/false};
  if (auto store = dyn_cast<simt::GlobalStoreOp>(op))
    return GlobalAccess{op, place, rootOf(store.getPtr()), /*isWrite=*/true};
  if (auto atomic = dyn_cast<simt::AtomicOp>(op))
    return GlobalAccess{op, place, rootOf(atomic.getPtr()), /*isWrite=*/true};
  if (auto assembly = dyn_cast<simt::InlineAsmOp>(op); assembly && !assembly.getIsPure())
    return GlobalAccess{op, place, Value(), /*isWrite=*/true};
  return std::nullopt;
}

/// Returns true if two operations are in the same loop, so that each may run before the other.
static bool shareLoop(Operation *left, Operation *right) {
  for (auto loop = left->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>())
    if (loop->isProperAncestor(right))
      return true;
  return false;
}

/// Returns true if the argument's memory does not overlap that of any other argument, which
/// lower-simt either tells LLVM or tests.
static bool isDisjoint(LLVM::LLVMFuncOp kernel, Value root) {
  unsigned number = cast<BlockArgument>(root).getArgNumber();
  return kernel.getArgAttr(number, LLVM::LLVMDialect::getNoAliasAttrName()) ||
         kernel.getArgAttr(number, tile::kArgDisjoint);
}

static bool mayMeet(LLVM::LLVMFuncOp kernel, Value left, Value right) {
  if (!left || !right || left == right)
    return true;
  return !isDisjoint(kernel, left) && !isDisjoint(kernel, right);
}

static bool anyMeets(LLVM::LLVMFuncOp kernel, const llvm::SmallSetVector<Value, 8> &left,
                     const llvm::SmallSetVector<Value, 8> &right) {
  return llvm::any_of(left, [&](Value one) {
    return llvm::any_of(right, [&](Value other) { return mayMeet(kernel, one, other); });
  });
}

static bool ordersGlobalMemory(LLVM::LLVMFuncOp kernel, Operation *barrier, unsigned place,
                               ArrayRef<GlobalAccess> accesses) {
  Side before, after;
  for (const GlobalAccess &access : accesses) {
    bool isRepeated = shareLoop(access.op, barrier);
    auto add = [&](Side &side) { (access.isWrite ? side.written : side.read).insert(access.root); };
    if (isRepeated || access.place < place)
      add(before);
    if (isRepeated || access.place > place)
      add(after);
  }
  return anyMeets(kernel, before.written, after.written) ||
         anyMeets(kernel, before.written, after.read) ||
         anyMeets(kernel, before.read, after.written);
}

static bool isOfAllWaves(Operation *op) {
  auto barrier = dyn_cast<simt::BarrierOp>(op);
  return barrier && !barrier.getWarp();
}

static void collectInside(Operation *op, SmallVectorImpl<Operation *> &found) {
  op->walk([&](Operation *inner) {
    if (isOfAllWaves(inner))
      found.push_back(inner);
  });
}

/// The barriers that may be the last before an operation, or the first after it.
static SmallVector<Operation *> nearestBarriers(Operation *from, bool isBefore) {
  SmallVector<Operation *> found;
  auto next = [&](Operation *op) { return isBefore ? op->getPrevNode() : op->getNextNode(); };
  for (Operation *op = from; !isa<LLVM::LLVMFuncOp>(op); op = op->getParentOp()) {
    for (Operation *beside = next(op); beside; beside = next(beside)) {
      collectInside(beside, found); // of a branch or a loop, which may run or not
      if (isOfAllWaves(beside))
        return found;
    }
    if (isa<LoopLikeOpInterface>(op->getParentOp()))
      collectInside(op->getParentOp(), found); // of another iteration
  }
  return found;
}

/// An atomic that releases, releases what its own wave wrote, and what others wrote and have made
/// visible to that scope: a wave's writes may still be on their way behind a barrier that orders
/// them within the work-group only (gfx90a and gfx942 do not even wait for them). So each wave
/// releases to the atomic's scope before the barrier. And behind one that acquires, all waves read
/// anew.
static void addOrderOfAtomic(simt::AtomicOp atomic,
                             llvm::DenseMap<Operation *, tile::MemoryScope> &ordering) {
  tile::MemoryOrder order = atomic.getOrder();
  bool isBoth = order == tile::MemoryOrder::AcqRel;
  if (isBoth || order == tile::MemoryOrder::Release)
    for (Operation *barrier : nearestBarriers(atomic, /*isBefore=*/true)) {
      auto [entry, isNew] = ordering.try_emplace(barrier, atomic.getScope());
      entry->second = std::max(entry->second, atomic.getScope());
    }
  if (isBoth || order == tile::MemoryOrder::Acquire)
    for (Operation *barrier : nearestBarriers(atomic, /*isBefore=*/false))
      ordering.try_emplace(barrier, tile::MemoryScope::CTA);
}

llvm::DenseMap<Operation *, tile::MemoryScope> tw::gpu::barriersOfGlobalMemory(Operation *kernel) {
  SmallVector<GlobalAccess> accesses;
  SmallVector<std::pair<Operation *, unsigned>> barriers;
  llvm::DenseMap<Operation *, tile::MemoryScope> ordering;
  unsigned place = 0;
  kernel->walk<WalkOrder::PreOrder>([&](Operation *op) {
    ++place;
    if (isa<simt::BarrierOp>(op))
      barriers.emplace_back(op, place);
    else if (std::optional<GlobalAccess> access = accessOf(op, place))
      accesses.push_back(*access);
    if (auto atomic = dyn_cast<simt::AtomicOp>(op))
      addOrderOfAtomic(atomic, ordering);
  });
  for (auto [barrier, number] : barriers)
    if (ordersGlobalMemory(cast<LLVM::LLVMFuncOp>(kernel), barrier, number, accesses))
      ordering.try_emplace(barrier, tile::MemoryScope::CTA);
  return ordering;
}
