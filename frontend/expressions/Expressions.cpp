// Expressions: compile-time values are computed, run-time values become operations.
#include "frontend/emit/Names.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/expressions/Calls.h"
#include "frontend/operators/Operators.h"
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

// The walk is recursive, and runs on whatever stack the caller's thread has.
static constexpr int kMaxSyntaxDepth = 1000;

static FailureOr<PyValue> evalConditional(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> test = eval(emitter, node.child("test"));
  if (failed(test))
    return failure();
  if (!test->isRuntime() && !test->is<Absent>()) {
    FailureOr<bool> truth = staticTruth(emitter, *test, node.child("test"));
    if (failed(truth))
      return failure();
    return eval(emitter, node.child(*truth ? "body" : "orelse"));
  }
  FailureOr<mlir::Value> condition = toCondition(emitter, *test, node.child("test"));
  if (failed(condition))
    return failure();
  // The value is an ordinary variable that both arms assign, so that they are joined as names are.
  std::string name = formatv(".conditional{0}.{1}", node.line, node.column);
  auto arm = [&](llvm::StringRef field) -> mlir::LogicalResult {
    FailureOr<PyValue> value = eval(emitter, node.child(field));
    if (failed(value))
      return failure();
    emitter.frame().bind(name, *value, node.child(field));
    return mlir::success();
  };
  if (failed(emitBranch(
          emitter, *condition, node, [&] { return arm("body"); }, [&] { return arm("orelse"); })))
    return failure();
  PyValue result = emitter.frame().flag(name);
  emitter.frame().names.erase(name);
  if (const Absent *reason = result.as<Absent>())
    return emitter.error(Code::TwoTypes, node,
                         "Ternary expression with dynamic condition has inconsistent types",
                         "convert both to one type with .to(...)",
                         {{reason->first, "this is " + reason->firstType},
                          {reason->second, "this is " + reason->secondType}});
  return result;
}

/// Evaluates the expressions of a list, and hands on each value, those of a starred one apart.
static mlir::LogicalResult evalList(Emitter &emitter, const Node &node, llvm::StringRef list,
                                    llvm::function_ref<void(PyValue, const Node &)> handOn) {
  for (const Node *item : node.list(list)) {
    bool isStarred = item->is(NodeKind::Starred);
    const Node &inner = isStarred ? item->child("value") : *item;
    FailureOr<PyValue> value = eval(emitter, inner);
    if (failed(value))
      return failure();
    FailureOr<std::vector<PyValue>> values = std::vector<PyValue>{*value};
    if (isStarred)
      values = elementsOf(emitter, *value, inner);
    if (failed(values))
      return failure();
    for (PyValue &element : *values)
      handOn(std::move(element), inner);
  }
  return llvm::success();
}

static FailureOr<PyValue> evalItems(Emitter &emitter, const Node &node) {
  std::vector<PyValue> items;
  if (failed(evalList(emitter, node, "elts",
                      [&](PyValue value, const Node &) { items.push_back(std::move(value)); })))
    return failure();
  return makeTuple(std::move(items));
}

/// One `{value!r:spec}` of an f-string.
static FailureOr<PyValue> evalReplacement(Emitter &emitter, const Node &part) {
  const Node &inner = part.child("value");
  FailureOr<PyValue> value = eval(emitter, inner);
  if (failed(value))
    return failure();
  int64_t conversion = part.json ? part.json->getInteger("conversion").value_or(-1) : -1;
  if (conversion == 'a')
    value = pythonFunction(emitter, "ascii", {*value}, inner);
  else if (conversion == -1 && !part.has("format_spec") && value->is<Opaque>())
    value = pythonFunction(emitter, "format", {*value}, inner);
  else if (conversion != -1 || !part.has("format_spec"))
    value = textOf(emitter, *value, conversion == 'r', inner);
  if (failed(value) || !part.has("format_spec"))
    return value;
  FailureOr<PyValue> spec = eval(emitter, part.child("format_spec"));
  if (failed(spec))
    return failure();
  return pythonFunction(emitter, "format", {*value, *spec}, inner);
}

static FailureOr<PyValue> evalFormatted(Emitter &emitter, const Node &node) {
  std::string text;
  for (const Node *part : node.list("values")) {
    FailureOr<PyValue> value =
        part->is(NodeKind::FormattedValue) ? evalReplacement(emitter, *part) : eval(emitter, *part);
    if (failed(value))
      return failure();
    text += toText(*value, /*isRepr=*/false);
  }
  return PyValue{text};
}

static mlir::LogicalResult comprehend(Emitter &emitter, const Node &node, size_t depth,
                                      std::vector<PyValue> &items) {
  llvm::ArrayRef<const Node *> generators = node.list("generators");
  if (depth == generators.size()) {
    FailureOr<PyValue> value = eval(emitter, node.child("elt"));
    if (failed(value))
      return failure();
    if (items.size() >= kMaxElements)
      return emitter.error(Code::LimitExceeded, node, "this list is too long", "use a loop");
    items.push_back(std::move(*value));
    return mlir::success();
  }
  const Node &generator = *generators[depth];
  FailureOr<PyValue> source = eval(emitter, generator.child("iter"));
  if (failed(source))
    return failure();
  FailureOr<std::vector<PyValue>> sources = elementsOf(emitter, *source, generator.child("iter"));
  if (failed(sources))
    return failure();
  for (const PyValue &item : *sources) {
    if (failed(assign(emitter, generator.child("target"), item)))
      return failure();
    bool isKept = true;
    for (const Node *filter : generator.list("ifs")) {
      FailureOr<PyValue> test = eval(emitter, *filter);
      if (failed(test))
        return failure();
      if (!isStatic(*test))
        return emitter.error(Code::NotStatic, *filter,
                             "the condition of a comprehension must be known at compile time",
                             "use tw.where(...) or a loop");
      FailureOr<bool> truth = staticTruth(emitter, *test, *filter);
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
static FailureOr<PyValue> evalComprehension(Emitter &emitter, const Node &node) {
  std::set<std::string> targets;
  for (const Node *generator : node.list("generators"))
    targets.merge(targetNames(generator->child("target")));
  Names outer = emitter.frame().names;
  std::vector<PyValue> items;
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

static FailureOr<PyValue> evalSlice(Emitter &emitter, const Node &node) {
  std::shared_ptr<const PyValue> bounds[3];
  static constexpr llvm::StringLiteral kFields[] = {"lower", "upper", "step"};
  for (auto [i, field] : llvm::enumerate(kFields)) {
    FailureOr<PyValue> value =
        node.has(field) ? eval(emitter, node.child(field)) : FailureOr<PyValue>(PyValue{None{}});
    if (failed(value))
      return failure();
    bounds[i] = share(*value);
  }
  return PyValue{SliceValue{bounds[0], bounds[1], bounds[2]}};
}

static FailureOr<PyValue> evalAttribute(Emitter &emitter, const Node &node) {
  if (std::optional<FailureOr<PyValue>> captured = readChain(emitter, node))
    return *captured;
  FailureOr<PyValue> base = eval(emitter, node.child("value"));
  if (failed(base))
    return failure();
  return readAttribute(emitter, *base, node.text("attr"), node);
}

static FailureOr<PyValue> evalSubscript(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> base = eval(emitter, node.child("value"));
  if (failed(base))
    return failure();
  FailureOr<PyValue> index = eval(emitter, node.child("slice"));
  if (failed(index))
    return failure();
  return readSubscript(emitter, *base, *index, node);
}

static FailureOr<PyValue> evalCall(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> callee = eval(emitter, node.child("func"));
  if (failed(callee))
    return failure();
  Arguments arguments;
  if (failed(evalList(emitter, node, "args", [&](PyValue value, const Node &written) {
        arguments.push_back({std::move(value), &written, ""});
      })))
    return failure();
  for (const Node *keyword : node.list("keywords")) {
    if (keyword->text("arg").empty())
      return emitter.unsupported(*keyword, "**arguments", "write the keywords out");
    FailureOr<PyValue> value = eval(emitter, keyword->child("value"));
    if (failed(value))
      return failure();
    arguments.push_back({*value, &keyword->child("value"), keyword->text("arg").str(), keyword});
  }
  return callValue(emitter, *callee, std::move(arguments), node);
}

static FailureOr<PyValue> evalConstant(Emitter &emitter, const Node &node) {
  const JsonObject *json = node.json->getObject("value");
  std::optional<PyValue> value = json ? fromJson(*json) : std::nullopt;
  if (!value)
    return emitter.error(Code::MalformedBuffer, node, "a constant is malformed",
                         "report this as a bug of the capture");
  return *value;
}

static FailureOr<PyValue> evalNamedExpression(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> value = eval(emitter, node.child("value"));
  if (failed(value) || failed(assign(emitter, node.child("target"), named(*value))))
    return failure();
  return value;
}

/// A sum of many terms nests as deeply as it is long, so that its terms are taken in a loop.
static FailureOr<PyValue> evalBinary(Emitter &emitter, const Node &node) {
  std::vector<const Node *> operators{&node};
  while (operators.back()->child("left").is(NodeKind::BinOp))
    operators.push_back(&operators.back()->child("left"));
  FailureOr<PyValue> result = eval(emitter, operators.back()->child("left"));
  for (const Node *op : llvm::reverse(operators)) {
    if (failed(result))
      return failure();
    FailureOr<PyValue> rhs = eval(emitter, op->child("right"));
    if (failed(rhs))
      return failure();
    result =
        emitBinary(emitter, op->binary, *result, *rhs, *op, op->child("left"), op->child("right"));
  }
  return result;
}

static FailureOr<PyValue> evalUnary(Emitter &emitter, const Node &node) {
  FailureOr<PyValue> operand = eval(emitter, node.child("operand"));
  if (failed(operand))
    return failure();
  return emitUnary(emitter, node.unary, *operand, node, node.child("operand"));
}

mlir::LogicalResult tw::checkDepth(Emitter &emitter, const Node &node) {
  if (emitter.syntaxDepth < kMaxSyntaxDepth)
    return mlir::success();
  return emitter.error(
      Code::LimitExceeded, node,
      formatv("expressions and blocks are nested more than {0} deep", kMaxSyntaxDepth).str(),
      "use names for parts of the expression, and fewer calls through each other");
}

static FailureOr<PyValue> evalByKind(Emitter &emitter, const Node &node) {
  switch (node.kind) {
  case NodeKind::Name:
    return readName(emitter, node);
  case NodeKind::Constant:
    return evalConstant(emitter, node);
  case NodeKind::BinOp:
    return evalBinary(emitter, node);
  case NodeKind::UnaryOp:
    return evalUnary(emitter, node);
  case NodeKind::BoolOp:
    return evalBoolOp(emitter, node);
  case NodeKind::Compare:
    return evalCompare(emitter, node);
  case NodeKind::Call:
    return evalCall(emitter, node);
  case NodeKind::Attribute:
    return evalAttribute(emitter, node);
  case NodeKind::Subscript:
    return evalSubscript(emitter, node);
  case NodeKind::IfExp:
    return evalConditional(emitter, node);
  case NodeKind::Tuple:
  case NodeKind::List:
    return evalItems(emitter, node);
  case NodeKind::JoinedStr:
    return evalFormatted(emitter, node);
  case NodeKind::ListComp:
  case NodeKind::GeneratorExp:
    return evalComprehension(emitter, node);
  case NodeKind::Slice:
    return evalSlice(emitter, node);
  case NodeKind::NamedExpr:
    return evalNamedExpression(emitter, node);
  case NodeKind::Lambda:
    return makeClosure(emitter, node);
  case NodeKind::Missing:
    return emitter.error(Code::MalformedBuffer, node, "an expression is missing",
                         "report this as a bug");
  default:
    if (node.className == "Yield" || node.className == "YieldFrom" || node.className == "Await")
      return emitter.unsupported(
          node, "`" + node.className.lower() + "`",
          "a kernel runs to its end at once: store results in memory with tw.store");
    return evaluateInPython(emitter, node);
  }
}

FailureOr<PyValue> tw::eval(Emitter &emitter, const Node &node) {
  if (failed(checkDepth(emitter, node)))
    return failure();
  llvm::SaveAndRestore<int> deeper(emitter.syntaxDepth, emitter.syntaxDepth + 1);
  return evalByKind(emitter, node);
}
