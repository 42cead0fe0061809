// Builtins that compute per element, reduce, scan or multiply matrices.
#include "frontend/builtins/Builtins.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

ValueOr tw::emitElementwise(BuiltinCall &call) {
  std::vector<TypedValue> operands;
  for (size_t i = 0; i < call.bound.size(); ++i) {
    FailureOr<TypedValue> operand = call.tile(i);
    if (failed(operand))
      return failure();
    operands.push_back(*operand);
  }
  return call.finish(
      call.tiles().elementwise(*tile::findElementwise(call.name), std::move(operands)), {0, 1, 2});
}

using BinaryMethod = TileBuilder::Value (TileBuilder::*)(TypedValue, TypedValue);

template <BinaryMethod method> static ValueOr emitBinary(BuiltinCall &call) {
  FailureOr<TypedValue> lhs = call.tile(0);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  return call.finish((call.tiles().*method)(*lhs, *rhs), {0, 1});
}

static ValueOr emitFdiv(BuiltinCall &call) {
  FailureOr<TypedValue> lhs = call.tile(0);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(1);
  if (failed(rhs))
    return failure();
  FailureOr<bool> isExact = true, isApproximate = false;
  if (call.name == "fdiv") {
    isExact = call.flag(2, false);
    isApproximate = failed(isExact) ? isExact : call.flag(3, false);
  }
  if (failed(isExact) || failed(isApproximate))
    return failure();
  if (*isExact && *isApproximate)
    return call.emitter.error(Code::BadOption, call.node(3),
                              "a quotient is not both approximate and correctly rounded",
                              "give either ieee_rounding or approx");
  return call.finish(call.tiles().fdiv(*lhs, *rhs, *isExact), {0, 1});
}

static ValueOr emitOperator(BuiltinCall &call) {
  llvm::StringRef op = call.name == "add" ? "Add" : call.name == "sub" ? "Sub" : "Mult";
  FailureOr<bool> sanitizes = call.flag(2, true);
  if (failed(sanitizes))
    return failure();
  llvm::SaveAndRestore wraps(call.emitter.mayWrap, !*sanitizes);
  return call.emitter.binary(op, call.value(0), call.value(1), call.site, call.node(0),
                             call.node(1));
}

static ValueOr emitCdiv(BuiltinCall &call) {
  if (call.value(0).isInteger() && call.value(1).isInteger()) {
    // -(-a // b), as Python rounds quotients down.
    StaticResult negated = staticUnary("USub", call.value(0));
    StaticResult quotient =
        negated.value ? staticBinary("FloorDiv", *negated.value, call.value(1)) : negated;
    return call.emitter.finish(quotient.value ? staticUnary("USub", *quotient.value) : quotient,
                               call.site);
  }
  llvm::SaveAndRestore checks(call.tiles().checksOverflow, call.emitter.checksOverflowHere());
  return emitBinary<&TileBuilder::cdiv>(call);
}

static ValueOr emitExtremum(BuiltinCall &call) {
  bool isMinimum = call.name == "minimum";
  if (call.value(0).isNumber() && call.value(1).isNumber()) {
    StaticResult isFirst = staticCompare(isMinimum ? "LtE" : "GtE", call.value(0), call.value(1));
    return call.value(truthOf(*isFirst.value) ? 0 : 1);
  }
  FailureOr<TypedValue> lhs = call.tile(0);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  FailureOr<bool> propagates = call.propagatesNan(2);
  if (failed(propagates))
    return failure();
  return call.finish(isMinimum ? call.tiles().minimum(*lhs, *rhs, *propagates)
                               : call.tiles().maximum(*lhs, *rhs, *propagates),
                     {0, 1});
}

static ValueOr emitClamp(BuiltinCall &call) {
  FailureOr<TypedValue> x = call.tile(0);
  FailureOr<TypedValue> low = failed(x) ? x : call.tile(1);
  FailureOr<TypedValue> high = failed(low) ? low : call.tile(2);
  if (failed(x) || failed(low) || failed(high))
    return failure();
  FailureOr<bool> propagates = call.propagatesNan(3);
  if (failed(propagates))
    return failure();
  return call.finish(call.tiles().clamp(*x, *low, *high, *propagates), {0, 1, 2});
}

static ValueOr emitWhere(BuiltinCall &call) {
  if (isStatic(call.value(0)))
    if (call.value(1).isNumber() && call.value(2).isNumber())
      return call.value(truthOf(call.value(0)) ? 1 : 2);
  FailureOr<TypedValue> condition = call.tile(0);
  FailureOr<TypedValue> lhs = failed(condition) ? condition : call.tile(1);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(2);
  if (failed(condition) || failed(lhs) || failed(rhs))
    return failure();
  return call.finish(call.tiles().where(*condition, *lhs, *rhs), {0, 1, 2});
}

static ValueOr emitCast(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  FailureOr<DType> dtype = failed(operand) ? FailureOr<DType>(failure()) : call.dtype(1);
  if (failed(dtype))
    return failure();
  FailureOr<std::string> rounding = call.text(2, "");
  FailureOr<bool> isBitcast = failed(rounding) ? FailureOr<bool>(failure()) : call.flag(3, false);
  if (failed(isBitcast))
    return failure();
  if (!rounding->empty() && *rounding != "rtne" && *rounding != "rtz")
    return call.badOption(2, "\"rtne\" and \"rtz\"");
  TileBuilder::Value result = call.tiles().cast(*operand, *dtype, *isBitcast, *rounding);
  if (result)
    result->isLiteral = false;
  return call.finish(result, {0, 1});
}

static ValueOr emitToTensor(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  if (failed(operand))
    return failure();
  operand->isLiteral = false;
  return Value{*operand};
}

//===-- Reductions and scans -----------------------------------------------------------------===//

/// The combining function as TileBuilder wants it. An error inside is reported at its own place;
/// the answer then has no code.
static CombineBody combineWith(BuiltinCall &call, const Value &function, size_t place = 2) {
  return [&call, function,
          place](const std::vector<TypedValue> &scalars) -> OrError<std::vector<TypedValue>> {
    if (!function.is<Callable>()) {
      (void)call.emitter.error(Code::NotCallable, call.node(place),
                               typeName(function) + " is not a function",
                               "a combining function is a @tw.jit function or a lambda");
      return OperandError{};
    }
    Arguments arguments;
    for (const TypedValue &scalar : scalars)
      arguments.push_back({{scalar}, &call.site, ""});
    ++call.emitter.combineDepth;
    ValueOr result = call.emitter.call(function, std::move(arguments), call.site);
    --call.emitter.combineDepth;
    if (failed(result))
      return OperandError{};
    std::vector<Value> items =
        result->is<Tuple>() ? (*result->as<Tuple>())->items : std::vector<Value>{*result};
    std::vector<TypedValue> values;
    for (const Value &item : items) {
      FailureOr<TypedValue> value = call.emitter.toRuntime(item, call.site);
      if (failed(value))
        return OperandError{};
      values.push_back(*value);
    }
    return values;
  };
}

static FailureOr<std::vector<TypedValue>> sourcesOf(BuiltinCall &call) {
  std::vector<Value> items = call.value(0).is<Tuple>() ? (*call.value(0).as<Tuple>())->items
                                                       : std::vector<Value>{call.value(0)};
  std::vector<TypedValue> sources;
  for (const Value &item : items) {
    FailureOr<TypedValue> source = call.emitter.toRuntime(item, call.node(0));
    if (failed(source))
      return failure();
    if (!source->isTile())
      return call.emitter.error(Code::WrongType, call.node(0),
                                "`" + call.name + "` needs a tile, not " + source->str(),
                                "a scalar has nothing to combine",
                                {call.emitter.label(call.node(0), "this is " + source->str())});
    sources.push_back(*source);
  }
  call.emitter.locate(call.site);
  return sources;
}

/// A tuple of results where a tuple was given.
static ValueOr packed(BuiltinCall &call, TileBuilder::Values results) {
  if (!results)
    return call.fail(results.error(), {0, 1, 2});
  std::vector<Value> items;
  for (TypedValue &result : *results)
    items.push_back({result});
  if (!call.value(0).is<Tuple>())
    return items.front();
  return makeTuple(std::move(items));
}

static ValueOr emitReduce(BuiltinCall &call) {
  FailureOr<std::vector<TypedValue>> sources = sourcesOf(call);
  FailureOr<bool> keepDims = failed(sources) ? FailureOr<bool>(failure()) : call.flag(3, false);
  FailureOr<bool> commutative = failed(keepDims) ? FailureOr<bool>(failure()) : call.flag(4, false);
  if (failed(commutative))
    return failure();
  CombineBody combine = combineWith(call, call.value(2));
  if (call.has(1)) {
    FailureOr<int64_t> axis = call.integer(1);
    if (failed(axis))
      return failure();
    return packed(call, call.tiles().reduce(*sources, *axis, *keepDims, combine, *commutative));
  }
  size_t rank = sources->empty() ? 0 : sources->front().shape().size();
  for (TypedValue &source : *sources) {
    TileBuilder::Value flat = call.tiles().reshape(
        source, {tile::numElementsOf(source.value.getType())}, /*allowReorder=*/false);
    if (!flat)
      return call.fail(flat.error(), {0});
    source = *flat;
  }
  TileBuilder::Values results = call.tiles().reduce(*sources, 0, false, combine, *commutative);
  if (!results || !*keepDims)
    return packed(call, std::move(results));
  std::vector<int64_t> ones(rank, 1);
  for (TypedValue &result : *results) {
    TileBuilder::Value full = call.tiles().full(ones, result, result.dtype);
    if (!full)
      return call.fail(full.error(), {0});
    result = *full;
  }
  return packed(call, std::move(results));
}

static ValueOr emitScan(BuiltinCall &call) {
  FailureOr<std::vector<TypedValue>> sources = sourcesOf(call);
  FailureOr<int64_t> axis = failed(sources) ? FailureOr<int64_t>(failure()) : call.integer(1);
  FailureOr<bool> reverse = failed(axis) ? FailureOr<bool>(failure()) : call.flag(3, false);
  if (failed(reverse))
    return failure();
  return packed(call,
                call.tiles().scan(*sources, *axis, *reverse, combineWith(call, call.value(2))));
}

static ValueOr emitMap(BuiltinCall &call) {
  std::vector<TypedValue> sources;
  if (call.bound[1])
    for (const Value &item : (*call.value(1).as<Tuple>())->items) {
      FailureOr<TypedValue> source = call.emitter.toRuntime(item, call.site);
      if (failed(source))
        return failure();
      sources.push_back(*source);
    }
  if (sources.empty())
    return call.emitter.error(Code::WrongArguments, call.site, "`map_elementwise` of no tiles",
                              "it is map_elementwise(function, tile, ..., pack=1)");
  FailureOr<int64_t> pack = call.has(2) ? call.integer(2) : FailureOr<int64_t>(1);
  if (failed(pack))
    return failure();
  call.emitter.locate(call.site);
  TileBuilder::Values results =
      call.tiles().map(sources, *pack, combineWith(call, call.value(0), 0));
  if (!results)
    return call.fail(results.error(), {0});
  std::vector<Value> items;
  for (TypedValue &result : *results)
    items.push_back({result});
  return items.size() == 1 ? items.front() : makeTuple(std::move(items));
}

static ValueOr emitDot(BuiltinCall &call) {
  FailureOr<TypedValue> a = call.tile(0);
  FailureOr<TypedValue> b = failed(a) ? a : call.tile(1);
  if (failed(b))
    return failure();
  FailureOr<std::optional<TypedValue>> acc = call.optionalTile(2);
  FailureOr<std::string> precision =
      failed(acc) ? FailureOr<std::string>(failure()) : call.text(3, "");
  if (failed(precision))
    return failure();
  static constexpr llvm::StringLiteral kKnown[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};
  if (call.has(3) && !llvm::is_contained(kKnown, *precision))
    return call.badOption(3, "\"tf32\", \"tf32x3\", \"ieee\", \"bf16x3\", \"bf16x6\"");
  if (call.has(3) && call.has(4))
    return call.emitter.error(Code::BadOption, call.node(4),
                              "`dot` is given both input_precision and allow_tf32",
                              "leave out allow_tf32, the older spelling of the same");
  if (call.has(4)) {
    FailureOr<bool> allowsTf32 = call.flag(4, true);
    if (failed(allowsTf32))
      return failure();
    *precision = *allowsTf32 ? "tf32" : "ieee";
  }
  // Sums are exact to the accumulator's type on every device, which is better than any number here.
  if (call.has(5) && failed(call.integer(5)))
    return failure();
  std::optional<DType> outDType;
  if (call.has(6)) {
    FailureOr<DType> dtype = call.dtype(6);
    if (failed(dtype))
      return failure();
    outDType = *dtype;
  }
  return call.finish(call.tiles().dot(*a, *b, *acc, *precision, outDType), {0, 1, 2});
}

static constexpr BuiltinRow kRows[] = {
    {"add", "x, y, sanitize_overflow=True", emitOperator},
    {"sub", "x, y, sanitize_overflow=True", emitOperator},
    {"mul", "x, y, sanitize_overflow=True", emitOperator},
    {"cdiv", "x, div", emitCdiv},
    {"fdiv", "x, y, ieee_rounding=False, approx=False", emitFdiv},
    {"div_rn", "x, y", emitFdiv},
    {"umulhi", "x, y", emitBinary<&TileBuilder::umulhi>},
    {"minimum", "x, y, propagate_nan=PropagateNan.NONE", emitExtremum},
    {"maximum", "x, y, propagate_nan=PropagateNan.NONE", emitExtremum},
    {"clamp", "x, min, max, propagate_nan=PropagateNan.NONE", emitClamp},
    {"where", "condition, x, y", emitWhere},
    {"cast", "input, dtype, fp_downcast_rounding=None, bitcast=False", emitCast},
    {"to_tensor", "x", emitToTensor},
    {"reduce", "input, axis, combine_fn, keep_dims=False, commutative=False", emitReduce},
    {"associative_scan", "input, axis, combine_fn, reverse=False", emitScan},
    {"map_elementwise", "scalar_fn, *args, pack=1", emitMap},
    {"dot",
     "input, other, acc=None, input_precision=None, allow_tf32=None, "
     "max_num_imprecise_acc=None, out_dtype=None",
     emitDot},
    {"inline_asm_elementwise", "asm, constraints, args, dtype, is_pure, pack", emitInlineAsm},
    {"extern_call", "symbol, args, dtype, is_pure", emitExternCall},
};

llvm::ArrayRef<BuiltinRow> tw::mathBuiltins() { return kRows; }
