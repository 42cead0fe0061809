// Subscripts: elements and slices of tuples and tiles, and new dimensions of tiles.
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/operators/Operators.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;

static FailureOr<PyValue> tupleSlice(Emitter &emitter, const TupleContents &tuple,
                                     const SliceValue &slice, const Node &node) {
  int64_t size = int64_t(tuple.items.size());
  auto bound = [&](const PyValue &value, int64_t absent, int64_t low,
                   int64_t high) -> std::optional<int64_t> {
    if (value.is<None>())
      return absent;
    std::optional<int64_t> number = toInt64(value);
    if (number && *number < 0)
      *number = *number < -size ? -1 : *number + size;
    return number ? std::optional(std::clamp(*number, low, high)) : std::nullopt;
  };
  std::optional<int64_t> step = slice.step->is<None>() ? 1 : toInt64(*slice.step);
  if (!step || *step == 0)
    return emitter.error(Code::BadSubscript, node,
                         "the step of a slice must be an integer and not 0", "use a constant step");
  bool isUp = *step > 0;
  std::optional<int64_t> lower =
      bound(*slice.lower, isUp ? 0 : size - 1, isUp ? 0 : -1, isUp ? size : size - 1);
  std::optional<int64_t> upper =
      bound(*slice.upper, isUp ? size : -1, isUp ? 0 : -1, isUp ? size : size - 1);
  if (!lower || !upper)
    return emitter.error(Code::BadSubscript, node, "slices of tuples need compile-time integers",
                         "use constants or tw.constexpr values");
  std::vector<PyValue> items;
  int64_t stride = std::clamp<int64_t>(*step, -size - 1, size + 1);
  for (int64_t i = *lower; isUp ? i < *upper : i > *upper; i += stride)
    items.push_back(tuple.items[i]);
  return makeTuple(std::move(items));
}

static FailureOr<PyValue> tupleSubscript(Emitter &emitter, const TupleContents &tuple,
                                         const PyValue &index, const Node &node) {
  if (const SliceValue *slice = index.as<SliceValue>())
    return tupleSlice(emitter, tuple, *slice, node);
  if (index.isRuntime())
    return emitter.error(Code::NotStatic, node.child("slice"),
                         "the index of a tuple must be known at compile time",
                         "loop with tw.static_range to get compile-time indices");
  std::optional<int64_t> position = toInt64(index);
  int64_t size = int64_t(tuple.items.size());
  if (position && *position < 0)
    *position += size;
  if (!position || *position < 0 || *position >= size)
    return emitter.error(
        Code::BadSubscript, node.child("slice"),
        formatv("{0} is not an index of a tuple of {1}", toText(index, true), size).str(),
        "indices count from 0");
  return tuple.items[*position];
}

static bool isEllipsis(const PyValue &value) {
  const Opaque *opaque = value.as<Opaque>();
  return opaque && opaque->text == "Ellipsis";
}

static bool isFullSlice(const PyValue &value) {
  const SliceValue *slice = value.as<SliceValue>();
  return slice && slice->lower->is<None>() && slice->upper->is<None>() && slice->step->is<None>();
}

/// The elements that a constant index or slice takes of `extent` elements, by Python's rules;
/// nullopt when a part of it is not a compile-time integer.
struct Taken {
  int64_t start, step, count;
};
static std::optional<Taken> takenBy(const SliceValue &slice, int64_t extent) {
  auto number = [](const PyValue &value, int64_t absent) {
    return value.is<None>() ? std::optional(absent) : toInt64(value);
  };
  std::optional<int64_t> step = number(*slice.step, 1);
  if (!step || *step == 0)
    return std::nullopt;
  bool isUp = *step > 0;
  auto bound = [&](const PyValue &value, int64_t absent) -> std::optional<int64_t> {
    std::optional<int64_t> given = number(value, absent);
    if (!given || value.is<None>())
      return given;
    int64_t place = *given < 0 ? std::max(*given, -extent - 1) + extent : *given;
    return isUp ? std::clamp<int64_t>(place, 0, extent)
                : std::clamp<int64_t>(place, -1, extent - 1);
  };
  std::optional<int64_t> start = bound(*slice.lower, isUp ? 0 : extent - 1);
  std::optional<int64_t> stop = bound(*slice.upper, isUp ? extent : -1);
  if (!start || !stop)
    return std::nullopt;
  int64_t distance = isUp ? *stop - *start : *start - *stop;
  int64_t stride = std::min<int64_t>(isUp ? *step : -std::max(*step, -extent - 1), extent + 1);
  return Taken{*start, isUp ? stride : -stride,
               distance <= 0 ? 0 : (distance + stride - 1) / stride};
}

namespace {
/// Applies the parts of a subscript to a tile, one after the other.
struct TileSubscript {
  Emitter &emitter;
  const Node &node;
  TypedValue tile;
  int64_t axis = 0; // the dimension that the next part is about

  LogicalResult wrong(const llvm::Twine &message, const llvm::Twine &hint) {
    return emitter.error(Code::BadSubscript, node, message, hint,
                         {emitter.label(node.child("value"), "this is " + tile.str())});
  }
  LogicalResult set(TileOr next) {
    if (!next)
      return emitter.error(next.reason(), node, {&node.child("value")});
    tile = *next;
    return mlir::success();
  }
  LogicalResult slice(const SliceValue &part);
  LogicalResult index(int64_t position);
  LogicalResult apply(const PyValue &part);
};
} // namespace

LogicalResult TileSubscript::slice(const SliceValue &part) {
  std::optional<Taken> taken = takenBy(part, tile.shape()[axis]);
  if (!taken)
    return wrong("the slice of a tile needs compile-time integers, and a step that is not 0",
                 "use constants or tw.constexpr values; tw.gather(...) takes run-time indices");
  if (taken->count == 0)
    return wrong("this slice is empty", "a tile has at least one element");
  return set(emitter.tiles.slice(tile, axis++, taken->start, taken->step, taken->count));
}

LogicalResult TileSubscript::index(int64_t position) {
  int64_t extent = tile.shape()[axis], place = position < 0 ? position + extent : position;
  if (place < 0 || place >= extent)
    return wrong(formatv("{0} is not an index of a dimension of {1} elements", position, extent),
                 "indices count from 0");
  if (failed(set(emitter.tiles.slice(tile, axis, place, 1, 1))))
    return failure();
  std::vector<int64_t> shape = tile.shape().vec();
  shape.erase(shape.begin() + axis);
  return set(emitter.tiles.reshape(tile, shape, /*allowReorder=*/false));
}

LogicalResult TileSubscript::apply(const PyValue &part) {
  if (part.is<None>())
    return set(emitter.tiles.expandDims(tile, axis++));
  if (isFullSlice(part))
    return ++axis, mlir::success();
  if (const SliceValue *range = part.as<SliceValue>())
    return slice(*range);
  if (std::optional<int64_t> position = part.is<bool>() ? std::nullopt : toInt64(part))
    return index(*position);
  return wrong("tiles are indexed with compile-time integers and slices, `None` and `...`",
               "use tw.gather(...) for run-time indices, and tw.where(...) for conditions");
}

/// x[:, None], x[None], x[..., None]: new dimensions of extent 1; x[0], x[:, 2:4]: some elements.
static FailureOr<PyValue> tileSubscript(Emitter &emitter, TypedValue tile, const PyValue &index,
                                        const Node &node) {
  std::vector<PyValue> parts =
      index.is<Tuple>() ? (*index.as<Tuple>())->items : std::vector<PyValue>{index};
  size_t numTaken = llvm::count_if(
      parts, [](const PyValue &part) { return !part.is<None>() && !isEllipsis(part); });
  size_t rank = tile.shape().size();
  emitter.locate(node);
  TileSubscript subscript{emitter, node, tile};
  // Of a scalar `:` means nothing, so that kernels may index what is sometimes one.
  bool isScalar = rank == 0 && llvm::all_of(parts, [](const PyValue &part) {
                    return part.is<None>() || isEllipsis(part) || isFullSlice(part);
                  });
  if (numTaken > rank && !isScalar)
    return subscript.wrong(formatv("unsupported tensor index: {0} indices for a tile of {1} "
                                   "dimensions",
                                   numTaken, rank),
                           "use one `:`, slice or index for each dimension");
  for (const PyValue &part : parts) {
    if (isEllipsis(part))
      subscript.axis += int64_t(numTaken < rank ? rank - numTaken : 0);
    else if (isScalar && isFullSlice(part))
      continue;
    else if (failed(subscript.apply(part)))
      return failure();
  }
  return PyValue{subscript.tile};
}

FailureOr<PyValue> tw::readSubscript(Emitter &emitter, const PyValue &base, const PyValue &index,
                                     const Node &node) {
  if (const Tuple *tuple = base.as<Tuple>())
    return tupleSubscript(emitter, **tuple, index, node);
  if (const TypedValue *typed = base.as<TypedValue>())
    return tileSubscript(emitter, *typed, index, node);
  if (base.is<std::string>() || base.is<Opaque>())
    return pythonSubscript(emitter, base, index, node);
  return emitter.error(Code::BadSubscript, node, typeName(base) + " cannot be indexed",
                       "only tiles and tuples can");
}
