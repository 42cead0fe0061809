// Builtins that make tiles and change shapes.
#include "frontend/builtins/Builtins.h"
#include "frontend/tiles/Operands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

static ValueOr emitArange(BuiltinCall &call) {
  FailureOr<int64_t> start = call.integer(0);
  FailureOr<int64_t> end = failed(start) ? start : call.integer(1);
  if (failed(start) || failed(end))
    return failure();
  return call.finish(call.tiles().arange(*start, *end), {0, 1});
}

static ValueOr emitFull(BuiltinCall &call) {
  FailureOr<std::vector<int64_t>> shape = call.integers(0);
  FailureOr<TypedValue> scalar = failed(shape) ? FailureOr<TypedValue>(failure()) : call.tile(1);
  if (failed(scalar))
    return failure();
  DType dtype = scalar->dtype;
  if (call.has(2)) {
    FailureOr<DType> given = call.dtype(2);
    if (failed(given))
      return failure();
    dtype = *given;
  }
  return call.finish(call.tiles().full(*shape, *scalar, dtype), {0, 1, 2});
}

static std::string asText(int64_t number) { return std::to_string(number); }

static ValueOr emitExpandDims(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  FailureOr<std::vector<int64_t>> axes =
      failed(operand) ? FailureOr<std::vector<int64_t>>(failure()) : call.integers(1);
  if (failed(axes))
    return failure();
  // Axes refer to the result, so negative ones are resolved before any is inserted.
  int64_t rank = int64_t(operand->shape().size() + axes->size());
  for (int64_t &axis : *axes)
    axis = axis < 0 && axis >= -rank ? axis + rank : axis;
  llvm::sort(*axes);
  if (llvm::adjacent_find(*axes) != axes->end())
    return call.fail(operandError(Code::RepeatedAxis,
                                  "duplicate axes, normalized axes = [" +
                                      llvm::join(llvm::map_range(*axes, asText), ", ") + "]",
                                  "name each new dimension once"),
                     {1});
  TileBuilder::Value result = *operand;
  for (int64_t axis : *axes)
    if (result)
      result = call.tiles().expandDims(*result, axis);
  return call.finish(result, {0, 1});
}

static ValueOr emitBroadcast(BuiltinCall &call) {
  FailureOr<TypedValue> lhs = call.tile(0);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  auto pair = call.tiles().broadcast(*lhs, *rhs);
  if (!pair)
    return call.fail(pair.error(), {0, 1});
  return makeTuple({{pair->first}, {pair->second}});
}

static ValueOr emitBroadcastTo(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  FailureOr<std::vector<int64_t>> shape =
      failed(operand) ? FailureOr<std::vector<int64_t>>(failure()) : call.integers(1);
  if (failed(shape))
    return failure();
  return call.finish(call.tiles().broadcastTo(*operand, *shape), {0, 1});
}

static ValueOr emitReshape(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  FailureOr<std::vector<int64_t>> shape =
      failed(operand) ? FailureOr<std::vector<int64_t>>(failure()) : call.integers(1);
  FailureOr<bool> canReorder = failed(shape) ? FailureOr<bool>(failure()) : call.flag(2, false);
  if (failed(canReorder))
    return failure();
  return call.finish(call.tiles().reshape(*operand, *shape, *canReorder), {0, 1});
}

static ValueOr emitPermute(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  FailureOr<std::vector<int64_t>> order =
      failed(operand) ? FailureOr<std::vector<int64_t>>(failure()) : call.integers(1);
  if (failed(order))
    return failure();
  if (order->empty()) { // the last two dimensions change places
    order->assign(llvm::seq<int64_t>(0, operand->shape().size()).begin(),
                  llvm::seq<int64_t>(0, operand->shape().size()).end());
    if (order->size() >= 2)
      std::swap((*order)[order->size() - 1], (*order)[order->size() - 2]);
  }
  return call.finish(call.tiles().permute(*operand, *order), {0, 1});
}

static ValueOr emitJoin(BuiltinCall &call) {
  FailureOr<TypedValue> lhs = call.tile(0);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(1);
  if (failed(lhs) || failed(rhs))
    return failure();
  return call.finish(call.tiles().join(*lhs, *rhs), {0, 1});
}

static ValueOr emitSplit(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  if (failed(operand))
    return failure();
  TileBuilder::Values halves = call.tiles().split(*operand);
  if (!halves)
    return call.fail(halves.error(), {0});
  std::vector<Value> items;
  for (TypedValue &half : *halves)
    items.push_back({half});
  return makeTuple(std::move(items));
}

static ValueOr emitCat(BuiltinCall &call) {
  FailureOr<TypedValue> lhs = call.tile(0);
  FailureOr<TypedValue> rhs = failed(lhs) ? lhs : call.tile(1);
  FailureOr<bool> canReorder = failed(rhs) ? FailureOr<bool>(failure()) : call.flag(2, false);
  if (failed(canReorder))
    return failure();
  FailureOr<int64_t> dim = call.has(3) ? call.integer(3) : FailureOr<int64_t>(0);
  if (failed(dim))
    return failure();
  return call.finish(call.tiles().cat(*lhs, *rhs, *canReorder, *dim), {0, 1});
}

static ValueOr emitGather(BuiltinCall &call) {
  FailureOr<TypedValue> source = call.tile(0);
  FailureOr<TypedValue> indices = failed(source) ? source : call.tile(1);
  FailureOr<int64_t> axis = failed(indices) ? FailureOr<int64_t>(failure()) : call.integer(2);
  if (failed(axis))
    return failure();
  return call.finish(call.tiles().gather(*source, *indices, *axis), {0, 1, 2});
}

static ValueOr emitItem(BuiltinCall &call) {
  FailureOr<TypedValue> operand = call.tile(0);
  if (failed(operand))
    return failure();
  if (!operand->isTile())
    return Value{*operand};
  if (tile::numElementsOf(operand->value.getType()) != 1)
    return call.emitter.error(Code::WrongType, call.site, "`item` needs a tile of one element",
                              "reduce the tile first",
                              {call.emitter.label(call.node(0), "this is " + operand->str())});
  TileBuilder::Value flat = call.tiles().reshape(*operand, {1}, false);
  if (!flat)
    return call.fail(flat.error(), {0});
  // With one element the combining function is never applied.
  TileBuilder::Values scalar = call.tiles().reduce(
      {*flat}, 0, false,
      [](const std::vector<TypedValue> &sides) -> OrError<std::vector<TypedValue>> {
        return std::vector<TypedValue>{sides[0]};
      });
  if (!scalar)
    return call.fail(scalar.error(), {0});
  return Value{scalar->front()};
}

static constexpr BuiltinRow kRows[] = {
    {"arange", "start, end", emitArange},
    {"full", "shape, value, dtype=None", emitFull},
    {"expand_dims", "input, axis", emitExpandDims},
    {"broadcast", "input, other", emitBroadcast},
    {"broadcast_to", "input, *shape", emitBroadcastTo},
    {"reshape", "input, *shape, can_reorder=False", emitReshape},
    {"view", "input, *shape, can_reorder=False", emitReshape},
    {"trans", "input, *dims", emitPermute},
    {"permute", "input, *dims", emitPermute},
    {"join", "a, b", emitJoin},
    {"split", "a", emitSplit},
    {"cat", "input, other, can_reorder=False, dim=0", emitCat},
    {"gather", "src, index, axis", emitGather},
    {"item", "input", emitItem},
};

llvm::ArrayRef<BuiltinRow> tw::shapeBuiltins() { return kRows; }
