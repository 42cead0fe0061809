// Reads the boxes of operations on strided arrays, and verifies these operations.
#include "ir/tile/Box.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw::tile;

template <typename Op> static Box boxWith(Op op, Type type) {
  return {op.getBase(),    op.getShape(),   op.getStrides(),
          op.getOffsets(), op.getChecked(), cast<RankedTensorType>(type)};
}

std::optional<Box> tw::tile::boxOf(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Box>>(op)
      .Case([](DescriptorLoadOp load) { return boxWith(load, load.getType()); })
      .Case<DescriptorStoreOp, DescriptorAtomicOp>(
          [](auto write) { return boxWith(write, write.getValue().getType()); })
      .Default(std::nullopt);
}

LogicalResult tw::tile::verifyBox(Operation *op, const Box &box) {
  int64_t rank = box.type.getRank();
  if (box.type.getEncoding())
    return op->emitOpError("is expanded before tiles get layouts");
  if (rank == 0)
    return op->emitOpError("a box has at least one dimension");
  if (int64_t(box.shape.size()) != rank || int64_t(box.strides.size()) != rank ||
      int64_t(box.offsets.size()) != rank)
    return op->emitOpError("has one extent, stride and offset per dimension of the tile");
  if (box.type.getElementType() != cast<PtrType>(box.base.getType()).getPointee())
    return op->emitOpError("elements of the tile must have the pointee's type");
  for (int64_t dim = 0; dim < rank; ++dim)
    if (auto list = dyn_cast<RankedTensorType>(box.offsets[dim].getType());
        list && (list.getRank() != 1 || list.getDimSize(0) != box.type.getDimSize(dim)))
      return op->emitOpError("a list of indices is 1-D and has one index per element of dimension ")
             << dim;
  int64_t previous = -1;
  for (int32_t dim : box.checked) {
    if (dim <= previous || dim >= rank)
      return op->emitOpError("checked dimensions are ascending and below the rank");
    previous = dim;
  }
  return success();
}

/// A volatile access stays where it is, as one of tile.load does.
void DescriptorLoadOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
  if (getIsVolatile() || getCache() == CacheModifier::CV) // which fetches again
    effects.emplace_back(MemoryEffects::Write::get());
}

LogicalResult DescriptorLoadOp::verify() {
  if (getNanOutside() && !isa<FloatType>(getType().getElementType()))
    return emitOpError("only floats have a NaN");
  return success();
}

LogicalResult DescriptorAtomicOp::verify() {
  Type element = elementTypeOf(getValue().getType());
  if (!fitsAtomic(getKind(), element))
    return emitOpError("no ") << stringifyAtomicKind(getKind()) << " of " << element;
  return success();
}
