// What block pointers and tensor descriptors say of themselves: attributes, types and misuse.
#include "frontend/emit/Descriptors.h"
#include "frontend/tiles/Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tw;

Value tw::makeDescriptor(DescriptorType type, std::vector<Value> parts) {
  return {std::make_shared<const DescriptorContents>(
      DescriptorContents{std::move(type), std::move(parts)})};
}

//===-- Arguments ----------------------------------------------------------------------------===//

/// The fields of the tuple that a host's TensorDescriptor is passed as (tensor_descriptor.py).
static constexpr llvm::StringLiteral kFields[] = {
    "base", "shape", "strides", "block_shape", "nan_outside", "tensor descriptor"};

static bool isDescribed(const TupleContents &tuple) {
  return llvm::equal(tuple.fields, kFields,
                     [](const std::string &a, llvm::StringRef b) { return a == b; });
}

/// Integers as parts of a descriptor; false where one is something else.
static bool addParts(Emitter &emitter, const Value &integers, size_t rank,
                     std::vector<Value> &parts) {
  const Tuple *tuple = integers.as<Tuple>();
  if (!tuple || (*tuple)->items.size() != rank)
    return false;
  for (const Value &item : (*tuple)->items) {
    const TypedValue *typed = item.as<TypedValue>();
    if (!item.isInteger() && !(typed && typed->dtype.isInt()))
      return false;
    TypedValue wide;
    if (typed)
      wide = *emitter.tiles.cast(*typed, findDType("int64"), false, "");
    parts.push_back(typed ? Value{wide} : item);
  }
  return true;
}

static std::optional<Value> describedBy(Emitter &emitter, llvm::ArrayRef<Value> items) {
  const TypedValue *base = items[0].as<TypedValue>();
  const Tuple *block = items[3].as<Tuple>();
  if (!base || !base->dtype.isPointer || !block || !isStatic(items[4]))
    return std::nullopt;
  DescriptorType type;
  type.block.element = base->dtype.pointee();
  type.nanOutside = truthOf(items[4]);
  type.isConst = base->dtype.isConst;
  for (const Value &extent : (*block)->items)
    type.block.shape.push_back(toInt64(extent).value_or(0));
  size_t rank = type.block.shape.size();
  std::vector<Value> parts{items[0]};
  if (rank == 0 || !addParts(emitter, items[1], rank, parts) ||
      !addParts(emitter, items[2], rank, parts))
    return std::nullopt;
  return makeDescriptor(std::move(type), std::move(parts));
}

mlir::FailureOr<Value> tw::withDescriptors(Emitter &emitter, const Value &argument) {
  const Tuple *tuple = argument.as<Tuple>();
  if (!tuple)
    return argument;
  const Node &kernel = *emitter.program.entry->ast;
  if (isDescribed(**tuple)) {
    std::optional<Value> descriptor = describedBy(emitter, (*tuple)->items);
    if (!descriptor)
      return emitter.error(operandError(Code::DescriptorParts,
                                        "a TensorDescriptor describes an array by integers",
                                        "its base is an array, its shape and strides integers"),
                           kernel, {});
    if (std::optional<OperandError> error =
            checkTileShape((*descriptor->as<Descriptor>())->type.block.shape))
      return emitter.error(*error, kernel, {});
    return *descriptor;
  }
  std::vector<Value> items;
  for (const Value &item : (*tuple)->items) {
    mlir::FailureOr<Value> value = withDescriptors(emitter, item);
    if (llvm::failed(value))
      return llvm::failure();
    items.push_back(std::move(*value));
  }
  return makeTuple(std::move(items), (*tuple)->fields);
}

//===-- Attributes ---------------------------------------------------------------------------===//

/// A part as the user gave it: an int32 is widened where a descriptor is made.
static Value asGiven(const Value &part) {
  const TypedValue *wide = part.as<TypedValue>();
  auto widened = wide ? wide->value.getDefiningOp<mlir::arith::ExtSIOp>() : nullptr;
  if (!widened || !widened.getIn().getType().isInteger(32))
    return part;
  return {TypedValue{widened.getIn(), findDType("int32")}};
}

static Value tupleOf(llvm::ArrayRef<Value> parts) {
  std::vector<Value> items;
  for (const Value &part : parts)
    items.push_back(asGiven(part));
  return makeTuple(std::move(items));
}

static Value tupleOf(llvm::ArrayRef<int64_t> extents) {
  std::vector<Value> items;
  for (int64_t extent : extents)
    items.push_back(makeInt(extent));
  return makeTuple(std::move(items));
}

std::optional<Value> tw::descriptorAttribute(const Descriptor &descriptor, llvm::StringRef name) {
  const DescriptorType &type = descriptor->type;
  if (name == "type")
    return Value{type};
  if (type.isBlockPointer)
    return name == "dtype" ? std::optional(Value{type}) : std::nullopt;
  if (name == "shape")
    return tupleOf(descriptor->shape());
  if (name == "strides")
    return tupleOf(descriptor->strides());
  if (name == "dtype")
    return Value{type.block.element};
  return descriptorTypeAttribute(type, name);
}

std::optional<Value> tw::descriptorTypeAttribute(const DescriptorType &type, llvm::StringRef name) {
  if (type.isBlockPointer && name == "element_ty")
    return Value{type.block};
  if (type.isBlockPointer && name == "scalar")
    return Value{type};
  if (type.isBlockPointer && name == "primitive_bitwidth")
    return makeInt(64); // as of every pointer
  if (!type.isBlockPointer && name == "block_type")
    return Value{type.block};
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

mlir::LogicalResult tw::rejectDescriptor(Emitter &emitter, const Value &descriptor,
                                         const Node &site) {
  bool isBlockPointer = (*descriptor.as<Descriptor>())->type.isBlockPointer;
  OperandError error = operandError(
      Code::DescriptorUse,
      "this is a " + typeName(descriptor) + ", not a number, tile or plain pointer",
      isBlockPointer ? "move it with tw.advance(pointer, offsets), access it with tw.load and "
                       "tw.store"
                     : "access it with desc.load(offsets) and desc.store(offsets, value)");
  return emitter.error(error, site, {});
}
