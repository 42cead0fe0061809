// Loops and branches: a tile that they carry becomes one carried value per register.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/lowering/thread/SimtFunction.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The types of the registers of values, one after the other.
static SmallVector<Type> flattenTypes(SimtFunction &f, TypeRange types) {
  SmallVector<Type> flat;
  for (Type type : types) {
    uint32_t count = hasLayout(type) ? layoutOf(type).size(Place::Register) : 1;
    flat.append(count, f.lowerType(tile::elementTypeOf(type)));
  }
  return flat;
}

static SmallVector<Value> flatten(SimtFunction &f, ValueRange values) {
  SmallVector<Value> flat;
  for (Value value : values)
    llvm::append_range(flat, f.registersOf(value));
  return flat;
}

static void unflatten(SimtFunction &f, ValueRange values, ValueRange flat) {
  for (Value value : values) {
    uint32_t count =
        hasLayout(value.getType()) ? layoutOf(value.getType()).size(Place::Register) : 1;
    f.setRegisters(value, Registers(flat.take_front(count)));
    flat = flat.drop_front(count);
  }
}

/// Lowers a block into another and ends it with what the old terminator passes on.
static LogicalResult lowerBody(SimtFunction &f, Block &from, Block &to) {
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
    f.create<scf::YieldOp>(flatten(f, terminator->getOperands()));
  return success();
}

LogicalResult SimtFunction::lowerFor(scf::ForOp op) {
  if (op->hasAttr(kLoopOnce)) {
    setRegisters(op.getInductionVar(), registersOf(op.getLowerBound()));
    for (auto [argument, init] : llvm::zip(op.getRegionIterArgs(), op.getInitArgs()))
      setRegisters(argument, registersOf(init));
    if (failed(lowerBlock(*op.getBody())))
      return failure();
    for (auto [result, value] : llvm::zip(op.getResults(), op.getYieldedValues()))
      setRegisters(result, registersOf(value));
    return success();
  }
  auto loop = create<scf::ForOp>(scalarOf(op.getLowerBound()), scalarOf(op.getUpperBound()),
                                 scalarOf(op.getStep()), flatten(*this, op.getInitArgs()));
  loop.setUnsignedCmp(op.getUnsignedCmp());
  // A loop that carries nothing is built with its terminator.
  if (!loop.getBody()->empty())
    loop.getBody()->getTerminator()->erase();
  setRegisters(op.getInductionVar(), {loop.getInductionVar()});
  unflatten(*this, op.getRegionIterArgs(), loop.getRegionIterArgs());
  if (failed(lowerBody(*this, *op.getBody(), *loop.getBody())))
    return failure();
  unflatten(*this, op.getResults(), loop.getResults());
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
