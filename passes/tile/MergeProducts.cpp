// The pass `merge-products`: a loop that adds up products of a few columns each adds up products of
// more columns in fewer iterations, so that sums stay in registers for longer.
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include "passes/Passes.h"

namespace tw {
#define GEN_PASS_DEF_MERGEPRODUCTS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw::tile;

/// Products of so many columns need no more: reading and writing the sums costs little beside them.
static constexpr int64_t kEnoughColumns = 32;
/// Operands of one product, packed, stay in a first-level cache with the sums.
static constexpr int64_t kMostColumns = 96, kMostOperandBytes = 64 * 1024;

static bool isWideFloat(Value tile) {
  Type element = elementTypeOf(tile.getType());
  return element.isF32() || element.isF64();
}

static std::optional<int64_t> constantOf(Value value) {
  APInt constant;
  if (!matchPattern(value, m_ConstantInt(&constant)))
    return std::nullopt;
  return constant.getSExtValue();
}

namespace {
/// A loop that does nothing but add up products, and how much wider they are to be.
struct ProductLoop {
  scf::ForOp loop;
  DotOp dot;
  int64_t step, columns, factor;

  int64_t wide() const { return columns * factor; }
};

/// Makes the values of a loop's body again for an iteration that does the work of several.
class Widening {
public:
  Widening(const ProductLoop &old, scf::ForOp fresh)
      : old(old), fresh(fresh), builder(fresh.getBody(), fresh.getBody()->begin()) {}
  /// A tile of the old body, or of before it, whose dimension `axis` spans the columns of the
  /// products; null where it cannot be had.
  Value widen(Value tile, int64_t axis);
  OpBuilder &atEnd() { return builder; }

private:
  Value make(Value tile, int64_t axis);
  Value makeElementwise(Operation *op, int64_t axis);
  Value makeBroadcast(BroadcastOp op, int64_t axis);
  Value makeLoad(LoadOp op, int64_t axis);
  Value makeSplat(SplatOp op, int64_t axis);
  Value makeExpanded(ExpandDimsOp op, int64_t axis);
  Value makeIndices(arith::AddIOp op);
  Value blockBegin(Value scalar);
  bool isInvariant(Value value) { return old.loop.isDefinedOutsideOfLoop(value); }
  RankedTensorType widened(Value tile, int64_t axis) const;
  bool spans(Value tile, int64_t axis) const;

  ProductLoop old;
  scf::ForOp fresh;
  OpBuilder builder;
  DenseMap<std::pair<Value, int64_t>, Value> made;
};
} // namespace

RankedTensorType Widening::widened(Value tile, int64_t axis) const {
  auto type = cast<RankedTensorType>(tile.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = old.wide();
  return RankedTensorType::get(shape, type.getElementType());
}

bool Widening::spans(Value tile, int64_t axis) const {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type && axis < type.getRank() && type.getDimSize(axis) == old.columns;
}

Value Widening::widen(Value tile, int64_t axis) {
  auto known = made.find({tile, axis});
  if (known != made.end())
    return known->second;
  Value result = spans(tile, axis) ? make(tile, axis) : Value();
  made[{tile, axis}] = result;
  return result;
}

/// A scalar that grows by as much in an iteration as the products have columns.
Value Widening::blockBegin(Value scalar) {
  if (scalar == old.loop.getInductionVar())
    return old.step == old.columns ? fresh.getInductionVar() : Value();
  Operation *op = scalar.getDefiningOp();
  if (auto multiply = dyn_cast_or_null<arith::MulIOp>(op)) {
    std::optional<int64_t> factor = constantOf(multiply.getRhs());
    if (multiply.getLhs() != old.loop.getInductionVar() || !factor ||
        *factor * old.step != old.columns)
      return {};
    return arith::MulIOp::create(builder, op->getLoc(), fresh.getInductionVar(), multiply.getRhs());
  }
  if (auto add = dyn_cast_or_null<arith::AddIOp>(op); add && isInvariant(add.getRhs()))
    if (Value begin = blockBegin(add.getLhs()))
      return arith::AddIOp::create(builder, op->getLoc(), begin, add.getRhs());
  return {};
}

/// The columns of an iteration: where they begin, and as many from there.
Value Widening::makeIndices(arith::AddIOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  for (unsigned position = tile.getRank() == 1 ? 0 : 2; position < 2; ++position) {
    auto range = op.getOperand(position).getDefiningOp<ArangeOp>();
    auto splat = op.getOperand(1 - position).getDefiningOp<SplatOp>();
    Value begin = range && splat ? blockBegin(splat.getSource()) : Value();
    if (!begin)
      continue;
    RankedTensorType type = widened(op.getResult(), 0);
    int64_t start = range.getStart();
    Value columns = ArangeOp::create(builder, op.getLoc(), type, start, start + old.wide());
    Value begins = SplatOp::create(builder, op.getLoc(), type, begin);
    return arith::AddIOp::create(builder, op.getLoc(), begins, columns);
  }
  return {};
}

/// Widens a tile that is repeated along the columns, or one whose source has the columns itself.
Value Widening::makeBroadcast(BroadcastOp op, int64_t axis) {
  Value source = op.getSource();
  bool isRepeated = cast<RankedTensorType>(source.getType()).getDimSize(axis) == 1;
  if (isRepeated ? !isInvariant(source) : !(source = widen(source, axis)))
    return {};
  return BroadcastOp::create(builder, op.getLoc(), widened(op.getResult(), axis), source);
}

/// An operation that does the same to every element.
Value Widening::makeElementwise(Operation *op, int64_t axis) {
  auto add = dyn_cast<arith::AddIOp>(op);
  if (Value indices = add ? makeIndices(add) : Value())
    return indices;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    bool isTile = isa<RankedTensorType>(operand.getType());
    operands.push_back(isTile ? widen(operand, axis) : isInvariant(operand) ? operand : Value());
    if (!operands.back())
      return {};
  }
  OperationState state(op->getLoc(), op->getName(), operands, {widened(op->getResult(0), axis)},
                       op->getAttrs());
  return builder.create(state)->getResult(0);
}

Value Widening::makeLoad(LoadOp op, int64_t axis) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(widen(operand, axis));
    if (!operands.back())
      return {};
  }
  OperationState state(op.getLoc(), op->getName(), operands, {widened(op.getResult(), axis)},
                       op->getAttrs());
  return builder.create(state)->getResult(0);
}

/// A tile whose elements are all one scalar of before the loop.
Value Widening::makeSplat(SplatOp op, int64_t axis) {
  if (!isInvariant(op.getSource()))
    return {};
  return SplatOp::create(builder, op.getLoc(), widened(op.getResult(), axis), op.getSource());
}

Value Widening::makeExpanded(ExpandDimsOp op, int64_t axis) {
  Value source = widen(op.getSource(), axis > int64_t(op.getAxis()) ? axis - 1 : axis);
  if (!source)
    return {};
  return ExpandDimsOp::create(builder, op.getLoc(), widened(op.getResult(), axis), source,
                              op.getAxisAttr());
}

Value Widening::make(Value tile, int64_t axis) {
  Operation *op = tile.getDefiningOp();
  SplatElementsAttr constant;
  if (!op || op->getNumResults() != 1)
    return {};
  if (matchPattern(tile, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, op->getLoc(),
                                     constant.resizeSplat(widened(tile, axis)));
  if (auto splat = dyn_cast<SplatOp>(op))
    return makeSplat(splat, axis);
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return makeBroadcast(broadcast, axis);
  if (auto expand = dyn_cast<ExpandDimsOp>(op))
    return makeExpanded(expand, axis);
  if (auto load = dyn_cast<LoadOp>(op)) // one before the loop may have read what is stored since
    return load.getIsVolatile() || isInvariant(tile) ? Value() : makeLoad(load, axis);
  bool isElementwise = op->hasTrait<OpTrait::Elementwise>() || isa<AddPtrOp>(op);
  return isElementwise && isPure(op) ? makeElementwise(op, axis) : Value();
}

/// Returns true if a body does nothing that has to be done once for each iteration.
static bool onlyReads(Block &body) {
  return llvm::all_of(body.without_terminator(), [](Operation &op) {
    auto load = dyn_cast<LoadOp>(&op);
    return op.getNumRegions() == 0 && (load ? !load.getIsVolatile() : isPure(&op));
  });
}

/// How many iterations become one: as many as there may be of those that divide the loop.
static int64_t chooseFactor(int64_t trips, int64_t columns, int64_t bytesOfColumn) {
  int64_t most = std::min(kMostColumns, kMostOperandBytes / bytesOfColumn) / columns;
  int64_t factor = std::min(trips, most);
  while (factor > 1 && trips % factor != 0)
    --factor;
  return factor;
}

/// The product that a loop adds to the one thing that it carries, and to nothing else.
static DotOp findProduct(scf::ForOp loop) {
  if (loop.getNumRegionIterArgs() != 1 || !onlyReads(*loop.getBody()))
    return {};
  BlockArgument sum = loop.getRegionIterArg(0);
  auto dot = loop.getBody()->getTerminator()->getOperand(0).getDefiningOp<DotOp>();
  if (!dot || dot.getAcc() != sum || !sum.hasOneUse() || dot.getA().getType().getRank() != 2)
    return {};
  return isWideFloat(sum) && isWideFloat(dot.getA()) && isWideFloat(dot.getB()) ? dot : DotOp();
}

static std::optional<ProductLoop> matchLoop(scf::ForOp loop) {
  std::optional<int64_t> lower = constantOf(loop.getLowerBound()),
                         upper = constantOf(loop.getUpperBound()),
                         step = constantOf(loop.getStep());
  DotOp dot = findProduct(loop);
  if (!dot || !lower || !upper || !step || *step < 1 || *upper <= *lower)
    return std::nullopt;
  int64_t columns = dot.getA().getType().getDimSize(1);
  int64_t extents = dot.getA().getType().getDimSize(0) + dot.getB().getType().getDimSize(1);
  int64_t bytes = extents * elementTypeOf(dot.getType()).getIntOrFloatBitWidth() / 8;
  int64_t trips = (*upper - *lower - 1) / *step + 1;
  ProductLoop found = {loop, dot, *step, columns, chooseFactor(trips, columns, bytes)};
  if (columns < 2 || columns >= kEnoughColumns || found.factor < 2)
    return std::nullopt;
  return found;
}

/// Fills the body of a fresh loop; false where an operand cannot be had so wide.
static bool fillBody(const ProductLoop &old, scf::ForOp fresh) {
  Widening widening(old, fresh);
  if (!fresh.getBody()->empty())
    fresh.getBody()->back().erase();
  DotOp dot = old.dot;
  Value a = widening.widen(dot.getA(), 1), b = a ? widening.widen(dot.getB(), 0) : Value();
  if (!b)
    return false;
  OpBuilder &body = widening.atEnd();
  Value sum = DotOp::create(body, dot.getLoc(), a, b, fresh.getRegionIterArg(0), ValueRange(),
                            dot.getPrecision(), dot.getMaxImpreciseAttr());
  scf::YieldOp::create(body, dot.getLoc(), sum);
  return true;
}

static void widenLoop(const ProductLoop &old) {
  scf::ForOp loop = old.loop;
  OpBuilder builder(loop);
  Location loc = loop.getLoc();
  auto step = builder.getIntegerAttr(loop.getStep().getType(), old.step * old.factor);
  auto longStep = arith::ConstantOp::create(builder, loc, step);
  auto fresh = scf::ForOp::create(builder, loc, loop.getLowerBound(), loop.getUpperBound(),
                                  longStep, loop.getInitArgs());
  fresh->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  if (!fillBody(old, fresh)) {
    fresh.erase();
    longStep.erase();
    return;
  }
  loop.replaceAllUsesWith(fresh.getResults());
  loop.erase();
  moveLoopInvariantCode(fresh);
}

namespace {
struct MergeProducts : tw::impl::MergeProductsBase<MergeProducts> {
  void runOnOperation() override {
    SmallVector<ProductLoop> loops;
    getOperation().walk([&](scf::ForOp loop) {
      if (std::optional<ProductLoop> found = matchLoop(loop))
        loops.push_back(*found);
    });
    for (const ProductLoop &loop : loops)
      widenLoop(loop);
  }
};
} // namespace
