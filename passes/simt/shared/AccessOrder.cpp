// Decides which accesses conflict and which barrier orders them.
#include "passes/simt/shared/AccessOrder.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "passes/analysis/LoopForms.h"
#include "passes/analysis/PointerRoots.h"
#include "passes/analysis/SharedLiveness.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tw::tile::isTile;
using tw::tile::MemoryAccess;

//===-- Shared memory ------------------------------------------------------------------------===//

namespace {
/// How an operation accesses one buffer.
struct SharedAccessOf {
  AllocSharedOp buffer;
  bool isWrite = false;
  Type tile; // whose elements each thread accesses at their place; null when threads read any
             // element
  SlotOp slot = nullptr; // of a buffer with slots
};
} // namespace

static SharedAccessOf accessOf(Value buffer, bool isWrite, Type tile) {
  auto slot = buffer.getDefiningOp<SlotOp>();
  return {allocOf(buffer), isWrite, tile, slot};
}

static SmallVector<SharedAccessOf, 2> sharedAccessesOf(Operation *op) {
  using List = SmallVector<SharedAccessOf, 2>;
  return llvm::TypeSwitch<Operation *, List>(op)
      .Case([](StoreSharedOp store) {
        return List{accessOf(store.getBuffer(), true, store.getValue().getType())};
      })
      .Case([](AsyncCopyOp copy) {
        return List{accessOf(copy.getBuffer(), true, copy.getPtr().getType())};
      })
      .Case([](ArrayCopyOp copy) { return List{accessOf(copy.getBuffer(), true, Type())}; })
      .Case<PhaseInitOp, PhaseDropOp>(
          [](auto phases) { return List{accessOf(phases.getBarrier(), true, Type())}; })
      .Case([](PhaseAwaitOp phase) { return List{accessOf(phase.getBarrier(), false, Type())}; })
      .Case<BoxCopyOp, ReleaseOp>([](auto copy) {
        return llvm::map_to_vector<2>(copy.getBuffers(),
                                      [](Value buffer) { return accessOf(buffer, true, Type()); });
      })
      .Case(
          [](LoadSharedOp load) { return List{accessOf(load.getBuffer(), false, load.getType())}; })
      .Case([](BoxStoreOp store) { return List{accessOf(store.getBuffer(), false, Type())}; })
      .Case([](GatherSharedOp gather) { return List{accessOf(gather.getBuffer(), false, Type())}; })
      .Case([](DotSharedOp dot) {
        return List{accessOf(dot.getA(), false, Type()), accessOf(dot.getB(), false, Type())};
      })
      .Case([](MmaAsyncOp mma) {
        List reads = {accessOf(mma.getB(), false, Type())};
        if (isa<SharedType>(mma.getA().getType()))
          reads.push_back(accessOf(mma.getA(), false, Type()));
        return reads;
      })
      .Default([](Operation *) { return List(); });
}

/// Returns true if every thread that holds an element under `accesses` is in the same warp as the
/// element's owner under `written`, the thread that writes it; with `comparesLanes`, also in the
/// same lane.
static bool isAtOwner(const LinearLayout &accesses, const LinearLayout &written,
                      bool comparesLanes) {
  std::optional<SmallVector<uint64_t>> owners = accesses.composedWithInverseOf(written);
  if (!owners)
    return false;
  unsigned from = written.numBits(Place::Register);
  unsigned laneBits = written.numBits(Place::Lane), warpBits = written.numBits(Place::Warp);
  uint64_t laneMask = (uint64_t(1) << laneBits) - 1, warpMask = (uint64_t(1) << warpBits) - 1;
  unsigned input = 0;
  for (Place place : {Place::Register, Place::Lane, Place::Warp}) {
    for (unsigned bit = 0; bit < accesses.numBits(place); ++bit, ++input) {
      uint64_t lane = (*owners)[input] >> from & laneMask;
      uint64_t warp = (*owners)[input] >> (from + laneBits) & warpMask;
      if (warp != (place == Place::Warp ? uint64_t(1) << bit : 0))
        return false;
      if (comparesLanes && lane != (place == Place::Lane ? uint64_t(1) << bit : 0))
        return false;
    }
  }
  return true;
}

/// Returns the barrier that orders two writes of the same buffer, by comparing its elements' owners
/// under both layouts.
static Ordering orderingOfWrites(const LinearLayout &first, const LinearLayout &second) {
  std::optional<SmallVector<uint64_t>> owners = first.rightInverse();
  std::optional<SmallVector<uint64_t>> others = second.rightInverse();
  if (!owners || !others)
    return Ordering::Cta;
  // Where the thread is, above the bits of its registers.
  unsigned registers = first.numBits(Place::Register), lanes = first.numBits(Place::Lane);
  Ordering needed = Ordering::None;
  for (auto [owner, other] : llvm::zip(*owners, *others)) {
    uint64_t thread = owner >> registers, otherThread = other >> second.numBits(Place::Register);
    if (thread >> lanes != otherThread >> lanes)
      return Ordering::Cta;
    if (thread != otherThread)
      needed = Ordering::Warp;
  }
  return needed;
}

/// Returns the barrier that orders a write and a read of the same buffer, or two writes.
static Ordering orderingOf(const SharedAccessOf &write, const SharedAccessOf &other) {
  if (!write.tile || !other.tile)
    return Ordering::Cta;
  // A scalar is written by one thread and read by all.
  if (!hasLayout(other.tile) || !hasLayout(write.tile))
    return write.isWrite && other.isWrite ? Ordering::None : Ordering::Cta;
  const LinearLayout &written = layoutOf(write.tile), &accessed = layoutOf(other.tile);
  if (other.isWrite)
    return orderingOfWrites(written, accessed);
  if (isAtOwner(accessed, written, /*comparesLanes=*/true))
    return Ordering::None;
  return isAtOwner(accessed, written, /*comparesLanes=*/false) ? Ordering::Warp : Ordering::Cta;
}

/// Returns true if two accesses in one iteration of the loop around them use different stages of a
/// buffer.
static bool areInDifferentSlots(SharedAccessOf a, SharedAccessOf b,
                                const PendingAccesses::Access &earlier) {
  if (a.buffer != b.buffer || !a.slot || !b.slot || !a.slot.getPhase() || !b.slot.getPhase())
    return false;
  uint64_t slots = a.buffer.getSlots().value_or(1);
  Operation *loop = a.slot->getParentOfType<LoopLikeOpInterface>();
  return loop == b.slot->getParentOfType<LoopLikeOpInterface>() && !earlier.loops.contains(loop) &&
         *a.slot.getPhase() % slots != *b.slot.getPhase() % slots;
}

static Ordering orderingOfShared(const SharedAccessOf &earlier, const SharedAccessOf &later) {
  if ((!earlier.isWrite && !later.isWrite) || !shareBytes(earlier.buffer, later.buffer))
    return Ordering::None;
  if (earlier.buffer != later.buffer)
    return Ordering::Cta; // bytes of different tiles: any thread
  return earlier.isWrite ? orderingOf(earlier, later) : orderingOf(later, earlier);
}

//===-- Global memory ------------------------------------------------------------------------===//

/// An atomic of a scalar is done by one thread for the whole program, so what it releases or
/// acquires are the accesses of all threads.
static std::optional<tile::MemoryOrder> orderOfProgramAtomic(MemoryAccess access) {
  return isTile(access.getPointers()) ? std::nullopt : access.getAtomicOrder();
}

/// Returns true if the access's pointers may have pointed elsewhere in earlier iterations, so that
/// other elements may now point to the same memory.
static bool mayHaveMoved(const PendingAccesses::Access &earlier, const IndexFacts &facts) {
  Value pointer = cast<MemoryAccess>(earlier.op).getPointers();
  if (earlier.loops.size() == 1)
    return mayMeetLaterIterations(facts, pointer, *earlier.loops.begin());
  return !earlier.loops.empty();
}

/// Returns true if an access overwrites elements whatever they were: an exchange does if nobody
/// uses the old ones.
static bool overwrites(MemoryAccess access) {
  bool isExchange = access.getAtomicKind() == tile::AtomicKind::Xchg && !access.getExpectedValue();
  return access.writesMemory() && (!access.isAtomic() || (isExchange && access->use_empty()));
}

/// Returns true if two atomics leave the same in memory in either order and nobody sees the order:
/// reads, or updates of one kind. Sums of floats may round differently, as do those of elements of
/// one atomic that share an address.
static bool commute(MemoryAccess first, MemoryAccess second) {
  if (!first.isAtomic() || !second.isAtomic())
    return false;
  if (!first.writesMemory() && !second.writesMemory())
    return true;
  tile::AtomicKind kind = first.getAtomicKind();
  auto elementOf = [](MemoryAccess access) {
    return tile::elementTypeOf(access.getWrittenValue().getType());
  };
  return kind != tile::AtomicKind::Xchg && kind == second.getAtomicKind() &&
         elementOf(first) == elementOf(second) && first->use_empty() && second->use_empty();
}

/// Returns true if each element is accessed by the same thread both times. The owner of an element
/// writes it; every thread that holds it reads it.
static bool isBySameThreads(const PendingAccesses::Access &earlier, MemoryAccess later,
                            const IndexFacts &facts) {
  auto before = cast<MemoryAccess>(earlier.op);
  Value pointers = later.getPointers();
  bool areByOwners = before.isOrdered() && later.isOrdered();
  if (!isTile(pointers) && !isTile(before.getPointers()))
    return areByOwners; // one thread accesses all scalars for the program, or all threads read one
  if (before.getPointers() != pointers)
    return false;
  // Where elements point to the same memory, each of their threads accesses it, before or after
  // another one has: that only leaves one of the values that are written. And other masks choose
  // other elements of them.
  bool maySwap =
      !overwrites(before) || !overwrites(later) || before.getAccessMask() != later.getAccessMask();
  if (mayHaveMoved(earlier, facts) || (maySwap && !areDistinct(facts, pointers)))
    return false;
  if (areByOwners)
    return true;
  const LinearLayout &layout = layoutOf(pointers.getType());
  return layout.freeBits(Place::Lane) == 0 && layout.freeBits(Place::Warp) == 0;
}

/// Two accesses of one program happen in its order, also where different threads do them: a store
/// and a later load of the same memory in another layout, or the same store in the next iteration.
static Ordering orderingOfAliases(const PendingAccesses::Access &earlier, MemoryAccess later,
                                  const IndexFacts &facts) {
  auto before = cast<MemoryAccess>(earlier.op);
  if (!before.isOrdered() && !later.isOrdered())
    return Ordering::None;
  if (commute(before, later) || isBySameThreads(earlier, later, facts))
    return Ordering::None;
  return mayAlias(before.getPointers(), later.getPointers()) ? Ordering::Cta : Ordering::None;
}

/// Orders what warps load in blocks, each its own part, with what any thread writes.
static Ordering orderingOfBlocks(Operation *earlier, Operation *later) {
  auto load = dyn_cast<LoadBlocksOp>(earlier);
  auto other = dyn_cast<MemoryAccess>(load ? later : earlier);
  if (!load)
    load = dyn_cast<LoadBlocksOp>(later);
  bool mayMeet =
      load && other && other.isOrdered() && mayAlias(load.getBase(), other.getPointers());
  return mayMeet ? Ordering::Cta : Ordering::None;
}

static Ordering orderingOfGlobal(const PendingAccesses::Access &earlier, MemoryAccess later,
                                 const IndexFacts &facts) {
  using tile::MemoryOrder;
  auto access = dyn_cast<MemoryAccess>(earlier.op);
  if (!access || !later)
    return Ordering::None;
  if (Ordering needed = orderingOfAliases(earlier, later, facts); needed != Ordering::None)
    return needed;
  // What a program only read, others cannot tell: a release need not wait for it.
  if (!access.isOrdered())
    return Ordering::None;
  std::optional<MemoryOrder> before = orderOfProgramAtomic(access);
  std::optional<MemoryOrder> after = orderOfProgramAtomic(later);
  bool acquires = before == MemoryOrder::Acquire || before == MemoryOrder::AcqRel;
  bool releases = after == MemoryOrder::Release || after == MemoryOrder::AcqRel;
  // One thread does both.
  if (before && after)
    return Ordering::None;
  return acquires || releases ? Ordering::Cta : Ordering::None;
}

//===-- The state ----------------------------------------------------------------------------===//

static Ordering orderingOf(const PendingAccesses::Access &earlier, Operation *later,
                           const IndexFacts &facts) {
  Ordering needed = earlier.isPastBarrier
                        ? Ordering::None
                        : orderingOfGlobal(earlier, dyn_cast<MemoryAccess>(later), facts);
  if (!earlier.isPastBarrier)
    needed = std::max(needed, orderingOfBlocks(earlier.op, later));
  // The loader waits for the releases of all warps, each behind what its own lanes did. Products
  // were awaited by all of them.
  if (isa<ReleaseOp>(later) && isa<MmaAsyncOp>(earlier.op))
    return Ordering::None;
  // Each warp copies the same rows, in order.
  bool copyRows = isa<ArrayCopyOp>(earlier.op) && isa<ArrayCopyOp>(later);
  for (const SharedAccessOf &a : sharedAccessesOf(earlier.op))
    for (const SharedAccessOf &b : sharedAccessesOf(later))
      if (!areInDifferentSlots(a, b, earlier) &&
          !((earlier.isPastBarrier || copyRows) && a.buffer == b.buffer))
        needed = std::max(needed, orderingOfShared(a, b));
  return isa<ReleaseOp>(later) ? std::min(needed, Ordering::Warp) : needed;
}

Ordering PendingAccesses::neededBefore(Operation *op, unsigned numWarps,
                                       const IndexFacts &facts) const {
  Ordering needed = Ordering::None;
  for (const Access &access : accesses) {
    Ordering ordering = orderingOf(access, op, facts);
    if (numWarps == 1)
      ordering = std::min(ordering, Ordering::Warp);
    if (ordering == Ordering::Warp && access.isOrderedInWarp && !access.isInFlight)
      continue;
    needed = std::max(needed, ordering);
  }
  return needed;
}

static bool accessesSlot(Operation *op) {
  return llvm::any_of(sharedAccessesOf(op),
                      [](SharedAccessOf access) { return access.slot.getOperation() != nullptr; });
}

/// Returns true if the pointers of an access to global memory may differ in each iteration of a
/// loop.
static bool hasPointersOf(Operation *loop, Operation *op) {
  auto access = dyn_cast<MemoryAccess>(op);
  return access && loop->isAncestor(access.getPointers().getParentRegion()->getParentOp());
}

void PendingAccesses::beginNextIteration(Operation *loop) {
  for (Access &access : accesses)
    if (loop->isProperAncestor(access.op) &&
        (accessesSlot(access.op) || hasPointersOf(loop, access.op)))
      access.loops.insert(loop);
}

void PendingAccesses::add(Operation *op) {
  if (auto wait = dyn_cast<AsyncWaitOp>(op); wait && wait.getPending() == 0)
    for (Access &access : accesses)
      if (access.isInFlight)
        access.isInFlight = access.isPastBarrier = access.isOrderedInWarp = false;
  // A thread that has awaited boxes needs no barrier behind them.
  if (isa<BoxCopyOp, ReleaseOp>(op) ||
      (sharedAccessesOf(op).empty() && !isa<MemoryAccess, LoadBlocksOp>(op)))
    return;
  auto *found = llvm::find_if(accesses, [&](const Access &access) { return access.op == op; });
  if (found == accesses.end())
    found = &accesses.emplace_back(Access{op});
  if (found->isPastBarrier) // of the copies before it, only that they are in flight counts
    found->loops.clear();
  found->isOrderedInWarp = found->isPastBarrier = false;
  found->isInFlight = isa<AsyncCopyOp, ArrayCopyOp>(op);
}

void PendingAccesses::order(Ordering barrier) {
  if (barrier == Ordering::Cta)
    llvm::erase_if(accesses, [](const Access &access) { return !access.isInFlight; });
  for (Access &access : accesses)
    (barrier == Ordering::Cta ? access.isPastBarrier : access.isOrderedInWarp) = true;
}

void PendingAccesses::merge(const PendingAccesses &other) {
  for (const Access &access : other.accesses) {
    auto *found = llvm::find_if(accesses, [&](const Access &a) { return a.op == access.op; });
    if (found == accesses.end()) {
      accesses.push_back(access);
      continue;
    }
    found->isOrderedInWarp &= access.isOrderedInWarp;
    found->isPastBarrier &= access.isPastBarrier;
    found->isInFlight |= access.isInFlight;
    found->loops.insert(access.loops.begin(), access.loops.end());
  }
}

bool PendingAccesses::operator==(const PendingAccesses &other) const {
  auto holds = [](const PendingAccesses &set, const Access &wanted) {
    return llvm::any_of(set.accesses, [&](const Access &access) {
      return access.op == wanted.op && access.isOrderedInWarp == wanted.isOrderedInWarp &&
             access.loops == wanted.loops && access.isInFlight == wanted.isInFlight &&
             access.isPastBarrier == wanted.isPastBarrier;
    });
  };
  return accesses.size() == other.accesses.size() &&
         llvm::all_of(accesses, [&](const Access &access) { return holds(other, access); });
}
