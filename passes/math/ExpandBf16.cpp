// Operations on bf16 vectors that LLVM 22 cannot select for x86 ("Cannot select: v16bf16 =
// X86ISD::VPERM2X128", "v16f32 = X86ISD::CMPP"): shuffles move integers, comparisons are of f32.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/math/ExpandArith.h"
#include "passes/math/ExpandMath.h"

using namespace mlir;
using namespace tw;

namespace {
struct ShuffleBits : OpRewritePattern<vector::ShuffleOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(vector::ShuffleOp op, PatternRewriter &rewriter) const override {
    if (!op.getType().getElementType().isBF16())
      return rewriter.notifyMatchFailure(op, "not bf16");
    Location location = op.getLoc();
    auto bitsOf = [&](Value value) -> Value {
      Type type = withElement(value.getType(), rewriter.getI16Type());
      return arith::BitcastOp::create(rewriter, location, type, value);
    };
    Value bits = vector::ShuffleOp::create(rewriter, location, bitsOf(op.getV1()),
                                           bitsOf(op.getV2()), op.getMask());
    rewriter.replaceOpWithNewOp<arith::BitcastOp>(op, op.getType(), bits);
    return success();
  }
};

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
} // namespace

void tw::populateBf16Patterns(RewritePatternSet &patterns) {
  patterns.add<ShuffleBits, CompareInF32>(patterns.getContext());
}
