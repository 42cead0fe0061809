// Making tiles and changing their shapes.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/Sequence.h"

using namespace tw;
namespace arith = mlir::arith;
using Shape = llvm::SmallVector<int64_t>;

static mlir::RankedTensorType tileType(llvm::ArrayRef<int64_t> shape, const TypedValue &like) {
  return mlir::RankedTensorType::get(shape, tile::elementTypeOf(like.value.getType()));
}

static Reason needsTile(llvm::StringRef name, const TypedValue &operand, int index = 0) {
  return operandError(Code::NeedsTile, name.str() + " needs a tile, not a scalar",
                      "make a tile with tw.full(shape, value, dtype)", operand, index);
}

//===-- Making tiles -------------------------------------------------------------------------===//

TileOr TileBuilder::arange(int64_t start, int64_t end) {
  bool areInt32 = llvm::isInt<32>(start) && llvm::isInt<32>(end);
  if (!areInt32 || end <= start)
    return operandError(Code::ArangeBounds,
                        "arange(" + std::to_string(start) + ", " + std::to_string(end) + ") " +
                            (areInt32 ? "is empty" : "leaves int32"),
                        areInt32 ? "end must be above start" : "bounds must fit int32");
  if (std::optional<Reason> error = checkTileShape({end - start}))
    return *error;
  auto type = mlir::RankedTensorType::get({end - start}, builder.getI32Type());
  return typed(create<tile::ArangeOp>(type, int32_t(start), int32_t(end)), findDType("int32"));
}

TileOr TileBuilder::full(llvm::ArrayRef<int64_t> shape, TypedValue scalar, DType dtype) {
  if (scalar.isTile())
    return operandError(Code::NeedsScalar, "full fills a tile with one scalar, not a tile",
                        "use broadcast_to to repeat a tile", scalar, 1);
  if (std::optional<Reason> error = checkTileShape(shape))
    return *error;
  if (scalar.dtype.isPointer && !dtype.isPointer) {
    Reason error = pointerAsNumber("full fills a tile with a number, not a pointer", {});
    error.labels.push_back({1, "this is " + scalar.str()});
    return error;
  }
  TileOr element = cast(scalar, dtype);
  if (!element) {
    for (auto &label : element.reason().labels)
      label.first = 1; // the shape is operand 0
    return element;
  }
  return splatTo(*element, shape);
}

//===-- Broadcasting -------------------------------------------------------------------------===//

TileOr TileBuilder::expandDims(TypedValue operand, int64_t axis) {
  Shape shape(operand.shape());
  OrReason<int64_t> position = normalizeAxis(axis, shape.size() + 1, operand);
  if (!position)
    return position.reason();
  shape.insert(shape.begin() + *position, 1);
  if (!operand.isTile())
    return splatTo(operand, shape);
  return typed(
      create<tile::ExpandDimsOp>(tileType(shape, operand), operand.value, int32_t(*position)),
      operand.dtype);
}

TileOr TileBuilder::broadcastTo(TypedValue operand, llvm::ArrayRef<int64_t> shape) {
  if (std::optional<Reason> error = checkTileShape(shape))
    return *error;
  BroadcastResult result = broadcastShapes(operand.shape(), shape);
  if (!result.shape || *result.shape != Shape(shape))
    return operandError(Code::ShapeMismatch,
                        operand.str() + " cannot be broadcast to " + shapeText(shape),
                        "only extents of 1 grow, and new dimensions are added in front", operand);
  return expandTo(operand, shape);
}

//===-- Other shapes -------------------------------------------------------------------------===//

/// The only element of a tile. A reduction over one element is that element.
TypedValue TileBuilder::scalarOf(TypedValue tileOfOne) {
  TypedValue row = *reshape(tileOfOne, {1}, /*allowReorder=*/false);
  auto reduce = tile::ReduceOp::create(
      builder, loc, mlir::TypeRange{tile::elementTypeOf(row.value.getType())}, row.value, 0);
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Type element = tile::elementTypeOf(row.value.getType());
  mlir::Block *body = builder.createBlock(&reduce.getCombine(), {}, {element, element}, {loc, loc});
  tile::YieldOp::create(builder, loc, body->getArgument(0));
  return typed(reduce.getResult(0), tileOfOne.dtype);
}

TileOr TileBuilder::reshape(TypedValue operand, llvm::ArrayRef<int64_t> shape, bool allowReorder) {
  if (std::optional<Reason> error = checkTileShape(shape))
    return *error;
  int64_t from = tile::numElementsOf(operand.value.getType());
  int64_t to = mlir::ShapedType::getNumElements(shape);
  if (from != to)
    return operandError(Code::InvalidShape,
                        "cannot reshape " + operand.str() + " to " + shapeText(shape) + ": " +
                            std::to_string(from) + " elements are not " + std::to_string(to),
                        "a reshape keeps the number of elements; broadcast_to repeats elements",
                        operand);
  if (!operand.isTile())
    return splatTo(operand, shape);
  if (shape.empty())
    return scalarOf(operand);
  if (operand.shape() == shape)
    return operand;
  return typed(create<tile::ReshapeOp>(tileType(shape, operand), operand.value, allowReorder),
               operand.dtype);
}

TileOr TileBuilder::permute(TypedValue operand, llvm::ArrayRef<int64_t> order) {
  llvm::ArrayRef<int64_t> shape = operand.shape();
  llvm::SmallVector<int32_t> dims;
  Shape result;
  for (int64_t axis : order) {
    OrReason<int64_t> dim = normalizeAxis(axis, shape.size(), operand);
    if (!dim)
      return dim.reason();
    dims.push_back(*dim);
    result.push_back(shape[*dim]);
  }
  llvm::SmallVector<int32_t> sorted(dims);
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int32_t>(0, shape.size())))
    return operandError(Code::InvalidShape,
                        shapeText(order) + " is not an order of the dimensions of " + operand.str(),
                        "name each of the " + std::to_string(shape.size()) + " dimensions once",
                        operand);
  if (!operand.isTile() || llvm::is_sorted(dims))
    return operand;
  return typed(create<tile::TransOp>(tileType(result, operand), operand.value, dims),
               operand.dtype);
}

TileOr TileBuilder::join(TypedValue lhs, TypedValue rhs) {
  TilePairOr operands = unify(lhs, rhs);
  if (!operands)
    return operands.reason();
  std::tie(lhs, rhs) = *operands;
  Shape shape(lhs.shape());
  shape.push_back(2);
  if (std::optional<Reason> error = checkTileShape(shape))
    return *error;
  if (lhs.isTile())
    return typed(create<tile::JoinOp>(tileType(shape, lhs), lhs.value, rhs.value), lhs.dtype);
  lhs = splatTo(lhs, {1}), rhs = splatTo(rhs, {1});
  mlir::Value row = create<tile::JoinOp>(tileType({1, 2}, lhs), lhs.value, rhs.value);
  return reshape(typed(row, lhs.dtype), {2}, false);
}

TilesOr TileBuilder::split(TypedValue operand) {
  if (!operand.isTile())
    return needsTile("split", operand);
  if (operand.shape().back() != 2)
    return operandError(Code::InvalidShape,
                        "split needs a last dimension of extent 2, this is " + operand.str(),
                        "reshape or permute the tile first", operand);
  bool isRow = operand.shape().size() == 1;
  if (isRow)
    operand = *expandDims(operand, 0);
  mlir::Type half = tileType(operand.shape().drop_back(), operand);
  auto op = tile::SplitOp::create(builder, loc, half, half, operand.value);
  TypedValue lhs = typed(op.getLhs(), operand.dtype), rhs = typed(op.getRhs(), operand.dtype);
  if (isRow)
    lhs = scalarOf(lhs), rhs = scalarOf(rhs);
  return std::vector<TypedValue>{lhs, rhs};
}

//===-- Concatenation and gather -------------------------------------------------------------===//

/// Tiles of one shape, one after the other along `dim`: joined, with the new dimension moved there.
TileOr TileBuilder::foldAlong(TypedValue lhs, TypedValue rhs, int64_t dim) {
  Shape shape(lhs.shape());
  shape[dim] *= 2;
  TileOr joined = join(lhs, rhs);
  if (!joined)
    return joined;
  Shape order = llvm::to_vector(llvm::seq<int64_t>(0, lhs.shape().size()));
  order.insert(order.begin() + dim, lhs.shape().size());
  return reshape(*permute(*joined, order), shape, false);
}

/// The elements of `source` at `positions` (a row) along `dim`, for a result of `shape`.
TypedValue TileBuilder::gatherAlong(TypedValue source, TypedValue positions, int64_t dim,
                                    llvm::ArrayRef<int64_t> shape) {
  Shape column(shape.size(), 1);
  column[dim] = shape[dim];
  TypedValue indices = expandTo(*reshape(positions, column, false), shape);
  return *gather(source, indices, dim);
}

TileOr TileBuilder::cat(TypedValue lhs, TypedValue rhs, bool canReorder, int64_t dim) {
  if (!lhs.isTile() || !rhs.isTile())
    return needsTile("cat", lhs.isTile() ? rhs : lhs, lhs.isTile() ? 1 : 0);
  OrReason<int64_t> axis = normalizeAxis(dim, lhs.shape().size(), lhs);
  if (!axis)
    return axis.reason();
  int64_t lower = lhs.shape()[*axis], rank = lhs.shape().size();
  bool fits = rank == int64_t(rhs.shape().size());
  for (int64_t other = 0; fits && other < rank; ++other)
    fits = other == *axis || lhs.shape()[other] == rhs.shape()[other];
  if (!fits)
    return operandError(Code::ShapeMismatch,
                        "cat needs equal extents except along dimension " + std::to_string(*axis),
                        "broadcast or reshape one of the tiles first", {lhs, rhs});
  if (lhs.shape() == rhs.shape())
    return foldAlong(lhs, rhs, *axis);
  Shape shape(lhs.shape());
  shape[*axis] += rhs.shape()[*axis];
  if (std::optional<Reason> error = checkTileShape(shape))
    return *error;
  // Unequal extents: each result element takes from the side that its position falls into.
  TypedValue position = *arange(0, shape[*axis]);
  TypedValue start = scalarConstant(findDType("int32"), lower);
  TypedValue last = scalarConstant(findDType("int32"), lower - 1);
  TypedValue zero = scalarConstant(findDType("int32"), 0);
  TileOr fromRight = binary(BinaryOperator::Sub, position, start);
  TypedValue left = gatherAlong(lhs, *minimum(position, last, false), *axis, shape);
  TypedValue right = gatherAlong(rhs, *maximum(*fromRight, zero, false), *axis, shape);
  Shape column(shape.size(), 1);
  column[*axis] = shape[*axis];
  TileOr isLeft = compare(Comparison::Lt, position, start);
  return where(*reshape(*isLeft, column, false), left, right);
}

TileOr TileBuilder::slice(TypedValue source, int64_t axis, int64_t start, int64_t step,
                          int64_t count) {
  DType int32 = findDType("int32");
  TypedValue positions = *arange(0, count);
  if (step != 1)
    positions = *binary(BinaryOperator::Mul, positions, scalarConstant(int32, double(step)));
  if (start != 0)
    positions = *binary(BinaryOperator::Add, positions, scalarConstant(int32, double(start)));
  Shape shape(source.shape());
  shape[axis] = count;
  return gatherAlong(source, positions, axis, shape);
}

TileOr TileBuilder::countValues(TypedValue source, int64_t count) {
  if (!source.isTile() || source.shape().size() != 1 || !source.dtype.isInt() ||
      !source.dtype.isSigned() || source.dtype.bits() < 32)
    return operandError(Code::OperandType,
                        "only signed integers of 32 or 64 bits in one dimension are counted",
                        "cast with .to(tw.int32) and use tw.ravel", {source});
  if (std::optional<Reason> error = checkTileShape({count}))
    return *error;
  auto type = mlir::RankedTensorType::get({count}, builder.getI32Type());
  return typed(create<tile::HistogramOp>(type, source.value), findDType("int32"));
}

TileOr TileBuilder::gather(TypedValue source, TypedValue indices, int64_t axis) {
  if (!source.isTile())
    return needsTile("gather", source);
  if (!indices.isTile() || !indices.dtype.isInt() || indices.dtype.isBool())
    return operandError(Code::OperandType, "gather needs a tile of integer indices",
                        "cast the indices with .to(tw.int32)", {source, indices});
  // Indices are signed; a narrow unsigned one may need one bit more.
  if (!indices.dtype.isSigned() && indices.dtype.bits() < 64)
    indices = convert(indices, findDType(indices.dtype.bits() < 32 ? "int32" : "int64"));
  OrReason<int64_t> dim = normalizeAxis(axis, source.shape().size(), source);
  if (!dim)
    return dim.reason();
  bool fits = source.shape().size() == indices.shape().size();
  for (size_t other = 0; fits && other < source.shape().size(); ++other)
    fits = int64_t(other) == *dim || source.shape()[other] == indices.shape()[other];
  if (!fits)
    return operandError(Code::ShapeMismatch,
                        "source and indices need equal extents except along dimension " +
                            std::to_string(*dim),
                        "broadcast the indices to the source's shape first", {source, indices});
  return typed(create<tile::GatherOp>(tileType(indices.shape(), source), source.value,
                                      indices.value, int32_t(*dim)),
               source.dtype);
}
