// Conversions between float32 and 8-bit floats by integer and float32 arithmetic that is exact:
// f8E4M3FN and f8E5M2 (Open Compute Project, "8-bit Floating Point Specification", 2023), and
// f8E4M3FNUZ and f8E5M2FNUZ, without infinities and with one zero (Noune et al., "8-bit Numerical
// Formats for Deep Neural Networks", arXiv 2206.02915).
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "passes/math/ExpandArith.h"
#include "passes/math/ExpandMath.h"
#include "passes/math/Formula.h"
#include <cmath>

using namespace mlir;
using namespace tw;

namespace {
/// A format of 8 bits: the sign, the exponent, `mantissaBits`.
struct Float8Format {
  unsigned mantissaBits;
  int exponentBias;
  int largestBits;      // the code of the largest finite value
  bool hasNegativeZero; // else its code is that of NaN
  /// The smallest code of an infinity or NaN without sign.
  int firstNonFinite() const { return largestBits + 1; }
  int nanBits() const { return hasNegativeZero ? 0x7f : 0x80; }
  unsigned shift() const { return 23 - mantissaBits; }
  /// Added to the exponent field of the format to make it one of float32.
  int rebias() const { return 127 - exponentBias; }
  double smallestNormal() const { return std::ldexp(1.0, 1 - exponentBias); }
};
} // namespace

static Float8Format formatOf(Type element) {
  const llvm::fltSemantics &semantics = cast<FloatType>(element).getFloatSemantics();
  return {APFloat::semanticsPrecision(semantics) - 1, 1 - APFloat::semanticsMinExponent(semantics),
          int(APFloat::getLargest(semantics).bitcastToAPInt().getZExtValue()),
          APFloat::getZero(semantics, /*Negative=*/true).isNegative()};
}

/// A number that all elements are, directly or broadcast to the lanes of a vector.
static bool isConstant(Value value, double number) {
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    value = broadcast.getSource();
  APFloat constant(0.0);
  return matchPattern(value, m_ConstantFloat(&constant)) && constant.convertToDouble() == number;
}

Value tw::withoutFloat8Bound(Value value, Type float8) {
  auto low = value.getDefiningOp<arith::MinimumFOp>();
  auto high = low ? low.getLhs().getDefiningOp<arith::MaximumFOp>() : arith::MaximumFOp();
  double largest =
      APFloat::getLargest(cast<FloatType>(float8).getFloatSemantics()).convertToDouble();
  if (!high || high.getLhs().getType() != value.getType() || !isConstant(low.getRhs(), largest) ||
      !isConstant(high.getRhs(), -largest))
    return value;
  return high.getLhs();
}

bool tw::isFloat8(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() == 8 && APFloat::semanticsHasSignedRepr(type.getFloatSemantics());
}

Value tw::emitExtendFloat8(OpBuilder &builder, Location location, Value value) {
  Float8Format format = formatOf(getElementTypeOrSelf(value.getType()));
  Formula f(builder, location, withElement(value.getType(), builder.getF32Type()), false);
  Value code = arith::BitcastOp::create(builder, location, f.typeOf(builder.getI8Type()), value);
  code = arith::ExtUIOp::create(builder, location, f.integerType(), code);
  auto exponent = [](int64_t field) { return field << 23; };
  Value magnitude = f.shiftLeft(f.andInt(code, f.integer(0x7f)), format.shift());
  Value normal = f.addInt(magnitude, f.integer(exponent(format.rebias())));
  // A subnormal's digits under the exponent of the smallest normal number, less that number.
  Value digits = f.orInt(magnitude, f.integer(exponent(format.rebias() + 1)));
  Value subnormal = f.sub(f.fromBits(digits), f.constant(format.smallestNormal()));
  using P = arith::CmpIPredicate;
  int64_t firstNormal = int64_t(1) << 23;
  int64_t firstNonFinite = int64_t(format.firstNonFinite()) << format.shift();
  Value bits =
      f.select(f.compareInt(P::ult, magnitude, f.integer(firstNormal)), f.bits(subnormal), normal);
  if (format.hasNegativeZero) {
    Value nonFinite = f.orInt(magnitude, f.integer(0x7f800000));
    bits = f.select(f.compareInt(P::uge, magnitude, f.integer(firstNonFinite)), nonFinite, bits);
  } else {
    Value isNan = f.compareInt(P::eq, code, f.integer(format.nanBits()));
    bits = f.select(isNan, f.integer(0x7fc00000), bits);
  }
  Value sign = f.shiftLeft(f.andInt(code, f.integer(0x80)), 24);
  return f.fromBits(f.orInt(bits, sign));
}

Value tw::emitRoundToFloat8(OpBuilder &builder, Location location, Value x, Type type) {
  Type element = getElementTypeOrSelf(type);
  Float8Format format = formatOf(element);
  Formula f(builder, location, x.getType(), false);
  using P = arith::CmpIPredicate;
  unsigned shift = format.shift();
  Value bits = f.bits(x), magnitude = f.andInt(bits, f.integer(0x7fffffff));
  int64_t rebias = int64_t(format.rebias()) << 23;
  int64_t largest = (int64_t(format.largestBits) << shift) + rebias;
  Value isTooLarge = f.compareInt(P::ugt, magnitude, f.integer(largest));
  Value bounded = f.select(isTooLarge, f.integer(largest), magnitude);
  // To nearest even: half a unit less one, plus the digit that stays last.
  Value lastDigit = f.andInt(f.shiftRight(bounded, shift), f.integer(1));
  Value half = f.integer((int64_t(1) << (shift - 1)) - 1 - rebias);
  Value normal = f.shiftRight(f.addInt(f.addInt(bounded, half), lastDigit), shift);
  // A unit of this sum is the smallest subnormal, so that the addition itself rounds.
  Value anchor = f.constant(std::ldexp(format.smallestNormal(), int(shift)));
  Value sum = f.add(f.fromBits(magnitude), anchor);
  Value subnormal = f.subInt(f.bits(sum), f.bits(anchor));
  int64_t smallestNormal = int64_t(format.rebias() + 1) << 23;
  Value isSubnormal = f.compareInt(P::ult, magnitude, f.integer(smallestNormal));
  Value code = f.select(isSubnormal, subnormal, normal);
  Value isNan = f.compareInt(P::ugt, magnitude, f.integer(0x7f800000));
  code = f.select(isNan, f.integer(format.nanBits()), code);
  Value sign = f.andInt(f.shiftRight(bits, 24), f.integer(0x80));
  if (!format.hasNegativeZero)
    sign = f.select(f.compareInt(P::eq, code, f.integer(0)), f.integer(0), sign);
  code = f.orInt(code, sign);
  code = arith::TruncIOp::create(builder, location, f.typeOf(builder.getI8Type()), code);
  return arith::BitcastOp::create(builder, location, type, code);
}
