// Counted loops as control flow that ends at the largest integers, too: MLIR's own lowering adds
// the step and compares then, so that a counter that passes the largest integer starts over.
#include "passes/llvm/CountedLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using arith::CmpIPredicate;

/// The range of a loop's integers.
static std::pair<APInt, APInt> limitsOf(scf::ForOp loop) {
  unsigned bits = loop.getStep().getType().getIntOrFloatBitWidth();
  if (loop.getUnsignedCmp())
    return {APInt::getMinValue(bits), APInt::getMaxValue(bits)};
  return {APInt::getSignedMinValue(bits), APInt::getSignedMaxValue(bits)};
}

/// Returns true if counter + step, for a counter below the upper bound, may lie outside the type.
static bool mayWrap(scf::ForOp loop) {
  if (!loop.getStep().getType().isInteger() || matchPattern(loop.getStep(), m_One()))
    return false;
  APInt upper, step;
  if (!matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return true;
  APInt highest = limitsOf(loop).second - step + 1;
  return loop.getUnsignedCmp() ? upper.ugt(highest) : upper.sgt(highest);
}

/// Returns true if the next counter minus the upper bound is an integer of the type, for a counter
/// below that bound.
static bool distanceFits(scf::ForOp loop) {
  APInt lower;
  return !loop.getUnsignedCmp() && matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) &&
         !lower.isNegative();
}

/// upper - step, or the smallest integer where there is no such number: a counter below it has a
/// next one.
static Value lastOf(scf::ForOp loop, CmpIPredicate isLess, OpBuilder &b) {
  Location loc = loop.getLoc();
  Value upper = loop.getUpperBound(), step = loop.getStep();
  Value lowest =
      arith::ConstantOp::create(b, loc, b.getIntegerAttr(step.getType(), limitsOf(loop).first));
  Value nearest = arith::AddIOp::create(b, loc, lowest, step);
  Value isNear = arith::CmpIOp::create(b, loc, isLess, upper, nearest);
  Value last = arith::SubIOp::create(b, loc, upper, step);
  return arith::SelectOp::create(b, loc, isNear, lowest, last);
}

/// Emits the test whether an iteration has the counter `next`. For loops from a constant that is
/// not negative, it tests the sign of next - upper: assemblers of GPUs unroll loops that test the
/// next counter, but not loops that test the present one. It takes as many instructions as a
/// comparison with upper.
static Value hasNext(scf::ForOp loop, Value counter, Value next, Value last, OpBuilder &b) {
  Location loc = loop.getLoc();
  CmpIPredicate isLess = loop.getUnsignedCmp() ? CmpIPredicate::ult : CmpIPredicate::slt;
  if (last)
    return arith::CmpIOp::create(b, loc, isLess, counter, last);
  Value distance = arith::SubIOp::create(b, loc, next, loop.getUpperBound());
  Value zero = arith::ConstantOp::create(b, loc, b.getIntegerAttr(counter.getType(), 0));
  return arith::CmpIOp::create(b, loc, isLess, distance, zero);
}

namespace {
/// The loop's body, entered where there is a first iteration, and repeated where there is a next.
struct LowerCountedLoop : OpRewritePattern<scf::ForOp> {
  LowerCountedLoop(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/2) {}

  LogicalResult matchAndRewrite(scf::ForOp loop, PatternRewriter &rewriter) const override {
    if (!mayWrap(loop))
      return rewriter.notifyMatchFailure(loop, "the counter stays below the largest integer");
    CmpIPredicate isLess = loop.getUnsignedCmp() ? CmpIPredicate::ult : CmpIPredicate::slt;
    Location loc = loop.getLoc();
    Block *before = rewriter.getInsertionBlock();
    Block *behind = rewriter.splitBlock(before, rewriter.getInsertionPoint());
    SmallVector<Location> locations(loop.getNumResults(), loc);
    Block *end = rewriter.createBlock(behind, loop.getResultTypes(), locations);
    rewriter.setInsertionPointToEnd(end);
    cf::BranchOp::create(rewriter, loc, behind);

    Block *first = loop.getBody(), *last = &loop.getRegion().back();
    rewriter.inlineRegionBefore(loop.getRegion(), end);
    rewriter.setInsertionPointToEnd(before);
    Value bound = distanceFits(loop) ? Value() : lastOf(loop, isLess, rewriter);
    Value enters =
        arith::CmpIOp::create(rewriter, loc, isLess, loop.getLowerBound(), loop.getUpperBound());
    SmallVector<Value> entry = {loop.getLowerBound()};
    llvm::append_range(entry, loop.getInitArgs());
    cf::CondBranchOp::create(rewriter, loc, enters, first, entry, end, loop.getInitArgs());

    Operation *yield = last->getTerminator();
    rewriter.setInsertionPointToEnd(last);
    Value counter = first->getArgument(0);
    Value next = arith::AddIOp::create(rewriter, loc, counter, loop.getStep());
    Value repeats = hasNext(loop, counter, next, bound, rewriter);
    SmallVector<Value> carried = {next};
    llvm::append_range(carried, yield->getOperands());
    cf::CondBranchOp::create(rewriter, loc, repeats, first, carried, end, yield->getOperands());
    rewriter.eraseOp(yield);
    rewriter.replaceOp(loop, end->getArguments());
    return success();
  }
};
} // namespace

void tw::populateCountedLoopPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerCountedLoop>(patterns.getContext());
}
