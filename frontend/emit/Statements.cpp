// Statements other than branches and loops.
#include "frontend/emit/Aggregates.h"
#include "frontend/emit/Emitter.h"
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

static LogicalResult unpack(Emitter &emitter, const Node &target, const Value &value) {
  FailureOr<std::vector<Value>> items = emitter.elements(value, target);
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
    if (failed(emitter.assign(*targets[i], (*items)[i])))
      return failure();
  if (!hasStar)
    return success();
  size_t numAfter = targets.size() - numBefore - 1, numTaken = items->size() - targets.size() + 1;
  auto first = items->begin() + numBefore;
  if (failed(emitter.assign((*star)->child("value"), makeTuple({first, first + numTaken}))))
    return failure();
  for (size_t i = 0; i < numAfter; ++i)
    if (failed(emitter.assign(*targets[numBefore + 1 + i], (*items)[numBefore + numTaken + i])))
      return failure();
  return success();
}

LogicalResult Emitter::assign(const Node &target, const Value &value) {
  if (target.is(NodeKind::Name)) {
    bind(target.text("id"), value, target);
    return success();
  }
  if (target.is(NodeKind::Tuple) || target.is(NodeKind::List))
    return unpack(*this, target, value);
  if (target.is(NodeKind::Subscript))
    return unsupported(target, "assignment to an element",
                       "tiles and tuples are values: make a new one, or use tw.store for memory");
  if (target.is(NodeKind::Attribute))
    return assignField(*this, target, value);
  return error(Code::MalformedBuffer, target, "this cannot be assigned to", "report this as a bug");
}

static LogicalResult emitAssign(Emitter &emitter, const Node &node) {
  ValueOr value = emitter.eval(node.child("value"));
  if (failed(value))
    return failure();
  for (const Node *target : node.list("targets"))
    if (failed(emitter.assign(*target, named(*value))))
      return failure();
  return success();
}

static LogicalResult emitAugmentedAssign(Emitter &emitter, const Node &node) {
  const Node &target = node.child("target");
  bool isField = target.is(NodeKind::Attribute) && !emitter.frame().constructed.empty();
  if (!target.is(NodeKind::Name) && !isField)
    return emitter.assign(target, Value{}); // reports what is wrong with the target
  ValueOr current = emitter.eval(target);
  ValueOr operand = failed(current) ? current : emitter.eval(node.child("value"));
  if (failed(current) || failed(operand))
    return failure();
  ValueOr result =
      emitter.binary(node.text("op"), *current, *operand, node, target, node.child("value"));
  return failed(result) ? failure() : emitter.assign(target, named(*result));
}

static bool isConstexprAnnotation(Emitter &emitter, const Node &annotation) {
  if (annotation.is(NodeKind::Constant)) {
    const llvm::json::Object *json = annotation.json->getObject("value");
    return json && llvm::StringRef(json->getString("v").value_or("")).ends_with("constexpr");
  }
  llvm::StringRef name =
      annotation.is(NodeKind::Attribute) ? annotation.text("attr") : annotation.text("id");
  return name == "constexpr";
}

static LogicalResult emitAnnotatedAssign(Emitter &emitter, const Node &node) {
  if (!node.has("value"))
    return success();
  ValueOr value = emitter.eval(node.child("value"));
  if (failed(value))
    return failure();
  // A run-time value is an error only where a constant is needed, as for a function's parameter.
  bool isConstexpr = isStatic(*value) && isConstexprAnnotation(emitter, node.child("annotation"));
  const Node &target = node.child("target");
  if (isConstexpr)
    value->isNamed = false;
  else
    value = named(*value);
  if (!target.is(NodeKind::Name))
    return emitter.assign(target, *value);
  emitter.bind(target.text("id"), *value, target, isConstexpr);
  return success();
}

//===-- Others -------------------------------------------------------------------------------===//

static LogicalResult emitReturn(Emitter &emitter, const Node &node) {
  ValueOr value = node.has("value") ? emitter.eval(node.child("value")) : ValueOr(Value{None{}});
  if (failed(value))
    return failure();
  if (!emitter.frame().callNode && !value->is<None>())
    return emitter.error(Code::BadReturn, node,
                         "a kernel cannot return a value, but this returns " + typeName(*value),
                         "store results in memory with tw.store");
  emitter.bind(kResult, *value, node);
  emitter.setFlag(kReturned, {true});
  emitter.setFlag(kBroke, {true});
  emitter.setFlag(kJumped, {true});
  return success();
}

static LogicalResult emitAssert(Emitter &emitter, const Node &node) {
  const Node &test = node.child("test");
  ValueOr condition = emitter.eval(test);
  if (failed(condition))
    return failure();
  std::string text = "assertion failed";
  if (node.has("msg") && (!condition->isRuntime() || emitter.options.debug)) {
    ValueOr message = emitter.eval(node.child("msg"));
    if (!failed(message))
      message = emitter.textOf(*message, /*isRepr=*/false, node.child("msg"));
    if (failed(message))
      return failure();
    text = toText(*message, false);
  }
  if (!condition->isRuntime() && !condition->is<Absent>()) {
    FailureOr<bool> truth = emitter.staticTruth(*condition, test);
    if (failed(truth))
      return failure();
    if (*truth)
      return success();
    return emitter.error(Code::StaticAssert, test, text, "this condition is false at compile time");
  }
  FailureOr<TypedValue> typed = emitter.toRuntime(*condition, test);
  if (failed(typed) || failed(emitter.refusePointer(*typed, test)))
    return failure();
  if (!emitter.options.debug)
    return success();
  if (failed(emitter.refuseInCombine(node, "`assert`")))
    return failure();
  emitter.locate(node);
  if (std::optional<OperandError> problem = emitter.tiles.deviceAssert(*typed, text, std::nullopt))
    return emitter.error(*problem, node, {&test});
  return success();
}

static LogicalResult emitDelete(Emitter &emitter, const Node &node) {
  for (const Node *target : node.list("targets")) {
    if (!target->is(NodeKind::Name))
      return emitter.unsupported(*target, "del of an element", "make a new tuple");
    if (failed(emitter.readName(*target)))
      return failure();
    emitter.bind(target->text("id"), {Absent{Absent::Reason::Deleted, {}, {}, "", ""}}, *target);
  }
  return success();
}

static LogicalResult emitNestedFunction(Emitter &emitter, const Node &node) {
  if (!node.list("decorator_list").empty())
    return emitter.unsupported(node, "a decorator of a nested function", "leave it out");
  ValueOr closure = emitter.makeClosure(node);
  if (failed(closure))
    return failure();
  emitter.bind(node.text("name"), *closure, node);
  return success();
}

/// The scopes that mark parts of a kernel for schedulers and profilers: they change no result.
static bool isScope(const Value &callee) {
  const Callable *callable = callee.as<Callable>();
  if (callable && callable->kind == Callable::Kind::Builtin)
    return llvm::StringRef(callable->name).starts_with("scope:");
  llvm::StringRef name = callee.is<Opaque>() ? llvm::StringRef(callee.as<Opaque>()->text)
                         : callable          ? llvm::StringRef(callable->name)
                                             : "";
  name.consume_front("class ");
  return name.starts_with("triton.profiler.") || name.starts_with("proton.");
}

/// `with` around statements, of scopes whose meaning is no part of the result.
static LogicalResult emitWith(Emitter &emitter, const Node &node) {
  for (const Node *item : node.list("items")) {
    const Node &manager = item->child("context_expr");
    if (!manager.is(NodeKind::Call) || item->has("optional_vars"))
      return emitter.error(Code::UnknownScope, manager, "this `with` has no meaning in a kernel",
                           "write the body without the `with`");
    ValueOr callee = emitter.eval(manager.child("func"));
    if (failed(callee))
      return failure();
    if (!isScope(*callee))
      return emitter.error(Code::UnknownScope, manager,
                           "kernels do not enter `" + dottedName(manager.child("func")) + "`",
                           "write the body without the `with`; of scopes there are "
                           "tw.async_task(...), tw.async_tasks() and those of profilers");
    for (const Node *argument : manager.list("args"))
      if (failed(emitter.eval(*argument)))
        return failure();
  }
  return emitter.emitBlock(node.list("body"));
}

/// What to write in place of a statement that has no meaning on a device.
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

LogicalResult Emitter::emitStatement(const Node &node) {
  if (options.checkpoint)
    options.checkpoint();
  if (operations.count > kMaxOperations)
    return error(Code::LimitExceeded, node,
                 formatv("the kernel has more than {0} operations here", kMaxOperations).str(),
                 "use range(...) or tw.range(...), which run a loop on the device, instead of "
                 "unrolled loops and repeated calls");
  switch (node.kind) {
  case NodeKind::Assign:
    return emitAssign(*this, node);
  case NodeKind::AugAssign:
    return emitAugmentedAssign(*this, node);
  case NodeKind::AnnAssign:
    return emitAnnotatedAssign(*this, node);
  case NodeKind::Expr:
    // Docstrings and bare constants mean nothing.
    return node.child("value").is(NodeKind::Constant) ? success()
                                                      : LogicalResult(eval(node.child("value")));
  case NodeKind::For:
    return emitFor(node);
  case NodeKind::While:
    return emitWhile(node);
  case NodeKind::Return:
    return emitReturn(*this, node);
  case NodeKind::Break:
    setFlag(kBroke, {true});
    setFlag(kJumped, {true});
    return success();
  case NodeKind::Continue:
    setFlag(kJumped, {true});
    return success();
  case NodeKind::Assert:
    return emitAssert(*this, node);
  case NodeKind::Delete:
    return emitDelete(*this, node);
  case NodeKind::FunctionDef:
    return emitNestedFunction(*this, node);
  case NodeKind::Pass:
    return success();
  case NodeKind::Missing:
    return error(Code::MalformedBuffer, node, "a statement is missing", "report this as a bug");
  case NodeKind::With:
    return emitWith(*this, node);
  default:
    return unsupported(node, "the statement `" + node.className + "`",
                       alternativeTo(node.className));
  }
}

LogicalResult Emitter::emitBlock(llvm::ArrayRef<const Node *> body) {
  if (!body.empty() && failed(checkDepth(*body.front())))
    return failure();
  llvm::SaveAndRestore<int> deeper(syntaxDepth, syntaxDepth + 1);
  for (size_t i = 0; i < body.size(); ++i) {
    llvm::ArrayRef<const Node *> rest = body.drop_front(i + 1);
    bool hasEmittedRest = false;
    if (failed(body[i]->is(NodeKind::If) ? emitIf(*body[i], rest, hasEmittedRest)
                                         : emitStatement(*body[i])))
      return failure();
    if (hasEmittedRest)
      return success();
    Value jumped = flag(kJumped);
    if (jumped.isRuntime())
      return rest.empty() ? success()
                          : unlessSet(kJumped, *rest.front(), [&] { return emitBlock(rest); });
    if (truthOf(jumped))
      return success();
  }
  return success();
}
