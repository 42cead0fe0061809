// Calls: jit functions and closures are inlined; methods, types and builtins are dispatched.
#include "frontend/expressions/Calls.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/builtins/OperatorMethods.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/Walk.h"
#include "frontend/expressions/Attributes.h"
#include "frontend/operators/Aggregates.h"
#include "frontend/operators/ArgumentBinding.h"
#include "frontend/values/TypeRules.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

// Deeper chains of calls are recursion through arguments; the walk itself must not overflow.
static constexpr size_t kMaxCallDepth = 64;
// Functions that call others twice, which call others twice, ... would take forever.
static constexpr int64_t kMaxInlined = 50000;

//===-- Binding arguments --------------------------------------------------------------------===//

static std::string parametersText(llvm::ArrayRef<Parameter> params) {
  std::string text;
  for (auto [i, param] : llvm::enumerate(params)) {
    text += i == 0 ? "" : ", ";
    text += param.kind == Parameter::Kind::VarPositional ? "*" : "";
    text += param.kind == Parameter::Kind::VarKeyword ? "**" : "";
    text += (param.name + (param.hasDefault ? "=..." : "")).str();
  }
  return text;
}

/// Returns the value of a parameter that the call gives no argument for.
static std::optional<PyValue> defaultOf(const Parameter &param, const PyValue *evaluated) {
  if (param.kind == Parameter::Kind::VarPositional)
    return makeTuple({});
  if (param.defaultValue)
    return fromJson(*param.defaultValue);
  return evaluated ? std::optional(*evaluated) : std::nullopt;
}

static PyValue asReadOnly(const PyValue &value) {
  const TypedValue *pointer = value.as<TypedValue>();
  if (!pointer || !pointer->dtype.isPointer)
    return value;
  TypedValue readOnly = *pointer;
  readOnly.dtype.isConst = true;
  return {readOnly};
}

/// Gives the parameters of an inlined function their values. `defaults` are those of a nested
/// function, which are evaluated where it is defined.
static LogicalResult bindParameters(Emitter &emitter, Frame &frame,
                                    llvm::ArrayRef<Parameter> params,
                                    llvm::ArrayRef<std::shared_ptr<const PyValue>> defaults,
                                    const Arguments &arguments, const Node &site) {
  for (const Parameter &param : params)
    if (param.kind == Parameter::Kind::VarKeyword)
      return emitter.unsupported(site, "a function with **" + param.name, "name its parameters");
  Signature signature{frame.name, params, parametersText(params)};
  FailureOr<BoundArguments> bound = bindArguments(emitter, signature, arguments, site);
  if (failed(bound))
    return failure();
  for (auto [i, param] : llvm::enumerate(params)) {
    const std::optional<Argument> &given = bound->places[i];
    std::optional<PyValue> value =
        given ? given->value : defaultOf(param, i < defaults.size() ? defaults[i].get() : nullptr);
    if (!value)
      return wrongArguments(emitter, signature, site, "needs an argument for `" + param.name + "`");
    if (param.isConst)
      value = asReadOnly(*value);
    // A run-time value for a constexpr is an error only where the function needs a constant.
    bool isConstexpr = param.isConstexpr && isStatic(*value);
    const Node &node = given ? *given->node : site;
    frame.names[param.name.str()] = {*value, spanOf(node, *emitter.frame().source), isConstexpr};
  }
  return success();
}

//===-- Inlining -----------------------------------------------------------------------------===//

/// Returns the result of a function on the paths that its body took.
static PyValue resultOf(Emitter &emitter) {
  PyValue returned = emitter.frame().flag(kReturned), result = emitter.frame().flag(kResult);
  if (returned.isRuntime())
    return result.is<None>() || result.is<Absent>()
               ? result
               : PyValue{Absent{Absent::Reason::PartialReturn, {}, {}, "", ""}};
  return truthOf(returned) ? result : PyValue{None{}};
}

FailureOr<PyValue> tw::emitFunctionBody(Emitter &emitter, std::shared_ptr<Frame> callee,
                                        const Node &site) {
  callee->clearJumps();
  const Node &function = *callee->function;
  emitter.frames.push_back(std::move(callee));
  FailureOr<PyValue> result = failure();
  if (function.is(NodeKind::Lambda))
    result = eval(emitter, function.child("body"));
  else if (llvm::succeeded(emitBlock(emitter, function.list("body"))))
    result = resultOf(emitter);
  emitter.frames.pop_back();
  if (!emitter.frames.empty())
    emitter.locate(site);
  return result;
}

/// The first activation of a function that is active already, among the current calls; their number
/// if there is none.
static size_t firstRepeated(llvm::ArrayRef<std::shared_ptr<Frame>> frames) {
  std::set<const Node *> seen;
  for (auto [i, frame] : llvm::enumerate(frames))
    if (!seen.insert(frame->function).second)
      return i;
  return frames.size();
}

/// Recursion ends where a compile-time condition ends it. Where nothing does, it is shown at its
/// first call, without the many that follow.
static LogicalResult checkDepthOfCalls(Emitter &emitter, const Node &site) {
  if (emitter.frames.size() < kMaxCallDepth)
    return success();
  size_t repeated = firstRepeated(emitter.frames);
  if (repeated == emitter.frames.size())
    return emitter.error(Code::LimitExceeded, site,
                         formatv("calls are nested more than {0} deep", kMaxCallDepth).str(),
                         "call fewer functions through each other");
  std::vector<std::shared_ptr<Frame>> all = emitter.frames;
  std::string chain = all[repeated]->name;
  for (size_t i = repeated; i > 0; --i)
    chain = all[i - 1]->name + " -> " + chain;
  emitter.frames.resize(repeated);
  (void)emitter.error(Code::Recursion, *all[repeated]->callNode,
                      "`" + all[repeated]->name + "` calls itself: " + chain,
                      "functions are inlined into the kernel: use a loop, or end the recursion by "
                      "a condition that is known at compile time");
  emitter.frames = std::move(all);
  return failure();
}

static LogicalResult countCall(Emitter &emitter, const Node &site) {
  if (failed(checkDepthOfCalls(emitter, site)))
    return failure();
  if (++emitter.numInlined <= kMaxInlined)
    return success();
  return emitter.error(
      Code::LimitExceeded, site,
      formatv("more than {0} calls are inlined into the kernel", kMaxInlined).str(),
      "call functions in a run-time loop instead of an unrolled one");
}

static std::shared_ptr<Frame> makeFrame(Emitter &emitter, const FunctionSource &source,
                                        const Node &function, std::string name, const Node &site) {
  auto frame = std::make_shared<Frame>();
  frame->source = &source;
  frame->function = &function;
  frame->name = std::move(name);
  frame->callNode = &site;
  frame->callSource = emitter.frame().source;
  emitter.locate(site);
  frame->callSite = emitter.location();
  return frame;
}

/// A plain function of compile-time values may be one that only Python can run.
static bool mayRunInPython(const Callable &callee, const Arguments &arguments, const Node &site) {
  return callee.isPlain && site.is(NodeKind::Call) &&
         llvm::all_of(arguments, [](const Argument &argument) {
           return isStatic(argument.value) && toJson(argument.value);
         });
}

static FailureOr<PyValue> inlineFunction(Emitter &emitter, const Callable &callee,
                                         Arguments arguments, const Node &site) {
  if (callee.kind == Callable::Kind::Closure) {
    const Closure &closure = *callee.closure;
    std::shared_ptr<Frame> inner =
        makeFrame(emitter, *closure.source, *closure.node, callee.name, site);
    inner->enclosing = closure.enclosing;
    inner->locals = assignedNames(closure.node->list("body"));
    if (failed(countCall(emitter, site)) ||
        failed(bindParameters(emitter, *inner, closure.params, closure.defaults, arguments, site)))
      return failure();
    return emitFunctionBody(emitter, inner, site);
  }
  auto found = emitter.program.functions.find(callee.name);
  if (found == emitter.program.functions.end())
    return emitter.error(Code::MalformedBuffer, site, "a called function is not in the buffer",
                         "report this as a bug of the capture");
  const FunctionSource &source = found->second;
  if (mayRunInPython(callee, arguments, site))
    if (OrReason<PyValue> value = tryCallInPython(emitter, PyValue{callee}, arguments, site))
      return *value;
  std::shared_ptr<Frame> inner = makeFrame(emitter, source, *source.ast, source.name, site);
  if (failed(countCall(emitter, site)) ||
      failed(bindParameters(emitter, *inner, source.params, {}, arguments, site)))
    return failure();
  // What follows from the number of a variable is one, too, whichever literal is returned for it.
  bool isOfVariables = llvm::any_of(inner->names, [](const auto &name) {
    return name.second.value.isNamed && !name.second.isConstexpr;
  });
  FailureOr<PyValue> result = emitFunctionBody(emitter, inner, site);
  return succeeded(result) && isOfVariables ? named(*result) : result;
}

static FailureOr<PyValue> construct(Emitter &emitter, const Callable &type, Arguments arguments,
                                    const Node &site) {
  PyValue self = unmade(*type.json);
  const JsonObject *init = type.json->getObject("init");
  if (!init)
    return withFieldsOf(emitter, self, arguments, site);
  auto found = emitter.program.functions.find(init->getString("v").value_or("").str());
  if (found == emitter.program.functions.end() || found->second.params.empty())
    return emitter.error(Code::MalformedBuffer, site, "a constructor is not in the buffer",
                         "report this as a bug of the capture");
  const FunctionSource &source = found->second;
  std::shared_ptr<Frame> inner = makeFrame(emitter, source, *source.ast, source.name, site);
  inner->constructed = source.params.front().name.str();
  // Nobody has the object's name but the constructor, so it is passed with nothing in it.
  arguments.insert(arguments.begin(), {PyValue{None{}}, &site, ""});
  if (failed(countCall(emitter, site)) ||
      failed(bindParameters(emitter, *inner, source.params, {}, arguments, site)))
    return failure();
  inner->names[inner->constructed].value = self;
  if (failed(emitFunctionBody(emitter, inner, site)))
    return failure();
  return checkMade(emitter, inner->names[inner->constructed].value, site);
}

FailureOr<PyValue> tw::makeClosure(Emitter &emitter, const Node &node) {
  auto closure = std::make_shared<Closure>();
  std::vector<const Node *> defaults;
  closure->node = &node;
  closure->source = emitter.frame().source;
  closure->enclosing = emitter.frames.back();
  closure->params = parametersOf(node, defaults);
  for (const Node *expression : defaults) {
    FailureOr<PyValue> value =
        expression ? eval(emitter, *expression) : FailureOr<PyValue>(PyValue{});
    if (failed(value))
      return failure();
    closure->defaults.push_back(expression ? share(*value) : nullptr);
  }
  Callable callable;
  callable.kind = Callable::Kind::Closure;
  callable.name = node.is(NodeKind::Lambda) ? "<lambda>" : node.text("name").str();
  callable.closure = std::move(closure);
  return PyValue{std::move(callable)};
}

//===-- Dispatch -----------------------------------------------------------------------------===//

static FailureOr<PyValue> callOfType(Emitter &emitter, const Callable &method,
                                     const Arguments &arguments, const Node &site) {
  llvm::StringRef name = method.name;
  if (name.starts_with("get_") || name.starts_with("with_"))
    return callTypeMethod(emitter, *method.self, name, arguments, site);
  if (const TileType *type = method.self->as<TileType>()) {
    if (method.name == "is_block")
      return PyValue{true};
    if (method.name == "is_ptr")
      return PyValue{false};
    return PyValue{*dtypePredicate(type->element, method.name)};
  }
  if (const DescriptorType *type = method.self->as<DescriptorType>())
    return PyValue{*descriptorTypePredicate(*type, method.name)};
  return PyValue{*dtypePredicate(*method.self->as<DType>(), method.name)};
}

static FailureOr<PyValue> callMethod(Emitter &emitter, const Callable &method, Arguments arguments,
                                     const Node &site) {
  const PyValue &self = *method.self;
  if (self.is<Aggregate>())
    return callAggregateMethod(emitter, method, std::move(arguments), site);
  if (self.is<DType>() || self.is<TileType>() || self.is<DescriptorType>())
    return callOfType(emitter, method, arguments, site);
  const Descriptor *descriptor = self.as<Descriptor>();
  if (!self.isRuntime() && !self.isNumber() && !descriptor)
    return callInPython(emitter, PyValue{method}, arguments, site);
  const Node &selfNode = site.child("func").has("value") ? site.child("func").child("value") : site;
  arguments.insert(arguments.begin(), {self, &selfNode, ""});
  if (descriptor)
    return callRow(emitter, *findDescriptorMethod((*descriptor)->type, method.name), method.name,
                   arguments, site);
  if (isOperatorMethod(method.name))
    return callOperatorMethod(emitter, method.name, arguments, site);
  if (emitter.program.methods)
    if (const JsonObject *json = emitter.program.methods->getObject(method.name))
      if (std::optional<PyValue> function = fromJson(*json))
        return callValue(emitter, *function, std::move(arguments), site);
  Callable builtin;
  builtin.name = builtinOfMethod(method.name);
  return callBuiltin(emitter, builtin, arguments, site);
}

/// A call of a host object. A namedtuple may hold run-time values, so it is made here.
static FailureOr<PyValue> callHost(Emitter &emitter, const PyValue &callee,
                                   const Arguments &arguments, const Node &site) {
  bool areStatic = llvm::all_of(arguments, [](const Argument &a) { return isStatic(a.value); });
  if (areStatic || !site.child("func").json)
    return callInPython(emitter, callee, arguments, site);
  llvm::json::Value request(llvm::json::Object{
      {"_", "Attribute"},
      {"value", copyOf(*site.child("func").json)},
      {"attr", "_fields"},
      {"@", llvm::json::Array{site.line, site.column, site.endLine, site.endColumn}}});
  Node question = site.child("func");
  OrReason<JsonValue> read = emitter.texts.readCopy(llvm::formatv("{0}", request).str());
  question.json = read ? read->getAsObject() : nullptr;
  OrReason<PyValue> names = tryEvaluateInPython(emitter, question);
  const Tuple *fields = names ? names->as<Tuple>() : nullptr;
  if (!fields || (*fields)->items.size() != arguments.size())
    return callInPython(emitter, callee, arguments, site); // which reports what cannot be known
  std::vector<std::string> fieldNames;
  for (const PyValue &field : (*fields)->items)
    fieldNames.push_back(toText(field, false));
  std::vector<PyValue> items(arguments.size());
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto slot = argument.keyword.empty() ? fieldNames.begin() + i
                                         : llvm::find(fieldNames, argument.keyword);
    if (slot == fieldNames.end())
      return emitter.error(Code::WrongArguments, *argument.node,
                           "there is no field `" + argument.keyword + "`", "check the name");
    items[slot - fieldNames.begin()] = argument.value;
  }
  return makeTuple(std::move(items), std::move(fieldNames));
}

FailureOr<PyValue> tw::callValue(Emitter &emitter, const PyValue &callee, Arguments arguments,
                                 const Node &site) {
  if (const DType *dtype = callee.as<DType>()) {
    Callable cast;
    cast.name = "cast";
    if (arguments.size() != 1)
      return emitter.error(Code::WrongArguments, site, "a type takes one value to convert",
                           "write " + dtype->str() + "(x) or x.to(" + dtype->str() + ")");
    arguments.push_back({callee, &site.child("func"), ""});
    return callBuiltin(emitter, cast, arguments, site);
  }
  const Callable *callable = callee.as<Callable>();
  const Opaque *object = callee.as<Opaque>();
  if (object && !object->isModule && site.is(NodeKind::Call))
    return callHost(emitter, callee, arguments, site);
  if (!callable)
    return emitter.error(
        Code::NotCallable, site, typeName(callee) + " is not a function",
        "only functions of the language, @tw.jit functions and types can be called",
        {emitter.label(site.child("func"), "this is " + typeName(callee))});
  switch (callable->kind) {
  case Callable::Kind::Jit:
  case Callable::Kind::Closure:
    return inlineFunction(emitter, *callable, std::move(arguments), site);
  case Callable::Kind::Builtin:
    return callBuiltin(emitter, *callable, arguments, site);
  case Callable::Kind::PyBuiltin:
    return callPythonBuiltin(emitter, *callable, arguments, site);
  case Callable::Kind::Method:
    return callMethod(emitter, *callable, std::move(arguments), site);
  case Callable::Kind::Host:
    return callHost(emitter, callee, arguments, site);
  case Callable::Kind::Aggregate:
    return construct(emitter, *callable, std::move(arguments), site);
  }
  return failure();
}
