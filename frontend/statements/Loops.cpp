// Loops: unrolled at compile time, or scf.for and scf.while with the names that their bodies
// change.
#include "frontend/statements/Loops.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/statements/ControlFlow.h"
#include "frontend/statements/LoopBounds.h"
#include "frontend/statements/LoopDraft.h"
#include "frontend/values/Parts.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;
namespace scf = mlir::scf;
namespace arith = mlir::arith;

// Unrolling beyond this is a mistake in the kernel, and would take minutes.
static constexpr int64_t kMaxUnrolled = 20000;

//===-- Unrolled loops -----------------------------------------------------------------------===//

static LogicalResult emitUnrolled(Emitter &emitter, const Node &node,
                                  llvm::ArrayRef<PyValue> items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (++emitter.numUnrolled > kMaxUnrolled)
      return emitter.error(
          Code::LimitExceeded, node,
          formatv("loops are unrolled into more than {0} iterations", kMaxUnrolled).str(),
          "use range(...) or tw.range(...), which run the loop on the device");
    emitter.frame().setFlag(kJumped, {false});
    if (failed(assign(emitter, node.child("target"), items[i])) ||
        failed(emitBlock(emitter, node.list("body"))))
      return failure();
    llvm::ArrayRef<PyValue> rest = items.drop_front(i + 1);
    PyValue broke = emitter.frame().flag(kBroke);
    if (broke.isRuntime())
      return rest.empty() ? success() : unlessSet(emitter, kBroke, node, [&] {
        return emitUnrolled(emitter, node, rest);
      });
    if (truthOf(broke))
      return success();
  }
  return success();
}

//===-- Run-time loops -----------------------------------------------------------------------===//

/// A walrus in the test of a `while` binds names that the body may read.
static bool bindsInTest(const Node &node) {
  return node.is(NodeKind::While) && !assignedNames({&node.child("test")}).empty();
}

/// `while test: body` as `while True: if test: body, else: break`.
static LogicalResult emitTestAndBody(Emitter &emitter, const Node &node) {
  const Node &test = node.child("test");
  FailureOr<PyValue> value = eval(emitter, test);
  if (failed(value))
    return failure();
  FailureOr<mlir::Value> condition = toCondition(emitter, *value, test);
  if (failed(condition))
    return failure();
  auto leave = [&]() -> LogicalResult {
    emitter.frame().setFlag(kBroke, {true});
    emitter.frame().setFlag(kJumped, {true});
    return success();
  };
  return emitBranch(
      emitter, *condition, node, [&] { return emitBlock(emitter, node.list("body")); }, leave);
}

/// Binds the loop variable and emits the body; the values to carry on with.
static FailureOr<std::vector<mlir::Value>> emitIteration(LoopDraft &loop, const Bounds *bounds,
                                                         mlir::Value counter) {
  Emitter &emitter = loop.emitter;
  emitter.frame().clearJumps();
  if (bounds) {
    mlir::Value variable = counter;
    if (bounds->base) {
      mlir::Location loc = emitter.location();
      variable = arith::MulIOp::create(emitter.builder, loc, counter, bounds->stride);
      variable = arith::AddIOp::create(emitter.builder, loc, bounds->base, variable);
    }
    if (failed(assign(emitter, loop.node.child("target"), {TypedValue{variable, bounds->dtype}})))
      return failure();
  }
  if (failed(bindsInTest(loop.node) ? emitTestAndBody(emitter, loop.node)
                                    : emitBlock(emitter, loop.node.list("body"))))
    return failure();
  return loop.endValues();
}

static FailureOr<mlir::Operation *> emitCounted(LoopDraft &loop, const Bounds &bounds) {
  mlir::OpBuilder &builder = loop.emitter.builder;
  mlir::Location here = loop.emitter.location();
  auto op =
      scf::ForOp::create(builder, here, bounds.start, bounds.stop, bounds.step, loop.entryValues());
  if (!op.getBody()->empty())
    op.getBody()->clear(); // the terminator that is made when nothing is carried
  builder.setInsertionPointToEnd(op.getBody());
  loop.bindLeaves(op.getRegionIterArgs());
  FailureOr<std::vector<mlir::Value>> ends = emitIteration(loop, &bounds, op.getInductionVar());
  if (failed(ends))
    return failure();
  scf::YieldOp::create(builder, here, loop.mustRepeat ? loop.entryValues() : *ends);
  return op.getOperation();
}

static mlir::Value andNot(Emitter &emitter, mlir::Value condition, const PyValue &flag) {
  mlir::OpBuilder &b = emitter.builder;
  if (!flag.isRuntime())
    return condition;
  mlir::Value isTrue = arith::ConstantOp::create(b, emitter.location(), b.getBoolAttr(true));
  mlir::Value isClear =
      arith::XOrIOp::create(b, emitter.location(), flag.as<TypedValue>()->value, isTrue);
  return arith::AndIOp::create(b, emitter.location(), condition, isClear);
}

/// The operation of a loop that tests a condition; its blocks take the carried leaves and, first,
/// the counter of a `for` that can be left early.
static scf::WhileOp createWhile(LoopDraft &loop, const Bounds *bounds) {
  mlir::OpBuilder &builder = loop.emitter.builder;
  std::vector<mlir::Value> entries = loop.entryValues();
  if (bounds)
    entries.insert(entries.begin(), bounds->start);
  mlir::TypeRange types = mlir::ValueRange(entries).getTypes();
  auto op = scf::WhileOp::create(builder, loop.emitter.location(), types, entries);
  std::vector<mlir::Location> locations(entries.size(), loop.emitter.location());
  builder.createBlock(&op.getBefore(), {}, types, locations);
  builder.createBlock(&op.getAfter(), {}, types, locations);
  return op;
}

/// The counter of the next iteration, or the end of the range behind the last one: a sum with the
/// step might overflow there.
static mlir::Value nextCount(mlir::OpBuilder &b, mlir::Location loc, mlir::Value counter,
                             const Bounds &bounds) {
  mlir::Value next = arith::AddIOp::create(b, loc, counter, bounds.step);
  if (mlir::matchPattern(bounds.step, mlir::m_One()))
    return next;
  // The counter is below the end, so that this difference is right as an unsigned number.
  mlir::Value rest = arith::SubIOp::create(b, loc, bounds.stop, counter);
  mlir::Value goesOn = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ugt, rest, bounds.step);
  return arith::SelectOp::create(b, loc, goesOn, next, bounds.stop);
}

static FailureOr<mlir::Operation *> emitCountedWithExit(LoopDraft &loop, const Bounds &bounds) {
  Emitter &emitter = loop.emitter;
  mlir::OpBuilder &builder = emitter.builder;
  mlir::Location here = emitter.location();
  scf::WhileOp op = createWhile(loop, &bounds);
  mlir::Block *before = op.getBeforeBody(), *after = op.getAfterBody();
  builder.setInsertionPointToEnd(before);
  loop.bindLeaves(before->getArguments().drop_front());
  mlir::Value goesOn = arith::CmpIOp::create(builder, here, arith::CmpIPredicate::slt,
                                             before->getArgument(0), bounds.stop);
  goesOn = andNot(emitter, goesOn, emitter.frame().flag(kBroke));
  scf::ConditionOp::create(builder, here, goesOn, before->getArguments());
  builder.setInsertionPointToEnd(after);
  loop.bindLeaves(after->getArguments().drop_front());
  FailureOr<std::vector<mlir::Value>> ends = emitIteration(loop, &bounds, after->getArgument(0));
  if (failed(ends))
    return failure();
  std::vector<mlir::Value> yields = loop.mustRepeat ? loop.entryValues() : *ends;
  yields.insert(yields.begin(), nextCount(builder, here, after->getArgument(0), bounds));
  scf::YieldOp::create(builder, here, yields);
  return op.getOperation();
}

/// Emits the test of a `while`, which is not evaluated any more once the loop was left.
static FailureOr<mlir::Value> emitTest(LoopDraft &loop) {
  Emitter &emitter = loop.emitter;
  const Node &node = loop.node, &test = node.child("test");
  bool isInBody = bindsInTest(node);
  auto evaluate = [&]() -> FailureOr<mlir::Value> {
    FailureOr<PyValue> value = isInBody ? FailureOr<PyValue>(PyValue{true}) : eval(emitter, test);
    if (failed(value))
      return failure();
    loop.knownTest.reset();
    if (!isInBody && isStatic(*value)) {
      FailureOr<bool> truth = staticTruth(emitter, *value, test);
      if (failed(truth))
        return failure();
      loop.knownTest = *truth;
    }
    return toCondition(emitter, *value, test);
  };
  PyValue broke = emitter.frame().flag(kBroke);
  if (!broke.isRuntime())
    return evaluate();
  emitter.frame().setFlag(".test", {false});
  auto guarded = [&]() -> LogicalResult {
    FailureOr<mlir::Value> condition = evaluate();
    if (failed(condition))
      return failure();
    emitter.frame().setFlag(".test", {TypedValue{*condition, findDType("int1")}});
    return success();
  };
  if (failed(emitBranch(
          emitter, broke.as<TypedValue>()->value, test, [] { return success(); }, guarded)))
    return failure();
  PyValue result = emitter.frame().flag(".test");
  emitter.frame().names.erase(".test");
  return toCondition(emitter, result, test);
}

static FailureOr<mlir::Operation *> emitTested(LoopDraft &loop) {
  Emitter &emitter = loop.emitter;
  mlir::OpBuilder &builder = emitter.builder;
  mlir::Location here = emitter.location();
  scf::WhileOp op = createWhile(loop, nullptr);
  builder.setInsertionPointToEnd(op.getBeforeBody());
  loop.bindLeaves(op.getBeforeBody()->getArguments());
  FailureOr<mlir::Value> condition = emitTest(loop);
  if (failed(condition))
    return failure();
  scf::ConditionOp::create(builder, here, *condition, op.getBeforeBody()->getArguments());
  builder.setInsertionPointToEnd(op.getAfterBody());
  loop.bindLeaves(op.getAfterBody()->getArguments());
  if (loop.knownTest == false) { // the body need not mean anything
    loop.mustRepeat = false;
    scf::YieldOp::create(builder, here, op.getAfterBody()->getArguments());
    return op.getOperation();
  }
  FailureOr<std::vector<mlir::Value>> ends = emitIteration(loop, nullptr, mlir::Value());
  if (failed(ends))
    return failure();
  scf::YieldOp::create(builder, here, loop.mustRepeat ? loop.entryValues() : *ends);
  return op.getOperation();
}

//===-- The statements -----------------------------------------------------------------------===//

/// The `else` of a loop, which runs unless a break or a return ended it.
static LogicalResult emitElse(Emitter &emitter, const Node &node, const PyValue &broke) {
  llvm::ArrayRef<const Node *> body = node.list("orelse");
  if (body.empty())
    return success();
  static constexpr llvm::StringLiteral kLeft = ".left";
  emitter.frame().setFlag(kLeft, broke);
  LogicalResult result = unlessSet(emitter, kLeft, node, [&] { return emitBlock(emitter, body); });
  emitter.frame().names.erase(kLeft.str());
  return result;
}

static LogicalResult emitRuntimeFor(Emitter &emitter, const Node &node, const RangeValue &range) {
  emitter.locate(node);
  FailureOr<Bounds> bounds = boundsOf(emitter, range, node);
  if (failed(bounds))
    return failure();
  LoopDraft loop{emitter, node, assignedNames(node.list("body"))};
  loop.before = emitter.frame().names;
  if (node.child("target").is(NodeKind::Name))
    loop.assigned.erase(node.child("target").text("id").str());
  mlir::Operation *built = nullptr;
  auto attempt = [&](LoopDraft &draft) -> FailureOr<mlir::Operation *> {
    FailureOr<mlir::Operation *> op =
        draft.hasExit ? emitCountedWithExit(draft, *bounds) : emitCounted(draft, *bounds);
    built = failed(op) ? nullptr : *op;
    return op;
  };
  if (failed(emitUntilStable(loop, attempt)))
    return failure();
  for (const auto &[name, number] : range.options)
    built->setAttr("tile." + name, emitter.builder.getI32IntegerAttr(int32_t(number)));
  return emitElse(emitter, node, loop.broke);
}

LogicalResult tw::emitFor(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> iterable = eval(emitter, node.child("iter"));
  if (failed(iterable))
    return failure();
  const RangeValue *range = iterable->as<RangeValue>();
  if (range && !range->isStatic)
    return emitRuntimeFor(emitter, node, *range);
  FailureOr<std::vector<PyValue>> items = elementsOf(emitter, *iterable, node.child("iter"));
  if (failed(items))
    return failure();
  ++emitter.frame().loopDepth;
  LogicalResult result = emitUnrolled(emitter, node, *items);
  --emitter.frame().loopDepth;
  if (failed(result))
    return failure();
  PyValue broke = emitter.frame().flag(kBroke);
  emitter.frame().leaveLoop();
  return emitElse(emitter, node, broke);
}

LogicalResult tw::emitWhile(Emitter &emitter, const Node &node) {
  if (!node.list("orelse").empty() && bindsInTest(node))
    return emitter.unsupported(node, "`else` of a loop with `:=` in its test",
                               "set a flag in the loop and test it afterwards");
  std::vector<const Node *> repeated = node.list("body").vec();
  repeated.push_back(&node.child("test"));
  LoopDraft loop{emitter, node, assignedNames(repeated)};
  loop.before = emitter.frame().names;
  if (failed(emitUntilStable(loop, emitTested)))
    return failure();
  bool isLeftByReturn = loop.knownTest == true && !mayBreak(node.list("body")) && loop.hasReturn;
  if (!isLeftByReturn)
    return emitElse(emitter, node, loop.broke);
  // Nothing but a return ends `while True` without a break, so the code after it never runs.
  emitter.frame().setFlag(kReturned, {true});
  emitter.frame().leaveLoop();
  return success();
}
