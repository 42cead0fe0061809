// The meaning of conversions between element types, and of constants.
#include "backend/reference/Elementwise.h"
#include "backend/reference/Meanings.h"
#include "ir/tile/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "runtime/codes/Codes.h"
#include <cmath>

using namespace mlir;
using namespace tw;
using namespace tw::reference;

static uint64_t keepBits(const ElementwiseCall &call) {
  return truncateToWidth(call.unsignedAt(0), call.resultWidth());
}
static uint64_t extendSign(const ElementwiseCall &call) {
  return truncateToWidth(uint64_t(call.signedAt(0)), call.resultWidth());
}

static llvm::RoundingMode roundingModeOf(Operation &op) {
  auto truncation = dyn_cast<arith::TruncFOp>(op);
  if (!truncation || !truncation.getRoundingmode())
    return llvm::RoundingMode::NearestTiesToEven;
  switch (*truncation.getRoundingmode()) {
  case arith::RoundingMode::to_nearest_even:
    return llvm::RoundingMode::NearestTiesToEven;
  case arith::RoundingMode::downward:
    return llvm::RoundingMode::TowardNegative;
  case arith::RoundingMode::upward:
    return llvm::RoundingMode::TowardPositive;
  case arith::RoundingMode::toward_zero:
    return llvm::RoundingMode::TowardZero;
  case arith::RoundingMode::to_nearest_away:
    return llvm::RoundingMode::NearestTiesToAway;
  }
  return llvm::RoundingMode::NearestTiesToEven;
}

static uint64_t convertFloat(const ElementwiseCall &call) {
  return fromDouble(call.resultType, call.floatAt(0), roundingModeOf(call.op));
}

/// Integers of 64 bits do not fit into double: they are rounded by APFloat, once.
static uint64_t integerToFloat(const ElementwiseCall &call, bool isSigned) {
  uint64_t wide = isSigned ? uint64_t(call.signedAt(0)) : call.unsignedAt(0);
  llvm::APFloat result(cast<FloatType>(call.resultType).getFloatSemantics());
  result.convertFromAPInt(llvm::APInt(64, wide), isSigned, llvm::RoundingMode::NearestTiesToEven);
  return fromApFloat(result);
}

/// Toward zero, saturating; NaN gives 0.
static uint64_t floatToInteger(const ElementwiseCall &call, bool isSigned) {
  llvm::APFloat x = toApFloat(call.operandType, call.operands[0]);
  if (x.isNaN())
    return 0;
  llvm::APSInt result(call.resultWidth(), !isSigned);
  bool isExact = false;
  x.convertToInteger(result, llvm::RoundingMode::TowardZero, &isExact);
  return result.getZExtValue();
}

static LogicalResult runConstant(Program &program, Operation &op) {
  auto constant = cast<arith::ConstantOp>(op);
  TileValue value;
  if (!decodeConstant(constant.getValue(), value))
    return failAt(program, op, Code::UnknownMeaning, "a constant of this kind has no meaning here");
  program.set(constant, std::move(value));
  return success();
}

/// Stands where the compiler has proved that no value matters.
static LogicalResult runPoison(Program &program, Operation &op) {
  program.set(op.getResult(0), TileValue(tile::numElementsOf(op.getResult(0).getType())));
  return success();
}

void tw::reference::addConversionMeanings(Meanings &meanings) {
  meanings["arith.constant"].structured = runConstant;
  meanings["ub.poison"].structured = runPoison;
  for (const char *name : {"arith.bitcast", "arith.trunci", "arith.extui", "arith.index_castui"})
    meanings[name].elementwise = keepBits;
  for (const char *name : {"arith.extsi", "arith.index_cast"})
    meanings[name].elementwise = extendSign;
  for (const char *name : {"arith.extf", "arith.truncf"})
    meanings[name].elementwise = convertFloat;
  meanings["arith.sitofp"].elementwise = [](const ElementwiseCall &call) {
    return integerToFloat(call, true);
  };
  meanings["arith.uitofp"].elementwise = [](const ElementwiseCall &call) {
    return integerToFloat(call, false);
  };
  meanings["arith.fptosi"].elementwise = [](const ElementwiseCall &call) {
    return floatToInteger(call, true);
  };
  meanings["arith.fptoui"].elementwise = [](const ElementwiseCall &call) {
    return floatToInteger(call, false);
  };
}
