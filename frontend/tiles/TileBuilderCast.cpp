// Casts that the user asks for: by value with a rounding, of pointers, of bits.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "runtime/codes/Codes.h"

using namespace tw;
namespace arith = mlir::arith;

TileOr TileBuilder::cast(TypedValue operand, DType dtype, const CastOptions &options) {
  auto [isBitcast, rounding] = options;
  bool isNarrowing =
      operand.dtype.isFloat() && dtype.isFloat() && dtype.bits() < operand.dtype.bits();
  if (rounding != "" && rounding != "rtne" && rounding != "rtz")
    return operandError(Code::UnknownOption, "unknown rounding mode \"" + rounding.str() + "\"",
                        "the rounding modes are \"rtne\" (to nearest, the default) and \"rtz\" "
                        "(towards zero)");
  // Where nothing narrows, every float keeps its value, and integers round to nearest even anyway.
  bool isExact = operand.dtype.isFloat() && dtype.isFloat() && dtype.bits() > operand.dtype.bits();
  bool isKept = operand.dtype == dtype || isExact || (rounding == "rtne" && dtype.isFloat());
  if (!rounding.empty() && (isNarrowing ? isBitcast : !isKept))
    return operandError(Code::InvalidCast,
                        "a rounding mode is given, but a cast from " + operand.dtype.str() +
                            " to " + dtype.str() + " does not narrow a float",
                        "leave fp_downcast_rounding out: floats become integers towards zero, and "
                        "integers floats to nearest even",
                        operand);
  if (operand.dtype == dtype)
    return typed(operand.value, dtype);
  if (isBitcast)
    return bitcast(operand, dtype);
  if (operand.dtype.isPointer || dtype.isPointer)
    return castPointer(operand, dtype);
  if (rounding == "rtz" && isNarrowing)
    return truncateTowardsZero(operand, dtype);
  return convert(operand, dtype);
}

TileOr TileBuilder::truth(TypedValue operand) {
  if (std::optional<Reason> problem = whyNoTruth(operand))
    return *problem;
  return operand.dtype.isPointer ? isNonzero(addresses(operand))
                                 : convert(operand, findDType("int1"));
}

//===-- Pointers and bits --------------------------------------------------------------------===//

TileOr TileBuilder::castPointer(TypedValue operand, DType dtype) {
  mlir::Type type = typeLike(operand, dtype);
  dtype.isConst = dtype.isPointer && (dtype.isConst || operand.dtype.isConst);
  if (operand.dtype.isPointer && dtype.isPointer) // bool and int8 share an IR pointer type
    return typed(type == operand.value.getType() ? operand.value
                                                 : create<tile::PtrCastOp>(type, operand.value),
                 dtype);
  if (dtype.isPointer && operand.dtype.isInt())
    return typed(create<tile::IntToPtrOp>(type, convert(operand, findDType("int64")).value), dtype);
  if (dtype.isBool())
    return isNonzero(addresses(operand));
  if (operand.dtype.isPointer && dtype.isInt() && dtype.bits() == 64)
    return typed(addresses(operand).value, dtype);
  return operandError(
      Code::InvalidCast, "cannot cast " + operand.dtype.str() + " to " + dtype.str(),
      operand.dtype.isPointer ? kPointerHint : "pointers are made from integers only", operand);
}

TileOr TileBuilder::bitcast(TypedValue operand, DType dtype) {
  if (operand.dtype.bits() != dtype.bits())
    return operandError(
        Code::InvalidCast,
        "cannot bitcast " + operand.dtype.str() + " (" + std::to_string(operand.dtype.bits()) +
            " bits) to " + dtype.str() + " (" + std::to_string(dtype.bits()) + " bits)",
        "a bitcast keeps the number of bits; leave bitcast out to convert the value", operand);
  mlir::Type type = typeLike(operand, dtype);
  if (operand.dtype.isPointer && dtype.isPointer)
    return castPointer(operand, dtype);
  if (operand.dtype.isPointer) {
    TypedValue bits = addresses(operand);
    return type == bits.value.getType() ? typed(bits.value, dtype) : bitcast(bits, dtype);
  }
  if (dtype.isPointer) {
    DType int64 = findDType("int64");
    mlir::Value bits = operand.dtype.isFloat()
                           ? create<arith::BitcastOp>(typeLike(operand, int64), operand.value)
                           : operand.value;
    return typed(create<tile::IntToPtrOp>(type, bits), dtype);
  }
  return typed(type == operand.value.getType() ? operand.value
                                               : create<arith::BitcastOp>(type, operand.value),
               dtype);
}
