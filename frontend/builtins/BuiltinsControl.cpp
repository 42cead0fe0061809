// Builtins that steer compilation: ranges, assertions, printing, facts.
#include "frontend/builtins/Builtins.h"
#include "frontend/builtins/Printing.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/operators/Aggregates.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;
using mlir::success;

static bool isBound(const PyValue &value) { return value.isInteger() || value.isRuntime(); }

static constexpr BuiltinSignature kRangeSignature =
    "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, "
    "disallow_acc_multi_buffer=False, flatten=False, warp_specialize=None, disable_licm=False";
static constexpr llvm::StringLiteral kRangeOptions[] = {
    "num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer",
    "flatten",    "warp_specialize",    "disable_licm"};

/// The options of tw.range at these positions; 0 is as good as none, except of `warp_specialize`.
static LogicalResult readRangeOptions(BuiltinCall &call, size_t first, RangeValue &range) {
  for (auto [i, name] : llvm::enumerate(kRangeOptions)) {
    std::optional<int64_t> number;
    if (failed(call.readFrom(first + i, number)))
      return failure();
    if (number.value_or(0) != 0 || (number && llvm::StringRef(name) == "warp_specialize"))
      range.options.emplace_back(name.str(), std::clamp<int64_t>(*number, 0, INT32_MAX));
  }
  return success();
}

static FailureOr<PyValue> emitRange(BuiltinCall &call) {
  bool hasEnd = call.has(1);
  RangeValue range;
  range.start = share(hasEnd ? call.value(0) : makeInt(0));
  range.stop = share(hasEnd ? call.value(1) : call.value(0));
  range.step = share(call.has(2) ? call.value(2) : makeInt(1));
  range.isStatic = call.name == "static_range";
  const std::shared_ptr<const PyValue> bounds[] = {range.start, range.stop, range.step};
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
  if (isStatic(PyValue{range}) && toInteger(*range.step).isZero())
    return call.emitter.error(Code::BadOption, call.node(2), "the step of a range must not be 0",
                              "use a positive or a negative step");
  if (!range.isStatic && failed(readRangeOptions(call, 3, range)))
    return failure();
  return PyValue{std::move(range)};
}

//===-- Assertions and printing --------------------------------------------------------------===//

static FailureOr<PyValue> emitStaticAssert(BuiltinCall &call) {
  if (!isStatic(call.value(0)))
    return call.notStatic(0, "a condition");
  FailureOr<bool> truth = staticTruth(call.emitter, call.value(0), call.node(0));
  if (failed(truth))
    return failure();
  if (*truth)
    return PyValue{None{}};
  std::string text = call.has(1) ? toText(call.value(1), false) : "";
  return call.emitter.error(Code::StaticAssert, call.node(0),
                            text.empty() ? "static assertion failed" : text,
                            "the condition of this tw.static_assert is false");
}

/// Reports what is printed as one text.
static FailureOr<PyValue> emitStaticPrint(BuiltinCall &call) {
  FailureOr<PrintForm> form = printFormOf(call.emitter, call.bound);
  if (failed(form))
    return failure();
  std::string text;
  for (auto [i, value] : llvm::enumerate(form->values))
    text += (i == 0 ? "" : form->separator) + toText(value, /*isRepr=*/false);
  text += form->end;
  if (llvm::StringRef(text).ends_with("\n")) // a report is a line of its own
    text.pop_back();
  call.emitter.remark(call.site, text, Code::StaticPrint);
  return PyValue{None{}};
}

static FailureOr<PyValue> emitDevicePrint(BuiltinCall &call) {
  std::string prefix;
  bool isHex = false;
  if (failed(call.read(prefix)) || failed(call.readFrom(2, isHex)))
    return failure();
  FailureOr<std::vector<TypedValue>> values = call.items(1);
  if (failed(values))
    return failure();
  call.emitter.locate(call.site);
  call.tiles().print(devicePrefix(prefix, !values->empty()), isHex, *values);
  return PyValue{None{}};
}

static FailureOr<PyValue> emitDeviceAssert(BuiltinCall &call) {
  TypedValue condition;
  std::optional<TypedValue> mask;
  if (failed(call.read(condition)) || failed(checkTruth(call.emitter, condition, call.node(0))) ||
      failed(call.readFrom(2, mask)))
    return failure();
  if (!call.emitter.options.debug)
    return PyValue{None{}};
  std::string text = "assertion failed";
  if (call.has(1)) {
    FailureOr<PyValue> message =
        textOf(call.emitter, call.value(1), /*isRepr=*/false, call.node(1));
    if (failed(message))
      return failure();
    text = toText(*message, false);
  }
  return call.orReport(call.tiles().deviceAssert(condition, text, mask), {0, 2});
}

//===-- Facts --------------------------------------------------------------------------------===//

static constexpr char kDivisibility[] = "divisibility", kContiguity[] = "contiguity",
                      kConstancy[] = "constancy";

template <const char *fact> static FailureOr<PyValue> emitHint(BuiltinCall &call) {
  if (!call.value(0).isRuntime()) // a number needs no promise
    return call.value(0);
  TypedValue operand;
  std::vector<int64_t> values;
  if (failed(call.read(operand, values)))
    return failure();
  return call.orReport(call.tiles().hint(operand, fact, values));
}

static FailureOr<PyValue> emitAssume(BuiltinCall &call) {
  if (isStatic(call.value(0))) {
    FailureOr<bool> truth = staticTruth(call.emitter, call.value(0), call.node(0));
    if (failed(truth))
      return failure();
    if (*truth)
      return PyValue{None{}};
    return call.emitter.error(Code::StaticAssert, call.node(0), "this assumption is false",
                              "the condition of tw.assume is known at compile time");
  }
  FailureOr<mlir::Value> condition = toCondition(call.emitter, call.value(0), call.node(0));
  if (failed(condition))
    return failure();
  call.emitter.locate(call.site);
  return call.orReport(call.tiles().assume(TypedValue{*condition, findDType("int1")}), {0});
}

static FailureOr<PyValue> emitBarrier(BuiltinCall &call) {
  call.tiles().barrier();
  return PyValue{None{}};
}

static FailureOr<PyValue> emitOrderLaunches(BuiltinCall &call) {
  call.tiles().orderLaunches(call.name == "gdc_wait" ? tile::LaunchOrder::Await
                                                     : tile::LaunchOrder::Permit);
  return PyValue{None{}};
}

/// tw.constexpr(x) and tw.condition(x): the value itself.
static FailureOr<PyValue> emitIdentity(BuiltinCall &call) {
  if (call.name == "constexpr" && !isStatic(call.value(0)))
    return call.notStatic(0, "a value");
  return call.value(0);
}

static FailureOr<PyValue> emitPointerType(BuiltinCall &call) {
  DType pointee;
  bool isConst = false;
  if (failed(call.read(pointee)) || failed(call.readFrom(2, isConst)))
    return failure();
  return PyValue{DType{pointee.row, true, isConst}};
}

/// `tw.dtype("uint16")`, by either name of the type.
static FailureOr<PyValue> emitDType(BuiltinCall &call) {
  const std::string *name = call.value(0).as<std::string>();
  if (call.value(0).is<DType>())
    return call.value(0);
  DType dtype = findDType(name ? *name : "");
  if (!dtype.row)
    return call.emitter.error(Code::WrongType, call.node(0),
                              name ? "there is no type of the name `" + *name + "`"
                                   : "a type is named by a text, not by " + typeName(call.value(0)),
                              "as in tw.dtype(\"float32\") or tw.dtype(\"fp32\")");
  return PyValue{dtype};
}

/// Returns the target that the kernel is compiled for, as compile-time values.
static FailureOr<PyValue> emitCompiledFor(BuiltinCall &call) {
  const FrontendOptions &options = call.emitter.options;
  if (call.name == "compiled_for")
    return PyValue{options.target};
  if (call.name == "checks_overflow")
    return PyValue{options.checksOverflow};
  return makeInt(options.numWarps);
}

static FailureOr<PyValue> emitReplace(BuiltinCall &call) {
  if (!call.value(0).is<Aggregate>())
    return call.emitter.error(
        Code::WrongType, call.node(0),
        "`aggregate_replace` needs an aggregate, not " + typeName(call.value(0)),
        "it takes an object of a class with @tw.aggregate",
        {call.emitter.label(call.node(0), "this is " + typeName(call.value(0)))});
  return replaceFields(call.emitter, call.value(0), call.named, call.site);
}

static FailureOr<PyValue> emitMachine(BuiltinCall &call) {
  bool isClock = call.name == "machine_clock";
  return PyValue{
      call.tiles().machine(isClock ? tile::MachineFact::Clock : tile::MachineFact::Processor)};
}

static constexpr BuiltinRow kControlRows[] = {
    {"range", kRangeSignature, emitRange},
    {"static_range", "arg1, arg2=None, step=None", emitRange},
    {"static_assert", "cond, msg=\"\"", emitStaticAssert},
    {"static_print", "*values, sep=\" \", end=\"\\n\", file=None, flush=False", emitStaticPrint},
    {"device_print", "prefix, *args, hex=False", emitDevicePrint},
    {"device_assert", "cond, msg=\"\", mask=None", emitDeviceAssert},
    {"multiple_of", "input, values", emitHint<kDivisibility>},
    {"max_contiguous", "input, values", emitHint<kContiguity>},
    {"max_constancy", "input, values", emitHint<kConstancy>},
    {"assume", "cond", emitAssume},
    {"debug_barrier", "", emitBarrier},
    {"gdc_wait", "", emitOrderLaunches},
    {"gdc_launch_dependents", "", emitOrderLaunches},
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

llvm::ArrayRef<BuiltinRow> tw::controlBuiltins() { return kControlRows; }
