// Shifts by any amount and arithmetic on bf16: arith operations with the meaning that they have on
// tiles.
#include "passes/math/ExpandArith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/math/ExpandMath.h"

using namespace mlir;
using namespace tw;

Type tw::withElement(Type type, Type element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.clone(element);
  return element;
}

Value tw::emitInteger(OpBuilder &builder, Location location, Type type, const APInt &value) {
  auto element = IntegerAttr::get(getElementTypeOrSelf(type), value);
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(builder, location, element);
}

Value tw::emitInteger(OpBuilder &builder, Location location, Type type, int64_t value) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  APInt wrapped(width, value, /*isSigned=*/true, /*implicitTrunc=*/true);
  return emitInteger(builder, location, type, wrapped);
}

/// Fails where upstream's meaning already is the tile's: known amounts below the width, index
/// types.
template <typename ShiftOp> static LogicalResult needsGuard(ShiftOp op, PatternRewriter &rewriter) {
  auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getType()));
  if (!element)
    return rewriter.notifyMatchFailure(op, "not an integer of the language");
  APInt amount;
  if (matchPattern(op.getRhs(), m_ConstantInt(&amount)) && amount.ult(element.getWidth()))
    return rewriter.notifyMatchFailure(op, "the amount is known to be below the width");
  return success();
}

static Value isBelowWidth(OpBuilder &builder, Location location, Value amount) {
  Type type = amount.getType();
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::ult, amount,
                               emitInteger(builder, location, type, width));
}

namespace {
/// Bits shifted out by too large an amount leave 0. The unguarded shift is poison there, and a
/// select drops poison that it does not choose.
template <typename ShiftOp> struct GuardShift : OpRewritePattern<ShiftOp> {
  using OpRewritePattern<ShiftOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(ShiftOp op, PatternRewriter &rewriter) const override {
    if (failed(needsGuard(op, rewriter)))
      return failure();
    Location location = op.getLoc();
    Value inRange = isBelowWidth(rewriter, location, op.getRhs());
    Value shifted = ShiftOp::create(rewriter, location, op.getLhs(), op.getRhs());
    Value zero = emitInteger(rewriter, location, op.getType(), 0);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, inRange, shifted, zero);
    return success();
  }
};

/// Too large an amount leaves the sign, as the largest allowed amount does.
struct GuardSignedShift : OpRewritePattern<arith::ShRSIOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ShRSIOp op, PatternRewriter &rewriter) const override {
    if (failed(needsGuard(op, rewriter)))
      return failure();
    Location location = op.getLoc();
    unsigned width = getElementTypeOrSelf(op.getType()).getIntOrFloatBitWidth();
    Value inRange = isBelowWidth(rewriter, location, op.getRhs());
    Value largest = emitInteger(rewriter, location, op.getType(), width - 1);
    Value amount = arith::SelectOp::create(rewriter, location, inRange, op.getRhs(), largest);
    rewriter.replaceOpWithNewOp<arith::ShRSIOp>(op, op.getLhs(), amount);
    return success();
  }
};

/// Arithmetic on bf16 happens in f32: LLVM would do the same, but round by a library call per lane.
template <typename Op> struct ComputeInF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not bf16");
    Location location = op.getLoc();
    Type wide = withElement(op.getType(), rewriter.getF32Type());
    Value lhs = emitFloatCast(rewriter, location, op.getLhs(), wide);
    Value rhs = emitFloatCast(rewriter, location, op.getRhs(), wide);
    Value result = Op::create(rewriter, location, lhs, rhs);
    rewriter.replaceOp(op, emitFloatCast(rewriter, location, result, op.getType()));
    return success();
  }
};

/// LLVM 22 cannot select comparisons of bf16 vectors for x86 ("v16f32 = X86ISD::CMPP").
struct CompareInF32 : OpRewritePattern<arith::CmpFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::CmpFOp op, PatternRewriter &rewriter) const override {
    Type type = op.getLhs().getType();
    if (!getElementTypeOrSelf(type).isBF16())
      return rewriter.notifyMatchFailure(op, "not bf16");
    Type wide = withElement(type, rewriter.getF32Type());
    Value lhs = emitFloatCast(rewriter, op.getLoc(), op.getLhs(), wide);
    Value rhs = emitFloatCast(rewriter, op.getLoc(), op.getRhs(), wide);
    rewriter.replaceOpWithNewOp<arith::CmpFOp>(op, op.getPredicate(), lhs, rhs, op.getFastmath());
    return success();
  }
};

/// The larger or smaller of two bf16: compared in f32, but chosen among the operands. Nothing is
/// rounded, where LLVM would narrow with an instruction that flushes subnormals.
template <typename Op> struct ChooseInBf16 : OpRewritePattern<Op> {
  static constexpr bool isMax =
      std::is_same_v<Op, arith::MaximumFOp> || std::is_same_v<Op, arith::MaxNumFOp>;
  static constexpr bool yieldsNan =
      std::is_same_v<Op, arith::MaximumFOp> || std::is_same_v<Op, arith::MinimumFOp>;
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isBF16())
      return rewriter.notifyMatchFailure(op, "not bf16");
    Location location = op.getLoc();
    Type wide = withElement(op.getType(), rewriter.getF32Type());
    Value lhs = emitFloatCast(rewriter, location, op.getLhs(), wide);
    Value rhs = emitFloatCast(rewriter, location, op.getRhs(), wide);
    auto compare = [&](arith::CmpFPredicate predicate, Value a, Value b) -> Value {
      return arith::CmpFOp::create(rewriter, location, predicate, a, b);
    };
    using P = arith::CmpFPredicate;
    Value nan = yieldsNan ? compare(P::UNO, lhs, lhs) : compare(P::UNO, rhs, rhs);
    Value takesLhs =
        arith::OrIOp::create(rewriter, location, nan, compare(isMax ? P::OGT : P::OLT, lhs, rhs));
    // Chosen as integers: LLVM chooses single bf16 in f32 and narrows the result.
    Type bits = withElement(op.getType(), rewriter.getI16Type());
    Value lhsBits = arith::BitcastOp::create(rewriter, location, bits, op.getLhs());
    Value rhsBits = arith::BitcastOp::create(rewriter, location, bits, op.getRhs());
    Value chosen = arith::SelectOp::create(rewriter, location, takesLhs, lhsBits, rhsBits);
    // Equal operands have equal bits, except zeros: of those the sign decides.
    Value both = isMax ? Value(arith::AndIOp::create(rewriter, location, lhsBits, rhsBits))
                       : Value(arith::OrIOp::create(rewriter, location, lhsBits, rhsBits));
    Value result =
        arith::SelectOp::create(rewriter, location, compare(P::OEQ, lhs, rhs), both, chosen);
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), result);
    return success();
  }
};
} // namespace

void tw::populateShiftPatterns(RewritePatternSet &patterns) {
  patterns.add<GuardShift<arith::ShLIOp>, GuardShift<arith::ShRUIOp>, GuardSignedShift>(
      patterns.getContext());
}

void tw::populateDefinedArithPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  populateShiftPatterns(patterns);
  patterns
      .add<CompareInF32, ComputeInF32<arith::AddFOp>, ComputeInF32<arith::SubFOp>,
           ComputeInF32<arith::MulFOp>, ComputeInF32<arith::DivFOp>, ComputeInF32<arith::RemFOp>,
           ChooseInBf16<arith::MaximumFOp>, ChooseInBf16<arith::MinimumFOp>,
           ChooseInBf16<arith::MaxNumFOp>, ChooseInBf16<arith::MinNumFOp>>(context);
  populateDivisionPatterns(patterns);
  populateConversionPatterns(patterns);
}
