// Conversions: float to integer with saturation, and rounding to 16-bit floats by instructions
// only.
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/math/ExpandArith.h"
#include "passes/math/ExpandMath.h"
#include <cmath>

using namespace mlir;
using namespace tw;

/// The bf16 bits of a float32, rounded to nearest even; NaN stays a (quiet) NaN, subnormals are
/// kept.
static Value roundToBf16(Formula &f, Value x) {
  Value bits = f.bits(x);
  Value high = f.shiftRight(bits, 16);
  Value isOdd = f.andInt(high, f.integer(1));
  Value rounded = f.addInt(f.addInt(bits, f.integer(0x7fff)), isOdd);
  Value quiet = f.orInt(high, f.integer(0x40));
  Value result = f.select(f.isNan(x), quiet, f.shiftRight(rounded, 16));
  Type halves = f.typeOf(f.builder.getI16Type());
  result = arith::TruncIOp::create(f.builder, f.location, halves, result);
  return arith::BitcastOp::create(f.builder, f.location, f.typeOf(f.builder.getBF16Type()), result);
}

/// A bf16 as the float32 with the same bits in front. LLVM's own extension is not used, since LLVM
/// turns the maximum of two extended numbers into one of bf16: lane by lane, and flushing
/// subnormals.
static Value extendBf16(OpBuilder &builder, Location location, Value value) {
  auto typeOf = [&](Type element) { return withElement(value.getType(), element); };
  Type i32 = typeOf(builder.getI32Type());
  Value bits = arith::BitcastOp::create(builder, location, typeOf(builder.getI16Type()), value);
  bits = arith::ExtUIOp::create(builder, location, i32, bits);
  Value amount = emitInteger(builder, location, i32, APInt(32, 16));
  bits = arith::ShLIOp::create(builder, location, bits, amount);
  return arith::BitcastOp::create(builder, location, typeOf(builder.getF32Type()), bits);
}

/// A float64 as float32, rounded to odd: inexact results get an odd last bit, so that rounding once
/// more to at most 22 bits is as if it had been done at once.
static Value roundToOdd(Formula &f, Value x) {
  Type narrowType = f.typeOf(f.builder.getF32Type());
  Formula narrow(f.builder, f.location, narrowType, f.hasScale);
  Value nearest = arith::TruncFOp::create(f.builder, f.location, narrowType, x);
  Value back = arith::ExtFOp::create(f.builder, f.location, f.floatType, nearest);
  Value isAway = f.less(f.absolute(x), f.absolute(back));
  Value isInexact =
      arith::CmpFOp::create(f.builder, f.location, arith::CmpFPredicate::ONE, x, back);
  Value one = narrow.integer(1), zero = narrow.integer(0);
  Value bits = narrow.subInt(narrow.bits(nearest), narrow.select(isAway, one, zero));
  return narrow.fromBits(narrow.orInt(bits, narrow.select(isInexact, one, zero)));
}

Value tw::emitFloatCast(OpBuilder &builder, Location location, Value value, Type type) {
  Type from = getElementTypeOrSelf(value.getType()), to = getElementTypeOrSelf(type);
  if (from == to)
    return value;
  bool isNarrow = to.getIntOrFloatBitWidth() == 16;
  if (isFloat8(from))
    return emitFloatCast(builder, location, emitExtendFloat8(builder, location, value), type);
  if (isFloat8(to))
    return emitRoundToFloat8(builder, location, emitFloat8Source(builder, location, value), type);
  if (from.isBF16() && to.getIntOrFloatBitWidth() > 16)
    return emitFloatCast(builder, location, extendBf16(builder, location, value), type);
  if (from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, location, type, value);
  if (isNarrow && from.isF64()) {
    Formula wide(builder, location, value.getType(), false);
    value = roundToOdd(wide, value);
  }
  if (!to.isBF16())
    return arith::TruncFOp::create(builder, location, type, value);
  Formula f(builder, location, value.getType(), false);
  return roundToBf16(f, value);
}

Value tw::emitFloat8Source(OpBuilder &builder, Location location, Value value) {
  Type single = withElement(value.getType(), builder.getF32Type());
  if (!getElementTypeOrSelf(value.getType()).isF64())
    return emitFloatCast(builder, location, value, single);
  Formula wide(builder, location, value.getType(), false);
  return roundToOdd(wide, value);
}

namespace {
/// The range of an integer type, in floats.
struct IntegerRange {
  double low, high; // `high` is the largest float that is not above the largest integer
  bool isHighExact;
};
} // namespace

static IntegerRange rangeOf(unsigned width, bool isSigned, unsigned mantissaBits) {
  unsigned valueBits = isSigned ? width - 1 : width;
  double beyond = std::ldexp(1.0, valueBits);
  bool isExact = valueBits <= mantissaBits;
  double step = isExact ? 1.0 : std::ldexp(1.0, valueBits - mantissaBits);
  return {isSigned ? -beyond : 0.0, beyond - step, isExact};
}

/// LLVM's own saturating conversions of vectors would be done lane by lane.
static Value saturate(Formula &f, Value x, Type type, bool isSigned) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  bool isF64 = getElementTypeOrSelf(f.floatType).isF64();
  IntegerRange range = rangeOf(width, isSigned, isF64 ? 53 : 24);
  Value zero = f.constant(0.0);
  Value bounded = isSigned ? f.atLeast(f.select(f.isNan(x), zero, x), range.low)
                           : f.select(f.less(zero, x), x, zero);
  bounded = f.atMost(bounded, range.high);
  // Narrow results, signed or not, are in the range of i32.
  Type wide = width < 32 ? withElement(type, f.builder.getI32Type()) : type;
  Value result;
  if (isSigned || width < 32)
    result = arith::FPToSIOp::create(f.builder, f.location, wide, bounded);
  else
    result = arith::FPToUIOp::create(f.builder, f.location, wide, bounded);
  if (!range.isHighExact) {
    APInt largest = isSigned ? APInt::getSignedMaxValue(width) : APInt::getMaxValue(width);
    Value isAbove = f.less(f.constant(range.high), x);
    result = f.select(isAbove, emitInteger(f.builder, f.location, type, largest), result);
  }
  if (wide == type)
    return result;
  return arith::TruncIOp::create(f.builder, f.location, type, result);
}

namespace {
template <typename Op, bool isSigned> struct SaturateConversion : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Location location = op.getLoc();
    Value source = op.getIn();
    if (!isa<IntegerType>(getElementTypeOrSelf(op.getType())))
      return rewriter.notifyMatchFailure(op, "not an integer of the language");
    if (getElementTypeOrSelf(source.getType()).getIntOrFloatBitWidth() < 32)
      source = emitFloatCast(rewriter, location, source,
                             withElement(source.getType(), rewriter.getF32Type()));
    Formula f(rewriter, location, source.getType(), false);
    rewriter.replaceOp(op, saturate(f, source, op.getType(), isSigned));
    return success();
  }
};

struct RoundNarrow : OpRewritePattern<arith::TruncFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::TruncFOp op, PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType()), to = getElementTypeOrSelf(op.getType());
    if (!(to.isBF16() && (from.isF32() || from.isF64())) && !(to.isF16() && from.isF64()) &&
        !isFloat8(to))
      return rewriter.notifyMatchFailure(op, "LLVM selects it as it is");
    std::optional<arith::RoundingMode> mode = op.getRoundingmode();
    if (mode && *mode != arith::RoundingMode::to_nearest_even)
      return rewriter.notifyMatchFailure(op, "not rounded to nearest even");
    Value source = isFloat8(to) ? withoutFloat8Bound(op.getIn(), to) : op.getIn();
    rewriter.replaceOp(op, emitFloatCast(rewriter, op.getLoc(), source, op.getType()));
    return success();
  }
};

struct ExtendNarrow : OpRewritePattern<arith::ExtFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::ExtFOp op, PatternRewriter &rewriter) const override {
    Type from = getElementTypeOrSelf(op.getIn().getType());
    if (!from.isBF16() && !isFloat8(from))
      return rewriter.notifyMatchFailure(op, "LLVM selects it as it is");
    rewriter.replaceOp(op, emitFloatCast(rewriter, op.getLoc(), op.getIn(), op.getType()));
    return success();
  }
};

/// Integers to bf16 by way of a float that holds all of up to 32 bits; to 8-bit floats so too.
template <typename Op> struct IntegerToNarrow : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Type to = getElementTypeOrSelf(op.getType());
    if (!to.isBF16() && !isFloat8(to))
      return rewriter.notifyMatchFailure(op, "LLVM selects it as it is");
    bool fitsF32 = getElementTypeOrSelf(op.getIn().getType()).getIntOrFloatBitWidth() <= 16;
    Type exact = fitsF32 ? rewriter.getF32Type() : rewriter.getF64Type();
    Value wide = Op::create(rewriter, op.getLoc(), withElement(op.getType(), exact), op.getIn());
    rewriter.replaceOp(op, emitFloatCast(rewriter, op.getLoc(), wide, op.getType()));
    return success();
  }
};
} // namespace

void tw::populateConversionPatterns(RewritePatternSet &patterns) {
  populateMinMaxPatterns(patterns);
  patterns.add<SaturateConversion<arith::FPToSIOp, true>,
               SaturateConversion<arith::FPToUIOp, false>, RoundNarrow, ExtendNarrow,
               IntegerToNarrow<arith::SIToFPOp>, IntegerToNarrow<arith::UIToFPOp>>(
      patterns.getContext());
}
