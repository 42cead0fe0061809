// Arithmetic of one lane with the meaning that it has on tiles: what a GPU's instructions do not
// give by themselves.
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"
#include "passes/math/ExpandArith.h"
#include "passes/simt/math/ExpandSimtMath.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

namespace {
/// A float as significand * 2^(exponent - bias - mantissa bits), the bias being the type's.
struct IntegerFloat {
  Value significand, exponent;
};
} // namespace

/// Splits a finite number >= 0 into integers of 64 bits. Subnormal numbers have the exponent 1 as
/// well.
static IntegerFloat integerFloatOf(LaneFormula &f, LaneFormula &wide, Value x) {
  Value bits = f.isDouble() ? f.bits(x) : wide.toOtherWidthInt(f.bits(x));
  Value field = wide.shiftRight(bits, f.mantissaBits());
  Value isSubnormal = wide.compareInt(arith::CmpIPredicate::eq, field, wide.integer(0));
  int64_t leadingBit = int64_t(1) << f.mantissaBits();
  Value stored = wide.andInt(bits, wide.integer(leadingBit - 1));
  Value leading = wide.select(isSubnormal, wide.integer(0), wide.integer(leadingBit));
  return {wide.orInt(stored, leading), wide.select(isSubnormal, wide.integer(1), field)};
}

/// significand * 2^(exponent - bias - mantissa bits), which is representable. The power is made of
/// two factors, because it may itself be too small.
static Value floatOf(LaneFormula &f, LaneFormula &wide, const IntegerFloat &x) {
  Value significand = wide.fromUnsigned(x.significand);
  Value exponent = x.exponent;
  if (!f.isDouble()) {
    significand = f.toOtherWidth(significand);
    exponent = f.toOtherWidthInt(exponent);
  }
  Value lowered = f.fromBits(f.shiftLeft(exponent, f.mantissaBits())); // 2^(exponent - bias)
  int64_t unit = f.exponentBias() - int64_t(f.mantissaBits());
  Value scale = f.fromBits(f.integer(unit << f.mantissaBits()));
  return f.mul(f.mul(significand, scale), lowered);
}

/// The dividend's significand times 2^(difference of exponents), modulo the divisor's, in steps
/// that fit 64 bits. No division of floats is exact over such distances.
Value tw::simt::emitLaneRemainder(LaneFormula &f, ArrayRef<Value> ab) {
  LaneFormula wide = f.ofDouble();
  Value a = f.absolute(ab[0]), b = f.absolute(ab[1]);
  IntegerFloat dividend = integerFloatOf(f, wide, a), divisor = integerFloatOf(f, wide, b);
  Value isZero = f.equal(b, f.constant(0.0)), zero = wide.integer(0);
  Value modulus = wide.select(isZero, wide.integer(1), divisor.significand);
  Value largestStep = wide.integer(f.isDouble() ? 11 : 40);
  Value distance = wide.subInt(dividend.exponent, divisor.exponent);
  using P = arith::CmpIPredicate;
  SmallVector<Value> last = wide.repeat(
      [&](ArrayRef<Value> carried) { return wide.compareInt(P::sgt, carried[1], zero); },
      [&](ArrayRef<Value> carried) -> SmallVector<Value> {
        Value isFar = wide.compareInt(P::sgt, carried[1], largestStep);
        Value step = wide.select(isFar, largestStep, carried[1]);
        Value shifted = wide.shiftLeftBy(carried[0], step);
        return {wide.remainderInt(shifted, modulus), wide.subInt(carried[1], step)};
      },
      {wide.remainderInt(dividend.significand, modulus), distance});
  Value result = floatOf(f, wide, {last[0], divisor.exponent});
  result = f.copySign(f.select(f.less(a, b), a, result), ab[0]);
  Value isInfinite = f.equal(a, f.constant(std::numeric_limits<double>::infinity()));
  Value nan = f.constant(std::numeric_limits<double>::quiet_NaN());
  result = f.select(f.orInt(isZero, isInfinite), nan, result);
  return f.select(f.isUnordered(a, b), nan, result);
}

namespace {
/// Float to integer as LLVM's saturating conversion, which turns NaN into 0.
template <typename Op> struct SaturateConversion : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    Value source = op.getIn();
    if (!isa<IntegerType>(op.getType()))
      return rewriter.notifyMatchFailure(op, "not an integer of the language");
    if (source.getType().isBF16())
      source = arith::ExtFOp::create(rewriter, op.getLoc(), rewriter.getF32Type(), source);
    StringRef name = std::is_same_v<Op, arith::FPToSIOp> ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    auto call = LLVM::CallIntrinsicOp::create(rewriter, op.getLoc(), op.getType(),
                                              rewriter.getStringAttr(name), ValueRange{source});
    rewriter.replaceOp(op, call.getResults());
    return success();
  }
};

/// Integers of more than 16 bits reach bf16 by way of float64: float32 would round once more.
template <typename Op> struct WidenIntegerToBf16 : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    if (!op.getType().isBF16())
      return rewriter.notifyMatchFailure(op, "not bf16");
    bool fitsF32 = op.getIn().getType().getIntOrFloatBitWidth() <= 16;
    Type exact = fitsF32 ? rewriter.getF32Type() : rewriter.getF64Type();
    Value wide = Op::create(rewriter, op.getLoc(), exact, op.getIn());
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, op.getType(), wide);
    return success();
  }
};

static bool mayUseReciprocal(arith::DivFOp op) {
  return bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::arcp);
}

static bool isFlushedReciprocal(Operation *op) {
  auto approx = dyn_cast<ApproxOp>(op);
  return approx && approx.getKind() == ApproxKind::ReciprocalFlushed;
}

/// Returns true if several operations divide by this number, so that computing its reciprocal pays
/// off. A division that was already rewritten counts through the factor of its reciprocal.
static bool dividesOften(Value divisor) {
  return llvm::count_if(divisor.getUsers(), [&](Operation *user) {
           if (isa<arith::MulFOp>(user))
             return llvm::any_of(user->getUsers(), isFlushedReciprocal);
           auto division = dyn_cast<arith::DivFOp>(user);
           return division && division.getRhs() == divisor && mayUseReciprocal(division);
         }) > 1;
}

/// Where the divisor is known, for all that divide by it; CSE leaves one of them. The factors keep
/// the instruction's operand and result normal for divisors up to the largest.
static Value reciprocalAtDefinition(OpBuilder &builder, Location location, Value divisor) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(divisor);
  LaneFormula f(builder, location, divisor.getType());
  Value quarter = f.constant(0.25);
  Value inverse = f.approximate(ApproxKind::ReciprocalFlushed, f.mul(divisor, quarter));
  return f.mul(inverse, quarter);
}

/// The reciprocal of a square root, where that is known: one approximation of the machine.
static Value reciprocalOfRoot(OpBuilder &builder, math::SqrtOp root) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfter(root);
  LaneFormula f(builder, root.getLoc(), root.getType());
  return f.approximate(ApproxKind::Rsqrt, root.getOperand());
}

/// Many divisions of float32 by one number are multiplications with its reciprocal: 2 units while
/// that is a normal number. Divisors below 2^-124 count as 0. So is a division by a square root,
/// within 3 units for all numbers.
struct ShareReciprocal : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    Value divisor = op.getRhs();
    if (!op.getType().isF32() || !mayUseReciprocal(op))
      return rewriter.notifyMatchFailure(op, "no reciprocal allowed");
    if (auto known = divisor.getDefiningOp<arith::ConstantOp>()) {
      APFloat inverse(1.0f);
      inverse.divide(cast<FloatAttr>(known.getValue()).getValue(), APFloat::rmNearestTiesToEven);
      if (!inverse.isNormal())
        return rewriter.notifyMatchFailure(op, "the reciprocal is not a normal number");
      divisor = arith::ConstantOp::create(rewriter, op.getLoc(),
                                          rewriter.getFloatAttr(op.getType(), inverse));
    } else if (auto root = divisor.getDefiningOp<math::SqrtOp>()) {
      divisor = reciprocalOfRoot(rewriter, root);
    } else if (dividesOften(divisor)) {
      divisor = reciprocalAtDefinition(rewriter, op.getLoc(), divisor);
    } else {
      return rewriter.notifyMatchFailure(op, "one division of its own");
    }
    rewriter.replaceOpWithNewOp<arith::MulFOp>(op, op.getLhs(), divisor);
    return success();
  }
};

/// Division of float32 within 2 units where the operation allows a reciprocal; of 16-bit floats in
/// float32.
struct ExpandQuotient : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::DivFOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType(), single = rewriter.getF32Type();
    Location location = op.getLoc();
    bool isNarrow = type.isF16() || type.isBF16();
    if (!isNarrow && !(type.isF32() && mayUseReciprocal(op)))
      return rewriter.notifyMatchFailure(op, "exact division is one operation");
    auto widened = [&](Value value) -> Value {
      return isNarrow ? arith::ExtFOp::create(rewriter, location, single, value) : value;
    };
    Value lhs = widened(op.getLhs()), rhs = widened(op.getRhs());
    Value quotient = mayUseReciprocal(op)
                         ? Value(DivideOp::create(rewriter, location, single, lhs, rhs))
                         : Value(arith::DivFOp::create(rewriter, location, lhs, rhs));
    if (isNarrow)
      quotient = arith::TruncFOp::create(rewriter, location, type, quotient);
    rewriter.replaceOp(op, quotient);
    return success();
  }
};

/// LLVM's own expansion of a remainder rounds the quotient. The remainder of 16-bit floats is one.
struct ExpandRemainder : OpRewritePattern<arith::RemFOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(arith::RemFOp op, PatternRewriter &rewriter) const override {
    Type type = op.getType();
    Location location = op.getLoc();
    bool isNarrow = type.isF16() || type.isBF16();
    if (!isNarrow && !type.isF32() && !type.isF64())
      return rewriter.notifyMatchFailure(op, "not f16, bf16, f32 or f64");
    LaneFormula f(rewriter, location, isNarrow ? Type(rewriter.getF32Type()) : type);
    SmallVector<Value> operands(op->getOperands());
    if (isNarrow)
      for (Value &operand : operands)
        operand = arith::ExtFOp::create(rewriter, location, f.floatType, operand);
    Value result = emitLaneRemainder(f, operands);
    if (isNarrow)
      result = arith::TruncFOp::create(rewriter, location, type, result);
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

void tw::simt::populateSimtArithPatterns(RewritePatternSet &patterns) {
  populateShiftPatterns(patterns);
  populateDivisionPatterns(patterns);
  patterns.add<SaturateConversion<arith::FPToSIOp>, SaturateConversion<arith::FPToUIOp>,
               WidenIntegerToBf16<arith::SIToFPOp>, WidenIntegerToBf16<arith::UIToFPOp>,
               ExpandRemainder>(patterns.getContext());
  patterns.add<ShareReciprocal>(patterns.getContext(), /*benefit=*/2);
  patterns.add<ExpandQuotient>(patterns.getContext());
}
