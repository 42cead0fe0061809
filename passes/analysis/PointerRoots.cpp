// Which arguments of a kernel a pointer may come from, by walking definitions.
#include "passes/analysis/PointerRoots.h"
#include "ir/simt/Simt.h"
#include "ir/tile/ArgumentFacts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;

namespace {
struct Roots {
  llvm::SmallPtrSet<void *, 4> arguments; // of the kernel, as opaque values
  bool isKnown = true;                    // else also anything
  bool areDisjoint = true;                // every argument has tile.disjoint
};
} // namespace

/// Adds the values that an argument of a region may be; false when that is not known.
static bool addIncoming(BlockArgument argument, llvm::SetVector<Value> &values) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    if (number == 0)
      return false;
    values.insert(loop.getInitArgs()[number - 1]);
    values.insert(loop.getBody()->getTerminator()->getOperand(number - 1));
    return true;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    if (argument.getOwner() == loop.getBeforeBody()) {
      values.insert(loop.getInits()[number]);
      values.insert(loop.getYieldOp()->getOperand(number));
    } else {
      values.insert(loop.getConditionOp().getArgs()[number]);
    }
    return true;
  }
  return false;
}

/// Adds the values that a result may be made of; false when that is not known.
static bool addSources(OpResult result, llvm::SetVector<Value> &values) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    values.insert(loop.getInitArgs()[number]);
    values.insert(loop.getBody()->getTerminator()->getOperand(number));
    return true;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    values.insert(loop.getConditionOp().getArgs()[number]);
    return true;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    values.insert(branch.thenBlock()->getTerminator()->getOperand(number));
    values.insert(branch.elseBlock()->getTerminator()->getOperand(number));
    return true;
  }
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    values.insert(select.getTrueValue());
    values.insert(select.getFalseValue());
    return true;
  }
  // What is loaded or made of an integer may lead anywhere; all else passes its pointers on.
  if (isa<tile::MemoryAccess, tile::IntToPtrOp, tile::InlineAsmOp>(op))
    return false;
  bool hasPointer = false;
  for (Value operand : op->getOperands())
    if (isa<tile::PtrType>(tile::elementTypeOf(operand.getType()))) {
      values.insert(operand);
      hasPointer = true;
    }
  return hasPointer;
}

static Roots rootsOf(Value pointer) {
  Roots roots;
  llvm::SetVector<Value> values;
  values.insert(pointer);
  for (size_t i = 0; i < values.size(); ++i) {
    Value value = values[i];
    auto argument = dyn_cast<BlockArgument>(value);
    auto kernel =
        argument ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
    if (kernel) {
      roots.arguments.insert(value.getAsOpaquePointer());
      if (!kernel.getArgAttr(argument.getArgNumber(), tile::kArgDisjoint))
        roots.areDisjoint = false;
    } else if (argument ? !addIncoming(argument, values)
                        : !addSources(cast<OpResult>(value), values)) {
      roots.isKnown = false;
    }
  }
  return roots;
}

bool tw::mayAlias(Value a, Value b) {
  Roots first = rootsOf(a), second = rootsOf(b);
  if (!first.isKnown || !second.isKnown)
    return true;
  if (!first.areDisjoint && !second.areDisjoint)
    return true;
  return llvm::any_of(first.arguments,
                      [&](void *argument) { return second.arguments.contains(argument); });
}

std::optional<SmallVector<unsigned>> tw::argumentsBehind(Value pointer) {
  Roots roots = rootsOf(pointer);
  if (!roots.isKnown)
    return std::nullopt;
  SmallVector<unsigned> numbers;
  for (void *argument : roots.arguments)
    numbers.push_back(cast<BlockArgument>(Value::getFromOpaquePointer(argument)).getArgNumber());
  llvm::sort(numbers);
  return numbers;
}
