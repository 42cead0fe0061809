// Conversions of floats that take more than one operation: towards zero, and all of float8e4b15.
#include "frontend/tiles/OperandBuilder.h"
#include "frontend/tiles/Operands.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace tw;
namespace arith = mlir::arith;

//===-- Towards zero -------------------------------------------------------------------------===//

bool tw::lacksNegativeZero(mlir::Type element) {
  auto type = llvm::dyn_cast<mlir::FloatType>(element);
  return type && !llvm::APFloat::getZero(type.getFloatSemantics(), /*Negative=*/true).isNegative();
}

/// Rounds to nearest, then steps one value back where that went away from zero. Stepping is
/// subtracting 1 from the bits, as the magnitude of floats grows with them; infinity steps to the
/// largest value.
TypedValue OperandBuilder::truncateTowardsZero(TypedValue operand, DType dtype) {
  if (dtype.isE4B15())
    return roundToE4B15(operand, /*isTowardsZero=*/true);
  TypedValue nearest = convert(operand, dtype);
  mlir::Value back = convert(nearest, operand.dtype).value;
  auto magnitude = [&](mlir::Value value) { return create<mlir::math::AbsFOp>(value); };
  mlir::Value isTooLarge =
      create<arith::CmpFOp>(arith::CmpFPredicate::OGT, magnitude(back), magnitude(operand.value));
  DType integer = findDType("int" + std::to_string(dtype.bits()));
  mlir::Value bits = create<arith::BitcastOp>(typeLike(nearest, integer), nearest.value);
  mlir::Value step = create<arith::ExtUIOp>(typeLike(nearest, integer), isTooLarge);
  mlir::Value stepped = create<arith::SubIOp>(bits, step);
  if (lacksNegativeZero(dtype.irType(builder.getContext()))) {
    // From the smallest negative number to zero, and not to the code below it.
    TypedValue code = typed(stepped, integer);
    mlir::Value nan = constantLike(code, integer, -128).value;
    mlir::Value isNan = create<arith::CmpIOp>(arith::CmpIPredicate::eq, stepped, nan);
    mlir::Value isStep = create<arith::AndIOp>(isNan, isTooLarge);
    mlir::Value zero = constantLike(code, integer, 0).value;
    stepped = create<arith::SelectOp>(isStep, zero, stepped);
  }
  return typed(create<arith::BitcastOp>(typeLike(nearest, dtype), stepped), dtype);
}

//===-- float8e4b15 --------------------------------------------------------------------------===//

// A sign, four bits of exponent with bias 15, three of mantissa; subnormals, but neither infinity
// nor NaN. So a code holds the upper bits of a float16 whose magnitude is below 2, without the
// first bit of the exponent. Rounding is to nearest, halves away from zero; what is beyond 1.75 and
// NaN become 1.75 under their sign, as the code for 1.875 is only read (these are the conversions
// of Triton on GPUs, which kernels with this type rely on).
static constexpr int64_t kLargestHalfBits = 0x3f00; // 1.75
static constexpr int64_t kMagnitudeBits = 0x7fff;
static constexpr int64_t kDroppedBits = 7;
static constexpr int64_t kHalfUnit = 1 << (kDroppedBits - 1);

uint8_t tw::codeOfE4B15(llvm::APFloat number) {
  uint8_t sign = number.isNegative() ? 0x80 : 0;
  bool isExact;
  number.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmTowardZero, &isExact);
  int64_t magnitude = int64_t(number.bitcastToAPInt().getZExtValue()) & kMagnitudeBits;
  return uint8_t((std::min(magnitude, kLargestHalfBits) + kHalfUnit) >> kDroppedBits) | sign;
}

TypedValue OperandBuilder::extendE4B15(TypedValue operand) {
  DType half = findDType("float16"), bits = findDType("int16");
  TypedValue code = typed(create<arith::ExtUIOp>(typeLike(operand, bits), operand.value), bits);
  auto number = [&](double value) { return constantLike(code, bits, value).value; };
  mlir::Value digits = create<arith::AndIOp>(code.value, number(0x7f));
  digits = create<arith::ShLIOp>(digits, number(kDroppedBits));
  mlir::Value sign = create<arith::AndIOp>(code.value, number(0x80));
  sign = create<arith::ShLIOp>(sign, number(8));
  mlir::Value whole = create<arith::OrIOp>(digits, sign);
  return typed(create<arith::BitcastOp>(typeLike(operand, half), whole), half);
}

TypedValue OperandBuilder::roundToE4B15(TypedValue operand, bool isTowardsZero) {
  DType half = findDType("float16"), word = findDType("int16"), byte = findDType("int8");
  DType integer = findDType("int" + std::to_string(operand.dtype.bits()));
  TypedValue wide = operand.dtype.bits() <= 16 && operand.dtype != half
                        ? convert(operand, findDType("float32"))
                        : operand;
  // Towards zero, so that the digit behind the last one is what it was.
  TypedValue halves = wide.dtype == half ? wide : truncateTowardsZero(wide, half);
  mlir::Value bits = create<arith::BitcastOp>(typeLike(operand, word), halves.value);
  auto number = [&](double value) { return constantLike(operand, word, value).value; };
  mlir::Value code = create<arith::AndIOp>(bits, number(kMagnitudeBits));
  code = create<arith::MinUIOp>(code, number(kLargestHalfBits));
  if (!isTowardsZero)
    code = create<arith::AddIOp>(code, number(kHalfUnit));
  code = create<arith::ShRUIOp>(code, number(kDroppedBits));
  mlir::Type bytes = typeLike(operand, byte);
  code = create<arith::TruncIOp>(bytes, code);
  // The sign is the operand's own, since conversions may change that of NaN.
  mlir::Value sign = create<arith::BitcastOp>(typeLike(operand, integer), operand.value);
  if (unsigned width = operand.dtype.bits(); width > 8) {
    sign = create<arith::ShRUIOp>(sign, constantLike(operand, integer, width - 8).value);
    sign = create<arith::TruncIOp>(bytes, sign);
  }
  sign = create<arith::AndIOp>(sign, constantLike(operand, byte, -128).value);
  return typed(create<arith::OrIOp>(code, sign), findDType("float8e4b15"));
}
