// Python's own builtins in kernels: on compile-time values as in Python, on run-time ones as
// operations.
#include "frontend/builtins/Builtins.h"
#include "frontend/builtins/Printing.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/operators/Operators.h"
#include "frontend/tiles/Operands.h"
#include "frontend/values/Parts.h"
#include "frontend/values/StaticOperators.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

namespace {
struct PythonCall {
  Emitter &emitter;
  const Callable &callee;
  const Arguments &arguments;                 // as written
  std::vector<std::optional<Argument>> bound; // in the order of the signature
  const Node &site;
  llvm::StringRef name = callee.name;

  bool has(size_t i) const { return bound[i].has_value(); }
  const PyValue &value(size_t i) const { return bound[i]->value; }
  const Node &node(size_t i) const { return bound[i] ? *bound[i]->node : site; }
  /// The arguments that "*rest" takes, at index 0.
  std::vector<PyValue> rest() const {
    return has(0) ? (*value(0).as<Tuple>())->items : std::vector<PyValue>{};
  }
  FailureOr<std::vector<PyValue>> elements(size_t i) const {
    return elementsOf(emitter, value(i), node(i));
  }
  FailureOr<PyValue> inPython() const {
    return callInPython(emitter, PyValue{callee}, arguments, site);
  }
};
struct PythonRow {
  llvm::StringLiteral name;
  BuiltinSignature signature; // with the names of Python's own parameters
  FailureOr<PyValue> (*emit)(PythonCall &call);
};
} // namespace

/// A function of the language on arguments of its own.
static FailureOr<PyValue> callLanguage(PythonCall &call, llvm::StringRef name,
                                       Arguments arguments) {
  Callable builtin;
  builtin.name = name.str();
  return callBuiltin(call.emitter, builtin, arguments, call.site);
}

static FailureOr<PyValue> emitLen(PythonCall &call) {
  const PyValue &value = call.value(0);
  if (const TypedValue *tile = value.as<TypedValue>(); tile && tile->isTile())
    return makeInt(tile->shape().front());
  if (const std::string *text = value.as<std::string>())
    return makeInt(int64_t(charactersOf(*text).size()));
  if (value.is<Opaque>())
    if (OrReason<PyValue> length = pythonCall(call.emitter, "len", {value}))
      return *length;
  FailureOr<std::vector<PyValue>> items = call.elements(0);
  if (failed(items))
    return failure();
  return makeInt(int64_t(items->size()));
}

/// The values that min and max choose from: all that are given, or the elements of the only one.
static FailureOr<std::vector<PyValue>> candidatesOf(PythonCall &call) {
  std::vector<PyValue> items = call.rest();
  if (items.size() == 1)
    return elementsOf(call.emitter, items[0], call.node(0));
  if (call.has(2))
    return call.emitter.error(Code::WrongArguments, call.node(2),
                              "`default` of " + call.name + " goes with one sequence only",
                              "leave it out");
  return items;
}

/// The smaller or the greater one of two.
static FailureOr<PyValue> chooseExtremum(PythonCall &call, const PyValue &best,
                                         const PyValue &item) {
  bool isMin = call.name == "min";
  if (best.isRuntime() || item.isRuntime())
    return callLanguage(call, isMin ? "minimum" : "maximum",
                        {{best, &call.site, ""}, {item, &call.site, ""}});
  FailureOr<PyValue> isBetter = orReport(
      call.emitter, staticCompare(isMin ? Comparison::Lt : Comparison::Gt, item, best), call.site);
  if (failed(isBetter))
    return failure();
  return truthOf(*isBetter) ? item : best;
}

/// Returns true if Python computes: with operators of an object's class.
static bool hasOwnOperators(llvm::ArrayRef<PyValue> operands) {
  return llvm::any_of(operands, isObject) && llvm::all_of(operands, isStatic);
}

static FailureOr<PyValue> emitExtremum(PythonCall &call) {
  if (call.has(1) && !call.value(1).is<None>()) // key
    return call.inPython();
  FailureOr<std::vector<PyValue>> items = candidatesOf(call);
  if (failed(items))
    return failure();
  if (hasOwnOperators(*items))
    return call.inPython();
  if (items->empty() && call.has(2))
    return call.value(2);
  if (items->empty())
    return call.emitter.error(Code::WrongArguments, call.site, call.name + " of nothing",
                              "give it at least one value");
  FailureOr<PyValue> best = items->front();
  for (const PyValue &item : llvm::drop_begin(*items)) {
    best = chooseExtremum(call, *best, item);
    if (failed(best))
      return failure();
  }
  return best;
}

static FailureOr<PyValue> emitAbs(PythonCall &call) {
  const PyValue &value = call.value(0);
  if (value.is<Opaque>())
    return call.inPython();
  if (value.isRuntime())
    return callLanguage(call, "abs", call.arguments);
  if (const double *number = value.as<double>())
    return PyValue{std::fabs(*number)};
  bool isNegative = value.isInteger() && toInteger(value).isNegative();
  return orReport(call.emitter,
                  staticUnary(isNegative ? UnaryOperator::USub : UnaryOperator::UAdd, value),
                  call.site);
}

/// A number or pointer on a device that int, float or bool is asked of.
static FailureOr<PyValue> convertAtRunTime(PythonCall &call, const TypedValue &typed) {
  Emitter &emitter = call.emitter;
  if (call.name == "bool") {
    FailureOr<mlir::Value> truth = toCondition(emitter, {typed}, call.node(0));
    if (failed(truth))
      return failure();
    return PyValue{TypedValue{*truth, findDType("int1")}};
  }
  emitter.locate(call.site);
  if (typed.dtype.isPointer)
    return emitter.error(
        pointerAsNumber("`" + call.name.str() + "` takes a number, not a pointer", typed),
        call.site, {&call.node(0)});
  bool isInt = call.name == "int";
  if (isInt ? typed.dtype.isInt() && !typed.dtype.isBool() : typed.dtype.isFloat())
    return PyValue{typed};
  DType target = findDType(isInt ? (typed.dtype.bits() > 32 ? "int64" : "int32") : "float32");
  return orReport(emitter, emitter.tiles.cast(typed, target), call.site, {&call.node(0)});
}

static FailureOr<PyValue> emitBool(PythonCall &call) {
  if (!call.has(0))
    return PyValue{false};
  if (const TypedValue *typed = call.value(0).as<TypedValue>())
    return convertAtRunTime(call, *typed);
  FailureOr<bool> truth = staticTruth(call.emitter, call.value(0), call.node(0));
  if (failed(truth))
    return failure();
  return PyValue{*truth};
}

static FailureOr<PyValue> emitInt(PythonCall &call) {
  if (!call.has(0) || call.has(1)) // as in int("ff", 16)
    return call.inPython();
  const PyValue &value = call.value(0);
  if (const TypedValue *typed = value.as<TypedValue>())
    return convertAtRunTime(call, *typed);
  if (value.isInteger())
    return PyValue{toInteger(value)};
  if (const double *number = value.as<double>();
      number && std::isfinite(*number) && std::fabs(*number) < 0x1p62)
    return makeInt(int64_t(*number));
  return call.inPython();
}

/// The usual spellings of numbers that no literal has: kernels are compiled without Python, too.
static std::optional<double> namedFloat(llvm::StringRef text) {
  return llvm::StringSwitch<std::optional<double>>(text)
      .Cases({"inf", "+inf"}, HUGE_VAL)
      .Case("-inf", -HUGE_VAL)
      .Case("nan", std::numeric_limits<double>::quiet_NaN())
      .Default(std::nullopt);
}

static FailureOr<PyValue> emitFloat(PythonCall &call) {
  if (!call.has(0))
    return call.inPython();
  const PyValue &value = call.value(0);
  if (const TypedValue *typed = value.as<TypedValue>())
    return convertAtRunTime(call, *typed);
  if (value.is<double>())
    return value;
  if (const std::string *text = value.as<std::string>())
    if (std::optional<double> named = namedFloat(*text))
      return PyValue{*named};
  if (value.isNumber() && std::isfinite(toDouble(value)))
    return PyValue{toDouble(value)};
  return call.inPython();
}

static FailureOr<PyValue> emitStr(PythonCall &call) {
  bool hasEncoding = call.bound.size() > 1 && (call.has(1) || call.has(2));
  if (!call.has(0) || hasEncoding)
    return call.inPython();
  return textOf(call.emitter, call.value(0), call.name == "repr", call.node(0));
}

//===-- Questions about types ----------------------------------------------------------------===//

static FailureOr<PyValue> emitIsInstance(PythonCall &call) {
  // An object may be of a class that derives from a builtin type.
  if (call.value(0).is<Opaque>())
    if (OrReason<PyValue> answer =
            pythonCall(call.emitter, "isinstance", {call.value(0), call.value(1)});
        answer && truthOf(*answer))
      return *answer;
  if (std::optional<bool> answer = isInstance(call.value(0), call.value(1)))
    return PyValue{*answer};
  // Of values, as numbers have attributes here that Python's have not: `isinstance(x.type, ...)`.
  if (OrReason<PyValue> answer =
          pythonCall(call.emitter, "isinstance", {call.value(0), call.value(1)}))
    return *answer;
  return call.inPython();
}

static std::optional<std::string> textArgument(PythonCall &call, size_t i) {
  const std::string *text = call.value(i).as<std::string>();
  return text ? std::optional(*text) : std::nullopt;
}

static FailureOr<PyValue> emitGetAttr(PythonCall &call) {
  std::optional<std::string> name = textArgument(call, 1);
  if (!name)
    return call.emitter.error(Code::NotStatic, call.node(1), "getattr needs a constant name",
                              "write the attribute as x.name");
  bool isObject = call.value(0).is<Opaque>();
  if (isObject && call.has(2))
    if (OrReason<PyValue> found =
            pythonCall(call.emitter, "getattr", {call.value(0), call.value(1), call.value(2)}))
      return *found;
  if (!isObject && call.has(2) && !hasAttribute(call.value(0), *name, call.emitter))
    return call.value(2);
  return readAttribute(call.emitter, call.value(0), *name, call.site);
}

static FailureOr<PyValue> emitHasAttr(PythonCall &call) {
  std::optional<std::string> name = textArgument(call, 1);
  if (!name || call.value(0).is<Opaque>())
    return call.inPython();
  return PyValue{hasAttribute(call.value(0), *name, call.emitter)};
}

static FailureOr<PyValue> emitType(PythonCall &call) {
  const TypedValue *typed = call.value(0).as<TypedValue>();
  if (!typed)
    return call.inPython();
  return typed->isTile() ? PyValue{TileType{typed->dtype, typed->shape().vec()}}
                         : PyValue{typed->dtype};
}

//===-- Sequences ----------------------------------------------------------------------------===//

static FailureOr<std::vector<std::vector<PyValue>>> allElements(PythonCall &call) {
  std::vector<std::vector<PyValue>> all;
  for (const Argument &argument : call.arguments) {
    if (!argument.keyword.empty())
      continue;
    FailureOr<std::vector<PyValue>> items =
        elementsOf(call.emitter, argument.value, *argument.node);
    if (failed(items))
      return failure();
    all.push_back(std::move(*items));
  }
  return all;
}

static FailureOr<PyValue> emitZip(PythonCall &call) {
  FailureOr<std::vector<std::vector<PyValue>>> all = allElements(call);
  if (failed(all))
    return failure();
  size_t length = all->empty() ? 0 : all->front().size();
  bool isStrict = call.has(1) && truthOf(call.value(1));
  for (const std::vector<PyValue> &items : *all) {
    if (isStrict && items.size() != length)
      return call.emitter.error(Code::WrongArguments, call.site,
                                "zip with strict=True is given sequences of different lengths",
                                "make them equally long");
    length = std::min(length, items.size());
  }
  std::vector<PyValue> rows;
  for (size_t i = 0; i < length; ++i) {
    std::vector<PyValue> row;
    for (const std::vector<PyValue> &items : *all)
      row.push_back(items[i]);
    rows.push_back(makeTuple(std::move(row)));
  }
  return makeTuple(std::move(rows));
}

static FailureOr<PyValue> emitEnumerate(PythonCall &call) {
  FailureOr<std::vector<PyValue>> items = call.elements(0);
  if (failed(items))
    return failure();
  PyValue first = call.has(1) ? call.value(1) : makeInt(0);
  const TypedValue *typed = first.as<TypedValue>();
  if (!first.isInteger() && !(typed && typed->dtype.isInt() && !typed->isTile()))
    return call.emitter.error(Code::WrongType, call.node(1),
                              "enumerate counts from an integer, not from " + typeName(first),
                              "give it an int");
  std::vector<PyValue> rows;
  for (auto [i, item] : llvm::enumerate(*items)) {
    FailureOr<PyValue> count =
        emitBinary(call.emitter, BinaryOperator::Add, first, makeInt(int64_t(i)), call.site,
                   call.node(1), call.node(1));
    if (failed(count))
      return failure();
    rows.push_back(makeTuple({*count, item}));
  }
  return makeTuple(std::move(rows));
}

/// tuple(x), list(x), reversed(x).
static FailureOr<PyValue> emitSequence(PythonCall &call) {
  if (!call.has(0))
    return makeTuple({});
  FailureOr<std::vector<PyValue>> items = call.elements(0);
  if (failed(items))
    return failure();
  if (call.name == "reversed")
    std::reverse(items->begin(), items->end());
  return makeTuple(std::move(*items));
}

static FailureOr<PyValue> emitSum(PythonCall &call) {
  FailureOr<std::vector<PyValue>> items = call.elements(0);
  if (failed(items))
    return failure();
  PyValue total = call.has(1) ? call.value(1) : makeInt(0);
  for (const PyValue &item : *items) {
    FailureOr<PyValue> next = emitBinary(call.emitter, BinaryOperator::Add, total, item, call.site,
                                         call.node(0), call.node(0));
    if (failed(next))
      return failure();
    total = *next;
  }
  return total;
}

/// any and all; of run-time values, each of which is one truth value, at run time.
static FailureOr<PyValue> emitAnyAll(PythonCall &call) {
  FailureOr<std::vector<PyValue>> items = call.elements(0);
  if (failed(items))
    return failure();
  bool isAny = call.name == "any";
  std::optional<TypedValue> result;
  for (const PyValue &item : *items) {
    if (!item.isRuntime()) {
      FailureOr<bool> truth = staticTruth(call.emitter, item, call.node(0));
      if (failed(truth))
        return failure();
      if (*truth == isAny)
        return PyValue{isAny};
      continue;
    }
    FailureOr<mlir::Value> truth = toCondition(call.emitter, item, call.node(0));
    if (failed(truth))
      return failure();
    TypedValue next{*truth, findDType("int1")};
    TileBuilder &tiles = call.emitter.tiles;
    result = !result ? next
             : isAny ? *tiles.logicalOr(*result, next)
                     : *tiles.logicalAnd(*result, next);
  }
  return result ? PyValue{*result} : PyValue{!isAny};
}

static FailureOr<PyValue> emitArithmetic(PythonCall &call) {
  if (call.name == "pow" && (!call.has(2) || call.value(2).is<None>()))
    return emitBinary(call.emitter, BinaryOperator::Pow, call.value(0), call.value(1), call.site,
                      call.node(0), call.node(1));
  if (call.name == "pow" || hasOwnOperators({call.value(0), call.value(1)}))
    return call.inPython();
  std::vector<PyValue> parts;
  for (BinaryOperator op : {BinaryOperator::FloorDiv, BinaryOperator::Mod}) {
    FailureOr<PyValue> part = emitBinary(call.emitter, op, call.value(0), call.value(1), call.site,
                                         call.node(0), call.node(1));
    if (failed(part))
      return failure();
    parts.push_back(*part);
  }
  return makeTuple(std::move(parts));
}

//===-- Others -------------------------------------------------------------------------------===//

static FailureOr<PyValue> emitRange(PythonCall &call) {
  return callLanguage(call, "range", call.arguments);
}

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
  for (const PyValue &value : form.values) {
    if (value.isRuntime()) {
      values.push_back(*value.as<TypedValue>());
      continue;
    }
    if (!values.empty())
      flush();
    FailureOr<PyValue> text = textOf(emitter, value, /*isRepr=*/false, site);
    if (failed(text))
      return failure();
    prefix += (prefix.empty() ? "" : form.separator) + *text->as<std::string>();
  }
  flush();
  return mlir::success();
}

static FailureOr<PyValue> emitPrint(PythonCall &call) {
  FailureOr<PrintForm> form = printFormOf(call.emitter, call.bound);
  if (failed(form))
    return failure();
  if (form->end != "\n")
    return call.emitter.error(Code::BadOption, call.node(2), "a device prints whole lines",
                              "leave out `end`");
  if (failed(call.emitter.refuseInCombine(call.site, "`print`")) ||
      failed(printOnDevice(call.emitter, *form, call.site)))
    return failure();
  return PyValue{None{}};
}

// What is compiled here. Other builtins are Python's, on compile-time values.
static constexpr PythonRow kPythonRows[] = {
    {"len", "obj, /", emitLen},
    {"min", "*values, key=None, default=None", emitExtremum},
    {"max", "*values, key=None, default=None", emitExtremum},
    {"abs", "x, /", emitAbs},
    {"int", "x=0, /, base=10", emitInt},
    {"float", "x=0.0, /", emitFloat},
    {"bool", "x=False, /", emitBool},
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

FailureOr<PyValue> tw::callPythonBuiltin(Emitter &emitter, const Callable &callee,
                                         Arguments &arguments, const Node &site) {
  for (const Argument &argument : arguments)
    if (argument.value.is<Absent>())
      return emitter.rejectAbsent(argument.value, *argument.node);
  const PythonRow *row =
      llvm::find_if(kPythonRows, [&](const PythonRow &r) { return r.name == callee.name; });
  if (row == std::end(kPythonRows))
    return callInPython(emitter, PyValue{callee}, arguments, site);
  Signature signature{callee.name, row->signature.params(), row->signature.text().str()};
  FailureOr<BoundArguments> bound = bindArguments(emitter, signature, arguments, site);
  if (failed(bound))
    return failure();
  PythonCall call{emitter, callee, arguments, std::move(bound->places), site};
  emitter.locate(site);
  return row->emit(call);
}
