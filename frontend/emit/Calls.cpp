// Calls: jit functions and closures are inlined; methods, types and builtins are dispatched.
#include "frontend/emit/Aggregates.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/OperatorMethods.h"
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

static std::string signatureText(llvm::StringRef name, llvm::ArrayRef<Parameter> params) {
  std::string text = name.str() + "(";
  for (auto [i, param] : llvm::enumerate(params)) {
    text += i == 0 ? "" : ", ";
    text += param.kind == Parameter::Kind::VarPositional ? "*" : "";
    text += param.kind == Parameter::Kind::VarKeyword ? "**" : "";
    text += param.name + (param.defaultValue ? "=..." : "");
  }
  return text + ")";
}

namespace {
struct ArgumentBinder {
  Emitter &emitter;
  const Node &site;
  std::string name;
  llvm::ArrayRef<Parameter> params;
  std::vector<std::optional<Argument>> bound;

  LogicalResult wrong(const llvm::Twine &message, const Node &node) {
    return emitter.error(Code::WrongArguments, node, "`" + name + "` " + message,
                         "it is " + signatureText(name, params));
  }
  LogicalResult bindPositional(const Arguments &arguments);
  LogicalResult bindKeyword(const Argument &argument);
};
} // namespace

LogicalResult ArgumentBinder::bindPositional(const Arguments &arguments) {
  size_t next = 0, numGiven = 0;
  bound.resize(params.size());
  std::vector<Value> extra;
  const auto *rest = llvm::find_if(
      params, [](const Parameter &p) { return p.kind == Parameter::Kind::VarPositional; });
  for (const Argument &argument : arguments) {
    if (!argument.keyword.empty())
      continue;
    ++numGiven;
    bool takes = next < params.size() && (params[next].kind == Parameter::Kind::Positional ||
                                          params[next].kind == Parameter::Kind::PositionalOnly);
    if (takes)
      bound[next++] = argument;
    else if (rest != params.end())
      extra.push_back(argument.value);
    else
      return wrong(
          formatv("takes {0} positional arguments, but {1} or more are given", next, numGiven)
              .str(),
          *argument.node);
  }
  if (rest != params.end())
    bound[rest - params.begin()] = Argument{makeTuple(std::move(extra)), &site, ""};
  return success();
}

LogicalResult ArgumentBinder::bindKeyword(const Argument &argument) {
  for (auto [i, param] : llvm::enumerate(params)) {
    if (param.name != argument.keyword || param.kind == Parameter::Kind::PositionalOnly ||
        param.kind == Parameter::Kind::VarPositional)
      continue;
    if (bound[i])
      return wrong("is given `" + argument.keyword + "` twice", *argument.node);
    bound[i] = argument;
    return success();
  }
  return wrong("has no parameter `" + argument.keyword + "`", *argument.node);
}

static LogicalResult bindParameters(Emitter &emitter, Frame &frame,
                                    llvm::ArrayRef<Parameter> params,
                                    llvm::ArrayRef<std::shared_ptr<const Value>> defaults,
                                    const Arguments &arguments, const Node &site) {
  ArgumentBinder binder{emitter, site, frame.name, params, {}};
  if (failed(binder.bindPositional(arguments)))
    return failure();
  for (const Argument &argument : arguments)
    if (!argument.keyword.empty() && failed(binder.bindKeyword(argument)))
      return failure();
  for (auto [i, param] : llvm::enumerate(params)) {
    if (param.kind == Parameter::Kind::VarKeyword)
      return emitter.unsupported(site, "a function with **" + param.name, "name its parameters");
    std::optional<Value> value;
    if (binder.bound[i])
      value = binder.bound[i]->value;
    else if (param.defaultValue)
      value = fromJson(*param.defaultValue);
    else if (i < defaults.size() && defaults[i])
      value = *defaults[i];
    if (!value)
      return binder.wrong("needs an argument for `" + param.name + "`", site);
    const Node &node = binder.bound[i] ? *binder.bound[i]->node : site;
    if (const TypedValue *pointer = value->as<TypedValue>();
        param.isConst && pointer && pointer->dtype.isPointer) {
      TypedValue readOnly = *pointer;
      readOnly.dtype.isConst = true;
      value = Value{readOnly};
    }
    // A run-time value for a constexpr is an error only where the function needs a constant.
    bool isConstexpr = param.isConstexpr && isStatic(*value);
    frame.names[param.name] = {*value, spanOf(node, *emitter.frame().source), isConstexpr};
  }
  return success();
}

//===-- Inlining -----------------------------------------------------------------------------===//

/// What a function returns on the paths that its body took.
static Value resultOf(Emitter &emitter) {
  Value returned = emitter.flag(kReturned), result = emitter.flag(kResult);
  if (returned.isRuntime())
    return result.is<None>() || result.is<Absent>()
               ? result
               : Value{Absent{Absent::Reason::PartialReturn, {}, {}, "", ""}};
  return truthOf(returned) ? result : Value{None{}};
}

ValueOr Emitter::emitFunctionBody(std::shared_ptr<Frame> callee, const Node &site) {
  for (llvm::StringRef name : {kJumped, kBroke, kReturned})
    callee->names[name.str()].value = {false};
  callee->names[kResult.str()] = {};
  const Node &function = *callee->function;
  frames.push_back(std::move(callee));
  ValueOr result = failure();
  if (function.is(NodeKind::Lambda))
    result = eval(function.child("body"));
  else if (llvm::succeeded(emitBlock(function.list("body"))))
    result = resultOf(*this);
  frames.pop_back();
  if (!frames.empty())
    locate(site);
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
static std::optional<Value> tryInPython(Emitter &emitter, const Callable &callee,
                                        const Arguments &arguments, const Node &site) {
  bool areStatic = llvm::all_of(arguments, [](const Argument &argument) {
    return isStatic(argument.value) && toJson(argument.value);
  });
  if (!callee.isPlain || !areStatic || !site.is(NodeKind::Call))
    return std::nullopt;
  std::string reason;
  return emitter.tryCallInPython(Value{callee}, arguments, site, reason);
}

ValueOr Emitter::inlineFunction(const Callable &callee, Arguments arguments, const Node &site) {
  if (callee.kind == Callable::Kind::Closure) {
    const Closure &closure = *callee.closure;
    std::shared_ptr<Frame> inner =
        makeFrame(*this, *closure.source, *closure.node, callee.name, site);
    inner->enclosing = closure.enclosing;
    inner->locals = assignedNames(closure.node->list("body"));
    if (failed(countCall(*this, site)) ||
        failed(bindParameters(*this, *inner, closure.params, closure.defaults, arguments, site)))
      return failure();
    return emitFunctionBody(inner, site);
  }
  auto found = program.functions.find(callee.name);
  if (found == program.functions.end())
    return error(Code::MalformedBuffer, site, "a called function is not in the buffer",
                 "report this as a bug of the capture");
  const FunctionSource &source = found->second;
  if (std::optional<Value> value = tryInPython(*this, callee, arguments, site))
    return *value;
  std::shared_ptr<Frame> inner = makeFrame(*this, source, *source.ast, source.name, site);
  if (failed(countCall(*this, site)) ||
      failed(bindParameters(*this, *inner, source.params, {}, arguments, site)))
    return failure();
  return emitFunctionBody(inner, site);
}

ValueOr Emitter::construct(const Callable &type, Arguments arguments, const Node &site) {
  Value self = unmade(*type.json);
  const llvm::json::Object *init = type.json->getObject("init");
  if (!init)
    return withFieldsOf(*this, self, arguments, site);
  auto found = program.functions.find(init->getString("v").value_or("").str());
  if (found == program.functions.end() || found->second.params.empty())
    return error(Code::MalformedBuffer, site, "a constructor is not in the buffer",
                 "report this as a bug of the capture");
  const FunctionSource &source = found->second;
  std::shared_ptr<Frame> inner = makeFrame(*this, source, *source.ast, source.name, site);
  inner->constructed = source.params.front().name;
  // Nobody has the object's name but the constructor, so it is passed with nothing in it.
  arguments.insert(arguments.begin(), {Value{None{}}, &site, ""});
  if (failed(countCall(*this, site)) ||
      failed(bindParameters(*this, *inner, source.params, {}, arguments, site)))
    return failure();
  inner->names[inner->constructed].value = self;
  if (failed(emitFunctionBody(inner, site)))
    return failure();
  return checkMade(*this, inner->names[inner->constructed].value, site);
}

ValueOr Emitter::makeClosure(const Node &node) {
  auto closure = std::make_shared<Closure>();
  std::vector<const Node *> defaults;
  closure->node = &node;
  closure->source = frame().source;
  closure->enclosing = frames.back();
  closure->params = parametersOf(node, defaults);
  for (const Node *expression : defaults) {
    ValueOr value = expression ? eval(*expression) : ValueOr(Value{});
    if (failed(value))
      return failure();
    closure->defaults.push_back(expression ? share(*value) : nullptr);
  }
  Callable callable;
  callable.kind = Callable::Kind::Closure;
  callable.name = node.is(NodeKind::Lambda) ? "<lambda>" : node.text("name").str();
  callable.closure = std::move(closure);
  return Value{std::move(callable)};
}

//===-- Dispatch -----------------------------------------------------------------------------===//

static ValueOr callOfType(Emitter &emitter, const Callable &method, const Arguments &arguments,
                          const Node &site) {
  llvm::StringRef name = method.name;
  if (name.starts_with("get_") || name.starts_with("with_"))
    return callTypeMethod(emitter, *method.self, name, arguments, site);
  if (const TileType *type = method.self->as<TileType>()) {
    if (method.name == "is_block")
      return Value{true};
    if (method.name == "is_ptr")
      return Value{false};
    return Value{*dtypePredicate(type->element, method.name)};
  }
  if (const DescriptorType *type = method.self->as<DescriptorType>())
    return Value{*descriptorTypePredicate(*type, method.name)};
  return Value{*dtypePredicate(*method.self->as<DType>(), method.name)};
}

ValueOr Emitter::callMethod(const Callable &method, Arguments arguments, const Node &site) {
  const Value &self = *method.self;
  if (self.is<Aggregate>())
    return callAggregateMethod(*this, method, std::move(arguments), site);
  if (self.is<DType>() || self.is<TileType>() || self.is<DescriptorType>())
    return callOfType(*this, method, arguments, site);
  const Descriptor *descriptor = self.as<Descriptor>();
  if (!self.isRuntime() && !self.isNumber() && !descriptor)
    return callInPython(Value{method}, arguments, site);
  const Node &selfNode = site.child("func").has("value") ? site.child("func").child("value") : site;
  arguments.insert(arguments.begin(), {self, &selfNode, ""});
  if (descriptor)
    return callRow(*this, *findDescriptorMethod((*descriptor)->type, method.name), method.name,
                   arguments, site);
  if (isOperatorMethod(method.name))
    return callOperatorMethod(*this, method.name, arguments, site);
  if (program.methods)
    if (const llvm::json::Object *json = program.methods->getObject(method.name))
      if (std::optional<Value> function = fromJson(*json))
        return call(*function, std::move(arguments), site);
  Callable builtin;
  builtin.name = builtinOfMethod(method.name);
  return callBuiltin(builtin, arguments, site);
}

/// A call of a host object. A namedtuple may hold run-time values, so it is made here.
static ValueOr callHost(Emitter &emitter, const Value &callee, const Arguments &arguments,
                        const Node &site) {
  bool areStatic = llvm::all_of(arguments, [](const Argument &a) { return isStatic(a.value); });
  if (areStatic || !site.child("func").json)
    return emitter.callInPython(callee, arguments, site);
  llvm::json::Value request(llvm::json::Object{
      {"_", "Attribute"},
      {"value", llvm::json::Object(*site.child("func").json)},
      {"attr", "_fields"},
      {"@", llvm::json::Array{site.line, site.column, site.endLine, site.endColumn}}});
  Node question = site.child("func");
  question.json = emitter.keep(std::move(request)).getAsObject();
  std::optional<Value> names = emitter.tryEvaluateInPython(question);
  const Tuple *fields = names ? names->as<Tuple>() : nullptr;
  if (!fields || (*fields)->items.size() != arguments.size())
    return emitter.callInPython(callee, arguments, site); // which reports what cannot be known
  std::vector<std::string> fieldNames;
  for (const Value &field : (*fields)->items)
    fieldNames.push_back(toText(field, false));
  std::vector<Value> items(arguments.size());
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

ValueOr Emitter::call(const Value &callee, Arguments arguments, const Node &site) {
  if (const DType *dtype = callee.as<DType>()) {
    Callable cast;
    cast.name = "cast";
    if (arguments.size() != 1)
      return error(Code::WrongArguments, site, "a type takes one value to convert",
                   "write " + dtype->str() + "(x) or x.to(" + dtype->str() + ")");
    arguments.push_back({callee, &site.child("func"), ""});
    return callBuiltin(cast, arguments, site);
  }
  const Callable *callable = callee.as<Callable>();
  const Opaque *object = callee.as<Opaque>();
  if (object && !object->isModule && site.is(NodeKind::Call))
    return callHost(*this, callee, arguments, site);
  if (!callable)
    return error(Code::NotCallable, site, typeName(callee) + " is not a function",
                 "only functions of the language, @tw.jit functions and types can be called",
                 {label(site.child("func"), "this is " + typeName(callee))});
  switch (callable->kind) {
  case Callable::Kind::Jit:
  case Callable::Kind::Closure:
    return inlineFunction(*callable, std::move(arguments), site);
  case Callable::Kind::Builtin:
    return callBuiltin(*callable, arguments, site);
  case Callable::Kind::PyBuiltin:
    return callPythonBuiltin(*callable, arguments, site);
  case Callable::Kind::Method:
    return callMethod(*callable, std::move(arguments), site);
  case Callable::Kind::Host:
    return callHost(*this, callee, arguments, site);
  case Callable::Kind::Aggregate:
    return construct(*callable, std::move(arguments), site);
  }
  return failure();
}
