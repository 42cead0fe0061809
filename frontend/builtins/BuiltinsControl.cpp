// Builtins that steer compilation: ranges, assertions, printing, facts.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Aggregates.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

static bool isBound(const Value &value) { return value.isInteger() || value.isRuntime(); }

static constexpr llvm::StringLiteral kRangeSignature =
    "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, "
    "disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False";
static constexpr llvm::StringLiteral kRangeOptions[] = {
    "num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer",
    "flatten",    "warp_specialize",    "disable_licm"};

static ValueOr emitRange(BuiltinCall &call) {
  bool hasEnd = call.has(1);
  RangeValue range;
  range.start = share(hasEnd ? call.value(0) : makeInt(0));
  range.stop = share(hasEnd ? call.value(1) : call.value(0));
  range.step = share(call.has(2) ? call.value(2) : makeInt(1));
  range.isStatic = call.name == "static_range";
  const std::shared_ptr<const Value> bounds[] = {range.start, range.stop, range.step};
  for (auto [i, bound] : llvm::enumerate(bounds)) {
    bool isRuntime = bound->isRuntime();
    if (isBound(*bound) && !(isRuntime && range.isStatic))
      continue;
    const Node &node = call.node(hasEnd ? i : 0);
    return call.emitter.error(
        isRuntime ? Code::NotStatic : Code::WrongType, node,
        isRuntime ? "the bounds of tw.static_range must be known at compile time"
                  : "the bounds of a range must be integers, not " + typeName(*bound),
        isRuntime ? "use tw.range for bounds that are known at run time" : "use integers",
        {call.emitter.label(node, "this is " + typeName(*bound))});
  }
  if (isStatic(Value{range}) && toInteger(*range.step).isZero())
    return call.emitter.error(Code::BadOption, call.node(2), "the step of a range must not be 0",
                              "use a positive or a negative step");
  for (auto [i, name] : llvm::enumerate(kRangeOptions)) {
    size_t index = 3 + i;
    if (index >= call.bound.size() || !call.has(index))
      continue;
    FailureOr<int64_t> number = call.integer(index);
    if (failed(number))
      return failure();
    if (*number != 0)
      range.options.emplace_back(name.str(), std::clamp<int64_t>(*number, 0, INT32_MAX));
  }
  return Value{std::move(range)};
}

//===-- Assertions and printing --------------------------------------------------------------===//

/// A separator or an ending that print takes; None means the usual one.
static FailureOr<std::string> printOption(Emitter &emitter, const std::optional<Argument> &option,
                                          llvm::StringRef usual) {
  if (!option || option->value.is<None>())
    return usual.str();
  if (const std::string *text = option->value.as<std::string>())
    return *text;
  return emitter.error(Code::WrongType, *option->node,
                       "print takes a text here, not " + typeName(option->value),
                       "write sep=\", \" or end=\"\"");
}

FailureOr<PrintForm> tw::printFormOf(Emitter &emitter, const BoundArguments &bound) {
  FailureOr<std::string> separator = printOption(emitter, bound[1], " ");
  FailureOr<std::string> end = failed(separator) ? separator : printOption(emitter, bound[2], "\n");
  if (failed(end))
    return failure();
  if (bound[3] && !bound[3]->value.is<None>())
    return emitter.error(Code::BadOption, *bound[3]->node, "print in a kernel writes to no file",
                         "leave out `file`");
  std::vector<Value> values;
  if (bound[0])
    values = (*bound[0]->value.as<Tuple>())->items;
  return PrintForm{std::move(values), *separator, *end};
}

ValueOr tw::printAtCompileTime(Emitter &emitter, const BoundArguments &bound, const Node &site) {
  FailureOr<PrintForm> form = printFormOf(emitter, bound);
  if (failed(form))
    return failure();
  std::string text;
  for (auto [i, value] : llvm::enumerate(form->values))
    text += (i == 0 ? "" : form->separator) + toText(value, false);
  text += form->end;
  if (llvm::StringRef(text).ends_with("\n")) // a report is a line of its own
    text.pop_back();
  emitter.remark(site, text);
  return Value{None{}};
}

static ValueOr emitStaticAssert(BuiltinCall &call) {
  if (!isStatic(call.value(0)))
    return call.notStatic(0, "a condition");
  FailureOr<bool> truth = call.emitter.staticTruth(call.value(0), call.node(0));
  if (failed(truth))
    return failure();
  if (*truth)
    return Value{None{}};
  std::string text = call.has(1) ? toText(call.value(1), false) : "";
  return call.emitter.error(Code::StaticAssert, call.node(0),
                            text.empty() ? "static assertion failed" : text,
                            "the condition of this tw.static_assert is false");
}

static ValueOr emitStaticPrint(BuiltinCall &call) {
  return printAtCompileTime(call.emitter, call.bound, call.site);
}

std::string tw::devicePrefix(llvm::StringRef text, bool hasValues) {
  std::string prefix = text.str();
  if (hasValues && !text.ends_with(" "))
    prefix += " ";
  if (hasValues && !llvm::StringRef(prefix).ends_with(": "))
    prefix.replace(prefix.size() - 1, 1, ": ");
  bool isShown = hasValues ? prefix.size() > 2 : !prefix.empty();
  return isShown && prefix.front() != ' ' ? " " + prefix : prefix;
}

static ValueOr emitDevicePrint(BuiltinCall &call) {
  FailureOr<std::string> prefix = call.text(0, "");
  FailureOr<bool> hex = failed(prefix) ? FailureOr<bool>(failure()) : call.flag(2, false);
  if (failed(hex))
    return failure();
  std::vector<TypedValue> values;
  if (call.bound[1])
    for (const Value &item : (*call.value(1).as<Tuple>())->items) {
      FailureOr<TypedValue> value = call.emitter.toRuntime(item, call.site);
      if (failed(value))
        return failure();
      values.push_back(*value);
    }
  call.emitter.locate(call.site);
  call.tiles().print(devicePrefix(*prefix, !values.empty()), *hex, values);
  return Value{None{}};
}

static ValueOr emitDeviceAssert(BuiltinCall &call) {
  FailureOr<TypedValue> condition = call.tile(0);
  if (failed(condition) || failed(call.emitter.refusePointer(*condition, call.node(0))))
    return failure();
  FailureOr<std::optional<TypedValue>> mask = call.optionalTile(2);
  if (failed(mask))
    return failure();
  if (!call.emitter.options.debug)
    return Value{None{}};
  std::string text = "assertion failed";
  if (call.has(1)) {
    ValueOr message = call.emitter.textOf(call.value(1), /*isRepr=*/false, call.node(1));
    if (failed(message))
      return failure();
    text = toText(*message, false);
  }
  return call.finish(call.tiles().deviceAssert(*condition, text, *mask), {0, 2});
}

//===-- Facts --------------------------------------------------------------------------------===//

static ValueOr emitHint(BuiltinCall &call) {
  if (!call.value(0).isRuntime()) // a number needs no promise
    return call.value(0);
  FailureOr<TypedValue> operand = call.tile(0);
  FailureOr<std::vector<int64_t>> values =
      failed(operand) ? FailureOr<std::vector<int64_t>>(failure()) : call.integers(1);
  if (failed(values))
    return failure();
  llvm::StringRef fact = call.name == "multiple_of"      ? "divisibility"
                         : call.name == "max_contiguous" ? "contiguity"
                                                         : "constancy";
  return call.finish(call.tiles().hint(*operand, fact, *values), {0, 1});
}

static ValueOr emitAssume(BuiltinCall &call) {
  if (isStatic(call.value(0))) {
    FailureOr<bool> truth = call.emitter.staticTruth(call.value(0), call.node(0));
    if (failed(truth))
      return failure();
    if (*truth)
      return Value{None{}};
    return call.emitter.error(Code::StaticAssert, call.node(0), "this assumption is false",
                              "the condition of tw.assume is known at compile time");
  }
  FailureOr<mlir::Value> condition = call.emitter.toCondition(call.value(0), call.node(0));
  if (failed(condition))
    return failure();
  call.emitter.locate(call.site);
  return call.finish(call.tiles().assume(TypedValue{*condition, findDType("int1")}), {0});
}

static ValueOr emitBarrier(BuiltinCall &call) {
  call.tiles().barrier();
  return Value{None{}};
}

/// tw.constexpr(x) and tw.condition(x): the value itself.
static ValueOr emitIdentity(BuiltinCall &call) {
  if (call.name == "constexpr" && !isStatic(call.value(0)))
    return call.notStatic(0, "a value");
  return call.value(0);
}

static ValueOr emitPointerType(BuiltinCall &call) {
  FailureOr<DType> pointee = call.dtype(0);
  if (failed(pointee))
    return failure();
  FailureOr<bool> isConst = call.flag(2, false);
  if (failed(isConst))
    return failure();
  return Value{DType{pointee->row, true, *isConst}};
}

/// `tw.dtype("uint16")`, by either name of the type.
static ValueOr emitDType(BuiltinCall &call) {
  const std::string *name = call.value(0).as<std::string>();
  if (call.value(0).is<DType>())
    return call.value(0);
  DType dtype = findDType(name ? *name : "");
  if (!dtype.row)
    return call.emitter.error(Code::WrongType, call.node(0),
                              name ? "there is no type of the name `" + *name + "`"
                                   : "a type is named by a text, not by " + typeName(call.value(0)),
                              "as in tw.dtype(\"float32\") or tw.dtype(\"fp32\")");
  return Value{dtype};
}

/// What the kernel is compiled for, as compile-time values.
static ValueOr emitCompiledFor(BuiltinCall &call) {
  const FrontendOptions &options = call.emitter.options;
  if (call.name == "compiled_for")
    return Value{options.target};
  if (call.name == "checks_overflow")
    return Value{options.checksOverflow};
  return makeInt(options.numWarps);
}

static ValueOr emitReplace(BuiltinCall &call) {
  if (!call.value(0).is<Aggregate>())
    return call.emitter.error(
        Code::WrongType, call.node(0),
        "`aggregate_replace` needs an aggregate, not " + typeName(call.value(0)),
        "it takes an object of a class with @tw.aggregate",
        {call.emitter.label(call.node(0), "this is " + typeName(call.value(0)))});
  return replaceFields(call.emitter, call.value(0), call.named, call.site);
}

static ValueOr emitMachine(BuiltinCall &call) {
  bool isClock = call.name == "machine_clock";
  return Value{
      call.tiles().machine(isClock ? tile::MachineFact::Clock : tile::MachineFact::Processor)};
}

static constexpr BuiltinRow kRows[] = {
    {"range", kRangeSignature, emitRange},
    {"static_range", "arg1, arg2=None, step=None", emitRange},
    {"static_assert", "cond, msg=\"\"", emitStaticAssert},
    {"static_print", "*values, sep=\" \", end=\"\\n\", file=None, flush=False", emitStaticPrint},
    {"device_print", "prefix, *args, hex=False", emitDevicePrint},
    {"device_assert", "cond, msg=\"\", mask=None", emitDeviceAssert},
    {"multiple_of", "input, values", emitHint},
    {"max_contiguous", "input, values", emitHint},
    {"max_constancy", "input, values", emitHint},
    {"assume", "cond", emitAssume},
    {"debug_barrier", "", emitBarrier},
    {"constexpr", "value", emitIdentity},
    {"condition", "arg1, disable_licm=False", emitIdentity},
    {"compiled_for", "", emitCompiledFor},
    {"compiled_num_warps", "", emitCompiledFor},
    {"checks_overflow", "", emitCompiledFor},
    {"machine_clock", "", emitMachine},
    {"machine_processor", "", emitMachine},
    {"aggregate_replace", "value, **fields", emitReplace},
    {"dtype", "name", emitDType},
    {"pointer_type", "element_ty, address_space=1, const=False", emitPointerType},
};

llvm::ArrayRef<BuiltinRow> tw::controlBuiltins() { return kRows; }
