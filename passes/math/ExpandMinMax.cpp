// Maxima and minima: -0 is less than +0 in those that prefer numbers to NaN, which LLVM's leave
// open, and float16 numbers are compared in float32: LLVM would narrow them again, and then calls a
// library function for each lane.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/math/ExpandArith.h"

using namespace mlir;
using namespace tw;

/// A value that LLVM's rewrites do not see through; no code.
static Value fence(OpBuilder &builder, Location location, Value value) {
  return LLVM::CallIntrinsicOp::create(builder, location, value.getType(),
                                       builder.getStringAttr("llvm.arithmetic.fence"),
                                       ValueRange{value})
      .getResult(0);
}

static bool isWidenedF16(Value value) {
  auto extension = value.getDefiningOp<arith::ExtFOp>();
  return extension && getElementTypeOrSelf(extension.getIn().getType()).isF16();
}

/// The number that all lanes have, widened or not, if a constant says so.
static std::optional<APFloat> constantOf(Value value) {
  while (Operation *op = value.getDefiningOp())
    if (isa<vector::BroadcastOp, arith::ExtFOp>(op))
      value = op->getOperand(0);
    else
      break;
  APFloat number(0.0);
  return matchPattern(value, m_ConstantFloat(&number)) ? std::optional(number) : std::nullopt;
}

/// One comparison and a selection: what an instruction of x86 does, but where the number is the
/// zero that loses.
static Value chooseBeside(OpBuilder &builder, Location location, bool isMax, Value value,
                          Value constant, const APFloat &number) {
  using P = arith::CmpFPredicate;
  bool losesToZeros = number.isZero() && number.isNegative() == isMax;
  P predicate = isMax ? (losesToZeros ? P::OGE : P::OGT) : (losesToZeros ? P::OLE : P::OLT);
  Value isTaken = arith::CmpFOp::create(builder, location, predicate, value, constant);
  return arith::SelectOp::create(builder, location, isTaken, value, constant);
}

/// Operands that are equal have equal bits, except zeros, of which the sign decides.
static Value orderZeros(OpBuilder &builder, Location location, bool isMax, Value lhs, Value rhs,
                        Value chosen) {
  Type bits = withElement(
      lhs.getType(),
      builder.getIntegerType(getElementTypeOrSelf(lhs.getType()).getIntOrFloatBitWidth()));
  Value lhsBits = arith::BitcastOp::create(builder, location, bits, lhs);
  Value rhsBits = arith::BitcastOp::create(builder, location, bits, rhs);
  Value both = isMax ? Value(arith::AndIOp::create(builder, location, lhsBits, rhsBits))
                     : Value(arith::OrIOp::create(builder, location, lhsBits, rhsBits));
  Value equal = arith::BitcastOp::create(builder, location, lhs.getType(), both);
  Value areEqual = arith::CmpFOp::create(builder, location, arith::CmpFPredicate::OEQ, lhs, rhs);
  return arith::SelectOp::create(builder, location, areEqual, equal, chosen);
}

/// A maximum or minimum of f32 or f64.
template <typename Op>
static Value emitExtremum(OpBuilder &builder, Location location, Value lhs, Value rhs) {
  constexpr bool isMax = std::is_same_v<Op, arith::MaxNumFOp>;
  if constexpr (isMax || std::is_same_v<Op, arith::MinNumFOp>) {
    std::optional<APFloat> left = constantOf(lhs), right = constantOf(rhs);
    if (right && !right->isNaN())
      return chooseBeside(builder, location, isMax, lhs, rhs, *right);
    if (left && !left->isNaN())
      return chooseBeside(builder, location, isMax, rhs, lhs, *left);
    // The first operand is looked at for NaN: in a reduction not what the next step waits for.
    return orderZeros(builder, location, isMax, lhs, rhs, Op::create(builder, location, rhs, lhs));
  }
  return Op::create(builder, location, lhs, rhs);
}

namespace {
template <typename Op> struct TakeInF32 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Location location = op.getLoc();
    bool isF16 = getElementTypeOrSelf(op.getType()).isF16();
    if (!isF16 && !isWidenedF16(op.getLhs()) && !isWidenedF16(op.getRhs()))
      return rewriter.notifyMatchFailure(op, "no operand is a float16");
    Type wide = withElement(op.getType(), rewriter.getF32Type());
    auto fenced = [&](Value value) -> Value {
      if (isF16)
        value = rewriter.createOrFold<arith::ExtFOp>(location, wide, value);
      if (constantOf(value))
        return value;
      return isF16 || isWidenedF16(value) ? fence(rewriter, location, value) : value;
    };
    Value lhs = fenced(op.getLhs()), rhs = fenced(op.getRhs());
    Value result = emitExtremum<Op>(rewriter, location, lhs, rhs);
    if (isF16)
      result = arith::TruncFOp::create(rewriter, location, op.getType(),
                                       fence(rewriter, location, result));
    rewriter.replaceOp(op, result);
    return success();
  }
};

template <typename Op> struct OrderZeros : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getType());
    if (!element.isF32() && !element.isF64())
      return rewriter.notifyMatchFailure(op, "not f32 or f64");
    rewriter.replaceOp(op, emitExtremum<Op>(rewriter, op.getLoc(), op.getLhs(), op.getRhs()));
    return success();
  }
};
} // namespace

void tw::populateMinMaxPatterns(RewritePatternSet &patterns) {
  patterns.add<TakeInF32<arith::MaxNumFOp>, TakeInF32<arith::MinNumFOp>,
               TakeInF32<arith::MaximumFOp>, TakeInF32<arith::MinimumFOp>>(patterns.getContext(),
                                                                           /*benefit=*/2);
  patterns.add<OrderZeros<arith::MaxNumFOp>, OrderZeros<arith::MinNumFOp>>(patterns.getContext());
}
