#include "ir/tile/Uniform.h"
#include "ir/tile/Tile.h"

using namespace mlir;
using namespace tw::tile;

Value tw::tile::uniformScalar(OpBuilder &builder, Value tile) {
  if (auto splat = tile.getDefiningOp<SplatOp>())
    return splat.getSource();
  if (isa_and_nonnull<BroadcastOp, ExpandDimsOp>(tile.getDefiningOp()))
    return uniformScalar(builder, tile.getDefiningOp()->getOperand(0));
  auto constant = tile.getDefiningOp<arith::ConstantOp>();
  auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue()) : nullptr;
  if (!splat)
    return {};
  return arith::ConstantOp::create(builder, tile.getLoc(),
                                   cast<TypedAttr>(splat.getSplatValue<Attribute>()));
}
