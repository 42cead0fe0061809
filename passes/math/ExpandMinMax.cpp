// Maxima and minima of float16 numbers are taken in float32: LLVM would narrow them again, and then
// calls a library function for each lane.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
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
        value = arith::ExtFOp::create(rewriter, location, wide, value);
      return isF16 || isWidenedF16(value) ? fence(rewriter, location, value) : value;
    };
    Value lhs = fenced(op.getLhs()), rhs = fenced(op.getRhs());
    Value result = Op::create(rewriter, location, lhs, rhs);
    if (isF16)
      result = arith::TruncFOp::create(rewriter, location, op.getType(), result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void tw::populateMinMaxPatterns(RewritePatternSet &patterns) {
  patterns.add<TakeInF32<arith::MaxNumFOp>, TakeInF32<arith::MinNumFOp>,
               TakeInF32<arith::MaximumFOp>, TakeInF32<arith::MinimumFOp>>(patterns.getContext());
}
