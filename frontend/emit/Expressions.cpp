// Expressions: compile-time values are computed, run-time values become operations.
#include "frontend/emit/Emitter.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;

// The walk is recursive, and runs on whatever stack the caller's thread has.
static constexpr int kMaxSyntaxDepth = 1000;

static ValueOr evalConditional(Emitter &emitter, const Node &node) {
  ValueOr test = emitter.eval(node.child("test"));
  if (failed(test))
    return failure();
  if (!test->isRuntime() && !test->is<Absent>()) {
    FailureOr<bool> truth = emitter.staticTruth(*test, node.child("test"));
    return failed(truth) ? ValueOr(failure())
                         : emitter.eval(node.child(*truth ? "body" : "orelse"));
  }
  FailureOr<mlir::Value> condition = emitter.toCondition(*test, node.child("test"));
  if (failed(condition))
    return failure();
  // The value is an ordinary variable that both arms assign, so that they are joined as names are.
  std::string name = formatv(".conditional{0}.{1}", node.line, node.column);
  auto arm = [&](llvm::StringRef field) -> mlir::LogicalResult {
    ValueOr value = emitter.eval(node.child(field));
    if (failed(value))
      return failure();
    emitter.bind(name, *value, node.child(field));
    return mlir::success();
  };
  if (failed(emitter.branch(
          *condition, node, [&] { return arm("body"); }, [&] { return arm("orelse"); })))
    return failure();
  Value result = emitter.flag(name);
  emitter.frame().names.erase(name);
  if (const Absent *reason = result.as<Absent>())
    return emitter.error(Code::TwoTypes, node,
                         "Ternary expression with dynamic condition has inconsistent types",
                         "convert both to one type with .to(...)",
                         {{reason->first, "this is " + reason->firstType},
                          {reason->second, "this is " + reason->secondType}});
  return result;
}

static ValueOr evalItems(Emitter &emitter, const Node &node) {
  std::vector<Value> items;
  for (const Node *item : node.list("elts")) {
    bool isStarred = item->is(NodeKind::Starred);
    const Node &inner = isStarred ? item->child("value") : *item;
    ValueOr value = emitter.eval(inner);
    if (failed(value))
      return failure();
    if (!isStarred) {
      items.push_back(std::move(*value));
      continue;
    }
    FailureOr<std::vector<Value>> spread = emitter.elements(*value, inner);
    if (failed(spread))
      return failure();
    llvm::append_range(items, *spread);
  }
  return makeTuple(std::move(items));
}

/// One `{value!r:spec}` of an f-string.
static ValueOr evalReplacement(Emitter &emitter, const Node &part) {
  const Node &inner = part.child("value");
  ValueOr value = emitter.eval(inner);
  if (failed(value))
    return failure();
  int64_t conversion = part.json ? part.json->getInteger("conversion").value_or(-1) : -1;
  if (conversion == 'a')
    value = emitter.pythonFunction("ascii", {*value}, inner);
  else if (conversion != -1 || !part.has("format_spec"))
    value = emitter.textOf(*value, conversion == 'r', inner);
  if (failed(value) || !part.has("format_spec"))
    return value;
  ValueOr spec = emitter.eval(part.child("format_spec"));
  if (failed(spec))
    return failure();
  return emitter.pythonFunction("format", {*value, *spec}, inner);
}

static ValueOr evalFormatted(Emitter &emitter, const Node &node) {
  std::string text;
  for (const Node *part : node.list("values")) {
    ValueOr value =
        part->is(NodeKind::FormattedValue) ? evalReplacement(emitter, *part) : emitter.eval(*part);
    if (failed(value))
      return failure();
    text += toText(*value, /*isRepr=*/false);
  }
  return Value{text};
}

static mlir::LogicalResult comprehend(Emitter &emitter, const Node &node, size_t depth,
                                      std::vector<Value> &items) {
  llvm::ArrayRef<const Node *> generators = node.list("generators");
  if (depth == generators.size()) {
    ValueOr value = emitter.eval(node.child("elt"));
    if (failed(value))
      return failure();
    if (items.size() >= 65536)
      return emitter.error(Code::LimitExceeded, node, "this list is too long", "use a loop");
    items.push_back(std::move(*value));
    return mlir::success();
  }
  const Node &generator = *generators[depth];
  ValueOr source = emitter.eval(generator.child("iter"));
  FailureOr<std::vector<Value>> sources = failed(source)
                                              ? FailureOr<std::vector<Value>>(failure())
                                              : emitter.elements(*source, generator.child("iter"));
  if (failed(sources))
    return failure();
  for (const Value &item : *sources) {
    if (failed(emitter.assign(generator.child("target"), item)))
      return failure();
    bool isKept = true;
    for (const Node *filter : generator.list("ifs")) {
      ValueOr test = emitter.eval(*filter);
      if (failed(test))
        return failure();
      if (!isStatic(*test))
        return emitter.error(Code::NotStatic, *filter,
                             "the condition of a comprehension must be known at compile time",
                             "use tw.where(...) or a loop");
      FailureOr<bool> truth = emitter.staticTruth(*test, *filter);
      if (failed(truth))
        return failure();
      isKept = isKept && *truth;
    }
    if (isKept && failed(comprehend(emitter, node, depth + 1, items)))
      return failure();
  }
  return mlir::success();
}

/// The targets are the comprehension's own names; what a `:=` binds in it stays.
static ValueOr evalComprehension(Emitter &emitter, const Node &node) {
  std::set<std::string> targets;
  for (const Node *generator : node.list("generators"))
    targets.merge(targetNames(generator->child("target")));
  Names outer = emitter.frame().names;
  std::vector<Value> items;
  if (failed(comprehend(emitter, node, 0, items)))
    return failure();
  Names &names = emitter.frame().names;
  for (const std::string &name : targets) {
    names.erase(name);
    if (auto old = outer.find(name); old != outer.end())
      names[name] = old->second;
  }
  return makeTuple(std::move(items));
}

static ValueOr evalSlice(Emitter &emitter, const Node &node) {
  std::shared_ptr<const Value> bounds[3];
  static constexpr llvm::StringLiteral kFields[] = {"lower", "upper", "step"};
  for (auto [i, field] : llvm::enumerate(kFields)) {
    ValueOr value = node.has(field) ? emitter.eval(node.child(field)) : ValueOr(Value{None{}});
    if (failed(value))
      return failure();
    bounds[i] = share(*value);
  }
  return Value{SliceValue{bounds[0], bounds[1], bounds[2]}};
}

static ValueOr evalAttribute(Emitter &emitter, const Node &node) {
  if (std::optional<ValueOr> captured = emitter.readChain(node))
    return *captured;
  ValueOr base = emitter.eval(node.child("value"));
  return failed(base) ? base : emitter.attribute(*base, node.text("attr"), node);
}

static ValueOr evalSubscript(Emitter &emitter, const Node &node) {
  ValueOr base = emitter.eval(node.child("value"));
  if (failed(base))
    return failure();
  ValueOr index = emitter.eval(node.child("slice"));
  return failed(index) ? index : emitter.subscript(*base, *index, node);
}

static ValueOr evalCall(Emitter &emitter, const Node &node) {
  ValueOr callee = emitter.eval(node.child("func"));
  if (failed(callee))
    return failure();
  Arguments arguments;
  for (const Node *item : node.list("args")) {
    bool isStarred = item->is(NodeKind::Starred);
    const Node &inner = isStarred ? item->child("value") : *item;
    ValueOr value = emitter.eval(inner);
    if (failed(value))
      return failure();
    if (!isStarred) {
      arguments.push_back({*value, &inner, ""});
      continue;
    }
    FailureOr<std::vector<Value>> spread = emitter.elements(*value, inner);
    if (failed(spread))
      return failure();
    for (Value &element : *spread)
      arguments.push_back({std::move(element), &inner, ""});
  }
  for (const Node *keyword : node.list("keywords")) {
    if (keyword->text("arg").empty())
      return emitter.unsupported(*keyword, "**arguments", "write the keywords out");
    ValueOr value = emitter.eval(keyword->child("value"));
    if (failed(value))
      return failure();
    arguments.push_back({*value, &keyword->child("value"), keyword->text("arg").str()});
  }
  return emitter.call(*callee, std::move(arguments), node);
}

static ValueOr evalConstant(Emitter &emitter, const Node &node) {
  const llvm::json::Object *json = node.json->getObject("value");
  std::optional<Value> value = json ? fromJson(*json) : std::nullopt;
  if (!value)
    return emitter.error(Code::MalformedBuffer, node, "a constant is malformed",
                         "report this as a bug of the capture");
  return *value;
}

static ValueOr evalNamedExpression(Emitter &emitter, const Node &node) {
  ValueOr value = emitter.eval(node.child("value"));
  if (failed(value) || failed(emitter.assign(node.child("target"), named(*value))))
    return failure();
  return value;
}

/// A sum of many terms nests as deeply as it is long, so that its terms are taken in a loop.
static ValueOr evalBinary(Emitter &emitter, const Node &node) {
  std::vector<const Node *> operators{&node};
  while (operators.back()->child("left").is(NodeKind::BinOp))
    operators.push_back(&operators.back()->child("left"));
  ValueOr result = emitter.eval(operators.back()->child("left"));
  for (const Node *op : llvm::reverse(operators)) {
    ValueOr rhs = failed(result) ? result : emitter.eval(op->child("right"));
    if (failed(rhs))
      return failure();
    result =
        emitter.binary(op->text("op"), *result, *rhs, *op, op->child("left"), op->child("right"));
  }
  return result;
}

static ValueOr evalUnary(Emitter &emitter, const Node &node) {
  ValueOr operand = emitter.eval(node.child("operand"));
  if (failed(operand))
    return failure();
  return emitter.unary(node.text("op"), *operand, node, node.child("operand"));
}

mlir::LogicalResult Emitter::checkDepth(const Node &node) {
  if (syntaxDepth < kMaxSyntaxDepth)
    return mlir::success();
  return error(
      Code::LimitExceeded, node,
      formatv("expressions and blocks are nested more than {0} deep", kMaxSyntaxDepth).str(),
      "use names for parts of the expression, and fewer calls through each other");
}

ValueOr Emitter::eval(const Node &node) {
  if (failed(checkDepth(node)))
    return failure();
  llvm::SaveAndRestore<int> deeper(syntaxDepth, syntaxDepth + 1);
  return evalByKind(node);
}

ValueOr Emitter::evalByKind(const Node &node) {
  switch (node.kind) {
  case NodeKind::Name:
    return readName(node);
  case NodeKind::Constant:
    return evalConstant(*this, node);
  case NodeKind::BinOp:
    return evalBinary(*this, node);
  case NodeKind::UnaryOp:
    return evalUnary(*this, node);
  case NodeKind::BoolOp:
    return evalBoolOp(node);
  case NodeKind::Compare:
    return evalCompare(node);
  case NodeKind::Call:
    return evalCall(*this, node);
  case NodeKind::Attribute:
    return evalAttribute(*this, node);
  case NodeKind::Subscript:
    return evalSubscript(*this, node);
  case NodeKind::IfExp:
    return evalConditional(*this, node);
  case NodeKind::Tuple:
  case NodeKind::List:
    return evalItems(*this, node);
  case NodeKind::JoinedStr:
    return evalFormatted(*this, node);
  case NodeKind::ListComp:
  case NodeKind::GeneratorExp:
    return evalComprehension(*this, node);
  case NodeKind::Slice:
    return evalSlice(*this, node);
  case NodeKind::NamedExpr:
    return evalNamedExpression(*this, node);
  case NodeKind::Lambda:
    return makeClosure(node);
  case NodeKind::Missing:
    return error(Code::MalformedBuffer, node, "an expression is missing", "report this as a bug");
  default:
    if (node.className == "Yield" || node.className == "YieldFrom" || node.className == "Await")
      return unsupported(node, "`" + node.className.lower() + "`",
                         "a kernel runs to its end at once: store results in memory with tw.store");
    return evaluateInPython(node);
  }
}
