// The meaning of floating-point operations on one element.
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "ir/tile/HostFunctions.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>
#include <utility>

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

/// A function of the elementwise table, in double by the host's library.
template <size_t row> static uint64_t hostMeaning(const ElementwiseCall &call) {
  constexpr tw::tile::HostFunction function = tw::tile::HostFunctionTable[row];
  double operands[3] = {};
  for (unsigned i = 0; i < function.NumOperands; ++i)
    operands[i] = call.floatAt(i);
  return fromDouble(call.resultType, function.OfDouble(operands[0], operands[1], operands[2]));
}

template <size_t... rows>
static void addHostFunctions(Meanings &meanings, std::index_sequence<rows...>) {
  ((meanings[tw::tile::HostFunctionTable[rows].Operation].elementwise = hostMeaning<rows>), ...);
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
  meanings["math.clampf"].elementwise = clampFloat;
  meanings["math.fpowi"].elementwise = powerWithIntegerExponent;
}

/// In place of the host's functions: on the bits, so that they hold for NaN, and with one rounding.
static void addExactFunctions(Meanings &meanings) {
  meanings["math.absf"].elementwise = absolute;
  meanings["math.copysign"].elementwise = copySign;
  meanings["math.fma"].elementwise = fusedMultiplyAdd;
}

static void addClasses(Meanings &meanings) {
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
  addHostFunctions(meanings, std::make_index_sequence<std::size(tw::tile::HostFunctionTable)>());
  addExactFunctions(meanings);
  addArithmetic(meanings);
  addClasses(meanings);
}
