// Builtins that apply a function of the kernel to elements: reductions, scans, map_elementwise.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

/// The values that a call of the function on scalars answers. Errors inside are reported at their
/// own places.
static FailureOr<std::vector<TypedValue>> combine(BuiltinCall &call, size_t function,
                                                  llvm::ArrayRef<TypedValue> scalars) {
  if (!call.value(function).is<Callable>())
    return call.emitter.error(Code::NotCallable, call.node(function),
                              typeName(call.value(function)) + " is not a function",
                              "a combining function is a @tw.jit function or a lambda");
  Arguments arguments;
  for (const TypedValue &scalar : scalars)
    arguments.push_back({{scalar}, &call.site, ""});
  llvm::SaveAndRestore inside(call.emitter.combineDepth, call.emitter.combineDepth + 1);
  FailureOr<PyValue> result =
      callValue(call.emitter, call.value(function), std::move(arguments), call.site);
  if (failed(result))
    return failure();
  const Tuple *tuple = result->as<Tuple>();
  std::vector<TypedValue> values;
  for (const PyValue &item : tuple ? (*tuple)->items : std::vector<PyValue>{*result}) {
    FailureOr<TypedValue> value = toRuntime(call.emitter, item, call.site);
    if (failed(value))
      return failure();
    values.push_back(*value);
  }
  return values;
}

/// The argument at a position as the function that TileBuilder applies.
static CombineBody combineWith(BuiltinCall &call, size_t function) {
  return [&call, function](const std::vector<TypedValue> &scalars) -> TilesOr {
    FailureOr<std::vector<TypedValue>> values = combine(call, function, scalars);
    if (failed(values))
      return alreadyReported();
    return std::move(*values);
  };
}

/// The tiles to combine: the first argument, or all in the tuple that it is.
static FailureOr<std::vector<TypedValue>> sourcesOf(BuiltinCall &call) {
  FailureOr<std::vector<TypedValue>> sources = call.items(0);
  if (failed(sources))
    return failure();
  for (const TypedValue &source : *sources)
    if (!source.isTile())
      return call.emitter.error(Code::WrongType, call.node(0),
                                "`" + call.name + "` needs a tile, not " + source.str(),
                                "a scalar has nothing to combine",
                                {call.emitter.label(call.node(0), "this is " + source.str())});
  return sources;
}

/// A tuple of results where a tuple was given.
static FailureOr<PyValue> resultsOf(BuiltinCall &call, TilesOr results) {
  if (!results)
    return call.report(results.reason(), {0, 1, 2});
  return packed(*results, call.value(0).is<Tuple>());
}

/// All elements of each tile in one dimension, in row-major order.
static TilesOr flattened(TileBuilder &tiles, std::vector<TypedValue> sources) {
  for (TypedValue &source : sources) {
    TileOr flat = tiles.reshape(source, {tile::numElementsOf(source.value.getType())},
                                /*allowReorder=*/false);
    if (!flat)
      return flat.reason();
    source = *flat;
  }
  return sources;
}

/// Scalars as tiles of so many dimensions of extent 1.
static TilesOr withRank(TileBuilder &tiles, std::vector<TypedValue> scalars, size_t rank) {
  std::vector<int64_t> ones(rank, 1);
  for (TypedValue &scalar : scalars) {
    TileOr full = tiles.full(ones, scalar, scalar.dtype);
    if (!full)
      return full.reason();
    scalar = *full;
  }
  return scalars;
}

/// A reduction without an axis folds all dimensions.
static TilesOr reduceAll(BuiltinCall &call, const std::vector<TypedValue> &sources, bool keepDims,
                         bool isCommutative) {
  TilesOr flat = flattened(call.tiles(), sources);
  if (!flat)
    return flat;
  TilesOr results =
      call.tiles().reduce(*flat, 0, /*keepDims=*/false, combineWith(call, 2), isCommutative);
  if (!results || !keepDims)
    return results;
  return withRank(call.tiles(), *results, sources.empty() ? 0 : sources.front().shape().size());
}

static FailureOr<PyValue> emitReduce(BuiltinCall &call) {
  FailureOr<std::vector<TypedValue>> sources = sourcesOf(call);
  bool keepDims = false, isCommutative = false;
  std::optional<int64_t> axis;
  if (failed(sources) || failed(call.readFrom(3, keepDims, isCommutative)) ||
      failed(call.readFrom(1, axis)))
    return failure();
  if (!axis)
    return resultsOf(call, reduceAll(call, *sources, keepDims, isCommutative));
  return resultsOf(
      call, call.tiles().reduce(*sources, *axis, keepDims, combineWith(call, 2), isCommutative));
}

static FailureOr<PyValue> emitScan(BuiltinCall &call) {
  FailureOr<std::vector<TypedValue>> sources = sourcesOf(call);
  int64_t axis = 0;
  bool isReverse = false;
  if (failed(sources) || failed(call.readFrom(1, axis)) || failed(call.readFrom(3, isReverse)))
    return failure();
  return resultsOf(call, call.tiles().scan(*sources, axis, isReverse, combineWith(call, 2)));
}

static FailureOr<PyValue> emitMap(BuiltinCall &call) {
  FailureOr<std::vector<TypedValue>> sources = call.items(1);
  if (failed(sources))
    return failure();
  if (sources->empty())
    return call.emitter.error(Code::WrongArguments, call.site, "`map_elementwise` of no tiles",
                              "it is map_elementwise(function, tile, ..., pack=1)");
  std::optional<int64_t> pack;
  if (failed(call.readFrom(2, pack)))
    return failure();
  TilesOr results = call.tiles().map(*sources, pack.value_or(1), combineWith(call, 0));
  if (!results)
    return call.report(results.reason(), {0});
  return packed(*results, results->size() > 1);
}

static constexpr BuiltinRow kCombiningRows[] = {
    {"reduce", "input, axis, combine_fn, keep_dims=False, commutative=False", emitReduce},
    {"associative_scan", "input, axis, combine_fn, reverse=False", emitScan},
    {"map_elementwise", "scalar_fn, *args, pack=1", emitMap},
};

llvm::ArrayRef<BuiltinRow> tw::combiningBuiltins() { return kCombiningRows; }
