// Folders and canonicalizations of the `tile` operations: they keep Tile IR small for every pass.
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tw::tile;

//===-- Constants ----------------------------------------------------------------------------===//

/// The constant splat `attribute` under another shape; null when it is not a splat.
static OpFoldResult reshapeSplat(Attribute attribute, Type type) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(attribute))
    return splat.resizeSplat(cast<ShapedType>(type));
  return {};
}

/// Returns true if every element of the constant mask is `expected`; false if it is not constant.
static bool isConstantMask(Attribute mask, bool expected) {
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(mask))
    mask = splat.getSplatValue<Attribute>();
  auto integer = dyn_cast_or_null<IntegerAttr>(mask);
  return integer && integer.getValue().isZero() != expected;
}

static bool isConstantMask(Value mask, bool expected) {
  Attribute attribute;
  return mask && matchPattern(mask, m_Constant(&attribute)) && isConstantMask(attribute, expected);
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  Attribute source = adaptor.getSource();
  if (isa_and_nonnull<IntegerAttr, FloatAttr>(source))
    return SplatElementsAttr::get(cast<ShapedType>(getType()), ArrayRef<Attribute>{source});
  return {};
}

//===-- Shapes -------------------------------------------------------------------------------===//

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return reshapeSplat(adaptor.getSource(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<BroadcastOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return reshapeSplat(adaptor.getSource(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  auto inner = getSource().getDefiningOp<ReshapeOp>();
  // A reorder of the source is not undone by a second reshape to the first shape.
  if (inner && !inner.getAllowReorder()) {
    if (inner.getSource().getType() == getType())
      return inner.getSource();
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  if (getSource().getType() == getType())
    return getSource();
  return reshapeSplat(adaptor.getSource(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  if (llvm::is_sorted(getOrder()))
    return getSource();
  if (auto inner = getSource().getDefiningOp<TransOp>()) {
    SmallVector<int32_t> order;
    for (int32_t dim : getOrder())
      order.push_back(inner.getOrder()[dim]);
    getSourceMutable().assign(inner.getSource());
    setOrder(order);
    return getResult();
  }
  return reshapeSplat(adaptor.getSource(), getType());
}

LogicalResult SplitOp::fold(FoldAdaptor, SmallVectorImpl<OpFoldResult> &results) {
  auto join = getSource().getDefiningOp<JoinOp>();
  if (!join || join.getLhs().getType() != getLhs().getType())
    return failure();
  results.assign({join.getLhs(), join.getRhs()});
  return success();
}

/// Replaces an op that only changes the shape of a splat by a splat of the new shape.
static LogicalResult replaceBySplat(Operation *op, PatternRewriter &rewriter) {
  auto splat = op->getOperand(0).getDefiningOp<SplatOp>();
  if (!splat)
    return rewriter.notifyMatchFailure(op, "source is not a splat");
  rewriter.replaceOpWithNewOp<SplatOp>(op, op->getResult(0).getType(), splat.getSource());
  return success();
}

LogicalResult ExpandDimsOp::canonicalize(ExpandDimsOp op, PatternRewriter &rewriter) {
  return replaceBySplat(op, rewriter);
}

LogicalResult BroadcastOp::canonicalize(BroadcastOp op, PatternRewriter &rewriter) {
  return replaceBySplat(op, rewriter);
}

LogicalResult ReshapeOp::canonicalize(ReshapeOp op, PatternRewriter &rewriter) {
  return replaceBySplat(op, rewriter);
}

LogicalResult TransOp::canonicalize(TransOp op, PatternRewriter &rewriter) {
  return replaceBySplat(op, rewriter);
}

//===-- Pointers -----------------------------------------------------------------------------===//

OpFoldResult AddPtrOp::fold(FoldAdaptor adaptor) {
  Attribute offset = adaptor.getOffset();
  if (auto splat = dyn_cast_or_null<SplatElementsAttr>(offset))
    offset = splat.getSplatValue<Attribute>();
  auto integer = dyn_cast_or_null<IntegerAttr>(offset);
  return integer && integer.getValue().isZero() ? OpFoldResult(getPtr()) : OpFoldResult();
}

OpFoldResult PtrCastOp::fold(FoldAdaptor) {
  if (getSource().getType() == getType())
    return getSource();
  if (auto inner = getSource().getDefiningOp<PtrCastOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

OpFoldResult PtrToIntOp::fold(FoldAdaptor) {
  if (auto inner = getSource().getDefiningOp<IntToPtrOp>())
    return inner.getSource();
  if (auto inner = getSource().getDefiningOp<PtrCastOp>()) {
    getSourceMutable().assign(inner.getSource());
    return getResult();
  }
  return {};
}

OpFoldResult IntToPtrOp::fold(FoldAdaptor) {
  auto inner = getSource().getDefiningOp<PtrToIntOp>();
  return inner && inner.getSource().getType() == getType() ? OpFoldResult(inner.getSource())
                                                           : OpFoldResult();
}

//===-- Masks --------------------------------------------------------------------------------===//

OpFoldResult LoadOp::fold(FoldAdaptor adaptor) {
  if (!isConstantMask(adaptor.getMask(), false) || getIsVolatile())
    return {};
  if (getOther())
    return getOther();
  return Builder(getContext()).getZeroAttr(getType());
}

LogicalResult LoadOp::canonicalize(LoadOp op, PatternRewriter &rewriter) {
  if (!isConstantMask(op.getMask(), true))
    return rewriter.notifyMatchFailure(op, "mask is not known to be full");
  rewriter.modifyOpInPlace(op, [&] {
    op.getMaskMutable().clear();
    op.getOtherMutable().clear();
  });
  return success();
}

LogicalResult StoreOp::canonicalize(StoreOp op, PatternRewriter &rewriter) {
  if (isConstantMask(op.getMask(), false)) {
    rewriter.eraseOp(op);
    return success();
  }
  if (!isConstantMask(op.getMask(), true))
    return rewriter.notifyMatchFailure(op, "mask is not constant");
  rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
  return success();
}

LogicalResult AssertOp::canonicalize(AssertOp op, PatternRewriter &rewriter) {
  if (isConstantMask(op.getCondition(), true) || isConstantMask(op.getMask(), false)) {
    rewriter.eraseOp(op);
    return success();
  }
  if (!isConstantMask(op.getMask(), true))
    return rewriter.notifyMatchFailure(op, "neither condition nor mask is known");
  rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
  return success();
}

LogicalResult AtomicRmwOp::canonicalize(AtomicRmwOp op, PatternRewriter &rewriter) {
  if (!isConstantMask(op.getMask(), true))
    return rewriter.notifyMatchFailure(op, "mask is not known to be full");
  rewriter.modifyOpInPlace(op, [&] { op.getMaskMutable().clear(); });
  return success();
}
