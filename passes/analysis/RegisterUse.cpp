// Estimates how many registers the tiles of a loop take.
#include "passes/analysis/RegisterUse.h"
#include "ir/simt/Simt.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using tw::tile::isElementwise;

/// Returns true if the tile is cheap to rematerialize wherever it is needed: from constants,
/// indices and values that several elements share. `depth` limits the search.
static bool isComputedFromLittle(Value value, unsigned depth = 6) {
  Operation *op = value.getDefiningOp();
  if (!op ||
      isa<arith::ConstantOp, tile::SplatOp, tile::BroadcastOp, tile::ExpandDimsOp, tile::ArangeOp>(
          op))
    return op != nullptr;
  return depth != 0 && isElementwise(op) && llvm::all_of(op->getOperands(), [=](Value operand) {
           return !isa<RankedTensorType>(operand.getType()) ||
                  isComputedFromLittle(operand, depth - 1);
         });
}

unsigned tw::registersOf(Value value) {
  Type type = value.getType();
  if (!isa<RankedTensorType>(type) || !hasLayout(type))
    return 0;
  Type element = tile::elementTypeOf(type);
  if (!element.isIntOrFloat() || element.isInteger(1) || isComputedFromLittle(value))
    return 0;
  LinearLayout held = layoutOf(type).withoutFreeRegisters();
  return std::max<unsigned>(1, held.size(Place::Register) * tile::elementBytes(element) / 4);
}

int64_t tw::columnsOfPartialSums(tile::AsyncMmaAttr instruction) {
  return std::max(instruction.getColumns() / 2, instruction.getMma().getN());
}

/// Registers that an operation takes beside its operands and results.
static unsigned registersBeside(Operation *op) {
  tile::AsyncMmaAttr instruction;
  if (auto mma = dyn_cast<MmaOp>(op); mma && mma.getPartialDepth())
    instruction = *mma.getAsync();
  if (auto mma = dyn_cast<MmaAsyncOp>(op); mma && mma.getPartialDepth())
    instruction = mma.getInstruction();
  if (!instruction)
    return 0;
  unsigned registers = columnsOfPartialSums(instruction) * instruction.getMma().getM() / 32;
  return std::min(registers, registersOf(op->getResult(0)));
}

unsigned tw::registersIn(scf::ForOp loop) {
  Block &body = *loop.getBody();
  llvm::DenseMap<Value, Operation *> lastUse;
  llvm::SetVector<Value> outer;
  loop->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (op != loop.getOperation() &&
          operand.getParentRegion()->isProperAncestor(&loop.getRegion()))
        outer.insert(operand);
  });
  unsigned count = 0;
  for (Value value : outer)
    count += registersOf(value);
  for (Value argument : loop.getRegionIterArgs())
    count += registersOf(argument);
  for (Operation &op : body)
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        lastUse[operand] = &op;
    });
  unsigned most = count;
  for (Operation &op : body) {
    for (Value operand : llvm::SetVector<Value>(op.operand_begin(), op.operand_end()))
      if (operand.getParentBlock() == &body && lastUse.lookup(operand) == &op &&
          !operand.getDefiningOp<LoadSharedOp>())
        count -= registersOf(operand);
    if (!isa<LoadSharedOp>(op))
      for (Value result : op.getResults())
        count += result.use_empty() ? 0 : registersOf(result);
    most = std::max(most, count + registersBeside(&op));
  }
  return most;
}

unsigned tw::registersOfOperands(scf::ForOp loop) {
  unsigned most = 0;
  loop->walk([&](MmaOp mma) {
    unsigned count = 0;
    int64_t depth = tile::shapeOf(mma.getA().getType()).back();
    for (Value operand : {mma.getA(), mma.getB()})
      if (operand.getDefiningOp<LoadSharedOp>())
        count +=
            registersOf(operand) * std::min(depth, int64_t(mma.getInstruction().getK())) / depth;
    most = std::max(most, count);
  });
  return most;
}

unsigned tw::registersForLoops(tile::TargetAttr target) {
  constexpr unsigned ofScalars = 8; // the thread's number, and what is computed from it
  return target.getRegisters() - std::min(ofScalars, target.getRegisters());
}

unsigned tw::registersForTiles(tile::TargetAttr target) {
  return target.getRegisters() - std::min(target.getSpareRegisters(), target.getRegisters());
}
