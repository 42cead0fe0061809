// Loads, stores and atomics on boxes of strided arrays.
#include "frontend/tiles/BoxBuilder.h"
#include "frontend/tiles/Operands.h"
#include "frontend/values/TypeRules.h"
#include "runtime/codes/Codes.h"

using namespace tw;

static llvm::SmallVector<mlir::Value> irValues(const std::vector<TypedValue> &values) {
  return llvm::map_to_vector(values, [](const TypedValue &value) { return value.value; });
}

TileOr BoxBuilder::load(const BoxOperands &box, bool nanOutside, const LoadOptions &options) {
  OrReason<CacheHints> hints = cacheHintsOf(options, /*isStore=*/false);
  if (!hints)
    return hints.reason();
  DType element = box.base.dtype.pointee();
  DType stored = element.isBool() ? findDType("uint8") : element; // a bool takes a byte in memory
  auto type = mlir::RankedTensorType::get(box.extents, stored.irType(builder.getContext()));
  mlir::Value loaded = create<tile::DescriptorLoadOp>(
      type, box.base.value, irValues(box.shape), irValues(box.strides), irValues(box.offsets),
      box.checked, nanOutside, hints->cache, hints->evict, options.isVolatile);
  return convert(typed(loaded, stored), element);
}

/// The value as a tile of the box's shape and of the type that its elements have in memory.
TileOr BoxBuilder::element(const BoxOperands &box, TypedValue value, int position) {
  DType element = box.base.dtype.pointee();
  if (value.dtype.isPointer)
    return operandError(Code::InvalidCast,
                        "a pointer cannot become an element of type " + element.str(),
                        "cast it with .to(tw.int64)", value, position);
  BroadcastResult common = broadcastShapes(box.extents, value.shape());
  if (!common.shape || llvm::ArrayRef<int64_t>(*common.shape) != llvm::ArrayRef(box.extents))
    return operandError(Code::ShapeMismatch,
                        "a value of shape " + shapeText(value.shape()) +
                            " does not fit a block of shape " + shapeText(box.extents),
                        "store a tile of the block's shape, or one that broadcasts to it", value,
                        position);
  value = convert(value, element);
  if (element.isBool())
    value = convert(value, findDType("uint8"));
  return expandTo(value, box.extents);
}

std::optional<Reason> BoxBuilder::store(const BoxOperands &box, TypedValue value, int position,
                                        const LoadOptions &options) {
  OrReason<CacheHints> hints = cacheHintsOf(options, /*isStore=*/true);
  if (!hints)
    return hints.reason();
  if (std::optional<Reason> error = checkWritable(box.base))
    return error;
  TileOr stored = element(box, value, position);
  if (!stored)
    return stored.reason();
  tile::DescriptorStoreOp::create(builder, loc, box.base.value, irValues(box.shape),
                                  irValues(box.strides), irValues(box.offsets), box.checked,
                                  stored->value, hints->cache, hints->evict);
  return std::nullopt;
}

std::optional<Reason> BoxBuilder::atomic(llvm::StringRef kind, const BoxOperands &box,
                                         TypedValue value, int position) {
  OrReason<tile::AtomicKind> operation = atomicKindOf(kind, box.base.dtype.pointee());
  if (!operation)
    return operation.reason();
  if (std::optional<Reason> error = checkAtomicType(atomicRuleOf(kind), box.base))
    return error;
  if (std::optional<Reason> error = checkWritable(box.base))
    return error;
  TileOr combined = element(box, value, position);
  if (!combined)
    return combined.reason();
  tile::DescriptorAtomicOp::create(builder, loc, box.base.value, irValues(box.shape),
                                   irValues(box.strides), irValues(box.offsets), box.checked,
                                   *operation, combined->value);
  return std::nullopt;
}
