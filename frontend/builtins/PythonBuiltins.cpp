// Python's own builtins in kernels: on compile-time values as in Python, on run-time ones as
// operations.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/tiles/Operands.h"
#include "frontend/values/Parts.h"
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
  const Callable &callee;
  const Arguments &arguments; // as written
  BoundArguments bound;       // in the order of the signature
  const Node &site;
  llvm::StringRef name = callee.name;

  bool has(size_t i) const { return bound[i].has_value(); }
  const Value &value(size_t i) const { return bound[i]->value; }
  const Node &node(size_t i) const { return bound[i] ? *bound[i]->node : site; }
  /// What "*rest" takes, at index 0.
  std::vector<Value> rest() const {
    return has(0) ? (*value(0).as<Tuple>())->items : std::vector<Value>{};
  }
  ValueOr inPython() const { return emitter.callInPython(Value{callee}, arguments, site); }
};
struct PythonRow {
  llvm::StringLiteral name;
  llvm::StringLiteral signature; // with the names of Python's own parameters
  ValueOr (*emit)(PythonCall &call);
};
} // namespace

/// A function of the language under a name of its own, on the same arguments.
static ValueOr asBuiltin(PythonCall &call, llvm::StringRef name) {
  Callable builtin;
  builtin.name = name.str();
  Arguments arguments = call.arguments;
  return call.emitter.callBuiltin(builtin, arguments, call.site);
}

static ValueOr emitLen(PythonCall &call) {
  if (const TypedValue *tile = call.value(0).as<TypedValue>(); tile && tile->isTile())
    return makeInt(tile->shape().front());
  if (const std::string *text = call.value(0).as<std::string>())
    return makeInt(int64_t(charactersOf(*text).size()));
  std::string reason;
  if (call.value(0).is<Opaque>())
    if (std::optional<Value> length = call.emitter.pythonCall("len", {call.value(0)}, reason))
      return *length;
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  return failed(items) ? ValueOr(failure()) : ValueOr(makeInt(int64_t(items->size())));
}

/// min and max of any number of values, or of the elements of one.
static ValueOr emitExtremum(PythonCall &call) {
  if (call.has(1) && !call.value(1).is<None>()) // key
    return call.inPython();
  std::vector<Value> items = call.rest();
  if (items.size() == 1) {
    FailureOr<std::vector<Value>> elements = call.emitter.elements(items[0], call.node(0));
    if (failed(elements))
      return failure();
    items = *elements;
    if (items.empty() && call.has(2))
      return call.value(2);
  } else if (call.has(2)) {
    return call.emitter.error(Code::WrongArguments, call.node(2),
                              "`default` of " + call.name + " goes with one sequence only",
                              "leave it out");
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
  if (call.value(0).is<Opaque>())
    return call.inPython();
  if (call.value(0).isRuntime())
    return asBuiltin(call, "abs");
  if (const double *number = call.value(0).as<double>())
    return Value{std::fabs(*number)};
  bool isNegative = call.value(0).isInteger() && toInteger(call.value(0)).isNegative();
  return call.emitter.finish(staticUnary(isNegative ? "USub" : "UAdd", call.value(0)), call.site);
}

/// int(x), float(x), bool(x).
static ValueOr emitConversion(PythonCall &call) {
  bool hasBase = call.bound.size() > 1 && call.has(1); // as in int("ff", 16)
  if (!call.has(0) || hasBase)
    return call.inPython();
  const Value &value = call.value(0);
  if (const TypedValue *typed = value.as<TypedValue>()) {
    call.emitter.locate(call.site);
    if (typed->dtype.isPointer)
      return call.emitter.error(
          pointerAsNumber("`" + call.name.str() + "` takes a number, not a pointer", *typed),
          call.site, {&call.node(0)});
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
  if (call.name == "float" && value.isNumber() && std::isfinite(toDouble(value)))
    return Value{toDouble(value)};
  if (call.name == "float" && value.is<double>())
    return value;
  return call.inPython();
}

static ValueOr emitStr(PythonCall &call) {
  bool hasEncoding = call.bound.size() > 1 && (call.has(1) || call.has(2));
  if (!call.has(0) || hasEncoding)
    return call.inPython();
  return call.emitter.textOf(call.value(0), call.name == "repr", call.node(0));
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
  if (const Aggregate *aggregate = value.as<Aggregate>();
      named->kind == Callable::Kind::Aggregate || aggregate)
    return aggregate && named->kind == Callable::Kind::Aggregate &&
           aggregate->type->getString("ref") == named->json->getString("ref");
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
  return call.inPython();
}

static std::optional<std::string> textArgument(PythonCall &call, size_t i) {
  const std::string *text = call.value(i).as<std::string>();
  return text ? std::optional(*text) : std::nullopt;
}

/// Whether a value has an attribute, without reporting that it has not.
static bool hasAttribute(const Value &base, llvm::StringRef name, Emitter &emitter) {
  if (const Descriptor *descriptor = base.as<Descriptor>())
    return findDescriptorMethod((*descriptor)->type, name) ||
           descriptorAttribute(*descriptor, name).has_value();
  if (const DType *dtype = base.as<DType>())
    return dtypePredicate(*dtype, name).has_value() || name == "element_ty" || name == "scalar";
  if (const Tuple *tuple = base.as<Tuple>(); tuple && llvm::is_contained((*tuple)->fields, name))
    return true;
  if (!base.isRuntime()) { // a text, a number, a tuple: as Python knows them
    Value like = base.is<Tuple>() ? makeTuple({}) : base;
    std::string reason;
    std::optional<Value> answer = emitter.pythonCall("hasattr", {like, Value{name.str()}}, reason);
    return answer && truthOf(*answer);
  }
  static constexpr llvm::StringLiteral kOfTiles[] = {"shape", "dtype", "type", "T", "to", "numel"};
  return base.isRuntime() &&
         (llvm::is_contained(kOfTiles, name) || findBuiltin(builtinOfMethod(name)) ||
          (emitter.program.methods && emitter.program.methods->get(name)));
}

static ValueOr emitGetAttr(PythonCall &call) {
  std::optional<std::string> name = textArgument(call, 1);
  if (!name)
    return call.emitter.error(Code::NotStatic, call.node(1), "getattr needs a constant name",
                              "write the attribute as x.name");
  bool isObject = call.value(0).is<Opaque>();
  std::string reason;
  if (isObject && call.has(2))
    if (std::optional<Value> found = call.emitter.pythonCall(
            "getattr", {call.value(0), call.value(1), call.value(2)}, reason))
      return *found;
  if (!isObject && call.has(2) && !hasAttribute(call.value(0), *name, call.emitter))
    return call.value(2);
  return call.emitter.attribute(call.value(0), *name, call.site);
}

static ValueOr emitHasAttr(PythonCall &call) {
  std::optional<std::string> name = textArgument(call, 1);
  if (!name || call.value(0).is<Opaque>())
    return call.inPython();
  return Value{hasAttribute(call.value(0), *name, call.emitter)};
}

static ValueOr emitType(PythonCall &call) {
  const TypedValue *typed = call.value(0).as<TypedValue>();
  if (!typed)
    return call.inPython();
  return typed->isTile() ? Value{TileType{typed->dtype, typed->shape().vec()}}
                         : Value{typed->dtype};
}

//===-- Sequences ----------------------------------------------------------------------------===//

static FailureOr<std::vector<std::vector<Value>>> allElements(PythonCall &call) {
  std::vector<std::vector<Value>> all;
  for (const Argument &argument : call.arguments) {
    if (!argument.keyword.empty())
      continue;
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
  bool isStrict = call.has(1) && truthOf(call.value(1));
  for (const std::vector<Value> &items : *all) {
    if (isStrict && items.size() != length)
      return call.emitter.error(Code::WrongArguments, call.site,
                                "zip with strict=True is given sequences of different lengths",
                                "make them equally long");
    length = std::min(length, items.size());
  }
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
  Value first = call.has(1) ? call.value(1) : makeInt(0);
  const TypedValue *typed = first.as<TypedValue>();
  if (!first.isInteger() && !(typed && typed->dtype.isInt() && !typed->isTile()))
    return call.emitter.error(Code::WrongType, call.node(1),
                              "enumerate counts from an integer, not from " + typeName(first),
                              "give it an int");
  std::vector<Value> rows;
  for (auto [i, item] : llvm::enumerate(*items)) {
    ValueOr count = call.emitter.binary("Add", first, makeInt(int64_t(i)), call.site, call.node(1),
                                        call.node(1));
    if (failed(count))
      return failure();
    rows.push_back(makeTuple({*count, item}));
  }
  return makeTuple(std::move(rows));
}

/// tuple(x), list(x), reversed(x).
static ValueOr emitSequence(PythonCall &call) {
  if (!call.has(0))
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
  Value total = call.has(1) ? call.value(1) : makeInt(0);
  for (const Value &item : *items) {
    ValueOr next = call.emitter.binary("Add", total, item, call.site, call.node(0), call.node(0));
    if (failed(next))
      return failure();
    total = *next;
  }
  return total;
}

/// any and all; of run-time values, each of which is one truth value, at run time.
static ValueOr emitAnyAll(PythonCall &call) {
  FailureOr<std::vector<Value>> items = call.emitter.elements(call.value(0), call.node(0));
  if (failed(items))
    return failure();
  bool isAny = call.name == "any";
  std::optional<TypedValue> result;
  for (const Value &item : *items) {
    if (!item.isRuntime()) {
      FailureOr<bool> truth = call.emitter.staticTruth(item, call.node(0));
      if (failed(truth))
        return failure();
      if (*truth == isAny)
        return Value{isAny};
      continue;
    }
    FailureOr<mlir::Value> truth = call.emitter.toCondition(item, call.node(0));
    if (failed(truth))
      return failure();
    TypedValue next{*truth, findDType("int1")};
    TileBuilder &tiles = call.emitter.tiles;
    result = !result ? next
             : isAny ? *tiles.logicalOr(*result, next)
                     : *tiles.logicalAnd(*result, next);
  }
  return result ? Value{*result} : Value{!isAny};
}

static ValueOr emitArithmetic(PythonCall &call) {
  if (call.name == "pow" && (!call.has(2) || call.value(2).is<None>()))
    return call.emitter.binary("Pow", call.value(0), call.value(1), call.site, call.node(0),
                               call.node(1));
  if (call.name == "pow")
    return call.inPython();
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

/// The parts of a print on a device: texts, each with the run-time values that follow it.
static mlir::LogicalResult printOnDevice(Emitter &emitter, const PrintForm &form,
                                         const Node &site) {
  std::string prefix;
  std::vector<TypedValue> values;
  auto flush = [&] {
    emitter.locate(site);
    if (!prefix.empty() || !values.empty())
      emitter.tiles.print(devicePrefix(prefix, !values.empty()), /*hex=*/false, values);
    prefix.clear();
    values.clear();
  };
  for (const Value &value : form.values) {
    if (value.isRuntime()) {
      values.push_back(*value.as<TypedValue>());
      continue;
    }
    if (!values.empty())
      flush();
    ValueOr text = emitter.textOf(value, /*isRepr=*/false, site);
    if (failed(text))
      return failure();
    prefix += (prefix.empty() ? "" : form.separator) + *text->as<std::string>();
  }
  flush();
  return mlir::success();
}

static ValueOr emitPrint(PythonCall &call) {
  FailureOr<PrintForm> form = printFormOf(call.emitter, call.bound);
  if (failed(form))
    return failure();
  if (form->end != "\n")
    return call.emitter.error(Code::BadOption, call.node(2), "a device prints whole lines",
                              "leave out `end`");
  if (failed(call.emitter.refuseInCombine(call.site, "`print`")) ||
      failed(printOnDevice(call.emitter, *form, call.site)))
    return failure();
  return Value{None{}};
}

// What is compiled here. Other builtins are Python's, on compile-time values.
static constexpr PythonRow kRows[] = {
    {"len", "obj, /", emitLen},
    {"min", "*values, key=None, default=None", emitExtremum},
    {"max", "*values, key=None, default=None", emitExtremum},
    {"abs", "x, /", emitAbs},
    {"int", "x=0, /, base=10", emitConversion},
    {"float", "x=0.0, /", emitConversion},
    {"bool", "x=False, /", emitConversion},
    {"str", "object='', encoding='utf-8', errors='strict'", emitStr},
    {"repr", "obj, /", emitStr},
    {"isinstance", "obj, class_or_tuple, /", emitIsInstance},
    {"getattr", "object, name, default=None, /", emitGetAttr},
    {"hasattr", "obj, name, /", emitHasAttr},
    {"type", "object, /", emitType},
    {"zip", "*iterables, strict=False", emitZip},
    {"enumerate", "iterable, start=0", emitEnumerate},
    {"tuple", "iterable=(), /", emitSequence},
    {"list", "iterable=(), /", emitSequence},
    {"reversed", "sequence, /", emitSequence},
    {"sum", "iterable, /, start=0", emitSum},
    {"any", "iterable, /", emitAnyAll},
    {"all", "iterable, /", emitAnyAll},
    {"pow", "base, exp, mod=None", emitArithmetic},
    {"divmod", "x, y, /", emitArithmetic},
    {"range", "start, stop=None, step=None, /", emitRange},
    {"print", "*values, sep=' ', end='\\n', file=None, flush=False", emitPrint},
};

ValueOr Emitter::callPythonBuiltin(const Callable &callee, Arguments &arguments, const Node &site) {
  for (const Argument &argument : arguments)
    if (argument.value.is<Absent>())
      return rejectAbsent(argument.value, *argument.node);
  const PythonRow *row =
      llvm::find_if(kRows, [&](const PythonRow &r) { return r.name == callee.name; });
  if (row == std::end(kRows))
    return callInPython(Value{callee}, arguments, site);
  FailureOr<BoundArguments> bound =
      bindToSignature(*this, callee.name, row->signature, arguments, site);
  if (failed(bound))
    return failure();
  PythonCall call{*this, callee, arguments, std::move(*bound), site};
  locate(site);
  return row->emit(call);
}
