// Builtins that make tiles and change shapes.
#include "frontend/builtins/MethodBuiltin.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

static FailureOr<PyValue> emitFull(BuiltinCall &call) {
  std::vector<int64_t> shape;
  TypedValue scalar;
  std::optional<DType> dtype;
  if (failed(call.read(shape, scalar, dtype)))
    return failure();
  return call.orReport(call.tiles().full(shape, scalar, dtype.value_or(scalar.dtype)));
}

static std::string asText(int64_t number) { return std::to_string(number); }

static FailureOr<PyValue> emitExpandDims(BuiltinCall &call) {
  TypedValue operand;
  std::vector<int64_t> axes;
  if (failed(call.read(operand, axes)))
    return failure();
  // Axes refer to the result, so negative ones are resolved before any is inserted.
  int64_t rank = int64_t(operand.shape().size() + axes.size());
  for (int64_t &axis : axes)
    axis = axis < 0 && axis >= -rank ? axis + rank : axis;
  llvm::sort(axes);
  if (llvm::adjacent_find(axes) != axes.end())
    return call.report(operandError(Code::RepeatedAxis,
                                    "duplicate axes, normalized axes = [" +
                                        llvm::join(llvm::map_range(axes, asText), ", ") + "]",
                                    "name each new dimension once"),
                       {1});
  TileOr result = operand;
  for (int64_t axis : axes)
    if (result)
      result = call.tiles().expandDims(*result, axis);
  return call.orReport(result);
}

static FailureOr<PyValue> emitBroadcast(BuiltinCall &call) {
  TypedValue lhs, rhs;
  if (failed(call.read(lhs, rhs)))
    return failure();
  TilePairOr pair = call.tiles().broadcast(lhs, rhs);
  if (!pair)
    return call.report(pair.reason(), {0, 1});
  return packed({pair->first, pair->second}, /*isTuple=*/true);
}

static FailureOr<PyValue> emitPermute(BuiltinCall &call) {
  TypedValue operand;
  std::vector<int64_t> order;
  if (failed(call.read(operand, order)))
    return failure();
  if (order.empty()) { // the last two dimensions change places
    llvm::append_range(order, llvm::seq<int64_t>(0, operand.shape().size()));
    if (order.size() >= 2)
      std::swap(order[order.size() - 1], order[order.size() - 2]);
  }
  return call.orReport(call.tiles().permute(operand, order));
}

static FailureOr<PyValue> emitSplit(BuiltinCall &call) {
  TypedValue operand;
  if (failed(call.read(operand)))
    return failure();
  TilesOr halves = call.tiles().split(operand);
  if (!halves)
    return call.report(halves.reason(), {0});
  return packed(*halves, /*isTuple=*/true);
}

static FailureOr<PyValue> emitCat(BuiltinCall &call) {
  TypedValue lhs, rhs;
  bool canReorder = false;
  std::optional<int64_t> dim;
  if (failed(call.read(lhs, rhs, canReorder, dim)))
    return failure();
  return call.orReport(call.tiles().cat(lhs, rhs, canReorder, dim.value_or(0)));
}

static FailureOr<PyValue> emitItem(BuiltinCall &call) {
  TypedValue operand;
  if (failed(call.read(operand)))
    return failure();
  if (!operand.isTile())
    return PyValue{operand};
  if (tile::numElementsOf(operand.value.getType()) != 1)
    return call.emitter.error(Code::WrongType, call.site, "`item` needs a tile of one element",
                              "reduce the tile first",
                              {call.emitter.label(call.node(0), "this is " + operand.str())});
  TileOr flat = call.tiles().reshape(operand, {1}, /*allowReorder=*/false);
  if (!flat)
    return call.report(flat.reason(), {0});
  // With one element the combining function is never applied.
  TilesOr scalar = call.tiles().reduce(
      {*flat}, 0, /*keepDims=*/false,
      [](const std::vector<TypedValue> &sides) -> TilesOr { return std::vector{sides[0]}; });
  if (!scalar)
    return call.report(scalar.reason(), {0});
  return PyValue{scalar->front()};
}

static constexpr BuiltinRow kShapeRows[] = {
    {"arange", "start, end", emitMethod<&TileBuilder::arange>},
    {"full", "shape, value, dtype=None", emitFull},
    {"expand_dims", "input, axis", emitExpandDims},
    {"broadcast", "input, other", emitBroadcast},
    {"broadcast_to", "input, *shape", emitMethod<&TileBuilder::broadcastTo>},
    {"reshape", "input, *shape, can_reorder=False", emitMethod<&TileBuilder::reshape>},
    {"view", "input, *shape, can_reorder=False", emitMethod<&TileBuilder::reshape>},
    {"trans", "input, *dims", emitPermute},
    {"permute", "input, *dims", emitPermute},
    {"join", "a, b", emitMethod<&TileBuilder::join>},
    {"split", "a", emitSplit},
    {"cat", "input, other, can_reorder=False, dim=0", emitCat},
    {"gather", "src, index, axis", emitMethod<&TileBuilder::gather>},
    {"count_values", "src, count", emitMethod<&TileBuilder::countValues>},
    {"item", "input", emitItem},
};

llvm::ArrayRef<BuiltinRow> tw::shapeBuiltins() { return kShapeRows; }
