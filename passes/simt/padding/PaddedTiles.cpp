// Index arithmetic of padded tiles: which elements are real, and where they are under another
// shape.
#include "passes/simt/padding/PaddedTiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

SmallVector<int64_t> tw::simt::paddedShape(ArrayRef<int64_t> extents) {
  SmallVector<int64_t> shape;
  for (int64_t extent : extents)
    shape.push_back(int64_t(llvm::PowerOf2Ceil(uint64_t(extent))));
  return shape;
}

bool tw::simt::needsPadding(ArrayRef<int64_t> extents) {
  return !llvm::all_of(extents, [](int64_t extent) { return llvm::isPowerOf2_64(extent); });
}

//===-- Which elements are real --------------------------------------------------------------===//

Value tw::simt::uniformTile(OpBuilder &builder, Location loc, TypedAttr value,
                            ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, value.getType());
  return arith::ConstantOp::create(builder, loc,
                                   SplatElementsAttr::get(type, ArrayRef<Attribute>{value}));
}

/// A 1-D tile under a shape of which it is dimension `axis`.
static Value alongAxis(OpBuilder &builder, Location loc, Value line, ArrayRef<int64_t> shape,
                       size_t axis) {
  Type element = elementTypeOf(line.getType());
  SmallVector<int64_t> padded(shapeOf(line.getType()));
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    if (dim == axis)
      continue;
    padded.insert(padded.begin() + dim, 1);
    line = ExpandDimsOp::create(builder, loc, RankedTensorType::get(padded, element), line,
                                int32_t(dim));
  }
  return builder.createOrFold<BroadcastOp>(loc, RankedTensorType::get(shape, element), line);
}

static Value upTo(OpBuilder &builder, Location loc, int64_t extent) {
  return ArangeOp::create(builder, loc, RankedTensorType::get({extent}, builder.getI32Type()), 0,
                          int32_t(extent));
}

Value tw::simt::realElements(OpBuilder &builder, Location loc, ArrayRef<int64_t> extents,
                             std::optional<unsigned> axis) {
  SmallVector<int64_t> shape = paddedShape(extents);
  Value real;
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    if (shape[dim] == extents[dim] || (axis && *axis != dim))
      continue;
    Value limit =
        uniformTile(builder, loc, builder.getI32IntegerAttr(int32_t(extents[dim])), {shape[dim]});
    Value line = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                       upTo(builder, loc, shape[dim]), limit);
    real = both(builder, loc, real, alongAxis(builder, loc, line, shape, dim));
  }
  return real;
}

Value tw::simt::both(OpBuilder &builder, Location loc, Value mask, Value real) {
  if (!mask || !real)
    return mask ? mask : real;
  return arith::AndIOp::create(builder, loc, mask, real);
}

Value tw::simt::fillPadding(OpBuilder &builder, Value tile, Value real, TypedAttr fill) {
  if (!real)
    return tile;
  Value other = uniformTile(builder, tile.getLoc(), fill, shapeOf(tile.getType()));
  return arith::SelectOp::create(builder, tile.getLoc(), real, tile, other);
}

//===-- Other shapes -------------------------------------------------------------------------===//

/// Returns true if one padded dimension holds all of these extents in row-major order.
static bool mergesPadded(ArrayRef<int64_t> extents) {
  ArrayRef<int64_t> rest = extents.drop_while([](int64_t extent) { return extent == 1; });
  return rest.empty() || !needsPadding(rest.drop_front());
}

bool tw::simt::reshapesPadded(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    size_t firstFrom = i, firstTo = j;
    int64_t left = from[i++], right = to[j++];
    while (left != right) {
      if (left < right)
        left *= from[i++];
      else
        right *= to[j++];
    }
    if (!mergesPadded(from.slice(firstFrom, i - firstFrom)) ||
        !mergesPadded(to.slice(firstTo, j - firstTo)))
      return false;
  }
  return true; // What is left over has extent 1.
}

/// The same padded elements in as few dimensions as possible.
static SmallVector<int64_t> mergedExtents(ArrayRef<int64_t> extents) {
  SmallVector<int64_t> merged;
  for (int64_t extent : extents)
    if (!merged.empty() && (llvm::isPowerOf2_64(extent) || merged.back() == 1))
      merged.back() *= extent;
    else
      merged.push_back(extent);
  return merged;
}

namespace {
/// Arithmetic on 1-D tiles of indices from 0.
struct IndexTiles {
  OpBuilder &builder;
  Location loc;
  int64_t count;

  Value constant(int64_t number) {
    return uniformTile(builder, loc, builder.getI32IntegerAttr(int32_t(number)), {count});
  }
  template <typename Op> Value with(Value index, int64_t number) {
    return builder.createOrFold<Op>(loc, index, constant(number));
  }
  Value sum(Value a, Value b) { return a ? arith::AddIOp::create(builder, loc, a, b) : b; }
};
} // namespace

Value tw::simt::realIndices(OpBuilder &builder, Location loc, ArrayRef<int64_t> extents) {
  SmallVector<int64_t> dims = mergedExtents(extents), padded = paddedShape(dims);
  int64_t count = llvm::product_of(padded), stride = 1;
  IndexTiles tiles{builder, loc, count};
  Value element = upTo(builder, loc, count), linear;
  unsigned firstBit = 0;
  for (size_t dim = dims.size(); dim-- > 0;) {
    Value index = tiles.with<arith::ShRUIOp>(element, firstBit);
    if (dim != 0)
      index = tiles.with<arith::AndIOp>(index, padded[dim] - 1);
    linear = tiles.sum(linear, tiles.with<arith::MulIOp>(index, stride));
    firstBit += llvm::Log2_64(uint64_t(padded[dim]));
    stride *= dims[dim];
  }
  return linear;
}

/// Where the padded tile has the real elements with these row-major indices.
static Value placesOf(OpBuilder &builder, Location loc, Value linear, ArrayRef<int64_t> extents) {
  SmallVector<int64_t> dims = mergedExtents(extents), padded = paddedShape(dims);
  IndexTiles tiles{builder, loc, shapeOf(linear.getType()).front()};
  Value place;
  unsigned firstBit = 0;
  for (size_t dim = dims.size(); dim-- > 0;) {
    Value index = dim == 0 ? linear : tiles.with<arith::RemUIOp>(linear, dims[dim]);
    place = tiles.sum(place, tiles.with<arith::ShLIOp>(index, firstBit));
    linear = tiles.with<arith::DivUIOp>(linear, dims[dim]);
    firstBit += llvm::Log2_64(uint64_t(padded[dim]));
  }
  return place;
}

Value tw::simt::moveElements(OpBuilder &builder, Location loc, Value tile, ArrayRef<int64_t> from,
                             ArrayRef<int64_t> to) {
  Type element = elementTypeOf(tile.getType());
  auto reshape = [&](Value value, ArrayRef<int64_t> shape) -> Value {
    return builder.createOrFold<ReshapeOp>(loc, RankedTensorType::get(shape, element), value,
                                           /*allow_reorder=*/false);
  };
  int64_t numSource = llvm::product_of(paddedShape(from));
  int64_t numResult = llvm::product_of(paddedShape(to));
  IndexTiles tiles{builder, loc, numResult};
  // For the padding, the last element: a gather's indices are inside of its source.
  Value linear =
      tiles.with<arith::MinUIOp>(realIndices(builder, loc, to), llvm::product_of(from) - 1);
  Value places = tiles.with<arith::MinUIOp>(placesOf(builder, loc, linear, from), numSource - 1);
  Value moved = GatherOp::create(builder, loc, RankedTensorType::get({numResult}, element),
                                 reshape(tile, {numSource}), places, /*axis=*/0);
  return reshape(moved, paddedShape(to));
}
