// Finds the facts of a function's numbers on MLIR's solver of data flows.
#include "passes/analysis/IndexFacts.h"
#include "ir/tile/ArgumentFacts.h"
#include "ir/tile/Tile.h"
#include "mlir/Analysis/DataFlow/DeadCodeAnalysis.h"
#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "passes/analysis/IndexTransfer.h"
#include <deque>

using namespace mlir;
using namespace tw;
using namespace tw::tile;

//===-- Promises -----------------------------------------------------------------------------===//

namespace {
/// Facts that a kernel's launch and its assumptions promise about a scalar.
struct Promise {
  int64_t divisibility = 1;
  bool isNonNegative = false;
};
using Promises = DenseMap<Value, Promise>;
} // namespace

/// Notes that `remainder`, an operation of scalars, yields 0.
static void noteDivisible(Operation *remainder, Promises &promises) {
  if (!isa_and_nonnull<arith::RemSIOp, arith::RemUIOp, arith::AndIOp>(remainder))
    return;
  bool isMask = isa<arith::AndIOp>(remainder);
  std::optional<int64_t> divisor = integerOf(remainder->getOperand(1));
  // A mask without its low bits says nothing of them.
  if (!divisor || (isMask && !llvm::isPowerOf2_64(uint64_t(*divisor) + 1)))
    return;
  int64_t &known = promises[remainder->getOperand(0)].divisibility;
  known = std::max(known, powerOfTwoIn(uint64_t(*divisor) + isMask));
}

/// Learns from a condition that holds whenever the kernel runs: `x % 16 == 0`, `x & 15 == 0`,
/// `x >= 0`, `x > 0`, and conjunctions of such.
static void noteCondition(Value condition, Promises &promises) {
  using Predicate = arith::CmpIPredicate;
  if (auto both = condition.getDefiningOp<arith::AndIOp>()) {
    noteCondition(both.getLhs(), promises);
    return noteCondition(both.getRhs(), promises);
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  std::optional<int64_t> bound = compare ? integerOf(compare.getRhs()) : std::nullopt;
  if (!bound || !shapeOf(compare.getLhs().getType()).empty())
    return;
  Predicate predicate = compare.getPredicate();
  if ((predicate == Predicate::sge && *bound >= 0) || (predicate == Predicate::sgt && *bound >= -1))
    promises[compare.getLhs()].isNonNegative = true;
  if (predicate == Predicate::eq && *bound == 0)
    noteDivisible(compare.getLhs().getDefiningOp(), promises);
}

static Promises promisesIn(Operation *function) {
  Promises promises;
  auto kernel = dyn_cast<FunctionOpInterface>(function);
  for (unsigned i = 0; kernel && i < kernel.getNumArguments(); ++i) {
    Promise &promise = promises[kernel.getArgument(i)];
    if (auto fact = kernel.getArgAttrOfType<IntegerAttr>(i, kArgDivisibility))
      promise.divisibility = powerOfTwoIn(uint64_t(fact.getInt()));
    promise.isNonNegative =
        isa<PtrType>(kernel.getArgument(i).getType()) || kernel.getArgAttr(i, kArgNonNegative);
  }
  // What a branch or loop assumes holds in there only, and may never be reached.
  for (Region &region : function->getRegions())
    for (auto assumption : region.getOps<AssumeOp>())
      noteCondition(assumption.getCondition(), promises);
  return promises;
}

//===-- The data flow ------------------------------------------------------------------------===//

namespace {
/// The fact known about one value; none before its definition is reached.
class FactState : public dataflow::AbstractSparseLattice {
public:
  using AbstractSparseLattice::AbstractSparseLattice;

  ChangeResult set(IndexFact next) {
    if (fact == next)
      return ChangeResult::NoChange;
    fact = std::move(next);
    ++numChanges;
    return ChangeResult::Change;
  }
  /// Values that meet, in loops and behind branches, are summands for themselves.
  ChangeResult join(const AbstractSparseLattice &other) override {
    const std::optional<IndexFact> &incoming = static_cast<const FactState &>(other).fact;
    if (!incoming)
      return ChangeResult::NoChange;
    IndexFact next = fact ? tw::meet(*fact, *incoming, getAnchor()) : *incoming;
    next.form = LinearForm::ofLeaf(getAnchor());
    return set(std::move(next));
  }
  void print(raw_ostream &out) const override { out << (fact ? "known" : "unreached"); }

  std::optional<IndexFact> fact;
  unsigned numChanges = 0;
  // The changes of the operands when the fact was computed from them alone, else 0: the solver asks
  // again for each operand that was new, most often without need.
  unsigned numSeen = 0;
};

class FactAnalysis : public dataflow::SparseForwardDataFlowAnalysis<FactState> {
public:
  FactAnalysis(DataFlowSolver &solver, const Promises &promises)
      : SparseForwardDataFlowAnalysis(solver), promises(promises) {}

  LogicalResult visitOperation(Operation *op, ArrayRef<const FactState *> operands,
                               ArrayRef<FactState *> results) override {
    if (llvm::any_of(operands, [](const FactState *state) { return !state->fact; }))
      return success();
    if (op->getNumRegions() > 0 || op->getNumResults() != 1) {
      setAllToEntryStates(results);
      return success();
    }
    unsigned numChanges = 0;
    for (const FactState *state : operands)
      numChanges += state->numChanges;
    if (numChanges > 0 && results[0]->numSeen == numChanges)
      return success();
    results[0]->numSeen = numChanges;
    std::deque<IndexFact> weakest;
    auto factOf = [&](Value value) -> const IndexFact & {
      for (auto [operand, state] : llvm::zip(op->getOperands(), operands))
        if (operand == value)
          return *state->fact;
      results[0]->numSeen = 0;
      const FactState *state = getLatticeElementFor(getProgramPointAfter(op), value);
      return state->fact ? *state->fact : weakest.emplace_back(unknownFact(value));
    };
    update(results[0], factOfResult(op, factOf));
    return success();
  }

  void visitNonControlFlowArguments(Operation *op, const RegionSuccessor &successor,
                                    ArrayRef<FactState *> states, unsigned first) override {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop)
      return SparseForwardDataFlowAnalysis::visitNonControlFlowArguments(op, successor, states,
                                                                         first);
    ProgramPoint *point = getProgramPointBefore(loop.getBody());
    const FactState *lower = getLatticeElementFor(point, loop.getLowerBound());
    const FactState *step = getLatticeElementFor(point, loop.getStep());
    if (!lower->fact || !step->fact)
      return;
    IndexFact counter = unknownFact(loop.getInductionVar());
    counter.axes[0].divisibility =
        std::min(lower->fact->axes[0].divisibility, step->fact->axes[0].divisibility);
    counter.isNonNegative = lower->fact->isNonNegative;
    update(states[0], std::move(counter));
  }

  void setToEntryState(FactState *state) override {
    update(state, unknownFact(state->getAnchor()));
  }

private:
  void update(FactState *state, IndexFact fact) {
    auto promise = promises.find(state->getAnchor());
    if (promise != promises.end()) {
      int64_t &divisibility = fact.axes[0].divisibility;
      divisibility = std::max(divisibility, promise->second.divisibility);
      fact.isNonNegative |= promise->second.isNonNegative;
    }
    propagateIfChanged(state, state->set(std::move(fact)));
  }

  const Promises &promises;
};
} // namespace

namespace {
/// Takes all blocks for reached, and each region of a loop or branch as entered from wherever it
/// can be. Upstream's analysis of dead code finds out more, but needs the constants of all values,
/// which takes as long as the facts.
class Reachability : public DataFlowAnalysis {
public:
  using DataFlowAnalysis::DataFlowAnalysis;

  LogicalResult initialize(Operation *top) override {
    top->walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          (void)getOrCreate<dataflow::Executable>(getProgramPointBefore(&block))->setToLive();
      if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
        enter(branch);
    });
    return success();
  }
  LogicalResult visit(ProgramPoint *) override { return success(); }

private:
  void enter(RegionBranchOpInterface branch) {
    SmallVector<RegionSuccessor> successors;
    branch.getSuccessorRegions(RegionBranchPoint::parent(), successors);
    addPredecessor(branch, branch, successors);
    for (Region &region : branch->getRegions())
      for (Block &block : region)
        if (auto end = dyn_cast<RegionBranchTerminatorOpInterface>(block.getTerminator())) {
          successors.clear();
          SmallVector<Attribute> unknown(end->getNumOperands());
          end.getSuccessorRegions(unknown, successors);
          addPredecessor(end, branch, successors);
        }
  }
  void addPredecessor(Operation *op, Operation *branch, ArrayRef<RegionSuccessor> successors) {
    for (const RegionSuccessor &successor : successors) {
      ProgramPoint *point = successor.isParent()
                                ? getProgramPointAfter(branch)
                                : getProgramPointBefore(&successor.getSuccessor()->front());
      (void)getOrCreate<dataflow::PredecessorState>(point)->join(op,
                                                                 successor.getSuccessorInputs());
    }
  }
};
} // namespace

static void run(DataFlowSolver &solver, Operation *function) {
  LogicalResult solved = solver.initializeAndRun(function);
  assert(succeeded(solved) && "no transfer function fails");
  (void)solved;
}

static void forEachValue(Operation *function, llvm::function_ref<void(Value)> visit) {
  function->walk([&](Operation *op) {
    llvm::for_each(op->getResults(), visit);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::for_each(block.getArguments(), visit);
  });
}

void IndexFacts::findFacts() const {
  Promises promises = promisesIn(function);
  DataFlowSolver solver(DataFlowConfig().setInterprocedural(false));
  solver.load<Reachability>();
  solver.load<FactAnalysis>(promises);
  run(solver, function);
  unsigned numValues = 0;
  forEachValue(function, [&](Value) { ++numValues; });
  facts.reserve(numValues);
  forEachValue(function, [&](Value value) {
    // What is never reached has no fact.
    std::optional<IndexFact> &fact = solver.getOrCreateState<FactState>(value)->fact;
    facts.try_emplace(value, fact ? std::move(*fact) : unknownFact(value));
  });
}

void IndexFacts::findRanges() const {
  hasRanges = true;
  DataFlowSolver solver(DataFlowConfig().setInterprocedural(false));
  solver.load<Reachability>();
  solver.load<dataflow::IntegerRangeAnalysis>();
  run(solver, function);
  forEachValue(function, [&](Value value) {
    auto *range = solver.lookupState<dataflow::IntegerValueRangeLattice>(value);
    if (!range || range->getValue().isUninitialized() || integerBits(value.getType()) > 64)
      return;
    const ConstantIntRanges &known = range->getValue().getValue();
    if (known.smin().getBitWidth() > 0)
      ranges.try_emplace(value, known.smin().getSExtValue(), known.smax().getSExtValue());
  });
}

const IndexFact &IndexFacts::of(Value value) const {
  if (facts.empty())
    findFacts();
  auto found = facts.find(value);
  assert(found != facts.end() && "facts are of values that the function had when it was analyzed");
  return found->second;
}

const AxisChange &IndexFacts::along(Value tile, unsigned dim) const {
  // A scalar is as a tile of it.
  const IndexFact &fact = of(tile);
  return fact.axes[std::min<size_t>(dim, fact.axes.size() - 1)].change;
}

IndexRange IndexFacts::rangeOf(Value integer) const {
  if (!hasRanges)
    findRanges();
  auto found = ranges.find(integer);
  if (found != ranges.end())
    return found->second;
  unsigned bits = std::min(64u, integerBits(integer.getType()));
  return {llvm::minIntN(bits), llvm::maxIntN(bits)};
}

bool IndexFacts::isWithin(Value index, int64_t extent) const {
  IndexRange range = rangeOf(index);
  return range.least >= 0 && range.greatest < extent;
}
