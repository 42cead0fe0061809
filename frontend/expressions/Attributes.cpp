// Attributes and methods of tiles, types, tuples and objects.
#include "frontend/expressions/Attributes.h"
#include "frontend/builtins/Builtins.h"
#include "frontend/builtins/OperatorMethods.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/Leaves.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/RuntimeValues.h"
#include "frontend/emit/Walk.h"
#include "frontend/operators/Aggregates.h"
#include "frontend/values/TypeRules.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;

static PyValue methodOf(const PyValue &self, llvm::StringRef name) {
  Callable method;
  method.kind = Callable::Kind::Method;
  method.name = name.str();
  method.self = share(self);
  return {std::move(method)};
}

static PyValue shapeTuple(llvm::ArrayRef<int64_t> shape) {
  std::vector<PyValue> extents;
  for (int64_t extent : shape)
    extents.push_back(makeInt(extent));
  return makeTuple(std::move(extents));
}

//===-- Types --------------------------------------------------------------------------------===//

static bool isTypeMethod(const PyValue &type, llvm::StringRef name) {
  if (type.is<TileType>() && (name == "get_block_shapes" || name == "with_element_ty"))
    return true;
  const DType *dtype = type.as<DType>();
  return dtype && dtype->isInt() && (name == "get_int_max_value" || name == "get_int_min_value");
}

FailureOr<PyValue> tw::callTypeMethod(Emitter &emitter, const PyValue &type, llvm::StringRef name,
                                      const Arguments &arguments, const Node &site) {
  bool takesType = name == "with_element_ty";
  const DType *element =
      takesType && arguments.size() == 1 ? arguments[0].value.as<DType>() : nullptr;
  if (takesType ? !element : !arguments.empty())
    return emitter.error(Code::WrongArguments, site,
                         "`" + name.str() + "` takes " + (takesType ? "one dtype" : "no argument"),
                         takesType ? "write t.with_element_ty(tw.float32)" : "leave them out");
  if (const TileType *tile = type.as<TileType>())
    return takesType ? PyValue{TileType{*element, tile->shape}} : shapeTuple(tile->shape);
  DType dtype = *type.as<DType>();
  bool isMax = name == "get_int_max_value", isUnsigned = !dtype.isSigned();
  return PyValue{isMax ? llvm::APSInt::getMaxValue(dtype.bits(), isUnsigned)
                       : llvm::APSInt::getMinValue(dtype.bits(), isUnsigned)};
}

static std::optional<PyValue> dtypeAttribute(DType dtype, llvm::StringRef name) {
  if (name == "element_ty")
    return PyValue{dtype.pointee()};
  if (name == "scalar")
    return PyValue{dtype};
  if (name == "name")
    return PyValue{dtype.isPointer ? dtype.str() : std::string(dtype.row->ShortName)};
  if (name == "primitive_bitwidth" || name == "int_bitwidth" || name == "nbits")
    return makeInt(dtype.bits());
  if (name == "itemsize")
    return makeInt((dtype.bits() + 7) / 8);
  if (name == "shape")
    return makeTuple({});
  return std::nullopt;
}

static std::optional<PyValue> tileTypeAttribute(const TileType &type, llvm::StringRef name) {
  if (name == "shape")
    return shapeTuple(type.shape);
  if (name == "element_ty" || name == "scalar")
    return PyValue{type.element};
  if (name == "numel") {
    int64_t count = 1;
    for (int64_t extent : type.shape)
      count *= extent;
    return makeInt(count);
  }
  return dtypeAttribute(type.element, name);
}

//===-- Run-time values ----------------------------------------------------------------------===//

static std::optional<PyValue> shapeAttribute(DType dtype, llvm::ArrayRef<int64_t> shape,
                                             llvm::StringRef name) {
  if (name == "dtype")
    return PyValue{dtype};
  if (name == "shape")
    return shapeTuple(shape);
  if (name == "type")
    return shape.empty() ? PyValue{dtype} : PyValue{TileType{dtype, shape.vec()}};
  if (name == "numel")
    return tileTypeAttribute({dtype, shape.vec()}, name);
  if (name == "ndim")
    return makeInt(shape.size());
  return std::nullopt;
}

static bool hasMethod(const Emitter &emitter, llvm::StringRef name) {
  return name == "item" || isOperatorMethod(name) || findBuiltin(builtinOfMethod(name)) ||
         (emitter.program.methods && emitter.program.methods->get(name));
}

/// `x.type`: a dtype of what has one at run time, also of the number of a variable; of other
/// compile-time values a `constexpr_type`, and of a tuple the types of its items.
static FailureOr<PyValue> typeOf(Emitter &emitter, const PyValue &value, const Node &node) {
  if (const TypedValue *typed = value.as<TypedValue>())
    return *shapeAttribute(typed->dtype, typed->shape(), "type");
  if (value.isNumber() && value.isNamed)
    return PyValue{leafTypeOf(value).dtype};
  const Tuple *tuple = value.as<Tuple>();
  std::vector<PyValue> types, fields;
  for (const PyValue &item : tuple ? (*tuple)->items : std::vector<PyValue>()) {
    FailureOr<PyValue> type = typeOf(emitter, item, node);
    if (failed(type))
      return failure();
    types.push_back(*type);
  }
  for (const std::string &field : tuple ? (*tuple)->fields : std::vector<std::string>())
    fields.push_back({field});
  if (!tuple)
    return orReport(emitter, languageCall(emitter, "constexpr_type", {value}), node);
  PyValue names = fields.empty() ? PyValue{None{}} : makeTuple(std::move(fields));
  PyValue items = makeTuple(std::move(types), (*tuple)->fields);
  OrReason<PyValue> type = languageCall(emitter, "tuple_type", {items, names});
  return type ? *type : items; // Python has no types of tiles
}

/// Attributes of a run-time value, and of a Python number (which may have been specialized from
/// one).
static FailureOr<PyValue> numericAttribute(Emitter &emitter, const PyValue &base,
                                           llvm::StringRef name, const Node &node) {
  if (name == "type")
    return typeOf(emitter, base, node);
  const TypedValue *typed = base.as<TypedValue>();
  DType dtype = typed ? typed->dtype : leafTypeOf(base).dtype;
  llvm::ArrayRef<int64_t> shape = typed ? typed->shape() : llvm::ArrayRef<int64_t>();
  if (std::optional<PyValue> value = shapeAttribute(dtype, shape, name))
    return *value;
  if (name == "value" && !typed)
    return base;
  if (name == "T" && typed && typed->isTile()) {
    llvm::SmallVector<int64_t> order(llvm::reverse(llvm::seq<int64_t>(0, shape.size())));
    emitter.locate(node);
    return orReport(emitter, emitter.tiles.permute(*typed, order), node, {&node.child("value")});
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

/// Asks Python for an attribute of a text, tuple or object that it may see. Methods of texts and
/// tuples stay methods, so that their calls are evaluated as they are written.
static OrReason<PyValue> attributeInPython(Emitter &emitter, const PyValue &base,
                                           llvm::StringRef name) {
  OrReason<PyValue> answer = pythonCall(emitter, "getattr", {base, PyValue{name.str()}});
  if (answer && !base.is<Opaque>())
    return methodOf(base, name);
  return answer;
}

/// The public attributes of an object, for a suggestion.
static std::vector<std::string> attributesOf(Emitter &emitter, const PyValue &base) {
  std::vector<std::string> names;
  OrReason<PyValue> answer = pythonCall(emitter, "dir", {base});
  if (const Tuple *known = answer ? answer->as<Tuple>() : nullptr)
    for (const PyValue &name : (*known)->items)
      if (const std::string *text = name.as<std::string>(); text && text->front() != '_')
        names.push_back(*text);
  return names;
}

/// A module by the name that the kernel uses for it, anything else by its type.
static std::string describe(const PyValue &base, const Node &node) {
  std::string chain = dottedName(node.child("value"));
  const Opaque *object = base.as<Opaque>();
  return object && object->isModule && !chain.empty() ? "module `" + chain + "`" : typeName(base);
}

FailureOr<PyValue> tw::readAttribute(Emitter &emitter, const PyValue &base, llvm::StringRef name,
                                     const Node &node) {
  if (base.isRuntime() || base.isNumber())
    return numericAttribute(emitter, base, name, node);
  if (base.is<Aggregate>())
    return aggregateAttribute(emitter, base, name, node);
  std::optional<PyValue> found;
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
    return emitter.rejectAbsent(base, node);
  if (name == "value" && !base.is<Opaque>()) // of a constexpr
    return base;
  if (name == "type" && (base.is<Tuple>() || base.is<std::string>() || base.is<None>()))
    return typeOf(emitter, base, node);
  std::string nearest = nearestName(name, attributesOf(emitter, base));
  if (base.is<std::string>() || base.is<Opaque>() || base.is<Tuple>()) {
    OrReason<PyValue> answer = attributeInPython(emitter, base, name);
    if (answer)
      return *answer;
    // There it is, but cannot be had.
    llvm::StringRef why = answer.reason().message;
    if (why.consume_front("ValueError: ") ||
        (why.contains(": ") && !why.starts_with("AttributeError")))
      return emitter.error(Code::StaticEvaluation, node, "`" + name + "` cannot be used: " + why,
                           "only what the capture of the kernel can follow is part of it");
    if (why.consume_back("`?")) // as modules of the language say it
      nearest = why.split("; did you mean `").second;
  }
  return emitter.error(
      Code::UnknownAttribute, node, describe(base, node) + " has no attribute `" + name + "`",
      base.is<Tuple>() && name == "append" ? "write xs = xs + (x,): lists are tuples"
      : nearest.empty()                    ? "check the name"
                                           : "did you mean `" + nearest + "`?");
}
