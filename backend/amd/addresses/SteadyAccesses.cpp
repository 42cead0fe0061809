// Finds accesses that loops make in each iteration.
#include "backend/amd/addresses/SteadyAccesses.h"
#include "backend/gpu/ThreadLowering.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tw;
using namespace tw::amd;

/// The values of a loop that a number is a sum or product of.
static void addLoopValues(Value value, scf::ForOp loop, unsigned depth,
                          SmallVectorImpl<Value> &found) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (argument && argument.getOwner() == loop.getBody())
    found.push_back(value);
  Operation *op = value.getDefiningOp();
  if (depth > 0 && isa_and_present<arith::AddIOp, arith::MulIOp, arith::ExtSIOp>(op))
    for (Value operand : op->getOperands())
      addLoopValues(operand, loop, depth - 1, found);
}

SteadyAccesses::SteadyAccesses(Operation *kernel) {
  auto note = [&](Operation *op, Value pointer, Value mask) {
    auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
    if (!loop || gpu::neededMask(mask))
      return;
    constexpr unsigned most = 8; // of sums and products in one another
    SmallVector<Value> found;
    if (auto step = pointer.getDefiningOp<LLVM::GEPOp>();
        step && step.getDynamicIndices().size() == 1)
      added.insert({step.getDynamicIndices().front(), step.getBase()});
    while (auto step = pointer.getDefiningOp<LLVM::GEPOp>()) {
      for (Value index : step.getDynamicIndices())
        addLoopValues(index, loop, most, found);
      pointer = step.getBase();
    }
    for (Value value : found)
      steady.insert({value, pointer});
  };
  kernel->walk([&](simt::GlobalLoadOp op) { note(op, op.getPtr(), op.getMask()); });
  kernel->walk([&](simt::GlobalToSharedOp op) { note(op, op.getPtr(), op.getMask()); });
  kernel->walk([&](simt::GlobalStoreOp op) { note(op, op.getPtr(), op.getMask()); });
}

/// Returns true if a number grows in each iteration: it is a counter, or a carried number to which
/// a constant is added.
static bool grows(Value value, scf::ForOp loop) {
  APInt known;
  auto sum = value.getDefiningOp<arith::AddIOp>();
  if (sum && matchPattern(sum.getRhs(), m_ConstantInt(&known)))
    return grows(sum.getLhs(), loop);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != loop.getBody())
    return false;
  if (argument == loop.getInductionVar())
    return true;
  auto next = loop.getTiedLoopYieldedValue(argument)->get().getDefiningOp<arith::AddIOp>();
  return next && next.getLhs() == argument && matchPattern(next.getRhs(), m_ConstantInt(&known)) &&
         known.isStrictlyPositive();
}

/// Returns true if a mask that is false in one iteration stays false in all later ones.
static bool staysFalse(Value mask, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(mask))
    return true;
  if (auto both = mask.getDefiningOp<arith::AndIOp>())
    return staysFalse(both.getLhs(), loop) && staysFalse(both.getRhs(), loop);
  auto compare = mask.getDefiningOp<arith::CmpIOp>();
  bool isBelow = compare && (compare.getPredicate() == arith::CmpIPredicate::slt ||
                             compare.getPredicate() == arith::CmpIPredicate::sle);
  return isBelow && loop.isDefinedOutsideOfLoop(compare.getRhs()) && grows(compare.getLhs(), loop);
}

bool tw::amd::beginsAtOnce(BlockArgument loopValue, Block *block, Value mask) {
  auto loop = dyn_cast<scf::ForOp>(loopValue.getOwner()->getParentOp());
  return loop && block == loop.getBody() && (!mask || staysFalse(mask, loop));
}
