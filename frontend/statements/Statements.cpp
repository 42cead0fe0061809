// Statements other than branches and loops.
#include "frontend/emit/Names.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/expressions/Calls.h"
#include "frontend/operators/Aggregates.h"
#include "frontend/operators/Operators.h"
#include "frontend/statements/ControlFlow.h"
#include "frontend/statements/Loops.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

// A kernel beyond this is a mistake, such as a loop that is unrolled: it would take minutes.
static constexpr int64_t kMaxOperations = 30'000;

//===-- Assignment ---------------------------------------------------------------------------===//

static LogicalResult unpack(Emitter &emitter, const Node &target, const PyValue &value) {
  FailureOr<std::vector<PyValue>> items = elementsOf(emitter, value, target);
  if (failed(items))
    return failure();
  llvm::ArrayRef<const Node *> targets = target.list("elts");
  const auto *star = llvm::find_if(targets, [](const Node *t) { return t->is(NodeKind::Starred); });
  bool hasStar = star != targets.end();
  size_t numBefore = star - targets.begin();
  if (hasStar ? items->size() + 1 < targets.size() : items->size() != targets.size())
    return emitter.error(
        Code::NotIterable, target,
        formatv("{0} values cannot be unpacked into {1} names", items->size(), targets.size())
            .str(),
        "give one name for each value");
  for (size_t i = 0; i < numBefore; ++i)
    if (failed(assign(emitter, *targets[i], (*items)[i])))
      return failure();
  if (!hasStar)
    return success();
  size_t numAfter = targets.size() - numBefore - 1, numTaken = items->size() - targets.size() + 1;
  auto first = items->begin() + numBefore;
  if (failed(assign(emitter, (*star)->child("value"), makeTuple({first, first + numTaken}))))
    return failure();
  for (size_t i = 0; i < numAfter; ++i)
    if (failed(assign(emitter, *targets[numBefore + 1 + i], (*items)[numBefore + numTaken + i])))
      return failure();
  return success();
}

LogicalResult tw::assign(Emitter &emitter, const Node &target, const PyValue &value) {
  if (target.is(NodeKind::Name)) {
    llvm::StringRef name = target.text("id");
    bool isConstexpr = isStatic(value) && emitter.frame().declaredConstexprs.contains(name.str());
    emitter.frame().bind(name, isConstexpr ? named(value, /*isNamed=*/false) : value, target,
                         isConstexpr);
    return success();
  }
  if (target.is(NodeKind::Tuple) || target.is(NodeKind::List))
    return unpack(emitter, target, value);
  if (target.is(NodeKind::Subscript))
    return emitter.unsupported(
        target, "assignment to an element",
        "tiles and tuples are values: make a new one, or use tw.store for memory");
  if (target.is(NodeKind::Attribute))
    return assignField(emitter, target, value);
  return emitter.error(Code::MalformedBuffer, target, "this cannot be assigned to",
                       "report this as a bug");
}

static LogicalResult emitAssign(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> value = eval(emitter, node.child("value"));
  if (failed(value))
    return failure();
  for (const Node *target : node.list("targets"))
    if (failed(assign(emitter, *target, named(*value))))
      return failure();
  return success();
}

static LogicalResult emitAugmentedAssign(Emitter &emitter, const Node &node) {
  const Node &target = node.child("target");
  bool isField = target.is(NodeKind::Attribute) && !emitter.frame().constructed.empty();
  if (!target.is(NodeKind::Name) && !isField)
    return assign(emitter, target, PyValue{}); // reports what is wrong with the target
  FailureOr<PyValue> current = eval(emitter, target);
  if (failed(current))
    return failure();
  FailureOr<PyValue> operand = eval(emitter, node.child("value"));
  if (failed(operand))
    return failure();
  FailureOr<PyValue> result =
      emitBinary(emitter, node.binary, *current, *operand, node, target, node.child("value"));
  if (failed(result))
    return failure();
  return assign(emitter, target, named(*result));
}

static bool isConstexprAnnotation(Emitter &emitter, const Node &annotation) {
  if (annotation.is(NodeKind::Constant)) {
    const JsonObject *json = annotation.json->getObject("value");
    return json && llvm::StringRef(json->getString("v").value_or("")).ends_with("constexpr");
  }
  llvm::StringRef name =
      annotation.is(NodeKind::Attribute) ? annotation.text("attr") : annotation.text("id");
  return name == "constexpr";
}

static LogicalResult emitAnnotatedAssign(Emitter &emitter, const Node &node) {
  if (!node.has("value")) {
    if (isConstexprAnnotation(emitter, node.child("annotation")))
      emitter.frame().declaredConstexprs.insert(node.child("target").text("id").str());
    return success();
  }
  FailureOr<PyValue> value = eval(emitter, node.child("value"));
  if (failed(value))
    return failure();
  // A run-time value is an error only where a constant is needed, as for a function's parameter.
  bool isConstexpr = isStatic(*value) && isConstexprAnnotation(emitter, node.child("annotation"));
  const Node &target = node.child("target");
  value = named(*value, !isConstexpr);
  if (!target.is(NodeKind::Name))
    return assign(emitter, target, *value);
  emitter.frame().bind(target.text("id"), *value, target, isConstexpr);
  return success();
}

//===-- Others -------------------------------------------------------------------------------===//

static LogicalResult emitReturn(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> value =
      node.has("value") ? eval(emitter, node.child("value")) : FailureOr<PyValue>(PyValue{None{}});
  if (failed(value))
    return failure();
  if (!emitter.frame().callNode && !value->is<None>())
    return emitter.error(Code::BadReturn, node,
                         "a kernel cannot return a value, but this returns " + typeName(*value),
                         "store results in memory with tw.store");
  emitter.frame().bind(kResult, *value, node);
  emitter.frame().setFlag(kReturned, {true});
  emitter.frame().setFlag(kBroke, {true});
  emitter.frame().setFlag(kJumped, {true});
  return success();
}

static LogicalResult emitAssert(Emitter &emitter, const Node &node) {
  const Node &test = node.child("test");
  FailureOr<PyValue> condition = eval(emitter, test);
  if (failed(condition))
    return failure();
  std::string text = "assertion failed";
  if (node.has("msg") && (!condition->isRuntime() || emitter.options.debug)) {
    FailureOr<PyValue> message = eval(emitter, node.child("msg"));
    if (!failed(message))
      message = textOf(emitter, *message, /*isRepr=*/false, node.child("msg"));
    if (failed(message))
      return failure();
    text = toText(*message, false);
  }
  if (!condition->isRuntime() && !condition->is<Absent>()) {
    FailureOr<bool> truth = staticTruth(emitter, *condition, test);
    if (failed(truth))
      return failure();
    if (*truth)
      return success();
    return emitter.error(Code::StaticAssert, test, text, "this condition is false at compile time");
  }
  FailureOr<TypedValue> typed = toRuntime(emitter, *condition, test);
  if (failed(typed) || failed(checkTruth(emitter, *typed, test)))
    return failure();
  if (!emitter.options.debug)
    return success();
  if (failed(emitter.refuseInCombine(node, "`assert`")))
    return failure();
  emitter.locate(node);
  if (std::optional<Reason> problem = emitter.tiles.deviceAssert(*typed, text, std::nullopt))
    return emitter.error(*problem, node, {&test});
  return success();
}

static LogicalResult emitDelete(Emitter &emitter, const Node &node) {
  for (const Node *target : node.list("targets")) {
    if (!target->is(NodeKind::Name))
      return emitter.unsupported(*target, "del of an element", "make a new tuple");
    if (failed(readName(emitter, *target)))
      return failure();
    emitter.frame().bind(target->text("id"), {Absent{Absent::Reason::Deleted, {}, {}, "", ""}},
                         *target);
  }
  return success();
}

static LogicalResult emitNestedFunction(Emitter &emitter, const Node &node) {
  if (!node.list("decorator_list").empty())
    return emitter.unsupported(node, "a decorator of a nested function", "leave it out");
  FailureOr<PyValue> closure = makeClosure(emitter, node);
  if (failed(closure))
    return failure();
  emitter.frame().bind(node.text("name"), *closure, node);
  return success();
}

/// The scopes that mark parts of a kernel for schedulers and profilers: they change no result.
static bool isScope(const PyValue &callee) {
  const Callable *callable = callee.as<Callable>();
  if (callable && callable->kind == Callable::Kind::Builtin)
    return llvm::StringRef(callable->name).starts_with("scope:");
  llvm::StringRef name = callee.is<Opaque>() ? llvm::StringRef(callee.as<Opaque>()->text)
                         : callable          ? llvm::StringRef(callable->name)
                                             : "";
  name.consume_front("class ");
  return name.starts_with("triton.profiler.") || name.starts_with("proton.");
}

/// `with` around statements, of scopes that do not change any result.
static LogicalResult emitWith(Emitter &emitter, const Node &node) {
  for (const Node *item : node.list("items")) {
    const Node &manager = item->child("context_expr");
    if (!manager.is(NodeKind::Call) || item->has("optional_vars"))
      return emitter.error(Code::UnknownScope, manager, "this `with` has no meaning in a kernel",
                           "write the body without the `with`");
    FailureOr<PyValue> callee = eval(emitter, manager.child("func"));
    if (failed(callee))
      return failure();
    if (!isScope(*callee))
      return emitter.error(Code::UnknownScope, manager,
                           "kernels do not enter `" + dottedName(manager.child("func")) + "`",
                           "write the body without the `with`; of scopes there are "
                           "tw.async_task(...), tw.async_tasks() and those of profilers");
    for (const Node *argument : manager.list("args"))
      if (failed(eval(emitter, *argument)))
        return failure();
  }
  return emitBlock(emitter, node.list("body"));
}

/// Returns what to write in place of a statement that has no meaning on a device.
static llvm::StringRef alternativeTo(llvm::StringRef className) {
  if (className == "Global" || className == "Nonlocal")
    return "return the value and assign it in the caller";
  if (className == "Try" || className == "TryStar" || className == "Raise")
    return "kernels cannot raise: use masks, or tw.device_assert for checks";
  if (className == "AsyncWith")
    return "write the body without the `with`";
  if (className == "ClassDef")
    return "use a namedtuple that is defined outside the kernel";
  if (className == "Import" || className == "ImportFrom")
    return "import it at the top of the file";
  if (className == "Match")
    return "use if and elif";
  return "leave it out";
}

static LogicalResult emitStatement(Emitter &emitter, const Node &node) {
  if (emitter.options.checkpoint)
    emitter.options.checkpoint();
  if (emitter.operations.count > kMaxOperations)
    return emitter.error(
        Code::LimitExceeded, node,
        formatv("the kernel has more than {0} operations here", kMaxOperations).str(),
        "use range(...) or tw.range(...), which run a loop on the device, instead of "
        "unrolled loops and repeated calls");
  switch (node.kind) {
  case NodeKind::Assign:
    return emitAssign(emitter, node);
  case NodeKind::AugAssign:
    return emitAugmentedAssign(emitter, node);
  case NodeKind::AnnAssign:
    return emitAnnotatedAssign(emitter, node);
  case NodeKind::Expr:
    // Docstrings and bare constants mean nothing.
    return node.child("value").is(NodeKind::Constant)
               ? success()
               : LogicalResult(eval(emitter, node.child("value")));
  case NodeKind::For:
    return emitFor(emitter, node);
  case NodeKind::While:
    return emitWhile(emitter, node);
  case NodeKind::Return:
    return emitReturn(emitter, node);
  case NodeKind::Break:
    emitter.frame().setFlag(kBroke, {true});
    emitter.frame().setFlag(kJumped, {true});
    return success();
  case NodeKind::Continue:
    emitter.frame().setFlag(kJumped, {true});
    return success();
  case NodeKind::Assert:
    return emitAssert(emitter, node);
  case NodeKind::Delete:
    return emitDelete(emitter, node);
  case NodeKind::FunctionDef:
    return emitNestedFunction(emitter, node);
  case NodeKind::Pass:
    return success();
  case NodeKind::Missing:
    return emitter.error(Code::MalformedBuffer, node, "a statement is missing",
                         "report this as a bug");
  case NodeKind::With:
    return emitWith(emitter, node);
  default:
    return emitter.unsupported(node, "the statement `" + node.className + "`",
                               alternativeTo(node.className));
  }
}

LogicalResult tw::emitBlock(Emitter &emitter, llvm::ArrayRef<const Node *> body) {
  if (!body.empty() && failed(checkDepth(emitter, *body.front())))
    return failure();
  llvm::SaveAndRestore<int> deeper(emitter.syntaxDepth, emitter.syntaxDepth + 1);
  for (size_t i = 0; i < body.size(); ++i) {
    llvm::ArrayRef<const Node *> rest = body.drop_front(i + 1);
    bool hasEmittedRest = false;
    if (failed(body[i]->is(NodeKind::If) ? emitIf(emitter, *body[i], rest, hasEmittedRest)
                                         : emitStatement(emitter, *body[i])))
      return failure();
    if (hasEmittedRest)
      return success();
    PyValue jumped = emitter.frame().flag(kJumped);
    if (jumped.isRuntime())
      return rest.empty() ? success() : unlessSet(emitter, kJumped, *rest.front(), [&] {
        return emitBlock(emitter, rest);
      });
    if (truthOf(jumped))
      return success();
  }
  return success();
}
