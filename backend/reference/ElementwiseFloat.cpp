// The meaning of floating-point operations on one element.
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

using namespace mlir;
using namespace tw::reference;

/// Changes of the sign act on the bits, so that they hold for NaN and zero too.
static uint64_t negate(const ElementwiseCall &call) {
  llvm::APFloat x = toApFloat(call.operandType, call.operands[0]);
  x.changeSign();
  return fromApFloat(x);
}
static uint64_t absolute(const ElementwiseCall &call) {
  llvm::APFloat x = toApFloat(call.operandType, call.operands[0]);
  x.clearSign();
  return fromApFloat(x);
}
static uint64_t copySign(const ElementwiseCall &call) {
  llvm::APFloat x = toApFloat(call.operandType, call.operands[0]);
  x.copySign(toApFloat(call.operandType, call.operands[1]));
  return fromApFloat(x);
}

/// Exact product, exact sum, one rounding, in every type.
static uint64_t fusedMultiplyAdd(const ElementwiseCall &call) {
  llvm::APFloat x = toApFloat(call.operandType, call.operands[0]);
  x.fusedMultiplyAdd(toApFloat(call.operandType, call.operands[1]),
                     toApFloat(call.operandType, call.operands[2]),
                     llvm::RoundingMode::NearestTiesToEven);
  return fromApFloat(x);
}

static uint64_t clampFloat(const ElementwiseCall &call) {
  double x = call.floatAt(0), lower = call.floatAt(1), upper = call.floatAt(2);
  return fromDouble(call.resultType, minimumOf(maximumOf(x, lower, true), upper, true));
}

static uint64_t powerWithIntegerExponent(const ElementwiseCall &call) {
  Type exponent = tw::tile::elementTypeOf(call.op.getOperand(1).getType());
  int64_t n = signExtend(call.operands[1], elementWidth(exponent));
  return fromDouble(call.resultType, std::pow(call.floatAt(0), double(n)));
}

static uint64_t compareFloats(const ElementwiseCall &call) {
  double lhs = call.floatAt(0), rhs = call.floatAt(1);
  bool isUnordered = std::isnan(lhs) || std::isnan(rhs);
  switch (cast<arith::CmpFOp>(call.op).getPredicate()) {
  case arith::CmpFPredicate::AlwaysFalse:
    return false;
  case arith::CmpFPredicate::OEQ:
    return lhs == rhs;
  case arith::CmpFPredicate::OGT:
    return lhs > rhs;
  case arith::CmpFPredicate::OGE:
    return lhs >= rhs;
  case arith::CmpFPredicate::OLT:
    return lhs < rhs;
  case arith::CmpFPredicate::OLE:
    return lhs <= rhs;
  case arith::CmpFPredicate::ONE:
    return !isUnordered && lhs != rhs;
  case arith::CmpFPredicate::ORD:
    return !isUnordered;
  case arith::CmpFPredicate::UEQ:
    return isUnordered || lhs == rhs;
  case arith::CmpFPredicate::UGT:
    return isUnordered || lhs > rhs;
  case arith::CmpFPredicate::UGE:
    return isUnordered || lhs >= rhs;
  case arith::CmpFPredicate::ULT:
    return isUnordered || lhs < rhs;
  case arith::CmpFPredicate::ULE:
    return isUnordered || lhs <= rhs;
  case arith::CmpFPredicate::UNE:
    return isUnordered || lhs != rhs;
  case arith::CmpFPredicate::UNO:
    return isUnordered;
  case arith::CmpFPredicate::AlwaysTrue:
    return true;
  }
  return 0;
}

template <auto predicate> static uint64_t classMeaning(const ElementwiseCall &call) {
  return predicate(toApFloat(call.operandType, call.operands[0]));
}

static void addArithmetic(Meanings &meanings) {
  meanings["arith.addf"].elementwise = binaryFloatMeaning<[](double a, double b) { return a + b; }>;
  meanings["arith.subf"].elementwise = binaryFloatMeaning<[](double a, double b) { return a - b; }>;
  meanings["arith.mulf"].elementwise = binaryFloatMeaning<[](double a, double b) { return a * b; }>;
  meanings["arith.divf"].elementwise = binaryFloatMeaning<[](double a, double b) { return a / b; }>;
  meanings["arith.remf"].elementwise =
      binaryFloatMeaning<[](double a, double b) { return std::fmod(a, b); }>;
  meanings["arith.maximumf"].elementwise =
      binaryFloatMeaning<[](double a, double b) { return maximumOf(a, b, true); }>;
  meanings["arith.minimumf"].elementwise =
      binaryFloatMeaning<[](double a, double b) { return minimumOf(a, b, true); }>;
  meanings["arith.maxnumf"].elementwise =
      binaryFloatMeaning<[](double a, double b) { return maximumOf(a, b, false); }>;
  meanings["arith.minnumf"].elementwise =
      binaryFloatMeaning<[](double a, double b) { return minimumOf(a, b, false); }>;
  meanings["arith.negf"].elementwise = negate;
  meanings["arith.cmpf"].elementwise = compareFloats;
  meanings["math.absf"].elementwise = absolute;
  meanings["math.copysign"].elementwise = copySign;
  meanings["math.fma"].elementwise = fusedMultiplyAdd;
  meanings["math.clampf"].elementwise = clampFloat;
}

static void addExponentials(Meanings &meanings) {
  meanings["math.exp"].elementwise = unaryFloatMeaning<[](double x) { return std::exp(x); }>;
  meanings["math.exp2"].elementwise = unaryFloatMeaning<[](double x) { return std::exp2(x); }>;
  meanings["math.expm1"].elementwise = unaryFloatMeaning<[](double x) { return std::expm1(x); }>;
  meanings["math.log"].elementwise = unaryFloatMeaning<[](double x) { return std::log(x); }>;
  meanings["math.log2"].elementwise = unaryFloatMeaning<[](double x) { return std::log2(x); }>;
  meanings["math.log10"].elementwise = unaryFloatMeaning<[](double x) { return std::log10(x); }>;
  meanings["math.log1p"].elementwise = unaryFloatMeaning<[](double x) { return std::log1p(x); }>;
  meanings["math.sqrt"].elementwise = unaryFloatMeaning<[](double x) { return std::sqrt(x); }>;
  meanings["math.rsqrt"].elementwise = unaryFloatMeaning<[](double x) { return 1 / std::sqrt(x); }>;
  meanings["math.cbrt"].elementwise = unaryFloatMeaning<[](double x) { return std::cbrt(x); }>;
  meanings["math.erf"].elementwise = unaryFloatMeaning<[](double x) { return std::erf(x); }>;
  meanings["math.erfc"].elementwise = unaryFloatMeaning<[](double x) { return std::erfc(x); }>;
  meanings["math.powf"].elementwise =
      binaryFloatMeaning<[](double a, double b) { return std::pow(a, b); }>;
  meanings["math.fpowi"].elementwise = powerWithIntegerExponent;
}

static void addTrigonometry(Meanings &meanings) {
  meanings["math.sin"].elementwise = unaryFloatMeaning<[](double x) { return std::sin(x); }>;
  meanings["math.cos"].elementwise = unaryFloatMeaning<[](double x) { return std::cos(x); }>;
  meanings["math.tan"].elementwise = unaryFloatMeaning<[](double x) { return std::tan(x); }>;
  meanings["math.asin"].elementwise = unaryFloatMeaning<[](double x) { return std::asin(x); }>;
  meanings["math.acos"].elementwise = unaryFloatMeaning<[](double x) { return std::acos(x); }>;
  meanings["math.atan"].elementwise = unaryFloatMeaning<[](double x) { return std::atan(x); }>;
  meanings["math.sinh"].elementwise = unaryFloatMeaning<[](double x) { return std::sinh(x); }>;
  meanings["math.cosh"].elementwise = unaryFloatMeaning<[](double x) { return std::cosh(x); }>;
  meanings["math.tanh"].elementwise = unaryFloatMeaning<[](double x) { return std::tanh(x); }>;
  meanings["math.asinh"].elementwise = unaryFloatMeaning<[](double x) { return std::asinh(x); }>;
  meanings["math.acosh"].elementwise = unaryFloatMeaning<[](double x) { return std::acosh(x); }>;
  meanings["math.atanh"].elementwise = unaryFloatMeaning<[](double x) { return std::atanh(x); }>;
  meanings["math.atan2"].elementwise =
      binaryFloatMeaning<[](double y, double x) { return std::atan2(y, x); }>;
}

static void addRoundings(Meanings &meanings) {
  meanings["math.floor"].elementwise = unaryFloatMeaning<[](double x) { return std::floor(x); }>;
  meanings["math.ceil"].elementwise = unaryFloatMeaning<[](double x) { return std::ceil(x); }>;
  meanings["math.trunc"].elementwise = unaryFloatMeaning<[](double x) { return std::trunc(x); }>;
  meanings["math.round"].elementwise = unaryFloatMeaning<[](double x) { return std::round(x); }>;
  meanings["math.roundeven"].elementwise = unaryFloatMeaning<[](double x) {
    return std::nearbyint(x);
  }>; // the default mode: ties to even
  meanings["math.isnan"].elementwise =
      classMeaning<[](const llvm::APFloat &x) { return x.isNaN(); }>;
  meanings["math.isinf"].elementwise =
      classMeaning<[](const llvm::APFloat &x) { return x.isInfinity(); }>;
  meanings["math.isfinite"].elementwise =
      classMeaning<[](const llvm::APFloat &x) { return x.isFinite(); }>;
  meanings["math.isnormal"].elementwise =
      classMeaning<[](const llvm::APFloat &x) { return x.isNormal(); }>;
}

void tw::reference::addFloatMeanings(Meanings &meanings) {
  addArithmetic(meanings);
  addExponentials(meanings);
  addTrigonometry(meanings);
  addRoundings(meanings);
}
