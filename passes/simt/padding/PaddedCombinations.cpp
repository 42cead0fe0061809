// Reductions and scans of padded tiles: padding holds the neutral element of the combining
// function, or every element says whether it is real.
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/simt/padding/PaddedTiles.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;
using namespace tw::tile;

//===-- The neutral element ------------------------------------------------------------------===//

static TypedAttr neutralInteger(Operation *op, IntegerType type) {
  unsigned bits = type.getWidth();
  std::optional<APInt> number =
      llvm::TypeSwitch<Operation *, std::optional<APInt>>(op)
          .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>(
              [&](auto) { return APInt::getZero(bits); })
          .Case<arith::AndIOp, arith::MinUIOp>([&](auto) { return APInt::getAllOnes(bits); })
          .Case([&](arith::MulIOp) { return APInt(bits, 1); })
          .Case([&](arith::MaxSIOp) { return APInt::getSignedMinValue(bits); })
          .Case([&](arith::MinSIOp) { return APInt::getSignedMaxValue(bits); })
          .Default([](Operation *) { return std::nullopt; });
  return number ? IntegerAttr::get(type, *number) : TypedAttr();
}

static TypedAttr neutralFloat(Operation *op, FloatType type) {
  const llvm::fltSemantics &format = type.getFloatSemantics();
  // Of -0 and x the sum is x, even for -0. Of NaN and x the maximum of numbers is x.
  std::optional<APFloat> number =
      llvm::TypeSwitch<Operation *, std::optional<APFloat>>(op)
          .Case([&](arith::AddFOp) { return APFloat::getZero(format, /*Negative=*/true); })
          .Case([&](arith::MulFOp) { return APFloat::getOne(format); })
          .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](auto) { return APFloat::getNaN(format); })
          .Case([&](arith::MaximumFOp) { return APFloat::getInf(format, /*Negative=*/true); })
          .Case([&](arith::MinimumFOp) { return APFloat::getInf(format); })
          .Default([](Operation *) { return std::nullopt; });
  return number ? FloatAttr::get(type, *number) : TypedAttr();
}

/// Returns the value that changes no element when it is combined with it; null if the region is not
/// one operation that is known to have such a value.
static TypedAttr neutralOf(Region &combine) {
  Block &block = combine.front();
  Operation *op = &block.front(), *yield = block.getTerminator();
  if (block.getNumArguments() != 2 || op->getNextNode() != yield || op->getNumOperands() != 2 ||
      op->getNumResults() != 1)
    return {};
  ValueRange sides = block.getArguments();
  bool isOne = yield->getOperand(0) == op->getResult(0) &&
               llvm::is_contained(op->getOperands(), sides[0]) &&
               llvm::is_contained(op->getOperands(), sides[1]);
  if (!isOne)
    return {};
  Type type = op->getResult(0).getType();
  if (auto integer = dyn_cast<IntegerType>(type))
    return neutralInteger(op, integer);
  if (isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
    return neutralFloat(op, cast<FloatType>(type));
  return {};
}

//===-- Combinations that know which elements are real ---------------------------------------===//

/// Returns true if combining padding has no visible effect and terminates.
static bool isHarmless(Region &combine) {
  return llvm::all_of(combine.front().without_terminator(),
                      [](Operation &op) { return isPure(&op); });
}

/// Results for two elements by which of them are real: `combined` for both, else the real one.
static SmallVector<Value> chooseReal(OpBuilder &builder, Location loc, Block &block,
                                     ValueRange combined) {
  unsigned count = combined.size();
  ValueRange arguments = block.getArguments();
  ValueRange lhs = arguments.take_front(count), rhs = arguments.slice(count + 1, count);
  Value isLeft = arguments[count], isRight = arguments.back();
  SmallVector<Value> chosen;
  for (auto [value, left, right] : llvm::zip(combined, lhs, rhs)) {
    Value ofRight = value == right
                        ? right
                        : arith::SelectOp::create(builder, loc, isLeft, value, right).getResult();
    chosen.push_back(arith::SelectOp::create(builder, loc, isRight, ofRight, left));
  }
  return chosen;
}

/// Moves the region's operations into a branch for two elements that are real.
static SmallVector<Value> combineInBranch(OpBuilder &builder, Location loc, Block &block,
                                          Value areReal, ValueRange combined) {
  SmallVector<Operation *> operations;
  for (Operation &op : block.without_terminator())
    if (&op != areReal.getDefiningOp())
      operations.push_back(&op);
  auto branch = scf::IfOp::create(builder, loc, combined.getTypes(), areReal,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder inside = branch.getElseBodyBuilder();
  // For one real element `combined` is of no use: it is the right one's place.
  ValueRange rhs = block.getArguments().slice(combined.size() + 1, combined.size());
  scf::YieldOp::create(inside, loc, chooseReal(inside, loc, block, rhs));
  inside = branch.getThenBodyBuilder();
  auto yield = scf::YieldOp::create(inside, loc, combined);
  for (Operation *op : operations)
    op->moveBefore(yield);
  return SmallVector<Value>(branch.getResults());
}

/// Makes the combining function of n values one of n values and whether they are real.
static void combineReal(Region &combine) {
  Block &block = combine.front();
  Operation *yield = block.getTerminator();
  Location loc = yield->getLoc();
  OpBuilder builder(yield);
  Type flag = builder.getI1Type();
  unsigned count = block.getNumArguments() / 2;
  Value isLeft = block.insertArgument(count, flag, loc), isRight = block.addArgument(flag, loc);
  SmallVector<Value> results;
  if (isHarmless(combine)) {
    results = chooseReal(builder, loc, block, yield->getOperands());
  } else {
    Value areReal = arith::AndIOp::create(builder, loc, isLeft, isRight);
    results = combineInBranch(builder, loc, block, areReal, yield->getOperands());
  }
  results.push_back(arith::OrIOp::create(builder, loc, isLeft, isRight));
  yield->setOperands(results);
}

/// The operation with a source more, which says what is real.
template <typename Op> static void replaceByReal(Op op, Value real, Extents &extents) {
  OpBuilder builder(op);
  combineReal(op.getCombine());
  SmallVector<Value> sources(op.getSources());
  sources.push_back(real);
  SmallVector<Type> types(op->getResultTypes());
  types.push_back(withElementType(types.front(), builder.getI1Type()));
  OperationState state(op.getLoc(), op->getName(), sources, types, op->getAttrs());
  state.addRegion()->takeBody(op.getCombine());
  Operation *changed = builder.create(state);
  extents.replace(op, changed->getResults().drop_back());
}

/// Padding of other dimensions is combined with itself only, which matters where it could be
/// noticed.
template <typename Op>
static void padCombination(Op op, Value ofAxis, Value ofTile, Extents &extents) {
  OpBuilder builder(op);
  bool isNoticed = !isHarmless(op.getCombine());
  Value real = isNoticed ? ofTile : ofAxis;
  if (!real)
    return;
  TypedAttr neutral = neutralOf(op.getCombine());
  if (!neutral)
    return replaceByReal(op, real, extents);
  Value source = op.getSources().front();
  op.getSourcesMutable().assign(fillPadding(builder, source, real, neutral));
}

//===-- Reductions of whole tiles ------------------------------------------------------------===//

/// The extents of the tiles that a reduction along one line takes all elements of, in one order;
/// nothing where its sources are other than such tiles, consecutive integers and uniform tiles.
static std::optional<ArrayRef<int64_t>> flattenedExtents(ReduceOp op, const Extents &extents) {
  std::optional<ArrayRef<int64_t>> common;
  for (Value source : op.getSources()) {
    Operation *definition = source.getDefiningOp();
    auto reshape = dyn_cast_or_null<ReshapeOp>(definition);
    if (reshape) {
      ArrayRef<int64_t> whole = extents.of(reshape.getSource());
      if (common && *common != whole)
        return std::nullopt;
      common = whole;
    } else if (!isa_and_nonnull<ArangeOp, SplatOp, arith::ConstantOp>(definition)) {
      return std::nullopt;
    }
  }
  if (!common || shapeOf(op.getSources().front().getType()).size() != 1 ||
      reshapesPadded(*common, extents.of(op.getSources().front())))
    return std::nullopt;
  return common;
}

/// Computes what a reduction of all elements reads instead of its source: the padded tile as one
/// line.
static Value flattened(OpBuilder &builder, Value source, ArrayRef<int64_t> extents) {
  Location loc = source.getLoc();
  int64_t count = llvm::product_of(paddedShape(extents));
  auto type = RankedTensorType::get({count}, elementTypeOf(source.getType()));
  Operation *definition = source.getDefiningOp();
  if (auto reshape = dyn_cast<ReshapeOp>(definition))
    return ReshapeOp::create(builder, loc, type, reshape.getSource(), /*allow_reorder=*/false);
  if (auto splat = dyn_cast<SplatOp>(definition))
    return SplatOp::create(builder, loc, type, splat.getSource());
  if (auto constant = dyn_cast<arith::ConstantOp>(definition))
    return uniformTile(builder, loc,
                       cast<SplatElementsAttr>(constant.getValue()).getSplatValue<TypedAttr>(),
                       {count});
  Value start = uniformTile(
      builder, loc, builder.getI32IntegerAttr(int32_t(cast<ArangeOp>(definition).getStart())),
      {count});
  return arith::AddIOp::create(builder, loc, realIndices(builder, loc, extents), start);
}

static void padReduceOfWhole(ReduceOp op, ArrayRef<int64_t> whole, Extents &extents) {
  OpBuilder builder(op);
  SmallVector<Value> sources;
  for (Value source : op.getSources())
    sources.push_back(flattened(builder, source, whole));
  op.getSourcesMutable().assign(sources);
  Value real = realElements(builder, op.getLoc(), whole);
  Type type = withElementType(sources.front().getType(), builder.getI1Type());
  real = ReshapeOp::create(builder, op.getLoc(), type, real, /*allow_reorder=*/false);
  padCombination(op, real, real, extents);
}

//===-- Reductions and scans -----------------------------------------------------------------===//

void tw::simt::padReduce(ReduceOp op, Extents &extents) {
  if (std::optional<ArrayRef<int64_t>> whole = flattenedExtents(op, extents))
    return padReduceOfWhole(op, *whole, extents);
  OpBuilder builder(op);
  ArrayRef<int64_t> own = extents.of(op.getSources().front());
  padCombination(op, realElements(builder, op.getLoc(), own, op.getAxis()),
                 realElements(builder, op.getLoc(), own), extents);
}

/// A scan from the front meets the padding of its axis last.
void tw::simt::padScan(ScanOp op, Extents &extents) {
  OpBuilder builder(op);
  ArrayRef<int64_t> own = extents.of(op.getSources().front());
  Value ofAxis;
  if (op.getReverse())
    ofAxis = realElements(builder, op.getLoc(), own, op.getAxis());
  padCombination(op, ofAxis, realElements(builder, op.getLoc(), own), extents);
}
