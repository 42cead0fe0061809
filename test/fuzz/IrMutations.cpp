// Changes to the structure of IR: what comes out is mostly well formed, and reaches the passes.
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "test/fuzz/Mutations.h"

using namespace mlir;
using tw::fuzz::Draw;

namespace {
/// The parts of a module that changes choose from.
struct Anatomy {
  std::vector<Operation *> operations; // in functions, without terminators
  std::vector<Value> values;
};
} // namespace

static Anatomy anatomyOf(ModuleOp module) {
  Anatomy anatomy;
  module.walk([&](Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        llvm::append_range(anatomy.values, block.getArguments());
    llvm::append_range(anatomy.values, op->getResults());
    if (op->getParentOfType<FunctionOpInterface>() && !op->hasTrait<OpTrait::IsTerminator>())
      anatomy.operations.push_back(op);
  });
  return anatomy;
}

/// Whether `value` is defined before `op` in an enclosing block, which is all that can be used.
static bool isVisible(Value value, Operation *op) {
  Block *block = value.getParentBlock();
  Operation *ancestor = block ? block->findAncestorOpInBlock(*op) : nullptr;
  Operation *definition = value.getDefiningOp();
  return ancestor &&
         (!definition || (definition != ancestor && definition->isBeforeInBlock(ancestor)));
}

static Value drawVisible(const Anatomy &anatomy, Type type, Operation *at, Draw &draw) {
  std::vector<Value> values;
  for (Value value : anatomy.values)
    if (value.getType() == type && isVisible(value, at))
      values.push_back(value);
  return values.empty() ? Value() : draw.of(values);
}

/// A new argument of the function around `at`; null where functions have no signature to change.
static Value addArgument(Operation *at, Type type) {
  auto function = at->getParentOfType<func::FuncOp>();
  if (!function || function.isExternal())
    return {};
  if (failed(function.insertArgument(function.getNumArguments(), type, {}, at->getLoc())))
    return {};
  return function.getArguments().back();
}

static Value valueFor(const Anatomy &anatomy, Type type, Operation *at, Draw &draw) {
  Value value = draw.chance(80) ? drawVisible(anatomy, type, at, draw) : Value();
  return value ? value : addArgument(at, type);
}

//===-- Operations ---------------------------------------------------------------------------===//

/// Whether operations outside of its regions, which were moved there, use what is defined inside.
static bool isInsideUsedOutside(Operation *op) {
  auto leaks = [&](Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return !op->isProperAncestor(user); });
  };
  WalkResult result = op->walk([&](Block *block) {
    bool isLeaking = llvm::any_of(block->getArguments(), leaks);
    for (Operation &inner : *block)
      isLeaking |= llvm::any_of(inner.getResults(), leaks);
    return isLeaking ? WalkResult::interrupt() : WalkResult::advance();
  });
  return result.wasInterrupted();
}

static bool deleteOperation(ModuleOp module, ModuleOp, Draw &draw) {
  Anatomy anatomy = anatomyOf(module);
  if (anatomy.operations.empty())
    return false;
  Operation *op = draw.of(anatomy.operations);
  if (isInsideUsedOutside(op))
    return false;
  for (Value result : op->getResults()) {
    if (result.use_empty())
      continue;
    Value other = valueFor(anatomy, result.getType(), op, draw);
    if (!other)
      return false;
    result.replaceAllUsesWith(other);
  }
  op->erase();
  return true;
}

static bool repeatOperation(ModuleOp module, ModuleOp, Draw &draw) {
  Anatomy anatomy = anatomyOf(module);
  if (anatomy.operations.empty())
    return false;
  Operation *op = draw.of(anatomy.operations);
  Operation *copy = op->clone();
  op->getBlock()->getOperations().insertAfter(op->getIterator(), copy);
  for (auto [result, copied] : llvm::zip(op->getResults(), copy->getResults()))
    result.replaceUsesWithIf(copied, [&](OpOperand &use) {
      return isVisible(copied, use.getOwner()) && draw.chance(50);
    });
  return true;
}

static bool moveOperation(ModuleOp module, ModuleOp, Draw &draw) {
  Anatomy anatomy = anatomyOf(module);
  if (anatomy.operations.empty())
    return false;
  Operation *op = draw.of(anatomy.operations), *before = draw.of(anatomy.operations);
  if (op->isAncestor(before))
    return false;
  op->moveBefore(before);
  return true;
}

static bool exchangeOperand(ModuleOp module, ModuleOp, Draw &draw) {
  Anatomy anatomy = anatomyOf(module);
  llvm::erase_if(anatomy.operations, [](Operation *op) { return op->getNumOperands() == 0; });
  if (anatomy.operations.empty())
    return false;
  Operation *op = draw.of(anatomy.operations);
  OpOperand &operand = op->getOpOperand(draw.below(op->getNumOperands()));
  Value value = valueFor(anatomy, operand.get().getType(), op, draw);
  if (value)
    operand.set(value);
  return bool(value);
}

//===-- Control flow -------------------------------------------------------------------------===//

namespace {
/// Consecutive operations of a block and what later operations use of them.
struct Run {
  std::vector<Operation *> operations;
  std::vector<Value> results, initial; // `initial` has a visible value for each result
};
} // namespace

static bool drawRun(const Anatomy &anatomy, Run &run, Draw &draw) {
  if (anatomy.operations.empty())
    return false;
  Operation *op = draw.of(anatomy.operations);
  for (size_t count = 1 + draw.below(4); count > 0 && op && !op->hasTrait<OpTrait::IsTerminator>();
       --count, op = op->getNextNode())
    run.operations.push_back(op);
  auto isInside = [&](Operation *user) {
    return llvm::any_of(run.operations, [&](Operation *part) { return part->isAncestor(user); });
  };
  for (Operation *part : run.operations)
    for (Value result : part->getResults()) {
      if (llvm::all_of(result.getUsers(), isInside))
        continue;
      run.results.push_back(result);
      run.initial.push_back(drawVisible(anatomy, result.getType(), run.operations.front(), draw));
      if (!run.initial.back())
        return false;
    }
  return true;
}

/// Replaces the uses of the run's results outside of `container`.
static void replaceResults(const Run &run, Operation *container) {
  for (auto [index, replacement] : llvm::enumerate(container->getResults())) {
    Value result = run.results[index];
    result.replaceUsesWithIf(
        replacement, [&](OpOperand &use) { return !container->isAncestor(use.getOwner()); });
  }
}

/// Puts operations into a loop, which carries what is used of them and may feed it back.
static bool wrapInLoop(ModuleOp module, ModuleOp, Draw &draw) {
  Run run;
  if (!drawRun(anatomyOf(module), run, draw))
    return false;
  OpBuilder builder(run.operations.front());
  Location loc = run.operations.front()->getLoc();
  Type type = draw.chance(80) ? builder.getIntegerType(32) : Type(builder.getIndexType());
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(type, number));
  };
  Value lower = constant(0), step = constant(1 + draw.below(2));
  Value upper = draw.chance(50) ? addArgument(run.operations.front(), type) : Value();
  if (!upper)
    upper = constant(draw.below(6));
  auto loop = scf::ForOp::create(builder, loc, lower, upper, step, run.initial);
  Block *body = loop.getBody();
  if (run.results.empty() && !body->empty())
    body->back().erase();
  for (Operation *op : run.operations)
    op->moveBefore(body, body->end());
  for (auto [initial, carried] : llvm::zip(run.initial, loop.getRegionIterArgs()))
    for (Operation *op : run.operations)
      if (draw.chance(60))
        op->replaceUsesOfWith(initial, carried);
  replaceResults(run, loop);
  builder.setInsertionPointToEnd(body);
  scf::YieldOp::create(builder, loc, run.results);
  return true;
}

/// Puts operations into a branch, whose other side gives any values of their types.
static bool wrapInBranch(ModuleOp module, ModuleOp, Draw &draw) {
  Run run;
  if (!drawRun(anatomyOf(module), run, draw))
    return false;
  OpBuilder builder(run.operations.front());
  Location loc = run.operations.front()->getLoc();
  Value condition = addArgument(run.operations.front(), builder.getI1Type());
  if (!condition)
    return false;
  SmallVector<Type> types;
  for (Value result : run.results)
    types.push_back(result.getType());
  auto branch = scf::IfOp::create(builder, loc, types, condition, /*withElse=*/true);
  Block *then = branch.thenBlock(), *otherwise = branch.elseBlock();
  then->clear();
  otherwise->clear();
  for (Operation *op : run.operations)
    op->moveBefore(then, then->end());
  replaceResults(run, branch);
  builder.setInsertionPointToEnd(then);
  scf::YieldOp::create(builder, loc, run.results);
  builder.setInsertionPointToEnd(otherwise);
  scf::YieldOp::create(builder, loc, run.initial);
  return true;
}

//===-- Other modules ------------------------------------------------------------------------===//

static bool takeOver(ModuleOp module, ModuleOp donor, Draw &draw) {
  Anatomy anatomy = anatomyOf(module), theirs = anatomyOf(donor);
  if (anatomy.operations.empty() || theirs.operations.empty())
    return false;
  Operation *at = draw.of(anatomy.operations), *first = draw.of(theirs.operations);
  OpBuilder builder(at);
  IRMapping mapping;
  for (size_t count = 1 + draw.below(4);
       count > 0 && first && !first->hasTrait<OpTrait::IsTerminator>() && !first->isAncestor(at);
       --count, first = first->getNextNode()) {
    bool isPossible = true;
    first->walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        if (mapping.contains(operand) || first->isAncestor(operand.getParentBlock()->getParentOp()))
          continue;
        Value value = valueFor(anatomy, operand.getType(), at, draw);
        isPossible &= bool(value);
        if (value)
          mapping.map(operand, value);
      }
    });
    if (!isPossible)
      return false;
    Operation *copy = builder.clone(*first, mapping);
    llvm::append_range(anatomy.values, copy->getResults());
  }
  return true;
}

/// Values of the module come to be used by an operation of the same module that takes their types.
static bool takeOverOwn(ModuleOp module, ModuleOp, Draw &draw) {
  return takeOver(module, module, draw);
}

static bool takeAttributes(ModuleOp module, ModuleOp donor, Draw &draw) {
  ArrayRef<NamedAttribute> attributes = donor->getAttrDictionary().getValue();
  if (attributes.empty())
    return false;
  NamedAttribute chosen = attributes[draw.below(attributes.size())];
  module->setAttr(chosen.getName(), chosen.getValue());
  return true;
}

bool tw::fuzz::mutateModule(ModuleOp module, ModuleOp donor, Draw &draw) {
  using Mutation = bool (*)(ModuleOp, ModuleOp, Draw &);
  static constexpr Mutation mutations[] = {
      deleteOperation, repeatOperation, moveOperation, exchangeOperand, exchangeOperand, wrapInLoop,
      wrapInBranch,    takeOver,        takeOver,      takeOverOwn,     takeAttributes};
  return draw.of(mutations)(module, donor, draw);
}
