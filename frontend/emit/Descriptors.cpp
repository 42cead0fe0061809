// What block pointers and tensor descriptors say of themselves: attributes, types and misuse.
#include "frontend/emit/Descriptors.h"
#include "frontend/tiles/Operands.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/TypeRules.h"
#include "frontend/values/ValueText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using mlir::FailureOr;

//===-- Arguments ----------------------------------------------------------------------------===//

/// The fields of the tuple that a host's TensorDescriptor is passed as (tensor_descriptor.py).
static constexpr llvm::StringLiteral kFields[] = {
    "base", "shape", "strides", "block_shape", "nan_outside", "tensor descriptor"};

static bool isDescribed(const TupleContents &tuple) {
  return llvm::equal(tuple.fields, kFields,
                     [](const std::string &a, llvm::StringRef b) { return a == b; });
}

/// Integers as parts of a descriptor; false where one is something else.
static bool addParts(Emitter &emitter, const PyValue &integers, size_t rank,
                     std::vector<PyValue> &parts) {
  const Tuple *tuple = integers.as<Tuple>();
  if (!tuple || (*tuple)->items.size() != rank)
    return false;
  for (const PyValue &item : (*tuple)->items) {
    const TypedValue *typed = item.as<TypedValue>();
    if (!item.isInteger() && !(typed && typed->dtype.isInt()))
      return false;
    TypedValue wide;
    if (typed)
      wide = *emitter.tiles.cast(*typed, findDType("int64"));
    parts.push_back(typed ? PyValue{wide} : item);
  }
  return true;
}

static std::optional<PyValue> describedBy(Emitter &emitter, llvm::ArrayRef<PyValue> items) {
  const TypedValue *base = items[0].as<TypedValue>();
  const Tuple *block = items[3].as<Tuple>();
  if (!base || !base->dtype.isPointer || !block || !isStatic(items[4]))
    return std::nullopt;
  DescriptorType type;
  type.block.element = base->dtype.pointee();
  type.nanOutside = truthOf(items[4]);
  type.isConst = base->dtype.isConst;
  for (const PyValue &extent : (*block)->items)
    type.block.shape.push_back(toInt64(extent).value_or(0));
  size_t rank = type.block.shape.size();
  std::vector<PyValue> parts{items[0]};
  if (rank == 0 || !addParts(emitter, items[1], rank, parts) ||
      !addParts(emitter, items[2], rank, parts))
    return std::nullopt;
  return makeDescriptor(std::move(type), std::move(parts));
}

FailureOr<PyValue> tw::withDescriptors(Emitter &emitter, const PyValue &argument) {
  const Tuple *tuple = argument.as<Tuple>();
  if (!tuple)
    return argument;
  const Node &kernel = *emitter.program.entry->ast;
  if (isDescribed(**tuple)) {
    std::optional<PyValue> descriptor = describedBy(emitter, (*tuple)->items);
    if (!descriptor)
      return emitter.error(operandError(Code::DescriptorParts,
                                        "a TensorDescriptor describes an array by integers",
                                        "its base is an array, its shape and strides integers"),
                           kernel, {});
    if (std::optional<Reason> error =
            checkTileShape((*descriptor->as<Descriptor>())->type.block.shape))
      return emitter.error(*error, kernel, {});
    return *descriptor;
  }
  std::vector<PyValue> items;
  for (const PyValue &item : (*tuple)->items) {
    FailureOr<PyValue> value = withDescriptors(emitter, item);
    if (llvm::failed(value))
      return llvm::failure();
    items.push_back(std::move(*value));
  }
  return makeTuple(std::move(items), (*tuple)->fields);
}

//===-- Attributes ---------------------------------------------------------------------------===//

/// A part as the user gave it: an int32 is widened where a descriptor is made.
static PyValue asGiven(const PyValue &part) {
  const TypedValue *wide = part.as<TypedValue>();
  auto widened = wide ? wide->value.getDefiningOp<mlir::arith::ExtSIOp>() : nullptr;
  if (!widened || !widened.getIn().getType().isInteger(32))
    return part;
  return {TypedValue{widened.getIn(), findDType("int32")}};
}

static PyValue tupleOf(llvm::ArrayRef<PyValue> parts) {
  std::vector<PyValue> items;
  for (const PyValue &part : parts)
    items.push_back(asGiven(part));
  return makeTuple(std::move(items));
}

static PyValue tupleOf(llvm::ArrayRef<int64_t> extents) {
  std::vector<PyValue> items;
  for (int64_t extent : extents)
    items.push_back(makeInt(extent));
  return makeTuple(std::move(items));
}

std::optional<PyValue> tw::descriptorAttribute(const Descriptor &descriptor, llvm::StringRef name) {
  const DescriptorType &type = descriptor->type;
  if (name == "type")
    return PyValue{type};
  if (type.isBlockPointer)
    return name == "dtype" ? std::optional(PyValue{type}) : std::nullopt;
  if (name == "shape")
    return tupleOf(descriptor->shape());
  if (name == "strides")
    return tupleOf(descriptor->strides());
  if (name == "base")
    return PyValue{descriptor->base()};
  if (name == "dtype")
    return PyValue{type.block.element};
  return descriptorTypeAttribute(type, name);
}

std::optional<PyValue> tw::descriptorTypeAttribute(const DescriptorType &type,
                                                   llvm::StringRef name) {
  if (type.isBlockPointer && name == "element_ty")
    return PyValue{type.block};
  if (type.isBlockPointer && name == "scalar")
    return PyValue{type};
  if (type.isBlockPointer && name == "primitive_bitwidth")
    return makeInt(64); // as of every pointer
  if (!type.isBlockPointer && name == "block_type")
    return PyValue{type.block};
  if (!type.isBlockPointer && name == "block_shape")
    return tupleOf(llvm::ArrayRef(type.block.shape));
  return std::nullopt;
}

std::optional<bool> tw::descriptorTypePredicate(const DescriptorType &type, llvm::StringRef name) {
  if (name == "is_ptr")
    return type.isBlockPointer;
  if (name == "is_block" || dtypePredicate(type.block.element, name))
    return false; // it is neither a tile nor an element type
  return std::nullopt;
}

mlir::LogicalResult tw::rejectDescriptor(Emitter &emitter, const PyValue &descriptor,
                                         const Node &site) {
  bool isBlockPointer = (*descriptor.as<Descriptor>())->type.isBlockPointer;
  Reason error = operandError(
      Code::DescriptorUse,
      "this is a " + typeName(descriptor) + ", not a number, tile or plain pointer",
      isBlockPointer ? "move it with tw.advance(pointer, offsets), access it with tw.load and "
                       "tw.store"
                     : "access it with desc.load(offsets) and desc.store(offsets, value)");
  return emitter.error(error, site, {});
}
