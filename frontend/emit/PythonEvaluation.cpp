// Expressions that only Python can evaluate: the request to the evaluator and its answer.
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using mlir::FailureOr;
using mlir::LogicalResult;

static constexpr llvm::StringLiteral kNoPython = "no Python is at hand";
static constexpr llvm::StringLiteral kOnlyAtRunTime =
    "it depends on values that are known only at run time";

/// The names of an expression with their values; nullopt when one is known only at run time.
static std::optional<llvm::json::Object> namesFor(const Frame &frame, const Node &node) {
  llvm::json::Object names;
  bool areStatic = true;
  walk(node, [&](const Node &part) {
    if (!part.is(NodeKind::Name))
      return true;
    std::string name = part.text("id").str();
    for (const Frame *scope = &frame; scope; scope = scope->enclosing.get()) {
      auto binding = scope->names.find(name);
      if (binding == scope->names.end())
        continue;
      std::optional<llvm::json::Value> value = toJson(binding->second.value);
      areStatic = areStatic && value;
      if (value)
        names[name] = std::move(*value);
      break;
    }
    return true;
  });
  return areStatic ? std::optional(std::move(names)) : std::nullopt;
}

/// Why Python has no value; with code and hint where what it evaluates is refused by them.
static Reason reasonOf(const JsonObject &answer) {
  Reason reason = refuse(answer.getString("error").value_or(""));
  if (const CodeRow *row = rowNamed(answer.getString("code").value_or("").str())) {
    reason.code = row->code;
    reason.hint = answer.getString("hint").value_or("").str();
  }
  return reason;
}

static OrReason<PyValue> askPython(Emitter &emitter, llvm::json::Object expression,
                                   llvm::json::Object names) {
  if (!emitter.evaluator)
    return refuse(kNoPython);
  llvm::json::Value request(llvm::json::Object{{"function", emitter.frame().source->id},
                                               {"node", std::move(expression)},
                                               {"names", std::move(names)}});
  OrReason<JsonValue> parsed =
      emitter.texts.readCopy(emitter.evaluator(llvm::formatv("{0}", request).str()));
  if (!parsed)
    return parsed.reason();
  const JsonObject *answer = parsed->getAsObject();
  const JsonObject *encoded = answer ? answer->getObject("value") : nullptr;
  if (std::optional<PyValue> value = encoded ? fromJson(*encoded) : std::nullopt)
    return *value;
  return answer ? reasonOf(*answer) : refuse("");
}

static OrReason<PyValue> askPython(Emitter &emitter, const Node &node) {
  std::optional<llvm::json::Object> names = namesFor(emitter.frame(), node);
  if (!names || !node.json)
    return refuse(names ? kNoPython : kOnlyAtRunTime);
  return askPython(emitter, copyOf(*node.json), std::move(*names));
}

OrReason<PyValue> tw::tryEvaluateInPython(Emitter &emitter, const Node &node) {
  return askPython(emitter, node);
}

/// Code, message and hint of an error in what Python evaluates at compile time.
static LogicalResult reportPython(Emitter &emitter, const Node &site, bool isRuntime,
                                  const llvm::Twine &what, const Reason &reason,
                                  std::vector<SourceLabel> labels = {}) {
  if (reason.code)
    return emitter.error(reason, site, {});
  auto [message, hint] = llvm::StringRef(reason.message).split("; hint: ");
  if (hint.empty())
    hint = isRuntime ? "use operations of the language on run-time values"
                     : "compute it outside the kernel and pass it as tw.constexpr";
  return emitter.error(isRuntime ? Code::NotStatic : Code::StaticEvaluation, site,
                       what + ", which fails" + (message.empty() ? "" : ": " + message), hint,
                       std::move(labels));
}

FailureOr<PyValue> tw::evaluateInPython(Emitter &emitter, const Node &node) {
  OrReason<PyValue> value = askPython(emitter, node);
  if (value)
    return *value;
  return reportPython(emitter, node, !namesFor(emitter.frame(), node),
                      "this expression must be evaluated at compile time by Python",
                      value.reason());
}

//===-- Values that only Python knows --------------------------------------------------------===//

bool tw::isObject(const PyValue &value) {
  const Callable *callable = value.as<Callable>();
  return value.is<Opaque>() || (callable && callable->kind == Callable::Kind::Host);
}

static llvm::json::Object nameNode(llvm::StringRef name) {
  return llvm::json::Object{{"_", "Name"}, {"id", name.str()}};
}

/// Names for operands, so that an expression is about values and not about how they are written.
static std::optional<llvm::json::Object> operandNames(llvm::ArrayRef<PyValue> operands,
                                                      llvm::json::Array &nodes) {
  llvm::json::Object names;
  for (const PyValue &operand : operands) {
    std::optional<llvm::json::Value> encoded = toJson(operand);
    if (!encoded)
      return std::nullopt;
    std::string name = llvm::formatv("_operand{0}", nodes.size());
    nodes.push_back(nameNode(name));
    names[name] = std::move(*encoded);
  }
  return names;
}

/// Calls a function of a kind of names: `pybuiltin` or `builtin`.
static OrReason<PyValue> callNamed(Emitter &emitter, llvm::StringRef kind, llvm::StringRef function,
                                   llvm::ArrayRef<PyValue> operands) {
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames(operands, nodes);
  if (!names)
    return refuse(kOnlyAtRunTime);
  // Under a name of its own: the kernel's module may define the builtin's name anew.
  (*names)["_function"] = llvm::json::Object{{"k", kind.str()}, {"v", function.str()}};
  return askPython(emitter,
                   llvm::json::Object{{"_", "Call"},
                                      {"func", nameNode("_function")},
                                      {"args", std::move(nodes)},
                                      {"keywords", llvm::json::Array{}}},
                   std::move(*names));
}

OrReason<PyValue> tw::pythonCall(Emitter &emitter, llvm::StringRef function,
                                 llvm::ArrayRef<PyValue> operands) {
  return callNamed(emitter, "pybuiltin", function, operands);
}

OrReason<PyValue> tw::languageCall(Emitter &emitter, llvm::StringRef function,
                                   llvm::ArrayRef<PyValue> operands) {
  return callNamed(emitter, "builtin", function, operands);
}

/// Arguments in the order of a call, as names of operands and as keywords.
static std::optional<llvm::json::Object>
callOf(llvm::json::Object &function, const Arguments &arguments, llvm::json::Object &names) {
  llvm::json::Array positional, keywords;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    std::optional<llvm::json::Value> encoded = toJson(argument.value);
    if (!encoded)
      return std::nullopt;
    std::string name = llvm::formatv("_argument{0}", i);
    names[name] = std::move(*encoded);
    if (argument.keyword.empty())
      positional.push_back(nameNode(name));
    else
      keywords.push_back(llvm::json::Object{
          {"_", "keyword"}, {"arg", argument.keyword}, {"value", nameNode(name)}});
  }
  return llvm::json::Object{{"_", "Call"},
                            {"func", std::move(function)},
                            {"args", std::move(positional)},
                            {"keywords", std::move(keywords)}};
}

OrReason<PyValue> tw::tryCallInPython(Emitter &emitter, const PyValue &callee,
                                      const Arguments &arguments, const Node &site) {
  // As it is written where it can be: Python then sees lists as lists, and lambdas.
  if (site.is(NodeKind::Call) && namesFor(emitter.frame(), site))
    return askPython(emitter, site);
  const Callable *callable = callee.as<Callable>();
  bool isMethod = callable && callable->kind == Callable::Kind::Method;
  llvm::json::Object names, function = nameNode("_function");
  std::optional<llvm::json::Value> encoded = toJson(isMethod ? *callable->self : callee);
  if (isMethod)
    function = llvm::json::Object{
        {"_", "Attribute"}, {"value", nameNode("_function")}, {"attr", callable->name}};
  if (!encoded)
    return refuse(kOnlyAtRunTime);
  names["_function"] = std::move(*encoded);
  std::optional<llvm::json::Object> expression = callOf(function, arguments, names);
  if (!expression)
    return refuse(kOnlyAtRunTime);
  return askPython(emitter, std::move(*expression), std::move(names));
}

FailureOr<PyValue> tw::callInPython(Emitter &emitter, const PyValue &callee,
                                    const Arguments &arguments, const Node &site) {
  OrReason<PyValue> value = tryCallInPython(emitter, callee, arguments, site);
  if (value)
    return *value;
  std::vector<SourceLabel> labels;
  for (const Argument &argument : arguments)
    if (!isStatic(argument.value))
      labels.push_back(emitter.label(*argument.node, "this is " + typeName(argument.value)));
  return reportPython(emitter, site, value.reason().message == kOnlyAtRunTime,
                      "this call is made by Python at compile time", value.reason(),
                      std::move(labels));
}

FailureOr<PyValue> tw::pythonFunction(Emitter &emitter, llvm::StringRef function,
                                      llvm::ArrayRef<PyValue> operands, const Node &site) {
  OrReason<PyValue> value = pythonCall(emitter, function, operands);
  if (value)
    return *value;
  bool isRuntime = !llvm::all_of(operands, isStatic);
  std::vector<SourceLabel> labels;
  if (isRuntime)
    labels.push_back(emitter.label(site, "this is " + typeName(operands.front())));
  return emitter.error(isRuntime ? Code::NotStatic : Code::StaticEvaluation, site,
                       "`" + function + "` is applied by Python at compile time, which fails: " +
                           value.reason().message,
                       isRuntime ? "print run-time values with tw.device_print(\"name\", value)"
                                 : "the values are known at compile time, so Python's rules hold",
                       std::move(labels));
}

FailureOr<PyValue> tw::pythonSubscript(Emitter &emitter, const PyValue &base, const PyValue &index,
                                       const Node &node) {
  if (namesFor(emitter.frame(), node))
    return evaluateInPython(emitter, node);
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames({base, index}, nodes);
  if (!names)
    return evaluateInPython(emitter, node); // which reports what cannot be known
  OrReason<PyValue> element = askPython(emitter,
                                        llvm::json::Object{{"_", "Subscript"},
                                                           {"value", std::move(nodes[0])},
                                                           {"slice", std::move(nodes[1])}},
                                        std::move(*names));
  if (element)
    return *element;
  return emitter.error(Code::BadSubscript, node,
                       "this subscript fails: " + element.reason().message, "check the index");
}

/// Returns true if only Python knows how a value is written: which characters of a text can be
/// printed, and what an object says of itself.
static bool isWrittenByPython(const PyValue &value, bool isRepr) {
  if (const Tuple *tuple = value.as<Tuple>())
    return llvm::any_of((*tuple)->items,
                        [](const PyValue &item) { return isWrittenByPython(item, true); });
  if (const std::string *text = value.as<std::string>())
    return isRepr && llvm::any_of(*text, [](char c) { return !llvm::isPrint(c); });
  return value.is<Opaque>() || value.is<RangeValue>() || value.is<SliceValue>() ||
         value.is<DType>() || value.is<TileType>();
}

/// Returns `str(dtype)` as Python gives it, where kernels compare it: `fp16`, `*ki8`.
static std::string shortText(const DType &dtype) {
  const char *pointer = !dtype.isPointer ? "" : dtype.isConst ? "*k" : "*";
  return (llvm::Twine(pointer) + dtype.row->ShortName).str();
}

FailureOr<PyValue> tw::textOf(Emitter &emitter, const PyValue &value, bool isRepr,
                              const Node &node) {
  if (!isStatic(value))
    return emitter.error(
        Code::NotStatic, node,
        "a text of a value that is known only at run time cannot be made at compile time",
        "print it with tw.device_print(\"name\", value)",
        {emitter.label(node, "this is " + typeName(value))});
  if (const DType *dtype = value.as<DType>(); dtype && !isRepr)
    return PyValue{shortText(*dtype)};
  if (isWrittenByPython(value, isRepr))
    if (OrReason<PyValue> text = pythonCall(emitter, isRepr ? "repr" : "str", {value}))
      return *text;
  return PyValue{toText(value, isRepr)};
}

OrReason<PyValue> tw::pythonUnary(Emitter &emitter, UnaryOperator op, const PyValue &operand) {
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames({operand}, nodes);
  if (!names)
    return refuse(kOnlyAtRunTime);
  return askPython(emitter,
                   llvm::json::Object{{"_", "UnaryOp"},
                                      {"op", rowOf(op).name.str()},
                                      {"operand", std::move(nodes[0])}},
                   std::move(*names));
}

OrReason<PyValue> tw::pythonBinary(Emitter &emitter, BinaryOperator op, const PyValue &lhs,
                                   const PyValue &rhs) {
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames({lhs, rhs}, nodes);
  if (!names)
    return refuse(kOnlyAtRunTime);
  return askPython(emitter,
                   llvm::json::Object{{"_", "BinOp"},
                                      {"left", std::move(nodes[0])},
                                      {"op", rowOf(op).name.str()},
                                      {"right", std::move(nodes[1])}},
                   std::move(*names));
}

OrReason<PyValue> tw::pythonComparison(Emitter &emitter, Comparison op, const PyValue &lhs,
                                       const PyValue &rhs) {
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames({lhs, rhs}, nodes);
  if (!names)
    return refuse(kOnlyAtRunTime);
  return askPython(emitter,
                   llvm::json::Object{{"_", "Compare"},
                                      {"left", std::move(nodes[0])},
                                      {"ops", llvm::json::Array{rowOf(op).name.str()}},
                                      {"comparators", llvm::json::Array{std::move(nodes[1])}}},
                   std::move(*names));
}

FailureOr<bool> tw::staticTruth(Emitter &emitter, const PyValue &value, const Node &node) {
  if (value.is<Descriptor>())
    return rejectDescriptor(emitter, value, node);
  if (value.is<RangeValue>() && !isStatic(value))
    return emitter.error(Code::NotStatic, node,
                         "whether this range is empty is known only at run time",
                         "compare its bounds");
  if (!value.is<Opaque>())
    return truthOf(value);
  OrReason<PyValue> answer = pythonCall(emitter, "bool", {value});
  if (!answer)
    return emitter.error(Code::StaticEvaluation, node,
                         "this compile-time condition has no truth value: " +
                             answer.reason().message,
                         "write the comparison out");
  return truthOf(*answer);
}
