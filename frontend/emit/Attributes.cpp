// Attributes, methods and subscripts of tiles, types and tuples.
#include "frontend/emit/Aggregates.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/Leaves.h"
#include "frontend/emit/OperatorMethods.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::FailureOr;
using mlir::LogicalResult;

static Value methodOf(const Value &self, llvm::StringRef name) {
  Callable method;
  method.kind = Callable::Kind::Method;
  method.name = name.str();
  method.self = share(self);
  return {std::move(method)};
}

static Value shapeTuple(llvm::ArrayRef<int64_t> shape) {
  std::vector<Value> extents;
  for (int64_t extent : shape)
    extents.push_back(makeInt(extent));
  return makeTuple(std::move(extents));
}

//===-- Types --------------------------------------------------------------------------------===//

std::optional<bool> tw::dtypePredicate(DType dtype, llvm::StringRef name) {
  bool isFloat = dtype.isFloat(), isInt = dtype.isInt();
  llvm::StringRef shortName = dtype.row->ShortName;
  std::optional<bool> answer = llvm::StringSwitch<std::optional<bool>>(name)
                                   .Case("is_floating", isFloat)
                                   .Case("is_standard_floating", isFloat && !dtype.isFloat8())
                                   .Case("is_int", isInt)
                                   .Case("is_int_signed", isInt && dtype.isSigned())
                                   .Case("is_int_unsigned", isInt && !dtype.isSigned())
                                   .Case("is_bool", dtype.isBool())
                                   .Case("is_ptr", dtype.isPointer)
                                   .Case("is_const", dtype.isConst)
                                   .Case("is_block", false)
                                   .Case("is_fp8", dtype.isFloat8())
                                   .Case("is_numeric", !dtype.isPointer)
                                   .Default(std::nullopt);
  if (answer || !name.consume_front("is_"))
    return answer;
  if (name.starts_with("uint") || name.starts_with("int"))
    return !dtype.isPointer && name == dtype.row->Name;
  if (name.starts_with("fp8") || name.starts_with("float8"))
    return !dtype.isPointer && (name == shortName || name == dtype.row->Name);
  return name.starts_with("fp") || name == "bf16"
             ? std::optional(!dtype.isPointer && name == shortName)
             : std::nullopt;
}

static bool isTypeMethod(const Value &type, llvm::StringRef name) {
  if (type.is<TileType>() && (name == "get_block_shapes" || name == "with_element_ty"))
    return true;
  const DType *dtype = type.as<DType>();
  return dtype && dtype->isInt() && (name == "get_int_max_value" || name == "get_int_min_value");
}

ValueOr tw::callTypeMethod(Emitter &emitter, const Value &type, llvm::StringRef name,
                           const Arguments &arguments, const Node &site) {
  bool takesType = name == "with_element_ty";
  const DType *element =
      takesType && arguments.size() == 1 ? arguments[0].value.as<DType>() : nullptr;
  if (takesType ? !element : !arguments.empty())
    return emitter.error(Code::WrongArguments, site,
                         "`" + name.str() + "` takes " + (takesType ? "one dtype" : "no argument"),
                         takesType ? "write t.with_element_ty(tw.float32)" : "leave them out");
  if (const TileType *tile = type.as<TileType>())
    return takesType ? Value{TileType{*element, tile->shape}} : shapeTuple(tile->shape);
  DType dtype = *type.as<DType>();
  bool isMax = name == "get_int_max_value", isUnsigned = !dtype.isSigned();
  return Value{isMax ? llvm::APSInt::getMaxValue(dtype.bits(), isUnsigned)
                     : llvm::APSInt::getMinValue(dtype.bits(), isUnsigned)};
}

static std::optional<Value> dtypeAttribute(DType dtype, llvm::StringRef name) {
  if (name == "element_ty")
    return Value{dtype.pointee()};
  if (name == "scalar")
    return Value{dtype};
  if (name == "name")
    return Value{dtype.isPointer ? dtype.str() : std::string(dtype.row->ShortName)};
  if (name == "primitive_bitwidth" || name == "int_bitwidth" || name == "nbits")
    return makeInt(dtype.bits());
  if (name == "itemsize")
    return makeInt((dtype.bits() + 7) / 8);
  if (name == "shape")
    return makeTuple({});
  return std::nullopt;
}

static std::optional<Value> tileTypeAttribute(const TileType &type, llvm::StringRef name) {
  if (name == "shape")
    return shapeTuple(type.shape);
  if (name == "element_ty" || name == "scalar")
    return Value{type.element};
  if (name == "numel") {
    int64_t count = 1;
    for (int64_t extent : type.shape)
      count *= extent;
    return makeInt(count);
  }
  return dtypeAttribute(type.element, name);
}

//===-- Run-time values ----------------------------------------------------------------------===//

static std::optional<Value> shapeAttribute(DType dtype, llvm::ArrayRef<int64_t> shape,
                                           llvm::StringRef name) {
  if (name == "dtype")
    return Value{dtype};
  if (name == "shape")
    return shapeTuple(shape);
  if (name == "type")
    return shape.empty() ? Value{dtype} : Value{TileType{dtype, shape.vec()}};
  if (name == "numel")
    return tileTypeAttribute({dtype, shape.vec()}, name);
  if (name == "ndim")
    return makeInt(shape.size());
  return std::nullopt;
}

std::string tw::builtinOfMethod(llvm::StringRef name) {
  return name == "to" ? "cast" : name == "sqrt_rn" ? "sqrt" : name.str();
}

static bool hasMethod(const Emitter &emitter, llvm::StringRef name) {
  return name == "item" || isOperatorMethod(name) || findBuiltin(builtinOfMethod(name)) ||
         (emitter.program.methods && emitter.program.methods->get(name));
}

/// Attributes of a run-time value, and of a Python number (which may have been specialized from
/// one).
static ValueOr numericAttribute(Emitter &emitter, const Value &base, llvm::StringRef name,
                                const Node &node) {
  const TypedValue *typed = base.as<TypedValue>();
  DType dtype = typed ? typed->dtype : leafTypeOf(base).dtype;
  llvm::ArrayRef<int64_t> shape = typed ? typed->shape() : llvm::ArrayRef<int64_t>();
  if (std::optional<Value> value = shapeAttribute(dtype, shape, name))
    return *value;
  if (name == "value" && !typed)
    return base;
  if (name == "T" && typed && typed->isTile()) {
    llvm::SmallVector<int64_t> order(llvm::reverse(llvm::seq<int64_t>(0, shape.size())));
    emitter.locate(node);
    return emitter.finish(emitter.tiles.permute(*typed, order), node, {&node.child("value")});
  }
  if (hasMethod(emitter, name))
    return methodOf(base, name);
  std::vector<std::string> known{"shape", "dtype", "type", "numel", "T", "to"};
  llvm::append_range(known, builtinNames());
  std::string nearest = nearestName(name, known);
  return emitter.error(
      Code::UnknownAttribute, node, typeName(base) + " has no attribute or method `" + name + "`",
      nearest.empty() ? "see the documentation of tiles" : "did you mean `" + nearest + "`?");
}

/// What Python says of an attribute of a text, tuple or object that it may see. Methods of texts
/// and tuples stay methods, so that their calls are evaluated as they are written.
static std::optional<Value> attributeInPython(Emitter &emitter, const Value &base,
                                              llvm::StringRef name, std::string &reason) {
  std::optional<Value> answer = emitter.pythonCall("getattr", {base, Value{name.str()}}, reason);
  if (answer && !base.is<Opaque>())
    return methodOf(base, name);
  return answer;
}

/// The public attributes of an object, for a suggestion.
static std::vector<std::string> attributesOf(Emitter &emitter, const Value &base) {
  std::vector<std::string> names;
  std::string reason;
  std::optional<Value> answer = emitter.pythonCall("dir", {base}, reason);
  if (const Tuple *known = answer ? answer->as<Tuple>() : nullptr)
    for (const Value &name : (*known)->items)
      if (const std::string *text = name.as<std::string>(); text && text->front() != '_')
        names.push_back(*text);
  return names;
}

/// A module by the name that the kernel uses for it, anything else by its type.
static std::string describe(const Value &base, const Node &node) {
  std::string chain = dottedName(node.child("value"));
  const Opaque *object = base.as<Opaque>();
  return object && object->isModule && !chain.empty() ? "module `" + chain + "`" : typeName(base);
}

ValueOr Emitter::attribute(const Value &base, llvm::StringRef name, const Node &node) {
  if (base.isRuntime() || base.isNumber())
    return numericAttribute(*this, base, name, node);
  if (base.is<Aggregate>())
    return aggregateAttribute(*this, base, name, node);
  std::optional<Value> found;
  if (isTypeMethod(base, name))
    return methodOf(base, name);
  if (const DType *dtype = base.as<DType>())
    found = dtypePredicate(*dtype, name) ? methodOf(base, name) : dtypeAttribute(*dtype, name);
  if (const TileType *type = base.as<TileType>())
    found =
        dtypePredicate(type->element, name) ? methodOf(base, name) : tileTypeAttribute(*type, name);
  if (const Tuple *tuple = base.as<Tuple>()) {
    auto field = llvm::find((*tuple)->fields, name);
    if (field != (*tuple)->fields.end())
      found = (*tuple)->items[field - (*tuple)->fields.begin()];
  }
  if (const DescriptorType *type = base.as<DescriptorType>())
    found = descriptorTypePredicate(*type, name) ? methodOf(base, name)
                                                 : descriptorTypeAttribute(*type, name);
  if (const Descriptor *descriptor = base.as<Descriptor>())
    found = findDescriptorMethod((*descriptor)->type, name)
                ? methodOf(base, name)
                : descriptorAttribute(*descriptor, name);
  if (found)
    return *found;
  if (base.is<Absent>())
    return rejectAbsent(base, node);
  if (name == "value" && !base.is<Opaque>()) // of a constexpr
    return base;
  std::string reason;
  if (base.is<std::string>() || base.is<Opaque>() || base.is<Tuple>())
    if (std::optional<Value> answer = attributeInPython(*this, base, name, reason))
      return *answer;
  if (llvm::StringRef(reason).consume_front("ValueError: ")) // there it is, but cannot be had
    return error(Code::StaticEvaluation, node,
                 "`" + name.str() + "` cannot be used: " + reason.substr(12),
                 "only what the capture of the kernel can follow is part of it");
  std::string nearest = nearestName(name, attributesOf(*this, base));
  return error(Code::UnknownAttribute, node,
               describe(base, node) + " has no attribute `" + name + "`",
               base.is<Tuple>() && name == "append" ? "write xs = xs + (x,): lists are tuples"
               : nearest.empty()                    ? "check the name"
                                                    : "did you mean `" + nearest + "`?");
}

//===-- Subscripts ---------------------------------------------------------------------------===//

static ValueOr tupleSlice(Emitter &emitter, const TupleContents &tuple, const SliceValue &slice,
                          const Node &node) {
  int64_t size = int64_t(tuple.items.size());
  auto bound = [&](const Value &value, int64_t absent, int64_t low,
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
  std::vector<Value> items;
  int64_t stride = std::clamp<int64_t>(*step, -size - 1, size + 1);
  for (int64_t i = *lower; isUp ? i < *upper : i > *upper; i += stride)
    items.push_back(tuple.items[i]);
  return makeTuple(std::move(items));
}

static ValueOr tupleSubscript(Emitter &emitter, const TupleContents &tuple, const Value &index,
                              const Node &node) {
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

static bool isEllipsis(const Value &value) {
  const Opaque *opaque = value.as<Opaque>();
  return opaque && opaque->text == "Ellipsis";
}

static bool isFullSlice(const Value &value) {
  const SliceValue *slice = value.as<SliceValue>();
  return slice && slice->lower->is<None>() && slice->upper->is<None>() && slice->step->is<None>();
}

/// What a constant index or slice takes of `extent` elements, by Python's rules; nullopt when a
/// part of it is no compile-time integer.
struct Taken {
  int64_t start, step, count;
};
static std::optional<Taken> takenBy(const SliceValue &slice, int64_t extent) {
  auto number = [](const Value &value, int64_t absent) {
    return value.is<None>() ? std::optional(absent) : toInt64(value);
  };
  std::optional<int64_t> step = number(*slice.step, 1);
  if (!step || *step == 0)
    return std::nullopt;
  bool isUp = *step > 0;
  auto bound = [&](const Value &value, int64_t absent) -> std::optional<int64_t> {
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
  LogicalResult set(TileBuilder::Value next) {
    if (!next)
      return emitter.error(next.error(), node, {&node.child("value")});
    tile = *next;
    return mlir::success();
  }
  LogicalResult slice(const SliceValue &part);
  LogicalResult index(int64_t position);
  LogicalResult apply(const Value &part);
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

LogicalResult TileSubscript::apply(const Value &part) {
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
static ValueOr tileSubscript(Emitter &emitter, TypedValue tile, const Value &index,
                             const Node &node) {
  std::vector<Value> parts =
      index.is<Tuple>() ? (*index.as<Tuple>())->items : std::vector<Value>{index};
  size_t numTaken = llvm::count_if(
      parts, [](const Value &part) { return !part.is<None>() && !isEllipsis(part); });
  size_t rank = tile.shape().size();
  emitter.locate(node);
  TileSubscript subscript{emitter, node, tile};
  // Of a scalar `:` means nothing, so that kernels may index what is sometimes one.
  bool isScalar = rank == 0 && llvm::all_of(parts, [](const Value &part) {
                    return part.is<None>() || isEllipsis(part) || isFullSlice(part);
                  });
  if (numTaken > rank && !isScalar)
    return subscript.wrong(formatv("unsupported tensor index: {0} indices for a tile of {1} "
                                   "dimensions",
                                   numTaken, rank),
                           "use one `:`, slice or index for each dimension");
  for (const Value &part : parts) {
    if (isEllipsis(part))
      subscript.axis += int64_t(numTaken < rank ? rank - numTaken : 0);
    else if (isScalar && isFullSlice(part))
      continue;
    else if (failed(subscript.apply(part)))
      return failure();
  }
  return Value{subscript.tile};
}

ValueOr Emitter::subscript(const Value &base, const Value &index, const Node &node) {
  if (const Tuple *tuple = base.as<Tuple>())
    return tupleSubscript(*this, **tuple, index, node);
  if (const TypedValue *typed = base.as<TypedValue>())
    return tileSubscript(*this, *typed, index, node);
  if (base.is<std::string>() || base.is<Opaque>())
    return pythonSubscript(base, index, node);
  return error(Code::BadSubscript, node, typeName(base) + " cannot be indexed",
               "only tiles and tuples can");
}
