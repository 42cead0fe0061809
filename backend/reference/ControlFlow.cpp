// The meaning of loops, branches and calls. Loops iterate; only nesting and calls recurse.
#include "backend/reference/Meanings.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/SymbolTable.h"
#include "runtime/codes/Codes.h"

using namespace mlir;
using namespace tw;
using namespace tw::reference;

// Kernels are not recursive; text that is must not exhaust the host's stack.
static constexpr int kLargestCallDepth = 64;

/// Before another iteration.
static LogicalResult countIteration(Program &program, Operation &loop) {
  LoopLimit &loops = *program.launch.loops;
  if (++loops.idle <= loops.most)
    return success();
  return failAt(program, loop, Code::EndlessLoop,
                "loops have run " + std::to_string(loops.most) +
                    " iterations without effect, and this one goes on");
}

static LogicalResult runFor(Program &program, Operation &op) {
  auto loop = cast<scf::ForOp>(op);
  Block &body = *loop.getBody();
  unsigned width = elementWidth(loop.getInductionVar().getType());
  int64_t step = program.integerOf(loop.getStep());
  if (step <= 0)
    return failAt(program, op, Code::LoopStep,
                  "loop step " + std::to_string(step) + " is not positive");
  uint64_t counter = program.valueOf(loop.getLowerBound())[0].bits;
  uint64_t bound = program.valueOf(loop.getUpperBound())[0].bits;
  auto isBelow = [&](uint64_t lhs, uint64_t rhs) {
    return loop.getUnsignedCmp() ? lhs < rhs : signExtend(lhs, width) < signExtend(rhs, width);
  };
  assignValues(program, loop.getRegionIterArgs(), loop.getInitArgs());
  while (isBelow(counter, bound)) {
    if (failed(countIteration(program, op)))
      return failure();
    program.set(loop.getInductionVar(), {Element{counter}});
    if (failed(runBlock(program, body)))
      return failure();
    assignValues(program, loop.getRegionIterArgs(), body.getTerminator()->getOperands());
    uint64_t next = truncateToWidth(counter + uint64_t(step), width);
    if (!isBelow(counter, next)) // the counter wrapped: every number up to the bound was passed
      break;
    counter = next;
  }
  assignValues(program, loop.getResults(), loop.getRegionIterArgs());
  return success();
}

static LogicalResult runWhile(Program &program, Operation &op) {
  auto loop = cast<scf::WhileOp>(op);
  assignValues(program, loop.getBeforeArguments(), loop.getInits());
  while (true) {
    if (failed(runBlock(program, *loop.getBeforeBody())))
      return failure();
    scf::ConditionOp condition = loop.getConditionOp();
    assignValues(program, loop.getAfterArguments(), condition.getArgs());
    if (!program.isTrue(condition.getCondition()))
      break;
    if (failed(countIteration(program, op)) || failed(runBlock(program, *loop.getAfterBody())))
      return failure();
    assignValues(program, loop.getBeforeArguments(), loop.getYieldOp().getOperands());
  }
  assignValues(program, loop.getResults(), loop.getAfterArguments());
  return success();
}

/// Runs a region of one block and gives the operation its terminator's operands.
static LogicalResult runRegion(Program &program, Operation &op, Region &region) {
  if (!llvm::hasSingleElement(region))
    return failAt(program, op, Code::UnknownMeaning,
                  "a region of several blocks has no meaning here");
  if (failed(runBlock(program, region.front())))
    return failure();
  assignValues(program, op.getResults(), region.front().getTerminator()->getOperands());
  return success();
}

static LogicalResult runIf(Program &program, Operation &op) {
  auto branch = cast<scf::IfOp>(op);
  Region &chosen =
      program.isTrue(branch.getCondition()) ? branch.getThenRegion() : branch.getElseRegion();
  return chosen.empty() ? success() : runRegion(program, op, chosen);
}

static LogicalResult runIndexSwitch(Program &program, Operation &op) {
  auto branch = cast<scf::IndexSwitchOp>(op);
  int64_t chosen = program.integerOf(branch.getArg());
  for (auto [value, region] : llvm::zip(branch.getCases(), branch.getCaseRegions()))
    if (value == chosen)
      return runRegion(program, op, region);
  return runRegion(program, op, branch.getDefaultRegion());
}

static LogicalResult runExecuteRegion(Program &program, Operation &op) {
  return runRegion(program, op, op.getRegion(0));
}

/// A callee has its own values; they go when it returns.
static LogicalResult runCall(Program &program, Operation &op) {
  auto call = cast<func::CallOp>(op);
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
  if (!callee || !llvm::hasSingleElement(callee.getBody()))
    return failAt(program, op, Code::UnknownMeaning,
                  "a call of a function without a plain body has no meaning");
  if (program.callDepth == kLargestCallDepth)
    return failAt(program, op, Code::UnknownMeaning, "recursion has no meaning here");
  Block &body = callee.getBody().front();
  Program inner(program.meanings, program.launch, program.id, program.callDepth + 1);
  for (auto [parameter, argument] : llvm::zip(body.getArguments(), call.getOperands()))
    inner.set(parameter, program.valueOf(argument));
  if (failed(runBlock(inner, body))) {
    program.error = std::move(inner.error);
    return failure();
  }
  for (auto [result, value] : llvm::zip(call.getResults(), body.getTerminator()->getOperands()))
    program.set(result, inner.valueOf(value));
  return success();
}

/// Terminators, whose operands the owner of the block reads, and definitions of functions.
static LogicalResult runNothing(Program &, Operation &) { return success(); }

void tw::reference::addControlFlowMeanings(Meanings &meanings) {
  meanings["scf.for"].structured = runFor;
  meanings["scf.while"].structured = runWhile;
  meanings["scf.if"].structured = runIf;
  meanings["scf.index_switch"].structured = runIndexSwitch;
  meanings["scf.execute_region"].structured = runExecuteRegion;
  meanings["func.call"].structured = runCall;
  for (const char *name : {"scf.yield", "scf.condition", "func.return", "func.func", "tile.yield"})
    meanings[name].structured = runNothing;
}
