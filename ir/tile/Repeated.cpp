#include "ir/tile/Repeated.h"
#include "ir/tile/Tile.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace tw::tile;

static SplatElementsAttr splatConstant(Value tile) {
  auto constant = tile.getDefiningOp<arith::ConstantOp>();
  return constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
}

Value tw::tile::uniformScalar(OpBuilder &builder, Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>())
    return splat.getSource();
  if (isa_and_nonnull<BroadcastOp, ExpandDimsOp>(tile.getDefiningOp()))
    return uniformScalar(builder, tile.getDefiningOp()->getOperand(0));
  SplatElementsAttr splat = splatConstant(tile);
  if (!splat)
    return {};
  return arith::ConstantOp::create(builder, tile.getLoc(),
                                   cast<TypedAttr>(splat.getSplatValue<Attribute>()));
}

bool tw::tile::isUniform(Value tile) {
  return tile.getDefiningOp<SplatOp>() || splatConstant(tile);
}

Value tw::tile::reshapeUniform(OpBuilder &builder, Value uniform, ArrayRef<int64_t> shape) {
  Type type = RankedTensorType::get(shape, elementTypeOf(uniform.getType()));
  if (SplatElementsAttr constant = splatConstant(uniform))
    return arith::ConstantOp::create(builder, uniform.getLoc(),
                                     constant.resizeSplat(cast<ShapedType>(type)));
  return SplatOp::create(builder, uniform.getLoc(), type, uniformScalar(builder, uniform));
}

Enlarged tw::tile::enlargedFrom(Enlarged tile) {
  auto &[source, dims] = tile;
  while (isa_and_nonnull<BroadcastOp, ExpandDimsOp>(source.getDefiningOp())) {
    auto expand = source.getDefiningOp<ExpandDimsOp>();
    int64_t axis = expand ? int64_t(expand.getAxis()) : -1;
    source = source.getDefiningOp()->getOperand(0);
    if (expand)
      for (int64_t &dim : dims)
        dim = dim == axis ? -1 : dim - (dim > axis);
  }
  return tile;
}

Enlarged tw::tile::enlargedFrom(Value tile) {
  int64_t rank = shapeOf(tile.getType()).size();
  return enlargedFrom(Enlarged{tile, llvm::to_vector(llvm::seq<int64_t>(rank))});
}
