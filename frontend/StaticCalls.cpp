// Python's own builtins in kernels: on compile-time values as in Python, on run-time ones as
// operations.
#include "frontend/Descriptors.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;

namespace {
struct PythonCall {
  Emitter &emitter;
  llvm::StringRef name;
  Arguments &arguments;
  const Node &site;

  const Value &value(size_t i) const { return arguments[i].value; }
  const Node &node(size_t i) const { return *arguments[i].node; }
  size_t size() const { return arguments.size(); }
};
struct PythonRow {
  llvm::StringLiteral name;
  size_t minArguments, maxArguments;
  ValueOr (*emit)(PythonCall &call);
};
} // namespace

/// A function of the language under a name of its own, on the same arguments.
static ValueOr asBuiltin(PythonCall &call, llvm::StringRef name) {
  Callable builtin;
  builtin.name = name.str();
  return call.emitter.callBuiltin(builtin, call.arguments, call.site);
}

static ValueOr emitLen(PythonCall &call) {
  if (const TypedValue *tile = call.value(0).as<TypedValue>(); tile && tile->isTile())
    return makeInt(tile->shape().front());
  if (const std::string *text = call.value(0).as<std::string>())
    return makeInt(int64_t(text->size()));
  std::string reason;
  if (call.value(0).is<Opaque>())
    if (std::optional<Value> length = call.emitter.pythonCall("len", {call.value(0)}, reason))
      return *length;
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  return failed(items) ? ValueOr(failure()) : ValueOr(makeInt(int64_t(items->size())));
}

/// min and max of any number of values, or of the elements of one.
static ValueOr emitExtremum(PythonCall &call) {
  std::vector<Value> items;
  for (const Argument &argument : call.arguments)
    items.push_back(argument.value);
  if (items.size() == 1) {
    FailureOr<std::vector<Value>> elements = call.emitter.elements(items[0], call.node(0));
    if (failed(elements))
      return failure();
    items = *elements;
  }
  if (items.empty())
    return call.emitter.error(Code::WrongArguments, call.site, call.name + " of nothing",
                              "give it at least one value");
  Value best = items.front();
  for (const Value &item : llvm::ArrayRef<Value>(items).drop_front()) {
    if (best.isRuntime() || item.isRuntime()) {
      Callable builtin;
      builtin.name = call.name == "min" ? "minimum" : "maximum";
      Arguments pair{{best, &call.site, ""}, {item, &call.site, ""}};
      ValueOr result = call.emitter.callBuiltin(builtin, pair, call.site);
      if (failed(result))
        return failure();
      best = *result;
      continue;
    }
    ValueOr isBetter =
        call.emitter.finish(staticCompare(call.name == "min" ? "Lt" : "Gt", item, best), call.site);
    if (failed(isBetter))
      return failure();
    best = truthOf(*isBetter) ? item : best;
  }
  return best;
}

static ValueOr emitAbs(PythonCall &call) {
  if (call.value(0).isRuntime())
    return asBuiltin(call, "abs");
  if (const double *number = call.value(0).as<double>())
    return Value{std::fabs(*number)};
  bool isNegative = call.value(0).isInteger() && toInteger(call.value(0)).isNegative();
  return call.emitter.finish(staticUnary(isNegative ? "USub" : "UAdd", call.value(0)), call.site);
}

/// int(x), float(x), bool(x).
static ValueOr emitConversion(PythonCall &call) {
  const Value &value = call.value(0);
  if (const TypedValue *typed = value.as<TypedValue>()) {
    call.emitter.locate(call.site);
    if (call.name == "bool") {
      FailureOr<mlir::Value> truth = call.emitter.toCondition(value, call.node(0));
      return failed(truth) ? ValueOr(failure())
                           : ValueOr(Value{TypedValue{*truth, findDType("int1")}});
    }
    bool isInt = call.name == "int";
    if (isInt ? typed->dtype.isInt() && !typed->dtype.isBool() : typed->dtype.isFloat())
      return value;
    DType target = findDType(isInt ? (typed->dtype.bits() > 32 ? "int64" : "int32") : "float32");
    return call.emitter.finish(call.emitter.tiles.cast(*typed, target, false, ""), call.site,
                               {&call.node(0)});
  }
  if (call.name == "bool") {
    FailureOr<bool> truth = call.emitter.staticTruth(value, call.node(0));
    return failed(truth) ? ValueOr(failure()) : ValueOr(Value{*truth});
  }
  const double *number = value.as<double>();
  if (call.name == "int" && value.isInteger())
    return Value{toInteger(value)};
  if (call.name == "int" && number && std::isfinite(*number) && std::fabs(*number) < 0x1p62)
    return makeInt(int64_t(*number));
  if (call.name == "float" && value.isNumber())
    return Value{toDouble(value)};
  return call.emitter.evaluateInPython(call.site);
}

static ValueOr emitStr(PythonCall &call) {
  return Value{toText(call.value(0), call.name == "repr")};
}

//===-- Questions about types ----------------------------------------------------------------===//

std::optional<bool> tw::isInstance(const Value &value, const Value &type) {
  if (const Tuple *types = type.as<Tuple>()) {
    bool isAny = false;
    for (const Value &item : (*types)->items) {
      std::optional<bool> answer = isInstance(value, item);
      if (!answer)
        return std::nullopt;
      isAny = isAny || *answer;
    }
    return isAny;
  }
  const Callable *named = type.as<Callable>();
  if (!named)
    return std::nullopt;
  llvm::StringRef name = named->name;
  const Descriptor *descriptor = value.as<Descriptor>();
  bool isBlockPointer = descriptor && (*descriptor)->type.isBlockPointer;
  if (name == "tensor")
    return value.isRuntime() || isBlockPointer;
  if (name == "tensor_descriptor")
    return descriptor && !isBlockPointer;
  if (name == "tensor_descriptor_type")
    return value.is<DescriptorType>() && !value.as<DescriptorType>()->isBlockPointer;
  if (name == "constexpr")
    return isStatic(value) && !value.is<Tuple>();
  if (name == "int")
    return value.isInteger();
  if (name == "float")
    return value.is<double>();
  if (name == "bool")
    return value.is<bool>();
  if (name == "str")
    return value.is<std::string>();
  if (name == "tuple" || name == "list")
    return value.is<Tuple>();
  if (name == "dtype")
    return value.is<DType>();
  if (name == "pointer_type")
    return value.is<DescriptorType>() ? value.as<DescriptorType>()->isBlockPointer
                                      : value.is<DType>() && value.as<DType>()->isPointer;
  if (name == "block_type")
    return value.is<TileType>();
  return std::nullopt;
}

static ValueOr emitIsInstance(PythonCall &call) {
  if (std::optional<bool> answer = isInstance(call.value(0), call.value(1)))
    return Value{*answer};
  return call.emitter.evaluateInPython(call.site);
}

static std::optional<std::string> textArgument(PythonCall &call, size_t i) {
  const std::string *text = call.value(i).as<std::string>();
  return text ? std::optional(*text) : std::nullopt;
}

/// Whether a value has an attribute, without reporting that it has not.
static bool hasAttribute(const Value &base, llvm::StringRef name, const Emitter &emitter) {
  if (const Descriptor *descriptor = base.as<Descriptor>())
    return findDescriptorMethod((*descriptor)->type, name) ||
           descriptorAttribute(*descriptor, name).has_value();
  if (const DType *dtype = base.as<DType>())
    return dtypePredicate(*dtype, name).has_value() || name == "element_ty" || name == "scalar";
  if (const Tuple *tuple = base.as<Tuple>())
    return llvm::is_contained((*tuple)->fields, name);
  static constexpr llvm::StringLiteral kOfTiles[] = {"shape", "dtype", "type", "T", "to", "numel"};
  return base.isRuntime() && (llvm::is_contained(kOfTiles, name) || findBuiltin(name) ||
                              (emitter.program.methods && emitter.program.methods->get(name)));
}

static ValueOr emitGetAttr(PythonCall &call) {
  std::optional<std::string> name = textArgument(call, 1);
  if (!name)
    return call.emitter.error(Code::NotStatic, call.node(1), "getattr needs a constant name",
                              "write the attribute as x.name");
  bool isObject = call.value(0).is<Opaque>();
  std::string reason;
  if (isObject && call.size() == 3)
    if (std::optional<Value> found = call.emitter.pythonCall(
            "getattr", {call.value(0), call.value(1), call.value(2)}, reason))
      return *found;
  if (!isObject && call.size() == 3 && !hasAttribute(call.value(0), *name, call.emitter))
    return call.value(2);
  return call.emitter.attribute(call.value(0), *name, call.site);
}

static ValueOr emitHasAttr(PythonCall &call) {
  std::optional<std::string> name = textArgument(call, 1);
  if (!name || call.value(0).is<Opaque>())
    return call.emitter.evaluateInPython(call.site);
  return Value{hasAttribute(call.value(0), *name, call.emitter)};
}

static ValueOr emitType(PythonCall &call) {
  const TypedValue *typed = call.value(0).as<TypedValue>();
  if (!typed)
    return call.emitter.evaluateInPython(call.site);
  return typed->isTile() ? Value{TileType{typed->dtype, typed->shape().vec()}}
                         : Value{typed->dtype};
}

//===-- Sequences ----------------------------------------------------------------------------===//

static FailureOr<std::vector<std::vector<Value>>> allElements(PythonCall &call) {
  std::vector<std::vector<Value>> all;
  for (const Argument &argument : call.arguments) {
    FailureOr<std::vector<Value>> items = call.emitter.elements(argument.value, *argument.node);
    if (failed(items))
      return failure();
    all.push_back(std::move(*items));
  }
  return all;
}

static ValueOr emitZip(PythonCall &call) {
  FailureOr<std::vector<std::vector<Value>>> all = allElements(call);
  if (failed(all))
    return failure();
  size_t length = all->empty() ? 0 : all->front().size();
  for (const std::vector<Value> &items : *all)
    length = std::min(length, items.size());
  std::vector<Value> rows;
  for (size_t i = 0; i < length; ++i) {
    std::vector<Value> row;
    for (const std::vector<Value> &items : *all)
      row.push_back(items[i]);
    rows.push_back(makeTuple(std::move(row)));
  }
  return makeTuple(std::move(rows));
}

static ValueOr emitEnumerate(PythonCall &call) {
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  if (failed(items))
    return failure();
  int64_t first = call.size() > 1 ? toInt64(call.value(1)).value_or(0) : 0;
  std::vector<Value> rows;
  for (auto [i, item] : llvm::enumerate(*items))
    rows.push_back(makeTuple({makeInt(first + int64_t(i)), item}));
  return makeTuple(std::move(rows));
}

/// tuple(x), list(x), reversed(x).
static ValueOr emitSequence(PythonCall &call) {
  if (call.size() == 0)
    return makeTuple({});
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  if (failed(items))
    return failure();
  if (call.name == "reversed")
    std::reverse(items->begin(), items->end());
  return makeTuple(std::move(*items));
}

static ValueOr emitSum(PythonCall &call) {
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  if (failed(items))
    return failure();
  Value total = call.size() > 1 ? call.value(1) : makeInt(0);
  for (const Value &item : *items) {
    ValueOr next = call.emitter.binary("Add", total, item, call.site, call.node(0), call.node(0));
    if (failed(next))
      return failure();
    total = *next;
  }
  return total;
}

static ValueOr emitAnyAll(PythonCall &call) {
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  if (failed(items))
    return failure();
  bool isAny = call.name == "any", result = !isAny;
  for (const Value &item : *items) {
    if (!isStatic(item))
      return call.emitter.error(Code::NotStatic, call.node(0),
                                "`" + call.name + "` needs values known at compile time",
                                "combine run-time values with | and &");
    if (truthOf(item) == isAny)
      result = isAny;
  }
  return Value{result};
}

static ValueOr emitArithmetic(PythonCall &call) {
  if (call.name == "pow" && call.size() == 2)
    return call.emitter.binary("Pow", call.value(0), call.value(1), call.site, call.node(0),
                               call.node(1));
  if (call.name != "divmod")
    return call.emitter.evaluateInPython(call.site);
  std::vector<Value> parts;
  for (llvm::StringRef op : {"FloorDiv", "Mod"}) {
    ValueOr part = call.emitter.binary(op, call.value(0), call.value(1), call.site, call.node(0),
                                       call.node(1));
    if (failed(part))
      return failure();
    parts.push_back(*part);
  }
  return makeTuple(std::move(parts));
}

//===-- Others -------------------------------------------------------------------------------===//

static ValueOr emitRange(PythonCall &call) { return asBuiltin(call, "range"); }

/// print of compile-time values happens at compile time; with run-time values, on the device.
static ValueOr emitPrint(PythonCall &call) {
  bool areStatic = llvm::all_of(call.arguments, [](const Argument &argument) {
    return isStatic(argument.value) || !argument.keyword.empty();
  });
  if (areStatic) {
    std::string text;
    for (const Argument &argument : call.arguments)
      if (argument.keyword.empty())
        text += (text.empty() ? "" : " ") + toText(argument.value, false);
    call.emitter.remark(call.site, text);
    return Value{None{}};
  }
  Value prefix{std::string()};
  std::vector<Value> values;
  for (const Argument &argument : call.arguments)
    if (argument.value.is<std::string>() && values.empty())
      prefix = {*prefix.as<std::string>() + *argument.value.as<std::string>()};
    else if (argument.value.isRuntime() || argument.value.isNumber())
      values.push_back(argument.value);
  Callable builtin;
  builtin.name = "device_print";
  Arguments arguments{{prefix, &call.site, ""}};
  for (Value &value : values)
    arguments.push_back({std::move(value), &call.site, ""});
  return call.emitter.callBuiltin(builtin, arguments, call.site);
}

static constexpr size_t kAny = SIZE_MAX;
static constexpr PythonRow kRows[] = {
    {"len", 1, 1, emitLen},
    {"min", 1, kAny, emitExtremum},
    {"max", 1, kAny, emitExtremum},
    {"abs", 1, 1, emitAbs},
    {"int", 1, 1, emitConversion},
    {"float", 1, 1, emitConversion},
    {"bool", 1, 1, emitConversion},
    {"str", 1, 1, emitStr},
    {"repr", 1, 1, emitStr},
    {"isinstance", 2, 2, emitIsInstance},
    {"getattr", 2, 3, emitGetAttr},
    {"hasattr", 2, 2, emitHasAttr},
    {"type", 1, 1, emitType},
    {"zip", 0, kAny, emitZip},
    {"enumerate", 1, 2, emitEnumerate},
    {"tuple", 0, 1, emitSequence},
    {"list", 0, 1, emitSequence},
    {"reversed", 1, 1, emitSequence},
    {"sum", 1, 2, emitSum},
    {"any", 1, 1, emitAnyAll},
    {"all", 1, 1, emitAnyAll},
    {"pow", 2, 3, emitArithmetic},
    {"divmod", 2, 2, emitArithmetic},
    {"range", 1, 3, emitRange},
    {"print", 0, kAny, emitPrint},
};

ValueOr Emitter::callPythonBuiltin(llvm::StringRef name, Arguments &arguments, const Node &site) {
  const PythonRow *row = llvm::find_if(kRows, [&](const PythonRow &r) { return r.name == name; });
  if (row == std::end(kRows))
    return evaluateInPython(site);
  for (const Argument &argument : arguments)
    if (argument.value.is<Absent>())
      return rejectAbsent(argument.value, *argument.node);
  if (arguments.size() < row->minArguments || arguments.size() > row->maxArguments)
    return error(Code::WrongArguments, site,
                 formatv("`{0}` takes other than {1} arguments", name, arguments.size()).str(),
                 "see Python's documentation of " + name);
  PythonCall call{*this, name, arguments, site};
  return row->emit(call);
}
