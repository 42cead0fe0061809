// Writes arithmetic on one type of float, a scalar or a vector, as short as the formula reads.
#include "passes/math/Formula.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace tw;

Type Formula::typeOf(Type element) const {
  if (auto vector = dyn_cast<VectorType>(floatType))
    return vector.clone(element);
  return element;
}

Type Formula::integerType() const {
  unsigned width = getElementTypeOrSelf(floatType).getIntOrFloatBitWidth();
  return typeOf(builder.getIntegerType(width));
}

bool Formula::isDouble() const { return getElementTypeOrSelf(floatType).isF64(); }

static Value splat(OpBuilder &builder, Location location, Type type, TypedAttr element) {
  if (auto vector = dyn_cast<VectorType>(type))
    return arith::ConstantOp::create(builder, location, DenseElementsAttr::get(vector, element));
  return arith::ConstantOp::create(builder, location, element);
}

Value Formula::constant(double value) {
  return splat(builder, location, floatType,
               builder.getFloatAttr(getElementTypeOrSelf(floatType), value));
}

Value Formula::integer(int64_t value) {
  Type type = integerType();
  auto element = cast<IntegerType>(getElementTypeOrSelf(type));
  APInt wrapped(element.getWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true);
  return splat(builder, location, type, IntegerAttr::get(element, wrapped));
}

Value Formula::add(Value a, Value b) { return arith::AddFOp::create(builder, location, a, b); }
Value Formula::sub(Value a, Value b) { return arith::SubFOp::create(builder, location, a, b); }
Value Formula::mul(Value a, Value b) { return arith::MulFOp::create(builder, location, a, b); }
Value Formula::div(Value a, Value b) { return arith::DivFOp::create(builder, location, a, b); }
Value Formula::negate(Value a) { return arith::NegFOp::create(builder, location, a); }
Value Formula::fma(Value a, Value b, Value c) {
  if (hasFma || isDouble())
    return math::FmaOp::create(builder, location, a, b, c);
  Type wide = typeOf(builder.getF64Type());
  auto widen = [&](Value value) {
    return arith::ExtFOp::create(builder, location, wide, value).getResult();
  };
  Value product = arith::MulFOp::create(builder, location, widen(a), widen(b));
  Value sum = arith::AddFOp::create(builder, location, product, widen(c));
  return arith::TruncFOp::create(builder, location, floatType, sum);
}

template <typename T> static Value evaluateHorner(Formula &f, ArrayRef<T> coefficients, Value x) {
  Value sum = f.constant(coefficients.back());
  for (T coefficient : llvm::reverse(coefficients.drop_back()))
    sum = f.fma(sum, x, f.constant(coefficient));
  return sum;
}

Value Formula::polynomial(ArrayRef<float> coefficients, Value x) {
  return evaluateHorner(*this, coefficients, x);
}
Value Formula::polynomial(ArrayRef<double> coefficients, Value x) {
  return evaluateHorner(*this, coefficients, x);
}

Value Formula::absolute(Value a) { return math::AbsFOp::create(builder, location, a); }
Value Formula::copySign(Value magnitude, Value sign) {
  return math::CopySignOp::create(builder, location, magnitude, sign);
}
Value Formula::bits(Value a) {
  return arith::BitcastOp::create(builder, location, integerType(), a);
}
Value Formula::fromBits(Value a) {
  return arith::BitcastOp::create(builder, location, floatType, a);
}
Value Formula::fromSigned(Value a) {
  return arith::SIToFPOp::create(builder, location, floatType, a);
}
Value Formula::addInt(Value a, Value b) { return arith::AddIOp::create(builder, location, a, b); }
Value Formula::subInt(Value a, Value b) { return arith::SubIOp::create(builder, location, a, b); }
Value Formula::andInt(Value a, Value b) { return arith::AndIOp::create(builder, location, a, b); }
Value Formula::orInt(Value a, Value b) { return arith::OrIOp::create(builder, location, a, b); }
Value Formula::xorInt(Value a, Value b) { return arith::XOrIOp::create(builder, location, a, b); }
Value Formula::shiftLeft(Value a, int64_t amount) {
  return arith::ShLIOp::create(builder, location, a, integer(amount));
}
Value Formula::shiftRight(Value a, int64_t amount) {
  return arith::ShRUIOp::create(builder, location, a, integer(amount));
}
Value Formula::shiftRightSigned(Value a, int64_t amount) {
  return arith::ShRSIOp::create(builder, location, a, integer(amount));
}

static Value compare(Formula &f, arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(f.builder, f.location, predicate, a, b);
}
Value Formula::less(Value a, Value b) { return compare(*this, arith::CmpFPredicate::OLT, a, b); }
Value Formula::equal(Value a, Value b) { return compare(*this, arith::CmpFPredicate::OEQ, a, b); }
Value Formula::isNan(Value a) { return compare(*this, arith::CmpFPredicate::UNO, a, a); }
Value Formula::isUnordered(Value a, Value b) {
  return compare(*this, arith::CmpFPredicate::UNO, a, b);
}
Value Formula::compareInt(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(builder, location, predicate, a, b);
}
Value Formula::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, location, condition, a, b);
}

// One minimum or maximum instruction on machines whose instruction yields its second operand on
// NaN.
Value Formula::atMost(Value x, double bound) {
  Value limit = constant(bound);
  if (hasNanMinimum)
    return arith::MinimumFOp::create(builder, location, x, limit);
  return select(less(limit, x), limit, x);
}
Value Formula::atLeast(Value x, double bound) {
  Value limit = constant(bound);
  if (hasNanMinimum)
    return arith::MaximumFOp::create(builder, location, x, limit);
  return select(less(x, limit), limit, x);
}
