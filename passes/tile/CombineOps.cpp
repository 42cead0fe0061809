// The pass `combine-ops`: algebra on tiles that upstream's folders do not know. Work moves from
// tiles to the smaller tiles and scalars that they are made of, and pointers gather their uniform
// part in a scalar.
#include "ir/tile/Repeated.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "passes/Passes.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

namespace tw {
#define GEN_PASS_DEF_COMBINEOPS
#include "passes/Passes.h.inc"
} // namespace tw

using namespace mlir;
using namespace tw::tile;

//===-- Elementwise operations of tiles that were made larger ---------------------------------===//

/// The operation on other operands. Its attributes stay; the result keeps the element type.
static Value cloneWith(OpBuilder &builder, Operation *op, ValueRange operands,
                       std::optional<ArrayRef<int64_t>> shape) {
  Type type = elementTypeOf(op->getResult(0).getType());
  if (shape)
    type = RankedTensorType::get(*shape, type);
  OperationState state(op->getLoc(), op->getName(), operands, {type}, op->getAttrs());
  return builder.create(state)->getResult(0);
}

static LogicalResult isElementwise(Operation *op, PatternRewriter &rewriter) {
  bool hasTile = op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType());
  if (!hasTile || !op->hasTrait<OpTrait::Elementwise>() || !isPure(op))
    return rewriter.notifyMatchFailure(op, "not an elementwise operation on tiles");
  return success();
}

/// The operation that made a tile larger, when it is an expand_dims or a broadcast.
static Operation *enlarging(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<ExpandDimsOp, BroadcastOp>(op) ? op : nullptr;
}

/// Returns true if two operations enlarge tiles of one shape in the same way.
static bool enlargeAlike(Operation *a, Operation *b) {
  auto expandA = dyn_cast<ExpandDimsOp>(a), expandB = dyn_cast<ExpandDimsOp>(b);
  if (a->getName() != b->getName() || (expandA && expandA.getAxis() != expandB.getAxis()))
    return false;
  return shapeOf(a->getOperand(0).getType()) == shapeOf(b->getOperand(0).getType());
}

namespace {
/// f(splat a, splat b) becomes splat f(a, b).
struct ComputeOnScalars : RewritePattern {
  explicit ComputeOnScalars(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/2, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (failed(isElementwise(op, rewriter)))
      return failure();
    auto isTile = [](Value operand) { return isa<RankedTensorType>(operand.getType()); };
    for (Value operand : op->getOperands())
      if (isTile(operand) && !isUniform(operand))
        return rewriter.notifyMatchFailure(op, "an operand is not uniform");
    SmallVector<Value> scalars;
    for (Value operand : op->getOperands())
      scalars.push_back(isTile(operand) ? uniformScalar(rewriter, operand) : operand);
    Value scalar = cloneWith(rewriter, op, scalars, std::nullopt);
    rewriter.replaceOpWithNewOp<SplatOp>(op, op->getResult(0).getType(), scalar);
    return success();
  }
};

/// f(broadcast a, broadcast b) becomes broadcast f(a, b), and the same for expand_dims. Uniform
/// operands go along with either.
struct ComputeBeforeEnlarging : RewritePattern {
  explicit ComputeBeforeEnlarging(MLIRContext *context)
      : RewritePattern(MatchAnyOpTypeTag(), /*benefit=*/1, context) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (failed(isElementwise(op, rewriter)))
      return failure();
    Operation *first = nullptr;
    for (Value operand : op->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()) || isUniform(operand))
        continue;
      Operation *shapeOp = enlarging(operand);
      if (!shapeOp || (first && !enlargeAlike(first, shapeOp)))
        return rewriter.notifyMatchFailure(op, "operands were not enlarged in one way");
      first = first ? first : shapeOp;
    }
    if (!first)
      return rewriter.notifyMatchFailure(op, "no operand was enlarged");
    ArrayRef<int64_t> shape = shapeOf(first->getOperand(0).getType());
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(sourceOf(rewriter, operand, shape));
    Value result = cloneWith(rewriter, op, operands, shape);
    OperationState state(op->getLoc(), first->getName(), result, op->getResultTypes(),
                         first->getAttrs());
    rewriter.replaceOp(op, rewriter.create(state));
    return success();
  }

private:
  static Value sourceOf(OpBuilder &builder, Value operand, ArrayRef<int64_t> shape) {
    if (!isa<RankedTensorType>(operand.getType()))
      return operand;
    return isUniform(operand) ? reshapeUniform(builder, operand, shape)
                              : enlarging(operand)->getOperand(0);
  }
};

//===-- Pointers ------------------------------------------------------------------------------===//

/// addptr(splat p, splat n) becomes splat addptr(p, n).
struct AdvanceScalarPointer : OpRewritePattern<AddPtrOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddPtrOp op, PatternRewriter &rewriter) const override {
    auto pointer = op.getPtr().getDefiningOp<SplatOp>();
    if (!pointer || !isUniform(op.getOffset()))
      return rewriter.notifyMatchFailure(op, "pointer or offset is not uniform");
    Value scalar = AddPtrOp::create(rewriter, op.getLoc(), pointer.getSource().getType(),
                                    pointer.getSource(), uniformScalar(rewriter, op.getOffset()));
    rewriter.replaceOpWithNewOp<SplatOp>(op, op.getType(), scalar);
    return success();
  }
};

/// addptr(addptr(p, varying), uniform) becomes addptr(addptr(p, uniform), varying). Addresses are
/// sums of 64 bits, so the order does not matter, while adding the offsets first could wrap.
struct AdvanceUniformlyFirst : OpRewritePattern<AddPtrOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddPtrOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getPtr().getDefiningOp<AddPtrOp>();
    bool isTile = isa<RankedTensorType>(op.getType());
    if (!isTile || !inner || !isUniform(op.getOffset()) || isUniform(inner.getOffset()))
      return rewriter.notifyMatchFailure(op, "not a uniform advance after a varying one");
    Value moved =
        AddPtrOp::create(rewriter, op.getLoc(), op.getType(), inner.getPtr(), op.getOffset());
    rewriter.replaceOpWithNewOp<AddPtrOp>(op, op.getType(), moved, inner.getOffset());
    return success();
  }
};

//===-- Arithmetic ----------------------------------------------------------------------------===//

/// x / c becomes x * (1 / c) where 1 / c is exact: c is a power of two.
struct MultiplyByExactInverse : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    APFloat divisor(0.0), inverse(0.0);
    if (!matchPattern(op.getRhs(), m_ConstantFloat(&divisor)) || !divisor.getExactInverse(&inverse))
      return rewriter.notifyMatchFailure(op, "the divisor has no exact inverse");
    TypedAttr value = FloatAttr::get(elementTypeOf(op.getType()), inverse);
    if (auto tile = dyn_cast<RankedTensorType>(op.getType()))
      value = SplatElementsAttr::get(tile, ArrayRef<Attribute>{value});
    Value factor = arith::ConstantOp::create(rewriter, op.getLoc(), value);
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getLhs(), factor, op.getFastmath());
    return success();
  }
};

/// select(c, a, false) becomes c and a; select(c, true, b) becomes c or b. No value of a tile is
/// poison.
struct CombineMasks : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    Value condition = op.getCondition();
    if (condition.getType() != op.getType())
      return rewriter.notifyMatchFailure(op, "not a choice between masks by a mask");
    if (matchPattern(op.getFalseValue(), m_Zero())) {
      rewriter.replaceOpWithNewOp<arith::AndIOp>(op, condition, op.getTrueValue());
      return success();
    }
    if (matchPattern(op.getTrueValue(), m_One())) {
      rewriter.replaceOpWithNewOp<arith::OrIOp>(op, condition, op.getFalseValue());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "neither choice is a constant that decides");
  }
};

/// select(c, select(d, a, b), b) becomes select(c and d, a, b); select(c, a, select(d, a, b))
/// becomes select(c or d, a, b).
struct CombineChoices : OpRewritePattern<arith::SelectOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, PatternRewriter &rewriter) const override {
    for (unsigned position : {1u, 2u}) {
      auto inner = op->getOperand(position).getDefiningOp<arith::SelectOp>();
      Value outer = op.getCondition();
      if (!inner || !inner->hasOneUse() || inner.getCondition().getType() != outer.getType() ||
          inner->getOperand(3 - position) != op->getOperand(3 - position))
        continue;
      Value either = inner.getCondition();
      if (position == 1)
        either = arith::AndIOp::create(rewriter, op.getLoc(), outer, either);
      else
        either = arith::OrIOp::create(rewriter, op.getLoc(), outer, either);
      rewriter.replaceOpWithNewOp<arith::SelectOp>(op, either, inner.getTrueValue(),
                                                   inner.getFalseValue());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no choice of the same alternative below");
  }
};

//===-- Sums of products ----------------------------------------------------------------------===//

namespace {
/// sum + dot(a, b, 0) becomes dot(a, b, sum): the product begins with the sum in place of 0. Sums
/// of 16 bits stay apart: they are rounded more often inside of a product.
struct AddIntoProduct : OpRewritePattern<arith::AddFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::AddFOp add, PatternRewriter &rewriter) const override {
    Type element = elementTypeOf(add.getType());
    for (unsigned position : {0u, 1u}) {
      auto dot = add->getOperand(position).getDefiningOp<DotOp>();
      if (!dot || !dot->hasOneUse() || dot->getBlock() != add->getBlock() ||
          !matchPattern(dot.getAcc(), m_AnyZeroFloat()) || element.getIntOrFloatBitWidth() < 32)
        continue;
      rewriter.replaceOp(add, DotOp::create(rewriter, dot.getLoc(), dot.getA(), dot.getB(),
                                            add->getOperand(1 - position), dot.getScales(),
                                            dot.getPrecision(), dot.getMaxImpreciseAttr()));
      return success();
    }
    return rewriter.notifyMatchFailure(add, "adds no product of its own");
  }
};
} // namespace

//===-- Hints ---------------------------------------------------------------------------------===//

template <typename Merge>
static DenseI64ArrayAttr merged(DenseI64ArrayAttr a, DenseI64ArrayAttr b, Merge merge) {
  if (!a || !b)
    return a ? a : b;
  SmallVector<int64_t> values;
  for (auto [x, y] : llvm::zip_equal(a.asArrayRef(), b.asArrayRef()))
    values.push_back(merge(x, y));
  return DenseI64ArrayAttr::get(a.getContext(), values);
}

static bool haveSameLength(DenseI64ArrayAttr a, DenseI64ArrayAttr b) {
  return !a || !b || a.size() == b.size();
}

/// The least common multiple; the greater number, which says less, where 64 bits do not hold it.
static int64_t commonMultiple(int64_t x, int64_t y) {
  int64_t multiple;
  return llvm::MulOverflow(x / std::gcd(x, y), y, multiple) ? std::max(x, y) : multiple;
}

static bool saysNothing(DenseI64ArrayAttr fact) {
  return !fact || llvm::all_of(fact.asArrayRef(), [](int64_t value) { return value == 1; });
}

struct CombineHints : OpRewritePattern<HintOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(HintOp op, PatternRewriter &rewriter) const override {
    if (saysNothing(op.getDivisibilityAttr()) && saysNothing(op.getContiguityAttr()) &&
        saysNothing(op.getConstancyAttr())) {
      rewriter.replaceOp(op, op.getSource());
      return success();
    }
    auto inner = op.getSource().getDefiningOp<HintOp>();
    if (!inner || !haveSameLength(op.getDivisibilityAttr(), inner.getDivisibilityAttr()) ||
        !haveSameLength(op.getContiguityAttr(), inner.getContiguityAttr()) ||
        !haveSameLength(op.getConstancyAttr(), inner.getConstancyAttr()))
      return rewriter.notifyMatchFailure(op, "no hint to combine with");
    auto larger = [](int64_t x, int64_t y) { return std::max(x, y); };
    rewriter.replaceOpWithNewOp<HintOp>(
        op, op.getType(), inner.getSource(),
        merged(op.getDivisibilityAttr(), inner.getDivisibilityAttr(), commonMultiple),
        merged(op.getContiguityAttr(), inner.getContiguityAttr(), larger),
        merged(op.getConstancyAttr(), inner.getConstancyAttr(), larger));
    return success();
  }
};

struct CombineOps : tw::impl::CombineOpsBase<CombineOps> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns
        .add<ComputeOnScalars, ComputeBeforeEnlarging, AdvanceScalarPointer, AdvanceUniformlyFirst,
             MultiplyByExactInverse, AddIntoProduct, CombineMasks, CombineChoices, CombineHints>(
            &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
