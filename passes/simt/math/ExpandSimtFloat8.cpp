// Conversions of pairs of 8-bit floats in one lane: left to the machine where it has instructions
// for them, else arithmetic.
#include "ir/target/TargetDesc.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/math/ExpandArith.h"
#include "passes/simt/math/ExpandSimtMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

/// The formats that machines know.
static bool isOfMachines(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementTypeOrSelf(type));
}

/// Returns true if the machine converts between these types: between 8-bit floats and f16, and from
/// f32. A scalar, as in a combining function, is left to arithmetic.
static bool hasFloat8Casts(Operation *op) {
  bool isKnown =
      isOfMachines(op->getOperand(0).getType()) || isOfMachines(op->getResult(0).getType());
  return isKnown && isa<VectorType>(op->getResult(0).getType()) &&
         hasFeature(targetOf(op), tile::Feature::Float8Casts);
}

/// A float under another float type of at least 16 bits.
static Value resize(OpBuilder &builder, Location location, Value value, Type type) {
  Type from = getElementTypeOrSelf(value.getType()), to = getElementTypeOrSelf(type);
  if (from == to)
    return value;
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, location, type, value);
  return arith::TruncFOp::create(builder, location, type, value);
}

/// An f8E5M2 is the upper byte of the f16 of the same value.
static Value extendUpperByte(OpBuilder &builder, Location location, Value value, Type type) {
  Type word = builder.getI16Type();
  Value bits = arith::BitcastOp::create(builder, location, builder.getI8Type(), value);
  bits = arith::ExtUIOp::create(builder, location, word, bits);
  Value amount = emitInteger(builder, location, word, 8);
  bits = arith::ShLIOp::create(builder, location, bits, amount);
  Value half = arith::BitcastOp::create(builder, location, builder.getF16Type(), bits);
  if (type.isBF16()) // not wider than f16
    half = resize(builder, location, half, builder.getF32Type());
  return resize(builder, location, half, type);
}

/// Lane by lane, since these machines shift no pairs.
static Value extendUpperBytes(OpBuilder &builder, Location location, Value value, Type type) {
  auto vector = dyn_cast<VectorType>(type);
  if (!vector)
    return extendUpperByte(builder, location, value, type);
  SmallVector<Value> lanes;
  for (int64_t lane = 0; lane < vector.getNumElements(); ++lane) {
    Value byte = vector::ExtractOp::create(builder, location, value, lane);
    lanes.push_back(extendUpperByte(builder, location, byte, vector.getElementType()));
  }
  return vector::FromElementsOp::create(builder, location, vector, lanes);
}

/// The two bytes in the halves of a word, with zeros above them.
static Value spreadBytes(OpBuilder &builder, Location location, Value pair) {
  Type word = builder.getI32Type();
  auto bytes = VectorType::get(2, builder.getI8Type());
  Value bits = arith::BitcastOp::create(builder, location, bytes, pair);
  auto lane = [&](int64_t number) -> Value {
    Value byte = vector::ExtractOp::create(builder, location, bits, number);
    return arith::ExtUIOp::create(builder, location, word, byte);
  };
  Value upper =
      arith::ShLIOp::create(builder, location, lane(1), emitInteger(builder, location, word, 16));
  return arith::OrIOp::create(builder, location, lane(0), upper);
}

static Value bitsAs(OpBuilder &builder, Location location, Value value, VectorType type) {
  return vector::BitCastOp::create(builder, location, type, value);
}

/// A pair of f8E4M3FN as f16, both at a time: their digits where f16 has its own, which makes
/// numbers 2^8 too small, subnormal ones too; and the code of NaN (480 if it were a number), the
/// only one to which one more digit carries, gets the exponent of NaN.
static Value extendE4M3Pair(OpBuilder &builder, Location location, Value pair) {
  Type word = builder.getI32Type();
  auto words = VectorType::get(1, word), halves = VectorType::get(2, builder.getF16Type());
  auto constant = [&](int64_t number) { return emitInteger(builder, location, word, number); };
  auto left = [&](Value value, int64_t amount) -> Value {
    return arith::ShLIOp::create(builder, location, value, constant(amount));
  };
  auto masked = [&](Value value, int64_t mask) -> Value {
    return arith::AndIOp::create(builder, location, value, constant(mask));
  };
  Value bytes = spreadBytes(builder, location, pair);
  Value digits = masked(left(bytes, 7), 0x3f803f80), signs = masked(left(bytes, 8), 0x80008000);
  Value small = arith::OrIOp::create(builder, location, digits, signs);
  Value carried = arith::AddIOp::create(builder, location, digits, constant(0x00800080));
  Value isNan = arith::ShRUIOp::create(builder, location, carried, constant(1));
  Value half = bitsAs(builder, location,
                      vector::FromElementsOp::create(builder, location, words, small), halves);
  Value scale = arith::ConstantOp::create(
      builder, location, DenseElementsAttr::get(halves, builder.getF16FloatAttr(256.0).getValue()));
  Value scaled = arith::MulFOp::create(builder, location, half, scale);
  Value result = vector::ExtractOp::create(builder, location,
                                           bitsAs(builder, location, scaled, words), int64_t(0));
  result = arith::OrIOp::create(builder, location, result, masked(isNan, 0x20002000));
  return bitsAs(builder, location, vector::FromElementsOp::create(builder, location, words, result),
                halves);
}

namespace {
/// 8-bit floats become f16 by an instruction, or float32 by arithmetic; both are exact.
struct ExtendFloat8 : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    if (!isFloat8(getElementTypeOrSelf(op.getIn().getType())))
      return rewriter.notifyMatchFailure(op, "not an 8-bit float");
    Location location = op.getLoc();
    if (!hasFloat8Casts(op)) {
      if (isa<Float8E5M2Type>(getElementTypeOrSelf(op.getIn().getType()))) {
        rewriter.replaceOp(op, extendUpperBytes(rewriter, location, op.getIn(), op.getType()));
        return success();
      }
      auto vector = dyn_cast<VectorType>(op.getType());
      bool isPair = vector && vector.getNumElements() == 2 && isOfMachines(op.getIn().getType());
      Value exact = isPair ? extendE4M3Pair(rewriter, location, op.getIn())
                           : emitExtendFloat8(rewriter, location, op.getIn());
      if (getElementTypeOrSelf(op.getType()).isBF16())
        exact = resize(rewriter, location, exact, withElement(op.getType(), rewriter.getF32Type()));
      rewriter.replaceOp(op, resize(rewriter, location, exact, op.getType()));
      return success();
    }
    if (getElementTypeOrSelf(op.getType()).isF16())
      return rewriter.notifyMatchFailure(op, "one instruction");
    auto typeOf = [&](Type element) { return withElement(op.getType(), element); };
    Value half =
        arith::ExtFOp::create(rewriter, location, typeOf(rewriter.getF16Type()), op.getIn());
    Value single = resize(rewriter, location, half, typeOf(rewriter.getF32Type()));
    rewriter.replaceOp(op, resize(rewriter, location, single, op.getType()));
    return success();
  }
};

struct RoundToFloat8 : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    if (!isFloat8(getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "not an 8-bit float");
    Type from = getElementTypeOrSelf(op.getIn().getType());
    bool isNative = hasFloat8Casts(op);
    if (isNative && !from.isF64())
      return rewriter.notifyMatchFailure(op, "one instruction");
    Location location = op.getLoc();
    Type single = withElement(op.getType(), rewriter.getF32Type());
    Value source = from.isF64() ? emitFloat8Source(rewriter, location, op.getIn())
                                : resize(rewriter, location, op.getIn(), single);
    if (isNative)
      rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), source);
    else
      rewriter.replaceOp(op, emitRoundToFloat8(rewriter, location, source, op.getType()));
    return success();
  }
};
} // namespace

void tw::simt::populateSimtFloat8Patterns(RewritePatternSet &patterns) {
  patterns.add<ExtendFloat8, RoundToFloat8>(patterns.getContext());
}
