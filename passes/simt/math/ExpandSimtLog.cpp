// The logarithms of one lane and the inverse hyperbolic functions made of them. The machine's own
// log2 has an absolute error, which is a large relative one near 1, so the polynomials serve.
#include "passes/simt/math/ExpandSimtMath.h"
#include <limits>

using namespace mlir;
using namespace tw;
using namespace tw::simt;

static constexpr double kLn2 = 0.693147180559945309417, kLog10E = 0.434294481903251827651;

Value tw::simt::emitLaneLog(LaneFormula &f, ArrayRef<Value> x) { return emitLog(f, x[0]); }
Value tw::simt::emitLaneLog2(LaneFormula &f, ArrayRef<Value> x) { return emitLog2(f, x[0]); }
Value tw::simt::emitLaneLog1p(LaneFormula &f, ArrayRef<Value> x) { return emitLog1p(f, x[0]); }

Value tw::simt::emitLaneLog10(LaneFormula &f, ArrayRef<Value> x) {
  return f.mul(emitLog(f, x[0]), f.constant(kLog10E));
}

/// log(1 + z), or log(2 x) where x is so large that z would overflow.
static Value logOrLarge(LaneFormula &f, Value x, Value z) {
  Value isLarge = f.less(f.constant(f.pick(0x1p60, 0x1p500)), x);
  Value log = emitLog1p(f, f.select(isLarge, x, z));
  return f.add(log, f.select(isLarge, f.constant(kLn2), f.constant(0.0)));
}

/// asinh(a) = log(1 + a + a^2 / (1 + sqrt(1 + a^2))): no cancellation near 0.
Value tw::simt::emitLaneAsinh(LaneFormula &f, ArrayRef<Value> x) {
  Value a = f.absolute(x[0]), one = f.constant(1.0);
  Value root = f.root(f.fma(a, a, one));
  Value z = f.add(a, f.divide(f.mul(a, a), f.add(root, one)));
  return f.copySign(logOrLarge(f, a, z), x[0]);
}

/// acosh(x) = log(1 + t + sqrt(t (t + 2))) with t = x - 1.
Value tw::simt::emitLaneAcosh(LaneFormula &f, ArrayRef<Value> x) {
  Value one = f.constant(1.0), t = f.sub(x[0], one);
  Value z = f.add(t, f.root(f.fma(t, t, f.add(t, t))));
  Value nan = f.constant(std::numeric_limits<double>::quiet_NaN());
  return f.select(f.less(x[0], one), nan, logOrLarge(f, x[0], z));
}

/// atanh(a) = log(1 + 2 a / (1 - a)) / 2.
Value tw::simt::emitLaneAtanh(LaneFormula &f, ArrayRef<Value> x) {
  Value a = f.absolute(x[0]), one = f.constant(1.0);
  Value ratio = f.divideNear(f.add(a, a), f.sub(one, a));
  Value infinity = f.constant(std::numeric_limits<double>::infinity());
  ratio = f.select(f.equal(a, one), infinity, ratio);
  return f.copySign(f.mul(f.constant(0.5), emitLog1p(f, ratio)), x[0]);
}
