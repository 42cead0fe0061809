// The exponential family of one lane: exp, exp2, expm1, sinh, cosh, tanh. Tables come from
// passes/math/coefficients.py.
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/simt/math/ExpandSimtMath.h"

using namespace mlir;
using namespace tw;
using namespace tw::simt;

// tanh(x) = x + x s p(s) on [0, 0.6] and sinh(x) = x + x s p(s) on [0, 1], with s = x^2.
static constexpr float kTanhSmall[] = {-0x1.55553ep-2f, 0x1.1109bep-3f, -0x1.b89abap-5f,
                                       0x1.54c3c2p-6f, -0x1.828776p-8f};
static constexpr float kSinhSmall[] = {0x1.555556p-3f, 0x1.1110e0p-7f, 0x1.a022bcp-13f,
                                       0x1.756c1ep-19f};
// The largest exponent of exp2 whose result is finite.
static constexpr double kLargestExponent = 0x1.fffffep6;

/// x - t ln 2: what is left of e^x = 2^t e^r.
static Value restOf(LaneFormula &f, Value x, Value t) {
  Value r = f.fma(t, f.constant(-kLn2High), x);
  return f.fma(t, f.constant(-kLn2Low), r);
}

/// Returns true if several operations use this number, which is not a constant: what is computed
/// from it alone is computed once.
template <typename Op> static bool isShared(Value value) {
  return !value.getDefiningOp<arith::ConstantOp>() &&
         llvm::count_if(value.getUsers(), llvm::IsaPred<Op>) > 1;
}

/// value * log2 e, where the value is known.
static Value inBinary(LaneFormula &f, Value value) {
  OpBuilder::InsertionGuard guard(f.builder);
  f.builder.setInsertionPointAfterValue(value);
  return f.mul(value, f.constant(kLog2E));
}

static bool mayContract(Operation *op) {
  auto math = dyn_cast_or_null<arith::ArithFastMathInterface>(op);
  return math &&
         bitEnumContainsAll(math.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::contract);
}

/// x * s - peak as the exponent of 2, with one FMA for each x: s log2 e and peak log2 e are shared.
static Value fusedExponent(LaneFormula &f, Value product, Value peak) {
  auto multiply = product.getDefiningOp<arith::MulFOp>();
  if (!multiply || !mayContract(multiply))
    return {};
  for (unsigned side : {0u, 1u}) {
    Value scale = multiply->getOperand(side);
    if (!isShared<arith::MulFOp>(scale) && !scale.getDefiningOp<arith::ConstantOp>())
      continue;
    Value offset = f.negate(inBinary(f, peak));
    return f.fma(multiply->getOperand(1 - side), inBinary(f, scale), offset);
  }
  return {};
}

/// The exponent of 2 in a softmax: where a number, the maximum of a row, is subtracted from
/// several. The difference was rounded, by as much as an exponent's rounding changes it once more,
/// so that little is gained by making good for the latter.
static Value softmaxExponent(LaneFormula &f, Value x) {
  auto difference = x.getDefiningOp<arith::SubFOp>();
  if (!difference || !mayContract(difference) || !isShared<arith::SubFOp>(difference.getRhs()))
    return {};
  if (Value exponent = fusedExponent(f, difference.getLhs(), difference.getRhs()))
    return exponent;
  return f.mul(x, f.constant(kLog2E));
}

/// 2^t is an instruction for the rounded t = x log2 e, and 1 + r makes good what its rounding lost.
/// The bounds keep 0 * infinity away: below, 2^t is 0 and r finite; above, 2^t stays finite and r
/// grows. Results below 2^-126 become 0: to keep them costs three instructions more of ten.
Value tw::simt::emitLaneExp(LaneFormula &f, ArrayRef<Value> x) {
  if (f.isDouble())
    return emitExp(f, x[0]);
  if (Value exponent = softmaxExponent(f, x[0]))
    return f.approximate(ApproxKind::Exp2Flushed, exponent);
  Value bounded = f.atLeast(x[0], -105.0);
  Value t = f.atMost(f.mul(bounded, f.constant(kLog2E)), kLargestExponent);
  Value power = f.approximate(ApproxKind::Exp2Flushed, t);
  return f.fma(power, restOf(f, bounded, t), power);
}

/// One instruction; results below 2^-126 become 0, which saves three.
Value tw::simt::emitLaneExp2(LaneFormula &f, ArrayRef<Value> x) {
  return f.isDouble() ? emitExp2(f, x[0]) : f.approximate(ApproxKind::Exp2Flushed, x[0]);
}

Value tw::simt::emitLaneExpm1(LaneFormula &f, ArrayRef<Value> x) { return emitExpm1(f, x[0]); }

/// e^a / 2 for a >= 0, which overflows later than e^a.
static Value halfExp(LaneFormula &f, Value a) {
  if (f.isDouble()) {
    Value half = f.constant(0.5);
    Value root = emitExp(f, f.mul(a, half));
    return f.mul(f.mul(root, half), root);
  }
  // Rounded to multiples of 2^-15, t differs from t - 1 by exactly 1.
  Value shift = f.constant(0x1.8p7);
  Value t = f.sub(f.fma(a, f.constant(kLog2E), shift), shift);
  Value less = f.atMost(f.sub(t, f.constant(1.0)), 0x1.fffep6);
  Value power = f.approximate(ApproxKind::Exp2, less);
  return f.fma(power, restOf(f, a, f.add(less, f.constant(1.0))), power);
}

static Value reciprocal(LaneFormula &f, Value x) {
  return f.isDouble() ? f.div(f.constant(1.0), x) : f.approximate(ApproxKind::Reciprocal, x);
}

Value tw::simt::emitLaneCosh(LaneFormula &f, ArrayRef<Value> x) {
  Value half = halfExp(f, f.absolute(x[0]));
  return f.fma(reciprocal(f, half), f.constant(0.25), half);
}

Value tw::simt::emitLaneSinh(LaneFormula &f, ArrayRef<Value> x) {
  Value a = f.absolute(x[0]), half = halfExp(f, a), small, large = half;
  if (f.isDouble()) { // (m + m / (m + 1)) / 2 with m = expm1(a); from 22 on e^-a does not matter
    Value m = emitExpm1(f, a);
    small = f.mul(f.constant(0.5), f.add(m, f.div(m, f.add(m, f.constant(1.0)))));
  } else {
    Value square = f.mul(a, a);
    small = f.fma(f.mul(a, square), f.polynomial(kSinhSmall, square), a);
    large = f.fma(reciprocal(f, half), f.constant(-0.25), half);
  }
  Value isSmall = f.less(a, f.constant(f.pick(1, 22)));
  return f.copySign(f.select(isSmall, small, large), x[0]);
}

/// 1 - 2 / (e^2a + 1) loses accuracy for small a only.
Value tw::simt::emitLaneTanh(LaneFormula &f, ArrayRef<Value> x) {
  if (f.isDouble())
    return emitTanh(f, x[0]);
  Value a = f.absolute(x[0]), square = f.mul(a, a), one = f.constant(1.0);
  Value power = f.approximate(ApproxKind::Exp2, f.mul(a, f.constant(2 * kLog2E)));
  Value inverse = f.approximate(ApproxKind::Reciprocal, f.add(power, one));
  Value large = f.fma(inverse, f.constant(-2.0), one);
  Value small = f.fma(f.mul(a, square), f.polynomial(kTanhSmall, square), a);
  return f.copySign(f.select(f.less(a, f.constant(0.6)), small, large), x[0]);
}
