// Divides what runs ahead of a pipelined loop into steps: a load that feeds addresses runs before
// the loads that need them.
#include "passes/simt/pipeline/LoopPipeline.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tile::LoadOp;

namespace {
/// The operations that one step of a pipeline runs, up to the loads of the steps before it.
struct Closure {
  Closure(scf::ForOp loop, ArrayRef<Operation *> earlyLoads) : loop(loop), earlyLoads(earlyLoads) {}

  void add(Value value);
  void addBranchesAround(LoadOp load);
  void run(Operation *op);

  scf::ForOp loop;
  ArrayRef<Operation *> earlyLoads;
  llvm::SetVector<Operation *> operations;
  llvm::SetVector<unsigned> carried;
  llvm::SetVector<Operation *> needed; // of the early loads
};
} // namespace

void Closure::add(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() != loop.getBody() || argument == loop.getInductionVar())
      return;
    unsigned number = argument.getArgNumber() - 1;
    if (carried.insert(number))
      add(loop.getYieldedValues()[number]);
    return;
  }
  Operation *op = value.getDefiningOp();
  if (!loop->isProperAncestor(op))
    return;
  if (llvm::is_contained(earlyLoads, op))
    needed.insert(op);
  else
    run(op);
}

void Closure::addBranchesAround(LoadOp load) {
  std::optional<SmallVector<Branch>> branches = branchesAround(loop, load);
  for (const Branch &branch : *branches)
    add(branch.condition);
}

void Closure::run(Operation *op) {
  if (!operations.insert(op))
    return;
  for (Value operand : op->getOperands())
    add(operand);
  if (auto load = dyn_cast<LoadOp>(op))
    addBranchesAround(load);
}

/// The loads among what runs ahead whose tiles can be carried from one iteration to the next: a
/// load that needs its own tile of the iteration before cannot, and wide tiles take registers from
/// the products.
static SmallVector<Operation *> findEarlyLoads(scf::ForOp loop, ArrayRef<Operation *> ahead) {
  static constexpr unsigned kMostRegisters = 8;
  SmallVector<Operation *> found;
  for (Operation *op : ahead) {
    auto load = dyn_cast<LoadOp>(op);
    if (!load || (hasLayout(load.getType()) && layoutOf(load.getType()).numBits(Place::Register) >
                                                   llvm::Log2_32(kMostRegisters)))
      continue;
    Closure closure(loop, {});
    for (Value operand : load->getOperands())
      closure.add(operand);
    closure.addBranchesAround(load);
    if (!closure.operations.contains(op))
      found.push_back(op);
  }
  return found;
}

namespace {
/// Divides what runs ahead into steps: a load runs one step before the first that needs it.
struct StepPlanner {
  StepPlanner(LoopPipeline &pipeline, ArrayRef<Operation *> ahead)
      : pipeline(pipeline), earlyLoads(findEarlyLoads(pipeline.loop, ahead)) {}

  void run();
  Closure closureOf(unsigned step);
  bool raise(const Closure &closure, unsigned lead);
  AheadStep toStep(const Closure &closure);

  LoopPipeline &pipeline;
  SmallVector<Operation *> earlyLoads;
  llvm::DenseMap<Operation *, unsigned> leads; // 0 for those that no step has needed yet
};
} // namespace

Closure StepPlanner::closureOf(unsigned step) {
  Closure closure(pipeline.loop, earlyLoads);
  if (step == 0)
    for (PipelinedLoad &pipelined : pipeline.loads) {
      for (Value operand : pipelined.sources())
        closure.add(operand);
      closure.addBranchesAround(pipelined.load);
    }
  for (Operation *load : earlyLoads)
    if (step != 0 && leads.lookup(load) == step)
      closure.run(load);
  return closure;
}

/// Moves what the closure needs to step `lead`; whether the closure itself loses a load by it.
bool StepPlanner::raise(const Closure &closure, unsigned lead) {
  bool losesLoad = false;
  for (Operation *load : closure.needed) {
    unsigned &current = leads[load];
    losesLoad |= current != 0 && current == lead - 1;
    current = std::max(current, lead);
  }
  return losesLoad;
}

AheadStep StepPlanner::toStep(const Closure &closure) {
  AheadStep step;
  pipeline.loop.getBody()->walk([&](Operation *op) {
    if (closure.operations.contains(op))
      step.operations.push_back(op);
  });
  llvm::append_range(step.carried, closure.carried);
  return step;
}

void StepPlanner::run() {
  llvm::DenseMap<Operation *, unsigned> lowest;
  for (unsigned step = 0;; ++step) {
    Closure closure = closureOf(step);
    while (raise(closure, step + 1))
      closure = closureOf(step);
    if (step != 0 && closure.operations.empty())
      break;
    for (Operation *load : closure.needed)
      lowest.try_emplace(load, step);
    pipeline.steps.push_back(toStep(closure));
  }
  for (Operation *load : earlyLoads)
    if (unsigned lead = leads.lookup(load))
      pipeline.earlyLoads.push_back({cast<LoadOp>(load), lead, lead - lowest.lookup(load)});
}

void tw::simt::planSteps(LoopPipeline &pipeline, ArrayRef<Operation *> ahead) {
  StepPlanner(pipeline, ahead).run();
}
