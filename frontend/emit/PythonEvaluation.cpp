// Expressions that only Python can evaluate: the request to the evaluator and its answer.
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/Emitter.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

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

std::optional<Value> Emitter::askPython(llvm::json::Object expression, llvm::json::Object names,
                                        std::string &reason) {
  if (!evaluator) {
    reason = "no Python is at hand";
    return std::nullopt;
  }
  llvm::json::Value request(llvm::json::Object{{"function", frame().source->id},
                                               {"node", std::move(expression)},
                                               {"names", std::move(names)}});
  llvm::Expected<llvm::json::Value> answer =
      llvm::json::parse(evaluator(llvm::formatv("{0}", request).str()));
  if (!answer) {
    reason = llvm::toString(answer.takeError());
    return std::nullopt;
  }
  // Opaque values point into the answer, which therefore lives as long as the emitter.
  answers.push_back(std::move(*answer));
  const llvm::json::Object *object = answers.back().getAsObject();
  const llvm::json::Object *encoded = object ? object->getObject("value") : nullptr;
  if (encoded)
    return fromJson(*encoded);
  reason = object ? object->getString("error").value_or("").str() : "";
  return std::nullopt;
}

std::optional<Value> Emitter::askPython(const Node &node, std::string &reason) {
  std::optional<llvm::json::Object> names = namesFor(frame(), node);
  if (!names || !node.json) {
    reason = names ? "no Python is at hand" : kOnlyAtRunTime.str();
    return std::nullopt;
  }
  return askPython(llvm::json::Object(*node.json), std::move(*names), reason);
}

std::optional<Value> Emitter::tryEvaluateInPython(const Node &node) {
  std::string reason;
  return askPython(node, reason);
}

ValueOr Emitter::evaluateInPython(const Node &node) {
  std::string reason;
  if (std::optional<Value> value = askPython(node, reason))
    return *value;
  bool isRuntime = !namesFor(frame(), node);
  return error(isRuntime ? Code::NotStatic : Code::StaticEvaluation, node,
               "this expression must be evaluated at compile time by Python, which fails" +
                   (reason.empty() ? "" : ": " + reason),
               isRuntime ? "use operations of the language on run-time values"
                         : "compute it outside the kernel and pass it as tw.constexpr");
}

//===-- Values that only Python knows --------------------------------------------------------===//

static llvm::json::Object nameNode(llvm::StringRef name) {
  return llvm::json::Object{{"_", "Name"}, {"id", name.str()}};
}

/// Names for operands, so that an expression is about values and not about how they are written.
static std::optional<llvm::json::Object> operandNames(llvm::ArrayRef<Value> operands,
                                                      llvm::json::Array &nodes) {
  llvm::json::Object names;
  for (const Value &operand : operands) {
    std::optional<llvm::json::Value> encoded = toJson(operand);
    if (!encoded)
      return std::nullopt;
    std::string name = llvm::formatv("_operand{0}", nodes.size());
    nodes.push_back(nameNode(name));
    names[name] = std::move(*encoded);
  }
  return names;
}

std::optional<Value> Emitter::pythonCall(llvm::StringRef function, llvm::ArrayRef<Value> operands,
                                         std::string &reason) {
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames(operands, nodes);
  if (!names) {
    reason = kOnlyAtRunTime.str();
    return std::nullopt;
  }
  // Under a name of its own: the kernel's module may define the builtin's name anew.
  (*names)["_function"] = llvm::json::Object{{"k", "pybuiltin"}, {"v", function.str()}};
  return askPython(llvm::json::Object{{"_", "Call"},
                                      {"func", nameNode("_function")},
                                      {"args", std::move(nodes)},
                                      {"keywords", llvm::json::Array{}}},
                   std::move(*names), reason);
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

std::optional<Value> Emitter::tryCallInPython(const Value &callee, const Arguments &arguments,
                                              const Node &site, std::string &reason) {
  // As it is written where it can be: Python then sees lists as lists, and lambdas.
  if (site.is(NodeKind::Call) && namesFor(frame(), site))
    return askPython(site, reason);
  const Callable *callable = callee.as<Callable>();
  bool isMethod = callable && callable->kind == Callable::Kind::Method;
  llvm::json::Object names, function = nameNode("_function");
  std::optional<llvm::json::Value> encoded = toJson(isMethod ? *callable->self : callee);
  if (isMethod)
    function = llvm::json::Object{
        {"_", "Attribute"}, {"value", nameNode("_function")}, {"attr", callable->name}};
  reason = kOnlyAtRunTime;
  if (!encoded)
    return std::nullopt;
  names["_function"] = std::move(*encoded);
  std::optional<llvm::json::Object> expression = callOf(function, arguments, names);
  if (!expression)
    return std::nullopt;
  return askPython(std::move(*expression), std::move(names), reason);
}

ValueOr Emitter::callInPython(const Value &callee, const Arguments &arguments, const Node &site) {
  std::string reason;
  if (std::optional<Value> value = tryCallInPython(callee, arguments, site, reason))
    return *value;
  std::vector<SourceLabel> labels;
  for (const Argument &argument : arguments)
    if (!isStatic(argument.value))
      labels.push_back(label(*argument.node, "this is " + typeName(argument.value)));
  bool isRuntime = reason == kOnlyAtRunTime;
  return error(isRuntime ? Code::NotStatic : Code::StaticEvaluation, site,
               "this call is made by Python at compile time, which fails" +
                   (reason.empty() ? "" : ": " + reason),
               isRuntime ? "use operations of the language on run-time values"
                         : "compute it outside the kernel and pass it as tw.constexpr",
               std::move(labels));
}

ValueOr Emitter::pythonFunction(llvm::StringRef function, llvm::ArrayRef<Value> operands,
                                const Node &site) {
  std::string reason;
  if (std::optional<Value> value = pythonCall(function, operands, reason))
    return *value;
  bool isRuntime = !llvm::all_of(operands, isStatic);
  std::vector<SourceLabel> labels;
  if (isRuntime)
    labels.push_back(label(site, "this is " + typeName(operands.front())));
  return error(isRuntime ? Code::NotStatic : Code::StaticEvaluation, site,
               "`" + function + "` is applied by Python at compile time, which fails: " + reason,
               isRuntime ? "print run-time values with tw.device_print(\"name\", value)"
                         : "the values are known at compile time, so Python's rules hold",
               std::move(labels));
}

ValueOr Emitter::pythonSubscript(const Value &base, const Value &index, const Node &node) {
  if (namesFor(frame(), node))
    return evaluateInPython(node);
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames({base, index}, nodes);
  if (!names)
    return evaluateInPython(node); // which reports what cannot be known
  std::string reason;
  if (std::optional<Value> value = askPython(llvm::json::Object{{"_", "Subscript"},
                                                                {"value", std::move(nodes[0])},
                                                                {"slice", std::move(nodes[1])}},
                                             std::move(*names), reason))
    return *value;
  return error(Code::BadSubscript, node, "this subscript fails: " + reason, "check the index");
}

/// Whether only Python knows how a value is written: which characters of a text can be printed, and
/// what an object says of itself.
static bool isWrittenByPython(const Value &value, bool isRepr) {
  if (const Tuple *tuple = value.as<Tuple>())
    return llvm::any_of((*tuple)->items,
                        [](const Value &item) { return isWrittenByPython(item, true); });
  if (const std::string *text = value.as<std::string>())
    return isRepr && llvm::any_of(*text, [](char c) { return !llvm::isPrint(c); });
  return value.is<Opaque>() || value.is<RangeValue>() || value.is<SliceValue>();
}

ValueOr Emitter::textOf(const Value &value, bool isRepr, const Node &node) {
  if (!isStatic(value))
    return error(Code::NotStatic, node,
                 "a text of a value that is known only at run time cannot be made at compile time",
                 "print it with tw.device_print(\"name\", value)",
                 {label(node, "this is " + typeName(value))});
  std::string reason;
  if (isWrittenByPython(value, isRepr))
    if (std::optional<Value> text = pythonCall(isRepr ? "repr" : "str", {value}, reason))
      return *text;
  return Value{toText(value, isRepr)};
}

StaticResult Emitter::pythonOperator(llvm::StringRef op, const Value &lhs, const Value &rhs,
                                     bool isComparison) {
  llvm::json::Array nodes;
  std::optional<llvm::json::Object> names = operandNames({lhs, rhs}, nodes);
  if (!names)
    return std::string(kOnlyAtRunTime.str());
  llvm::json::Object expression{{"_", isComparison ? "Compare" : "BinOp"},
                                {"left", std::move(nodes[0])}};
  if (isComparison) {
    expression["ops"] = llvm::json::Array{op.str()};
    expression["comparators"] = llvm::json::Array{std::move(nodes[1])};
  } else {
    expression["op"] = op.str();
    expression["right"] = std::move(nodes[1]);
  }
  std::string reason;
  if (std::optional<Value> answer = askPython(std::move(expression), std::move(*names), reason))
    return *answer;
  return reason;
}

FailureOr<bool> Emitter::staticTruth(const Value &value, const Node &node) {
  if (value.is<Descriptor>())
    return rejectDescriptor(*this, value, node);
  if (value.is<RangeValue>() && !isStatic(value))
    return error(Code::NotStatic, node, "whether this range is empty is known only at run time",
                 "compare its bounds");
  if (!value.is<Opaque>())
    return truthOf(value);
  std::string reason;
  std::optional<Value> answer = pythonCall("bool", {value}, reason);
  if (!answer)
    return error(Code::StaticEvaluation, node,
                 "this compile-time condition has no truth value: " + reason,
                 "write the comparison out");
  return truthOf(*answer);
}
