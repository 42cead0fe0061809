// Follows asynchronous copies and their groups through the structured control flow of a kernel.
#include "passes/analysis/CopiesInFlight.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "passes/analysis/SharedLiveness.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

//===-- Groups along the paths of a kernel ---------------------------------------------------===//

namespace {
/// The copies since the last commit, and the groups that were committed last, newest first. The
/// last of them stands for all older ones, too.
template <typename Group> struct CopyGroups {
  Group open = {};
  SmallVector<Group, 4> groups = {};

  void commit(unsigned mostPending) {
    groups.insert(groups.begin(), std::exchange(open, {}));
    if (groups.size() <= mostPending + 1)
      return;
    Group oldest = groups.pop_back_val();
    groups.back().absorb(oldest);
  }
  void wait(unsigned pending) { groups.truncate(std::min<size_t>(groups.size(), pending)); }
  /// Becomes what holds where this path and another one meet.
  void join(const CopyGroups &other) {
    open.join(other.open);
    for (auto [own, theirs] : llvm::zip(groups, other.groups))
      own.join(theirs);
    if (groups.size() < other.groups.size())
      groups.append(other.groups.begin() + groups.size(), other.groups.end());
  }
  template <typename Change> void forEach(Change change) {
    change(open);
    for (Group &group : groups)
      change(group);
  }
  bool operator==(const CopyGroups &) const = default;
};

/// A walk along all paths. `Walk` has `visit(op, state)` for operations without regions, and says
/// what changes where a loop is entered and goes on to its next iteration.
template <typename Walk, typename State> class PathWalk {
public:
  State afterBlock(Block &block, State state) {
    for (Operation &op : block)
      state = after(&op, std::move(state));
    return state;
  }

private:
  State after(Operation *op, State state) {
    return llvm::TypeSwitch<Operation *, State>(op)
        .Case([&](scf::WhileOp loop) {
          State begin = atHead(loop, std::move(state), [&](State at) {
            return afterBlock(*loop.getAfterBody(),
                              afterBlock(*loop.getBeforeBody(), std::move(at)));
          });
          return afterBlock(*loop.getBeforeBody(), std::move(begin));
        })
        .Case([&](LoopLikeOpInterface loop) {
          Block &body = loop.getLoopRegions().front()->front();
          State end =
              atHead(loop, state, [&](State at) { return afterBlock(body, std::move(at)); });
          end.join(state); // of no iteration
          return end;
        })
        .Case([&](scf::IfOp branch) {
          State taken = afterBlock(*branch.thenBlock(), state);
          taken.join(branch.elseBlock() ? afterBlock(*branch.elseBlock(), state) : state);
          return taken;
        })
        .Case([&](LoaderOp) { return state; }) // whose copies start at releases
        .Default([&](Operation *) {
          walk().visit(op, state);
          return state;
        });
  }
  /// Repeats a loop's body until what is in flight where it begins is the same in all iterations.
  State atHead(Operation *loop, State state, llvm::function_ref<State(State)> afterIteration) {
    walk().enter(loop, state);
    while (true) {
      State next = state, again = afterIteration(state);
      walk().goOn(loop, again);
      next.join(again);
      if (next == state)
        return state;
      state = std::move(next);
    }
  }
  Walk &walk() { return *static_cast<Walk *>(this); }
};

/// Far above what pipelines have; all older groups count as one.
constexpr unsigned kMostGroups = 64;

unsigned mostPendingOf(Operation *kernel) {
  unsigned most = 0;
  kernel->walk([&](AsyncWaitOp wait) { most = std::max(most, wait.getPending()); });
  return std::min(most, kMostGroups);
}
} // namespace

//===-- Counts -------------------------------------------------------------------------------===//

namespace {
/// The least number of copies.
struct CopyCount {
  CopyCounts count;
  void join(const CopyCount &other) {
    count.ofLanes = std::min(count.ofLanes, other.count.ofLanes);
    count.ofArrays = std::min(count.ofArrays, other.count.ofArrays);
  }
  void absorb(const CopyCount &) {} // older ones than any wait asks for
  bool operator==(const CopyCount &) const = default;
};

struct CountWalk : PathWalk<CountWalk, CopyGroups<CopyCount>> {
  using State = CopyGroups<CopyCount>;
  unsigned mostPending;
  DenseMap<Operation *, CopyCounts> &counts;

  CountWalk(unsigned mostPending, DenseMap<Operation *, CopyCounts> &counts)
      : mostPending(mostPending), counts(counts) {}
  void visit(Operation *op, State &state) {
    if (isa<GlobalToSharedOp>(op))
      ++state.open.count.ofLanes;
    else if (isa<CopyArrayOp>(op))
      ++state.open.count.ofArrays;
    else if (isa<AsyncCommitOp>(op))
      state.commit(mostPending);
    else if (auto wait = dyn_cast<AsyncWaitOp>(op))
      counts[wait] = startedSince(state, wait.getPending());
  }
  static CopyCounts startedSince(const State &state, unsigned pending) {
    CopyCounts sum = state.open.count;
    for (const CopyCount &group : ArrayRef(state.groups).take_front(pending)) {
      sum.ofLanes += group.count.ofLanes;
      sum.ofArrays += group.count.ofArrays;
    }
    return sum;
  }
  void enter(Operation *, State &) {}
  void goOn(Operation *, State &) {}
};
} // namespace

CopiesInFlight::CopiesInFlight(Operation *kernel) {
  CountWalk walk(mostPendingOf(kernel), counts);
  for (Region &region : kernel->getRegions())
    for (Block &block : region)
      walk.afterBlock(block, {});
}

//===-- Slots --------------------------------------------------------------------------------===//

namespace {
/// The slot that an access uses, as far as it is known.
struct UsedSlot {
  enum class Kind { Unknown, Number, Ahead };
  Operation *buffer = nullptr;
  Kind kind = Kind::Unknown;
  int64_t value = 0; // a number, or how far ahead of the iteration's first slot

  auto operator<=>(const UsedSlot &) const = default;
};

/// The slots that the copies of a group write.
struct CopySet {
  SmallVector<UsedSlot, 4> slots = {}; // sorted
  void insert(const UsedSlot &slot) {
    auto *place = llvm::lower_bound(slots, slot);
    if (place == slots.end() || *place != slot)
      slots.insert(place, slot);
  }
  void join(const CopySet &other) {
    for (const UsedSlot &slot : other.slots)
      insert(slot);
  }
  void absorb(const CopySet &other) { join(other); }
  template <typename Change> void change(Change change) {
    for (const UsedSlot &slot : std::exchange(slots, {}))
      insert(change(slot));
  }
  bool operator==(const CopySet &) const = default;
};

/// A box that is on its way to a slot, until the phase of its barrier has been awaited.
struct BoxInFlight {
  UsedSlot slot, barrier;
  bool operator==(const BoxInFlight &) const = default;
};

/// The copies in flight on one path.
struct InFlight {
  CopyGroups<CopySet> groups;
  SmallVector<BoxInFlight, 4> boxes = {};

  void join(const InFlight &other) {
    groups.join(other.groups);
    for (const BoxInFlight &box : other.boxes)
      if (!llvm::is_contained(boxes, box))
        boxes.push_back(box);
  }
  /// Renames slots as they are called elsewhere.
  template <typename Change> void change(Change change) {
    groups.forEach([&](CopySet &group) { group.change(change); });
    InFlight renamed;
    for (const BoxInFlight &box : std::exchange(boxes, {}))
      renamed.boxes.push_back({change(box.slot), change(box.barrier)});
    join(renamed);
  }
  bool operator==(const InFlight &) const = default;
};

int64_t slotsOf(Operation *buffer) { return cast<AllocSharedOp>(buffer).getSlots().value_or(1); }

/// Finds the slot of a buffer that an operation uses.
UsedSlot slotOf(Value buffer, Operation *access) {
  auto slot = buffer.getDefiningOp<SlotOp>();
  UsedSlot used{allocOf(buffer)};
  APInt number;
  if (!used.buffer)
    return used; // only a user's text has such buffers
  if (!slot)
    used.kind = UsedSlot::Kind::Number;
  else if (matchPattern(slot.getNumber(), m_ConstantInt(&number)))
    used = {used.buffer, UsedSlot::Kind::Number, number.getSExtValue()};
  else if (slot.getPhase() && slot->getParentOfType<LoopLikeOpInterface>() ==
                                  access->getParentOfType<LoopLikeOpInterface>())
    used = {used.buffer, UsedSlot::Kind::Ahead, llvm::mod(*slot.getPhase(), slotsOf(used.buffer))};
  return used;
}

/// Where a loop begins in a ring that it goes through: at the slot of a number, less a phase.
struct RingPlace {
  Value number;
  int64_t phase = 0;
};

std::optional<RingPlace> beginOf(Operation *loop, Operation *buffer) {
  auto counted = dyn_cast<scf::ForOp>(loop);
  for (Operation *user : buffer->getUsers()) {
    auto slot = dyn_cast<SlotOp>(user);
    auto argument = slot ? dyn_cast<BlockArgument>(slot.getNumber()) : BlockArgument();
    if (counted && argument && argument.getOwner() == counted.getBody() && slot.getPhase() &&
        argument != counted.getInductionVar())
      return RingPlace{counted.getTiedLoopInit(argument)->get(), int64_t(*slot.getPhase())};
  }
  return std::nullopt;
}

/// Returns the number with which the first loop begins that goes through the ring, for one that
/// goes on there: what loops carry to it.
std::optional<int64_t> firstNumber(Value number, Operation *buffer) {
  APInt constant;
  if (matchPattern(number, m_ConstantInt(&constant)))
    return constant.getSExtValue();
  auto goesThrough = [&](Operation *loop) {
    return loop
        ->walk([&](SlotOp slot) {
          return allocOf(slot) == buffer && slot.getPhase() ? WalkResult::interrupt()
                                                            : WalkResult::advance();
        })
        .wasInterrupted();
  };
  auto argument = dyn_cast<BlockArgument>(number);
  Operation *op = argument ? argument.getOwner()->getParentOp() : number.getDefiningOp();
  if (auto branch = dyn_cast<scf::IfOp>(op)) // around a loop that may have no iteration
    return firstNumber(branch.thenYield()->getOperand(cast<OpResult>(number).getResultNumber()),
                       buffer);
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop || number == loop.getInductionVar() || !goesThrough(loop))
    return std::nullopt;
  OpOperand *init =
      argument ? loop.getTiedLoopInit(argument) : loop.getTiedLoopInit(cast<OpResult>(number));
  return firstNumber(init->get(), buffer);
}

struct SlotWalk : PathWalk<SlotWalk, InFlight> {
  using State = InFlight;
  unsigned mostPending;
  SetVector<Operation *> &early; // what copies in flight are to be awaited before

  SlotWalk(unsigned mostPending, SetVector<Operation *> &early)
      : mostPending(mostPending), early(early) {}
  void visit(Operation *op, State &state) {
    if (isa<AsyncCommitOp>(op))
      state.groups.commit(mostPending);
    else if (auto wait = dyn_cast<AsyncWaitOp>(op))
      state.groups.wait(wait.getPending());
    if (isa<SlotOp>(op))
      return;
    if (auto phase = dyn_cast<PhaseAwaitOp>(op)) {
      UsedSlot barrier = slotOf(phase.getBarrier(), op);
      llvm::erase_if(state.boxes, [&](const BoxInFlight &box) { return box.barrier == barrier; });
      return;
    }
    // No box of an iteration that does not exist has been started.
    if (auto drop = dyn_cast<PhaseDropOp>(op)) {
      Operation *barriers = allocOf(drop.getBarrier());
      llvm::erase_if(state.boxes,
                     [&](const BoxInFlight &box) { return box.barrier.buffer == barriers; });
    }
    if (isa<func::ReturnOp>(op) && isAnyInFlight(state))
      early.insert(op);
    for (Value operand : op->getOperands())
      if (isa<SharedType>(operand.getType()) && isInFlight(slotOf(operand, op), state))
        early.insert(op);
    if (auto copy = dyn_cast<AsyncCopyOp>(op))
      state.groups.open.insert(slotOf(copy.getBuffer(), op));
    if (auto copy = dyn_cast<ArrayCopyOp>(op))
      state.groups.open.insert(slotOf(copy.getBuffer(), op));
    llvm::TypeSwitch<Operation *>(op).Case<BoxCopyOp, ReleaseOp>([&](auto boxes) {
      for (Value buffer : boxes.getBuffers())
        state.boxes.push_back({slotOf(buffer, op), slotOf(boxes.getBarrier(), op)});
    });
  }
  static bool isAnyInFlight(State &state) {
    bool isFound = false;
    state.groups.forEach([&](CopySet &group) { isFound |= !group.slots.empty(); });
    return isFound;
  }
  static bool isInFlight(const UsedSlot &slot, State &state) {
    auto isSame = [&](const UsedSlot &copied) {
      if (copied.buffer == slot.buffer || !copied.buffer || !slot.buffer)
        return copied == slot && slot.kind != UsedSlot::Kind::Unknown;
      return shareBytes(cast<AllocSharedOp>(copied.buffer), cast<AllocSharedOp>(slot.buffer));
    };
    bool isFound =
        llvm::any_of(state.boxes, [&](const BoxInFlight &box) { return isSame(box.slot); });
    state.groups.forEach([&](CopySet &group) { isFound |= llvm::any_of(group.slots, isSame); });
    return isFound;
  }
  /// How far ahead a slot is stays known where a loop goes on in a ring.
  void enter(Operation *loop, State &state) {
    state.change([&](UsedSlot slot) {
      if (slot.kind == UsedSlot::Kind::Unknown)
        return slot;
      std::optional<RingPlace> begin = beginOf(loop, slot.buffer);
      if (!begin)
        return slot;
      std::optional<int64_t> first = firstNumber(begin->number, slot.buffer);
      bool isNew = matchPattern(begin->number, m_Constant());
      if (slot.kind == UsedSlot::Kind::Ahead)
        return isNew || !first ? UsedSlot{slot.buffer} : slot;
      if (!first)
        return slot;
      int64_t ahead = slot.value - (*first - begin->phase);
      return UsedSlot{slot.buffer, UsedSlot::Kind::Ahead, llvm::mod(ahead, slotsOf(slot.buffer))};
    });
  }
  void goOn(Operation *loop, State &state) {
    state.change([&](UsedSlot slot) {
      if (slot.kind == UsedSlot::Kind::Ahead && beginOf(loop, slot.buffer))
        slot.value = llvm::mod(slot.value - 1, slotsOf(slot.buffer));
      return slot;
    });
  }
};
} // namespace

/// Returns true if a loader waits until all warps have released the slots that a copy overwrites.
static bool isReleased(BoxCopyOp copy) {
  auto numberOf = [](Value buffer) {
    auto slot = buffer.getDefiningOp<SlotOp>();
    return slot ? slot.getNumber() : Value();
  };
  auto releases = [&](ReleaseOp release, PhaseAwaitOp phase) {
    return allocOf(release.getFree()) == allocOf(phase.getBarrier()) &&
           llvm::all_of(copy.getBuffers(), [&](Value buffer) {
             return numberOf(buffer) == numberOf(phase.getBarrier()) &&
                    llvm::any_of(release.getBuffers(), [&](Value released) {
                      return allocOf(released) == allocOf(buffer);
                    });
           });
  };
  bool isFound = false;
  for (Operation *at = copy; at; at = dyn_cast<scf::IfOp>(at->getParentOp()))
    for (Operation *op = at; op; op = op->getPrevNode())
      if (auto phase = dyn_cast<PhaseAwaitOp>(op))
        copy->getParentOfType<func::FuncOp>()->walk(
            [&](ReleaseOp release) { isFound |= releases(release, phase); });
  return isFound;
}

SetVector<Operation *> tw::reachedInFlight(Operation *root) {
  SetVector<Operation *> early;
  root->walk([&](LoaderOp loader) {
    loader.walk([&](BoxCopyOp copy) {
      if (!isReleased(copy))
        early.insert(copy);
    });
  });
  root->walk([&](func::FuncOp kernel) {
    WalkResult found = kernel.walk([](Operation *op) {
      return isa<AsyncCopyOp, ArrayCopyOp, BoxCopyOp, ReleaseOp>(op) ? WalkResult::interrupt()
                                                                     : WalkResult::advance();
    });
    if (!found.wasInterrupted())
      return;
    SlotWalk walk(mostPendingOf(kernel), early);
    for (Block &block : kernel.getBody())
      walk.afterBlock(block, {});
  });
  return early;
}
