// Follows products that run by themselves through the structured control flow of a kernel.
#include "passes/analysis/ProductsInFlight.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/analysis/SharedLiveness.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static bool isBarrierOfCta(Operation *op) {
  auto barrier = dyn_cast<simt::BarrierOp>(op);
  return barrier && !barrier.getWarp();
}

//===-- Products in flight -------------------------------------------------------------------===//

namespace {
/// A product that may be in flight.
struct Flight {
  MmaAsyncOp product;
  Value accumulator;  // where it has a value: none once another product adds to it
  unsigned age = 0;   // iterations since, of the loop around it
  unsigned newer = 0; // products that were started after it on every path
  bool isSame(const Flight &other) const {
    return product == other.product && accumulator == other.accumulator && age == other.age;
  }
};

/// Ages and numbers of newer products above this count as this.
constexpr unsigned kMostCounted = kMostProductsLeft;

struct Flights {
  SmallVector<Flight> all;

  void add(const Flight &flight) {
    auto *found = llvm::find_if(all, [&](const Flight &own) { return own.isSame(flight); });
    if (found == all.end())
      all.push_back(flight);
    else
      found->newer = std::min(found->newer, flight.newer);
  }
  void start(MmaAsyncOp product) {
    for (Flight &flight : all)
      flight.newer = std::min(flight.newer + 1, kMostCounted);
    add({product, product.getResult()});
  }
  void wait(unsigned pending) {
    llvm::erase_if(all, [&](const Flight &flight) { return flight.newer >= pending; });
  }
  void join(const Flights &other) {
    for (const Flight &flight : other.all)
      add(flight);
  }
  /// Names accumulators as they are called elsewhere; those without a name there have no value.
  template <typename Rename> Flights renamed(Rename rename, unsigned older) const {
    Flights result;
    for (Flight flight : all) {
      if (flight.accumulator)
        flight.accumulator = rename(flight.accumulator);
      flight.age = std::min(flight.age + older, kMostCounted);
      result.add(flight);
    }
    return result;
  }
  bool operator==(const Flights &other) const {
    return all.size() == other.all.size() && llvm::all_of(all, [&](const Flight &own) {
             return llvm::any_of(other.all, [&](const Flight &flight) {
               return own.isSame(flight) && own.newer == flight.newer;
             });
           });
  }
};
} // namespace

//===-- Operands that are overwritten --------------------------------------------------------===//

namespace {
/// A write to shared memory that may follow a barrier, with no other one between.
struct LaterWrite {
  Value buffer;
  // From the barrier's to its own, of the loop around the barrier; kMostCounted elsewhere.
  unsigned iterations = 0;
  Operation *loop = nullptr; // around the barrier
};
} // namespace

static Operation *loopAround(Operation *op) { return op->getParentOfType<LoopLikeOpInterface>(); }

static SmallVector<Value> writtenBuffers(Operation *op) {
  if (auto store = dyn_cast<StoreSharedOp>(op))
    return {store.getBuffer()};
  if (auto copy = dyn_cast<AsyncCopyOp>(op))
    return {copy.getBuffer()};
  if (auto release = dyn_cast<ReleaseOp>(op))
    return llvm::to_vector(release.getBuffers());
  auto boxes = dyn_cast<BoxCopyOp>(op);
  return boxes ? llvm::to_vector(boxes.getBuffers()) : SmallVector<Value>();
}

/// Collects writes from `op` on until the next barrier. Returns true if the block ends before one.
static bool collectInBlock(Operation *op, unsigned iterations,
                           SmallVectorImpl<LaterWrite> &writes) {
  for (; op; op = op->getNextNode()) {
    if (isBarrierOfCta(op))
      return false;
    for (Value buffer : writtenBuffers(op))
      writes.push_back({buffer, iterations});
    for (Region &region : op->getRegions())
      if (!region.empty())
        collectInBlock(&region.front().front(), kMostCounted, writes);
  }
  return true;
}

/// Collects writes behind a barrier until the next one, also around loops.
static SmallVector<LaterWrite> writesBehind(Operation *barrier) {
  SmallVector<LaterWrite> writes;
  unsigned iterations = 0;
  for (Operation *op = barrier; collectInBlock(op->getNextNode(), iterations, writes);) {
    op = op->getParentOp();
    if (isa<func::FuncOp>(op))
      break;
    if (isa<LoopLikeOpInterface>(op))
      for (Region &region : op->getRegions())
        collectInBlock(&region.front().front(),
                       iterations == 0 && isa<scf::ForOp>(op) ? 1 : kMostCounted, writes);
    iterations = kMostCounted;
  }
  for (LaterWrite &write : writes)
    write.loop = loopAround(barrier);
  return writes;
}

/// Returns true if a product has read another slot of a ring than a later write is to: both, and
/// the barrier between, belong to the loop of the ring.
static bool areOtherSlots(const Flight &flight, Value read, const LaterWrite &write) {
  auto first = read.getDefiningOp<SlotOp>(), second = write.buffer.getDefiningOp<SlotOp>();
  if (!first || !second || !first.getPhase() || !second.getPhase() || flight.age == kMostCounted ||
      write.iterations == kMostCounted)
    return false;
  if (!write.loop || loopAround(first) != write.loop || loopAround(second) != write.loop ||
      loopAround(flight.product) != write.loop)
    return false;
  int64_t slots = allocOf(read).getSlots().value_or(1);
  int64_t apart = int64_t(*second.getPhase()) - int64_t(*first.getPhase());
  return (apart + write.iterations + flight.age) % slots != 0;
}

static bool overwrites(const LaterWrite &write, const Flight &flight) {
  MmaAsyncOp product = flight.product;
  for (Value read : {product.getA(), Value(product.getB())}) {
    if (!isa<SharedType>(read.getType()) || !shareBytes(allocOf(read), allocOf(write.buffer)))
      continue;
    if (allocOf(read) != allocOf(write.buffer) || !areOtherSlots(flight, read, write))
      return true;
  }
  return false;
}

//===-- Waits --------------------------------------------------------------------------------===//

namespace {
/// Walks a kernel with the products in flight, and finds where to wait for how many of them.
class Waits {
public:
  explicit Waits(func::FuncOp kernel) { walk(kernel.getBody().front(), {}); }

  llvm::MapVector<Operation *, ProductWait> waits;

private:
  Flights walk(Block &block, Flights flights);
  Flights visit(Operation *op, Flights flights);
  Flights visitLoop(scf::ForOp loop, const Flights &entry);
  Flights visitBranch(scf::IfOp branch, const Flights &entry);
  Flights visitRegions(Operation *op, const Flights &entry);
  void startProduct(MmaAsyncOp product, Flights &flights);
  void awaitOverwritten(Operation *op, ArrayRef<LaterWrite> writes, Flights &flights);
  void needAccumulators(Operation *op, Flights &flights,
                        llvm::function_ref<bool(OpOperand &)> passesOn);
  void awaitBefore(Operation *op, unsigned pending, Flights &flights);
};
} // namespace

/// Waits for all but `pending` products. An accumulator that an earlier iteration's product leaves
/// is read after a wait for all: assemblers count groups within an iteration (ptxas, C7514).
void Waits::awaitBefore(Operation *op, unsigned pending, Flights &flights) {
  if (llvm::any_of(flights.all, [&](const Flight &flight) {
        return flight.newer >= pending && flight.accumulator && flight.age > 0;
      }))
    pending = 0;
  ProductWait &wait = waits.try_emplace(op, ProductWait{pending, {}}).first->second;
  wait.pending = std::min(wait.pending, pending);
  for (const Flight &flight : flights.all)
    if (flight.newer >= pending && flight.accumulator &&
        !llvm::is_contained(wait.accumulators, flight.accumulator))
      wait.accumulators.push_back(flight.accumulator);
  flights.wait(pending);
}

/// Waits for the products whose accumulators an operation needs, except for uses that leave them in
/// flight.
void Waits::needAccumulators(Operation *op, Flights &flights,
                             llvm::function_ref<bool(OpOperand &)> passesOn) {
  std::optional<unsigned> pending;
  for (const Flight &flight : flights.all) {
    if (!flight.accumulator)
      continue;
    for (OpOperand &use : flight.accumulator.getUses())
      if (op->isAncestor(use.getOwner()) && !passesOn(use))
        pending = std::min(pending.value_or(flight.newer), flight.newer);
  }
  if (pending)
    awaitBefore(op, *pending, flights);
}

/// Returns true if an accumulator can stay in flight on its way to its only use. Elements narrower
/// than registers would be unpacked and packed.
static bool mayStayInFlight(Value accumulator) {
  return accumulator.hasOneUse() &&
         tile::elementTypeOf(accumulator.getType()).getIntOrFloatBitWidth() >= 32;
}

/// Products with partial sums wait for all that are in flight, and leave none.
void Waits::startProduct(MmaAsyncOp product, Flights &flights) {
  if (product.getPartialDepth()) {
    if (!flights.all.empty())
      awaitBefore(product, 0, flights);
    return;
  }
  needAccumulators(product, flights, [&](OpOperand &use) {
    return &use == &product.getAccMutable() && mayStayInFlight(use.get());
  });
  for (Flight &flight : flights.all)
    if (flight.accumulator == product.getAcc())
      flight.accumulator = Value();
  flights.start(product);
}

void Waits::awaitOverwritten(Operation *op, ArrayRef<LaterWrite> writes, Flights &flights) {
  std::optional<unsigned> pending;
  for (const Flight &flight : flights.all)
    if (llvm::any_of(writes, [&](const LaterWrite &write) { return overwrites(write, flight); }))
      pending = std::min(pending.value_or(flight.newer), flight.newer);
  if (pending)
    awaitBefore(op, *pending, flights);
}

/// Returns true if a left operand in registers may still be read when the next iteration begins: it
/// is computed there from another product, the wait for which is one for this product, too.
static bool mayReadRegisters(MmaAsyncOp product, scf::ForOp loop) {
  if (isa<SharedType>(product.getA().getType()))
    return true;
  llvm::SetVector<Operation *> makers;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return loop->isProperAncestor(op); };
  (void)getBackwardSlice(product.getA(), &makers, options);
  return llvm::any_of(makers, llvm::IsaPred<MmaAsyncOp>);
}

Flights Waits::visitLoop(scf::ForOp loop, const Flights &entry) {
  Block *body = loop.getBody();
  auto yield = cast<scf::YieldOp>(body->getTerminator());
  auto renaming = [](OperandRange from, ValueRange to) {
    return [=](Value value) {
      auto found = llvm::find(from, value);
      return found == from.end() ? Value() : to[found - from.begin()];
    };
  };
  Flights begin =
      entry.renamed(renaming(loop.getInitArgs(), loop.getRegionIterArgs()), kMostCounted);
  Flights head = begin, end;
  static constexpr unsigned kExactRounds = 8;
  for (unsigned round = 0;; ++round) {
    end = walk(*body, head);
    for (const Flight &flight : llvm::to_vector(end.all))
      if (!mayReadRegisters(flight.product, loop))
        awaitBefore(yield, flight.newer, end);
    Flights next = begin;
    next.join(end.renamed(renaming(yield.getOperands(), loop.getRegionIterArgs()), 1));
    // A wait for one product may cover another, and so take itself away: later it may only grow.
    if (round >= kExactRounds)
      next.join(head);
    if (next == head)
      break;
    head = std::move(next);
  }
  auto named = renaming(loop.getInitArgs(), loop.getResults());
  Flights exit =
      entry.renamed([&](Value value) { return named(value) ? named(value) : value; }, kMostCounted);
  exit.join(end.renamed(renaming(yield.getOperands(), loop.getResults()), kMostCounted));
  return exit;
}

/// Returns true if a branch only passes a value on, behind waits of its own.
static bool isPassedOn(Value value, scf::IfOp branch) {
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    return isa<scf::YieldOp, MmaWaitOp>(user) && user->getParentOp() == branch;
  });
}

/// Follows both branches. What a branch has started leaves it in flight, by value; what it passes
/// on of others is awaited inside, behind what it starts.
Flights Waits::visitBranch(scf::IfOp branch, const Flights &entry) {
  Flights exit;
  for (Region &region : branch->getRegions()) {
    if (region.empty()) {
      exit.join(entry);
      continue;
    }
    OperandRange yielded = region.front().getTerminator()->getOperands();
    exit.join(walk(region.front(), entry)
                  .renamed(
                      [&](Value value) {
                        auto found = llvm::find(yielded, value);
                        bool isInside = region.isAncestor(value.getParentRegion());
                        return found != yielded.end() ? branch.getResult(found - yielded.begin())
                               : isInside             ? Value()
                                                      : value;
                      },
                      0));
  }
  for (const Flight &flight : entry.all) // needed behind both
    if (flight.accumulator && !isPassedOn(flight.accumulator, branch))
      exit.add(flight);
  return exit;
}

/// Other regions: no accumulator in flight enters or leaves them by value.
Flights Waits::visitRegions(Operation *op, const Flights &entry) {
  Flights flights = entry, before;
  do {
    before = flights;
    for (Region &region : op->getRegions())
      if (!region.empty())
        flights.join(walk(region.front(), flights.renamed([](Value) { return Value(); }, 0))
                         .renamed([](Value) { return Value(); }, kMostCounted));
  } while (!(flights == before));
  return flights;
}

/// Returns true if an accumulator stays in flight on its way through an operation: loops carry it,
/// and their branches let out what they started. What a branch passes on is awaited inside.
static bool passesOn(Operation *op, OpOperand &use) {
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return isPassedOn(use.get(), branch);
  if (use.getOwner() != op || !mayStayInFlight(use.get()))
    return false;
  Operation *around = isa<scf::YieldOp>(op) ? op->getParentOp() : op;
  return isa<scf::ForOp>(around) ||
         (isa<scf::IfOp>(around) && op->getBlock() == use.get().getParentBlock() &&
          loopAround(around));
}

Flights Waits::visit(Operation *op, Flights flights) {
  waits.erase(op);
  if (auto wait = dyn_cast<MmaWaitOp>(op))
    flights.wait(wait.getPending());
  if (auto product = dyn_cast<MmaAsyncOp>(op)) {
    startProduct(product, flights);
    return flights;
  }
  needAccumulators(op, flights, [&](OpOperand &use) { return passesOn(op, use); });
  if (isBarrierOfCta(op) && !flights.all.empty())
    awaitOverwritten(op, writesBehind(op), flights);
  else if (SmallVector<Value> buffers = writtenBuffers(op); !buffers.empty()) // behind no barrier
    awaitOverwritten(
        op,
        llvm::map_to_vector(buffers,
                            [&](Value buffer) { return LaterWrite{buffer, 0, loopAround(op)}; }),
        flights);
  else if (isa<func::ReturnOp>(op) && !flights.all.empty())
    awaitBefore(op, 0, flights);
  else if (auto loop = dyn_cast<scf::ForOp>(op))
    return visitLoop(loop, flights);
  else if (auto branch = dyn_cast<scf::IfOp>(op))
    return visitBranch(branch, flights);
  else if (op->getNumRegions() != 0 && !isa<LoaderOp>(op)) // which overwrites what was released
    return visitRegions(op, flights);
  return flights;
}

Flights Waits::walk(Block &block, Flights flights) {
  for (Operation &op : block)
    flights = visit(&op, std::move(flights));
  return flights;
}

//===-- Fences -------------------------------------------------------------------------------===//

namespace {
/// Walks a kernel with the buffers that this thread writes and has not fenced.
class Fences {
public:
  explicit Fences(func::FuncOp kernel);

  llvm::SetVector<Operation *> fenced; // barriers, and products that no barrier goes before

private:
  using Buffers = llvm::DenseSet<Operation *>;
  struct State {
    Buffers copying, written;
    void join(const State &other) {
      copying.insert(other.copying.begin(), other.copying.end());
      written.insert(other.written.begin(), other.written.end());
    }
    bool operator==(const State &) const = default;
  };
  State walk(Block &block, State state);
  State visit(Operation *op, State state);

  Buffers read; // by products, and stores of boxes
};
} // namespace

/// Returns the buffers that an operation reads as products do: beside what threads write.
static SmallVector<Operation *> buffersReadBy(Operation *op) {
  if (auto store = dyn_cast<BoxStoreOp>(op))
    return {allocOf(store.getBuffer())};
  auto product = dyn_cast<MmaAsyncOp>(op);
  if (!product)
    return {};
  SmallVector<Operation *> buffers = {allocOf(product.getB())};
  if (isa<SharedType>(product.getA().getType()))
    buffers.push_back(allocOf(product.getA()));
  return buffers;
}

Fences::Fences(func::FuncOp kernel) {
  kernel.walk([&](Operation *op) { read.insert_range(buffersReadBy(op)); });
  if (!read.empty())
    walk(kernel.getBody().front(), {});
}

Fences::State Fences::walk(Block &block, State state) {
  for (Operation &op : block)
    state = visit(&op, std::move(state));
  return state;
}

Fences::State Fences::visit(Operation *op, State state) {
  if (op->getNumRegions() != 0 && !isa<LoaderOp>(op)) {
    State before;
    do {
      before = state;
      for (Region &region : op->getRegions())
        if (!region.empty())
          state.join(walk(region.front(), state));
    } while (!(before == state));
    return state;
  }
  bool needsFence = isBarrierOfCta(op) && !state.written.empty();
  // Copies of boxes need no fence: they write as products read.
  SmallVector<Value> buffers =
      isa<BoxCopyOp, ReleaseOp>(op) ? SmallVector<Value>() : writtenBuffers(op);
  for (Value buffer : buffers)
    if (read.contains(allocOf(buffer)))
      (isa<AsyncCopyOp>(op) ? state.copying : state.written).insert(allocOf(buffer));
  if (auto wait = dyn_cast<AsyncWaitOp>(op)) {
    state.written.insert(state.copying.begin(), state.copying.end());
    if (wait.getPending() == 0)
      state.copying.clear();
  } else if (!needsFence) {
    needsFence = llvm::any_of(buffersReadBy(op),
                              [&](Operation *buffer) { return state.written.contains(buffer); });
  }
  if (needsFence)
    fenced.insert(op);
  if (needsFence || isa<FenceAsyncOp>(op))
    state.written.clear();
  return state;
}

ProductNeeds tw::missingWaits(func::FuncOp kernel) {
  return {Waits(kernel).waits, Fences(kernel).fenced};
}

LogicalResult
tw::checkProductsInFlight(func::FuncOp kernel,
                          llvm::function_ref<InFlightDiagnostic(Operation *)> report) {
  if (kernel.isExternal())
    return success();
  ProductNeeds missing = missingWaits(kernel);
  if (!missing.waits.empty())
    return report(missing.waits.front().first)
           << "is reached while a product is in flight that it needs, or whose operands may be "
              "overwritten behind it";
  if (!missing.fences.empty())
    return report(missing.fences.front())
           << "is reached without a fence behind the writing of what is read without the threads";
  return success();
}
