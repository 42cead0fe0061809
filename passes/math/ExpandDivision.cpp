// Integer division and remainder that never trap, and stay vector code where a float can divide
// exactly.
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/math/ExpandArith.h"
#include <cmath>

using namespace mlir;
using namespace tw;

namespace {
/// One division in the making: the meaning is sign and remainder; the rest builds integer
/// operations.
struct Division {
  OpBuilder &builder;
  Location location;
  bool isSigned, isRemainder;

  Value constant(Type type, int64_t value) { return emitInteger(builder, location, type, value); }
  Value equals(Value a, int64_t value) {
    return arith::CmpIOp::create(builder, location, arith::CmpIPredicate::eq, a,
                                 constant(a.getType(), value));
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, location, condition, a, b);
  }
  Value negative(Value a) {
    return arith::SubIOp::create(builder, location, constant(a.getType(), 0), a);
  }
  Value broadcast(Value scalar, Type like) {
    auto type = dyn_cast<VectorType>(like);
    if (!type)
      return scalar;
    return vector::BroadcastOp::create(builder, location, type.clone(scalar.getType()), scalar);
  }

  Value divide(Value a, Value b);
  Value toFloat(Value a, Type element);
  Value toInteger(Value a, Type element);
  Value extend(Value a, Type element);
  Value truncate(Value a, Type element);
};

/// The special cases of a divisor. `safe` is 1 in all of them, so that dividing by it gives the
/// right remainder, 0.
struct Guarded {
  Value isZero, isMinusOne; // isMinusOne is null where -1 needs no care
  Value safe;
};
} // namespace

Value Division::divide(Value a, Value b) {
  if (isRemainder)
    return isSigned ? arith::RemSIOp::create(builder, location, a, b).getResult()
                    : arith::RemUIOp::create(builder, location, a, b).getResult();
  return isSigned ? arith::DivSIOp::create(builder, location, a, b).getResult()
                  : arith::DivUIOp::create(builder, location, a, b).getResult();
}

Value Division::toFloat(Value a, Type element) {
  Type type = withElement(a.getType(), element);
  return isSigned ? arith::SIToFPOp::create(builder, location, type, a).getResult()
                  : arith::UIToFPOp::create(builder, location, type, a).getResult();
}

Value Division::toInteger(Value a, Type element) {
  Type type = withElement(a.getType(), element);
  return isSigned ? arith::FPToSIOp::create(builder, location, type, a).getResult()
                  : arith::FPToUIOp::create(builder, location, type, a).getResult();
}

Value Division::extend(Value a, Type element) {
  Type type = withElement(a.getType(), element);
  if (type == a.getType())
    return a;
  return isSigned ? arith::ExtSIOp::create(builder, location, type, a).getResult()
                  : arith::ExtUIOp::create(builder, location, type, a).getResult();
}

Value Division::truncate(Value a, Type element) {
  Type type = withElement(a.getType(), element);
  return type == a.getType() ? a : arith::TruncIOp::create(builder, location, type, a);
}

static Guarded guard(Division &d, Value divisor, bool minusOneOverflows) {
  Guarded guarded{d.equals(divisor, 0), Value(), Value()};
  Value special = guarded.isZero;
  if (minusOneOverflows) {
    guarded.isMinusOne = d.equals(divisor, -1);
    special = arith::OrIOp::create(d.builder, d.location, special, guarded.isMinusOne);
  }
  guarded.safe = d.select(special, d.constant(divisor.getType(), 1), divisor);
  return guarded;
}

/// The quotient by the divisor itself, given the one by its safe form.
static Value unguard(Division &d, const Guarded &guarded, Value lhs, Value quotient) {
  if (guarded.isMinusOne)
    quotient = d.select(guarded.isMinusOne, d.negative(lhs), quotient);
  return d.select(guarded.isZero, d.constant(lhs.getType(), 0), quotient);
}

/// Scalars and vectors of i64: the machine's own division of a safe divisor.
static Value divideByInstruction(Division &d, Value lhs, Value rhs) {
  Guarded guarded = guard(d, rhs, d.isSigned);
  Value result = d.divide(lhs, guarded.safe);
  return d.isRemainder ? result : unguard(d, guarded, lhs, result);
}

static Value remainderOf(Division &d, Value lhs, Value quotient, Value divisor) {
  Value product = arith::MulIOp::create(d.builder, d.location, quotient, divisor);
  return arith::SubIOp::create(d.builder, d.location, lhs, product);
}

/// The float whose quotients, cut off, are those of the integers. A quotient a / b that is no
/// integer differs from the next one by 1 / b or more, relatively by more than 2^-width: more than
/// the float's rounding for 16 bits in f32 and for 32 bits in f64.
static FloatType exactFloat(OpBuilder &builder, unsigned width) {
  if (width <= 16)
    return builder.getF32Type();
  return builder.getF64Type();
}

/// Vectors of up to 32 bits.
static Value divideByFloat(Division &d, Value lhs, Value rhs) {
  Type element = getElementTypeOrSelf(lhs.getType());
  unsigned width = element.getIntOrFloatBitWidth();
  Type word = d.builder.getI32Type();
  Type real = exactFloat(d.builder, width);
  Value a = d.extend(lhs, word);
  Guarded guarded = guard(d, d.extend(rhs, word), d.isSigned && width == 32);
  Value quotient = arith::DivFOp::create(d.builder, d.location, d.toFloat(a, real),
                                         d.toFloat(guarded.safe, real));
  Value result = d.toInteger(quotient, word);
  result = d.isRemainder ? remainderOf(d, a, result, guarded.safe) : unguard(d, guarded, a, result);
  return d.truncate(result, element);
}

/// The same for one divisor of all lanes: a multiplication by its reciprocal. Enlarging the
/// reciprocal by more than the roundings keeps exact quotients from falling below their integer,
/// and by less than 2^-width keeps the others from reaching the next one.
static Value divideByReciprocal(Division &d, Value lhs, Value divisor) {
  Type element = divisor.getType();
  unsigned width = element.getIntOrFloatBitWidth();
  Type word = d.builder.getI32Type();
  FloatType real = exactFloat(d.builder, width);
  double enlarged = 1.0 + std::ldexp(1.0, width <= 16 ? -20 : -44);
  Value a = d.extend(lhs, word);
  Guarded guarded = guard(d, d.extend(divisor, word), d.isSigned && width == 32);
  Value numerator =
      arith::ConstantOp::create(d.builder, d.location, d.builder.getFloatAttr(real, enlarged));
  Value reciprocal =
      arith::DivFOp::create(d.builder, d.location, numerator, d.toFloat(guarded.safe, real));
  Value scaled = arith::MulFOp::create(d.builder, d.location, d.toFloat(a, real),
                                       d.broadcast(reciprocal, a.getType()));
  Value result = d.toInteger(scaled, word);
  if (d.isRemainder) {
    result = remainderOf(d, a, result, d.broadcast(guarded.safe, a.getType()));
  } else {
    guarded.isZero = d.broadcast(guarded.isZero, a.getType());
    if (guarded.isMinusOne)
      guarded.isMinusOne = d.broadcast(guarded.isMinusOne, a.getType());
    result = unguard(d, guarded, a, result);
  }
  return d.truncate(result, element);
}

/// The scalar that every lane of a value equals, where the value was made from one.
static Value splatSource(Value value) {
  auto broadcast = value.getDefiningOp<vector::BroadcastOp>();
  if (broadcast && !isa<VectorType>(broadcast.getSource().getType()))
    return broadcast.getSource();
  return Value();
}

static Value expandDivision(Division &d, Value lhs, Value rhs) {
  unsigned width = getElementTypeOrSelf(lhs.getType()).getIntOrFloatBitWidth();
  if (!isa<VectorType>(lhs.getType()) || width > 32)
    return divideByInstruction(d, lhs, rhs);
  if (Value divisor = splatSource(rhs))
    return divideByReciprocal(d, lhs, divisor);
  return divideByFloat(d, lhs, rhs);
}

/// The value for a divisor known to be 0 or, signed, -1.
static Value divideByConstant(Division &d, Value lhs, const APInt &divisor) {
  if (divisor.isZero() || d.isRemainder)
    return d.constant(lhs.getType(), 0);
  return d.negative(lhs);
}

namespace {
template <typename Op, bool isSigned, bool isRemainder>
struct ExpandDivision : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;
  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    auto element = dyn_cast<IntegerType>(getElementTypeOrSelf(op.getType()));
    if (!element || element.getWidth() > 64)
      return rewriter.notifyMatchFailure(op, "not an integer of the language");
    Division division{rewriter, op.getLoc(), isSigned, isRemainder};
    Value divisor = op.getRhs(), source = splatSource(divisor);
    APInt known;
    if (!matchPattern(source ? source : divisor, m_ConstantInt(&known))) {
      rewriter.replaceOp(op, expandDivision(division, op.getLhs(), divisor));
      return success();
    }
    if (known.isZero() || (isSigned && known.isAllOnes())) {
      rewriter.replaceOp(op, divideByConstant(division, op.getLhs(), known));
      return success();
    }
    if (!source)
      return rewriter.notifyMatchFailure(op, "the known divisor is harmless");
    // LLVM multiplies by the inverse of a divisor that it sees to be constant.
    auto splat = DenseElementsAttr::get(cast<ShapedType>(divisor.getType()), known);
    Value constant = arith::ConstantOp::create(rewriter, op.getLoc(), splat);
    rewriter.modifyOpInPlace(op, [&] { op.getRhsMutable().assign(constant); });
    return success();
  }
};
} // namespace

void tw::populateDivisionPatterns(RewritePatternSet &patterns) {
  patterns
      .add<ExpandDivision<arith::DivSIOp, true, false>,
           ExpandDivision<arith::DivUIOp, false, false>, ExpandDivision<arith::RemSIOp, true, true>,
           ExpandDivision<arith::RemUIOp, false, true>>(patterns.getContext());
}
