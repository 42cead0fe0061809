// Loops and branches: a tile that they carry becomes one carried value per register.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/lowering/thread/SimtFunction.h"
#include "passes/simt/lowering/thread/Storage.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// Returns true if a loop carries an argument as words: narrow elements that only matrix
/// instructions read, which take them so.
static bool isInWords(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : nullptr;
  Type element = tile::elementTypeOf(value.getType());
  if (!loop || argument == loop.getInductionVar() || !hasLayout(value.getType()) ||
      value.use_empty() || !element.isIntOrFloat())
    return false;
  unsigned bits = element.getIntOrFloatBitWidth();
  auto isOperand = [](OpOperand &use) {
    auto product = dyn_cast<MmaAsyncOp>(use.getOwner());
    return product && use == product.getAMutable();
  };
  return bits < 32 && layoutOf(value.getType()).size(Place::Register) % (32 / bits) == 0 &&
         llvm::all_of(value.getUses(), isOperand) &&
         llvm::all_of(loop.getTiedLoopResult(argument).getUses(), isOperand);
}

/// The types of the registers of values, one after the other.
static SmallVector<Type> flattenTypes(SimtFunction &f, TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    uint32_t count = hasLayout(type) ? layoutOf(type).size(Place::Register) : 1;
    flat.append(count, f.lowerType(tile::elementTypeOf(type)));
  }
  return flat;
}

/// The registers of values, one after the other; of those that a loop carries, as its `arguments`
/// do.
static SmallVector<Value> flatten(SimtFunction &f, ValueRange values, ValueRange arguments = {}) {
  SmallVector<Value> flat;
  for (auto [index, value] : llvm::enumerate(values)) {
    const Registers &registers = f.registersOf(value);
    if (index < arguments.size() && isInWords(arguments[index]))
      llvm::append_range(flat, packWords(f, registers));
    else
      llvm::append_range(flat, registers);
  }
  return flat;
}

static void unflatten(SimtFunction &f, ValueRange values, ValueRange flat,
                      ValueRange arguments = {}) {
  for (auto [index, value] : llvm::enumerate(values)) {
    Type element = tile::elementTypeOf(value.getType());
    uint32_t count =
        hasLayout(value.getType()) ? layoutOf(value.getType()).size(Place::Register) : 1;
    bool inWords = index < arguments.size() && isInWords(arguments[index]);
    if (inWords)
      count /= 32 / element.getIntOrFloatBitWidth();
    ValueRange taken = flat.take_front(count);
    f.setRegisters(value, inWords ? unpackWords(f, taken, element) : Registers(taken));
    flat = flat.drop_front(count);
  }
}

/// Lowers a block into another and ends it with what the old terminator passes on.
static LogicalResult lowerBody(SimtFunction &f, Block &from, Block &to, ValueRange arguments = {}) {
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointToEnd(&to);
  if (failed(f.lowerBlock(from)))
    return failure();
  Operation *terminator = from.getTerminator();
  f.loc = terminator->getLoc();
  if (auto condition = dyn_cast<scf::ConditionOp>(terminator))
    f.create<scf::ConditionOp>(f.scalarOf(condition.getCondition()),
                               flatten(f, condition.getArgs()));
  else
    f.create<scf::YieldOp>(flatten(f, terminator->getOperands(), arguments));
  return success();
}

LogicalResult SimtFunction::lowerFor(scf::ForOp op) {
  ValueRange arguments = op.getRegionIterArgs();
  auto loop =
      create<scf::ForOp>(scalarOf(op.getLowerBound()), scalarOf(op.getUpperBound()),
                         scalarOf(op.getStep()), flatten(*this, op.getInitArgs(), arguments));
  loop.setUnsignedCmp(op.getUnsignedCmp());
  // A loop that carries nothing is built with its terminator.
  if (!loop.getBody()->empty())
    loop.getBody()->getTerminator()->erase();
  setRegisters(op.getInductionVar(), {loop.getInductionVar()});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    unflatten(*this, arguments, loop.getRegionIterArgs(), arguments);
  }
  if (failed(lowerBody(*this, *op.getBody(), *loop.getBody(), arguments)))
    return failure();
  unflatten(*this, op.getResults(), loop.getResults(), arguments);
  return success();
}

LogicalResult SimtFunction::lowerIf(scf::IfOp op) {
  bool hasElse = !op.getElseRegion().empty();
  auto branch = create<scf::IfOp>(flattenTypes(*this, op.getResultTypes()),
                                  scalarOf(op.getCondition()), /*addThenBlock=*/true, hasElse);
  if (failed(lowerBody(*this, *op.thenBlock(), *branch.thenBlock())))
    return failure();
  if (hasElse && failed(lowerBody(*this, *op.elseBlock(), *branch.elseBlock())))
    return failure();
  unflatten(*this, op.getResults(), branch.getResults());
  return success();
}

LogicalResult SimtFunction::lowerWhile(scf::WhileOp op) {
  SmallVector<Type> results = flattenTypes(*this, op.getResultTypes());
  auto loop = create<scf::WhileOp>(results, flatten(*this, op.getInits()));
  for (auto [from, to] : {std::pair{&op.getBefore(), &loop.getBefore()},
                          std::pair{&op.getAfter(), &loop.getAfter()}}) {
    SmallVector<Type> types = flattenTypes(*this, from->front().getArgumentTypes());
    OpBuilder::InsertionGuard guard(builder);
    Block *block =
        builder.createBlock(to, {}, types, SmallVector<Location>(types.size(), op.getLoc()));
    unflatten(*this, from->front().getArguments(), block->getArguments());
    if (failed(lowerBody(*this, from->front(), *block)))
      return failure();
  }
  unflatten(*this, op.getResults(), loop.getResults());
  return success();
}
