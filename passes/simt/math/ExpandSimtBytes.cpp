// Conversions of words of four bytes to f16 in one lane: conversions of integers run at a quarter
// of the speed of other instructions, sums of pairs of f16 do not.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/simt/math/ExpandSimtMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

// The f16 whose upper byte is this, and whose lower one is n, is 1024 + n.
static constexpr int8_t kUpperByte = 0x64;
static constexpr double kOffset = 1024;

/// Bytes `first` and the next one as a pair of f16, each `offset` too large.
static Value pairOf(OpBuilder &b, Location loc, Value bytes, int64_t first, double offset) {
  auto word = cast<VectorType>(bytes.getType());
  auto pair = VectorType::get(2, b.getF16Type());
  auto upper = DenseElementsAttr::get(word, b.getI8IntegerAttr(kUpperByte).getValue());
  Value upperBytes = arith::ConstantOp::create(b, loc, upper);
  Value bits = vector::ShuffleOp::create(b, loc, bytes, upperBytes,
                                         ArrayRef<int64_t>{first, 4, first + 1, 4});
  Value shifted = vector::BitCastOp::create(b, loc, pair, bits);
  auto amount = DenseElementsAttr::get(pair, b.getF16FloatAttr(offset).getValue());
  return arith::SubFOp::create(b, loc, shifted, arith::ConstantOp::create(b, loc, amount));
}

namespace {
/// Exact: all numbers are below 2048. A signed byte with its upper bit flipped is 128 too large.
template <typename Op> struct ConvertBytes : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto from = dyn_cast<VectorType>(op.getIn().getType());
    auto to = dyn_cast<VectorType>(op.getType());
    if (!to || !to.getElementType().isF16() || from.getNumElements() != 4 ||
        !from.getElementType().isInteger(8))
      return rewriter.notifyMatchFailure(op, "no word of bytes that becomes f16");
    Location loc = op.getLoc();
    Value bytes = op.getIn();
    double offset = kOffset;
    if (std::is_same_v<Op, arith::SIToFPOp>) {
      Type word = rewriter.getI32Type();
      Value bits = LLVM::BitcastOp::create(rewriter, loc, word, bytes);
      Value upperBits =
          arith::ConstantOp::create(rewriter, loc, rewriter.getI32IntegerAttr(int32_t(0x80808080)));
      bits = arith::XOrIOp::create(rewriter, loc, bits, upperBits);
      bytes = LLVM::BitcastOp::create(rewriter, loc, from, bits);
      offset += 128;
    }
    Value low = pairOf(rewriter, loc, bytes, 0, offset);
    Value high = pairOf(rewriter, loc, bytes, 2, offset);
    rewriter.replaceOpWithNewOp<vector::ShuffleOp>(op, low, high, ArrayRef<int64_t>{0, 1, 2, 3});
    return success();
  }
};
} // namespace

void tw::simt::populateSimtBytePatterns(RewritePatternSet &patterns) {
  patterns.add<ConvertBytes<arith::SIToFPOp>, ConvertBytes<arith::UIToFPOp>>(patterns.getContext());
}
