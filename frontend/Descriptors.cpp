// What block pointers and tensor descriptors say of themselves: attributes, types and misuse.
#include "frontend/Descriptors.h"
#include "frontend/Operands.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace tw;

Value tw::makeDescriptor(DescriptorType type, std::vector<Value> parts) {
  return {std::make_shared<const DescriptorContents>(
      DescriptorContents{std::move(type), std::move(parts)})};
}

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
      OperandCode::DescriptorUse,
      "this is a " + typeName(descriptor) + ", not a number, tile or plain pointer",
      isBlockPointer ? "move it with tw.advance(pointer, offsets), access it with tw.load and "
                       "tw.store"
                     : "access it with desc.load(offsets) and desc.store(offsets, value)");
  return emitter.error(error, site, {});
}
