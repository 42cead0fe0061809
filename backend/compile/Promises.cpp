// Finds the part of a kernel that decides whether its promises hold: a backward slice.
#include "backend/compile/Promises.h"
#include "backend/compile/Compiler.h"
#include "ir/tile/Tile.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "passes/analysis/IndexFacts.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;

namespace {
/// How values reach others by control flow, and which operations write memory.
struct Flow {
  RegionBranchInverseSuccessorMapping sources; // of results and block arguments
  DenseSet<OpOperand *> forwarded;
  SmallVector<Operation *> writers;

  explicit Flow(func::FuncOp kernel);
};

/// Holds what some operations depend on, with themselves. Loops and branches are among it with
/// their terminators, but not with every value that they carry.
struct Slice {
  const Flow &flow;
  bool hasWrittenValues; // even of writes that matter to nothing but reads of memory
  llvm::SetVector<Operation *> ops = {};
  llvm::SetVector<Value> values = {};
  bool readsMemory = false;
  bool isOpaque = false; // depends on results that differ between machines

  void add(Operation *op);
  /// Adds what the operations added so far depend on.
  void close();
  void merge(const Slice &other);

private:
  void addSourcesOf(Value value);
};
} // namespace

/// Returns true for operations whose effects and results the interpreter does not know.
static bool isOpaque(Operation *op) {
  return isa<tile::InlineAsmOp, tile::ExternCallOp, tile::MachineOp, func::CallOp>(op);
}

/// Returns true for operations on floats whose results differ between machines in their last bits:
/// by the order of sums, by functions of their own, and by products that sums may take in.
static bool isInexact(Operation *op) {
  if (llvm::none_of(op->getResultTypes(),
                    [](Type type) { return isa<FloatType>(getElementTypeOrSelf(type)); }))
    return false;
  if (isa<arith::AddFOp, arith::SubFOp>(op))
    return isa<tile::CombiningRegion>(op->getParentOp());
  if (isa<math::MathDialect>(op->getDialect()))
    return !isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::RoundEvenOp,
                math::TruncOp>(op);
  return isa<arith::MulFOp, arith::DivFOp, tile::DotOp, tile::AtomicRmwOp,
             tile::DescriptorAtomicOp>(op);
}

Flow::Flow(func::FuncOp kernel) {
  kernel.walk([&](Operation *op) {
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
      branch.getSuccessorInputOperandMapping(sources);
    auto access = dyn_cast<tile::MemoryAccess>(op);
    bool isUnknown = isOpaque(op) && !isMemoryEffectFree(op) && !isa<tile::MachineOp>(op);
    if ((access && access.writesMemory()) || isUnknown)
      writers.push_back(op);
  });
  for (auto &[value, operands] : sources)
    forwarded.insert(operands.begin(), operands.end());
}

void Slice::add(Operation *op) {
  if (!ops.insert(op))
    return;
  if (!isa<func::FuncOp>(op->getParentOp()))
    add(op->getParentOp());
  bool isBranch = isa<RegionBranchOpInterface>(op);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        if (!isBranch || &inner == &block.back())
          add(&inner);
  auto access = dyn_cast<tile::MemoryAccess>(op);
  bool onlyWrites = access && access.writesMemory() && !hasWrittenValues;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isWritten = onlyWrites && (operand.get() == access.getWrittenValue() ||
                                    operand.get() == access.getExpectedValue());
    if (!flow.forwarded.contains(&operand) && !isWritten)
      values.insert(operand.get());
  }
  readsMemory |= access && access.readsMemory();
  isOpaque |= ::isOpaque(op) || isInexact(op);
}

void Slice::addSourcesOf(Value value) {
  auto result = dyn_cast<OpResult>(value);
  Operation *owner = result ? result.getOwner() : value.getParentBlock()->getParentOp();
  if (!isa<func::FuncOp>(owner))
    add(owner);
  if (isa<tile::MemoryAccess>(owner)) // the next atomic reads what this one writes
    values.insert(owner->operand_begin(), owner->operand_end());
  if (auto found = flow.sources.find(value); found != flow.sources.end())
    for (OpOperand *source : found->second)
      values.insert(source->get());
}

void Slice::close() {
  for (size_t i = 0; i < values.size(); ++i) {
    addSourcesOf(values[i]);
    // A read depends on all that may have written there, this program or another.
    if (readsMemory && i + 1 == values.size())
      for (Operation *writer : flow.writers)
        add(writer);
  }
}

void Slice::merge(const Slice &other) {
  ops.insert(other.ops.begin(), other.ops.end());
  values.insert(other.values.begin(), other.values.end());
  readsMemory |= other.readsMemory;
}

/// Returns true if the facts that the compiler finds make a hint true. They may rest on hints,
/// which are checked themselves.
static bool isProven(tile::HintOp hint, const IndexFacts &facts) {
  for (auto [axis, promised] : llvm::zip(facts.of(hint.getSource()).axes, *hint.getDivisibility()))
    if (axis.divisibility % promised != 0)
      return false;
  return true;
}

/// Returns the operations of a kernel that promise what is not known to be true.
static SmallVector<Operation *> promisesIn(func::FuncOp kernel) {
  SmallVector<Operation *> promises;
  kernel.walk([&](Operation *op) {
    auto hint = dyn_cast<tile::HintOp>(op);
    if (isa<tile::AssumeOp>(op) || (hint && hint.getDivisibility()))
      promises.push_back(op);
  });
  // Facts that rest on an assumption may concern a hint in front of it.
  if (promises.empty() || llvm::any_of(promises, llvm::IsaPred<tile::AssumeOp>))
    return promises;
  IndexFacts facts(kernel);
  llvm::erase_if(promises, [&](Operation *op) { return isProven(cast<tile::HintOp>(op), facts); });
  return promises;
}

/// Returns what the promises of a kernel depend on, without those that nobody can decide.
/// Assertions are there, too, since a program that fails one makes no promise afterwards: those
/// that read no memory unless promises do, and of checks of arithmetic those that concern numbers
/// of the slice.
static Slice sliceFor(func::FuncOp kernel, ArrayRef<Operation *> promises, const Flow &flow,
                      bool hasWrittenValues) {
  Slice all{flow, hasWrittenValues};
  auto tryToAdd = [&](Operation *root, bool mayRead) {
    Slice slice{flow, hasWrittenValues};
    slice.add(root);
    slice.close();
    if (!slice.isOpaque && (!slice.readsMemory || mayRead))
      all.merge(slice);
  };
  for (Operation *promise : promises)
    tryToAdd(promise, /*mayRead=*/true);
  if (!all.ops.empty())
    kernel.walk([&](tile::AssertOp assertion) {
      auto isInSlice = [&](Value value) { return all.values.contains(value); };
      if (llvm::all_of(assertion.getValues(), isInSlice))
        tryToAdd(assertion, all.readsMemory);
    });
  return all;
}

/// Erases all operations but those of a slice. Other values that these take, such as those that
/// loops carry for others, become poison.
static void keepOnly(const Slice &slice, func::FuncOp kernel) {
  kernel.getContext()->getOrLoadDialect<ub::UBDialect>();
  SmallVector<Operation *> unneeded;
  kernel.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (slice.ops.contains(op) || isa<func::ReturnOp>(op))
      return WalkResult::advance();
    unneeded.push_back(op);
    return WalkResult::skip();
  });
  OpBuilder builder(kernel.getContext());
  builder.setInsertionPointToStart(&kernel.getBody().front());
  for (Operation *op : slice.ops)
    for (OpOperand &operand : op->getOpOperands())
      if (!slice.values.contains(operand.get()))
        operand.set(ub::PoisonOp::create(builder, kernel.getLoc(), operand.get().getType()));
  for (Operation *op : unneeded)
    op->dropAllReferences();
  for (Operation *op : unneeded)
    op->erase();
}

std::vector<std::string> tw::promisesOf(ModuleOp module, const std::string &symbol) {
  std::vector<std::string> forms;
  if (promisesIn(findKernel(module)).empty())
    return forms;
  for (bool hasWrittenValues : {false, true}) {
    OwningOpRef<ModuleOp> part = ModuleOp::create(module.getLoc());
    func::FuncOp kernel = findKernel(module).clone();
    part->push_back(kernel);
    kernel.setName(symbol);
    Flow flow(kernel);
    Slice slice = sliceFor(kernel, promisesIn(kernel), flow, hasWrittenValues);
    if (slice.ops.empty())
      break;
    keepOnly(slice, kernel);
    llvm::raw_string_ostream stream(forms.emplace_back());
    if (failed(writeBytecodeToFile(*part, stream)))
      return {};
    if (!slice.readsMemory)
      break;
  }
  return forms;
}
