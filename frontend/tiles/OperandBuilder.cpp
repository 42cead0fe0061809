// Promotes, converts and broadcasts operands.
#include "frontend/tiles/OperandBuilder.h"
#include "frontend/tiles/Operands.h"
#include "runtime/codes/Codes.h"

using namespace tw;
namespace arith = mlir::arith;

mlir::Type OperandBuilder::typeLike(const TypedValue &value, DType dtype) const {
  return tile::withElementType(value.value.getType(), dtype.irType(builder.getContext()));
}

//===-- Constants ----------------------------------------------------------------------------===//

static mlir::TypedAttr splatAttribute(mlir::TypedAttr number, mlir::Type type) {
  if (!llvm::isa<mlir::RankedTensorType>(type))
    return number;
  return mlir::DenseElementsAttr::get(llvm::cast<mlir::ShapedType>(type),
                                      llvm::ArrayRef<mlir::Attribute>{number});
}

TypedValue OperandBuilder::constantLike(const TypedValue &like, DType dtype, double value) {
  mlir::TypedAttr number = numberAttribute(llvm::APFloat(value), dtype, builder.getContext());
  return typed(create<mlir::arith::ConstantOp>(splatAttribute(number, typeLike(like, dtype))),
               dtype);
}

mlir::Value OperandBuilder::allOnesLike(const TypedValue &integer) {
  mlir::Type type = integer.value.getType();
  mlir::TypedAttr number = builder.getIntegerAttr(tile::elementTypeOf(type),
                                                  llvm::APInt::getAllOnes(integer.dtype.bits()));
  return create<mlir::arith::ConstantOp>(splatAttribute(number, type));
}

//===-- Conversion by value ------------------------------------------------------------------===//

TypedValue OperandBuilder::isNonzero(TypedValue operand) {
  DType int1 = findDType("int1");
  operand = convert(operand, arithmeticDTypeOf(operand.dtype));
  mlir::Value zero = constantLike(operand, operand.dtype, 0).value;
  if (operand.dtype.isFloat())
    return typed(create<arith::CmpFOp>(arith::CmpFPredicate::UNE, operand.value, zero), int1);
  return typed(create<arith::CmpIOp>(arith::CmpIPredicate::ne, operand.value, zero), int1);
}

/// Conversions to 8-bit floats yield the largest finite value for all that is beyond it, infinity
/// too. arith.truncf does so by itself, but its folders would keep the infinity of float8e5, and
/// would convert from integers at once.
TypedValue OperandBuilder::boundTo(TypedValue operand, DType dtype) {
  auto type = llvm::cast<mlir::FloatType>(dtype.irType(builder.getContext()));
  double largest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  mlir::Value low = constantLike(operand, operand.dtype, -largest).value;
  mlir::Value high = constantLike(operand, operand.dtype, largest).value;
  mlir::Value raised = create<arith::MaximumFOp>(operand.value, low);
  return typed(create<arith::MinimumFOp>(raised, high), operand.dtype);
}

TypedValue OperandBuilder::convertFloat(TypedValue operand, DType dtype) {
  mlir::Type type = typeLike(operand, dtype);
  DType float32 = findDType("float32");
  if (operand.dtype.isE4B15()) {
    TypedValue half = extendE4B15(operand);
    return half.dtype == dtype ? half : convertFloat(half, dtype);
  }
  if (operand.dtype.isFloat8() && dtype.isInt())
    return convertFloat(convertFloat(operand, float32), dtype);
  if (dtype.isInt())
    return typed(dtype.isSigned() ? create<arith::FPToSIOp>(type, operand.value)
                                  : create<arith::FPToUIOp>(type, operand.value),
                 dtype);
  if (dtype.isE4B15())
    return roundToE4B15(operand, /*isTowardsZero=*/false);
  if (operand.dtype.bits() == dtype.bits()) // of 16 bits, or of 8
    return convertFloat(convertFloat(operand, float32), dtype);
  if (dtype.isFloat8())
    operand = boundTo(operand, dtype);
  return typed(operand.dtype.bits() < dtype.bits() ? create<arith::ExtFOp>(type, operand.value)
                                                   : create<arith::TruncFOp>(type, operand.value),
               dtype);
}

TypedValue OperandBuilder::convertInteger(TypedValue operand, DType dtype) {
  mlir::Type type = typeLike(operand, dtype);
  bool isSigned = operand.dtype.isSigned();
  // Integers that float32 would round are beyond the largest 8-bit float.
  if (dtype.isFloat8())
    return convertFloat(convertInteger(operand, findDType("float32")), dtype);
  if (dtype.isFloat())
    return typed(isSigned ? create<arith::SIToFPOp>(type, operand.value)
                          : create<arith::UIToFPOp>(type, operand.value),
                 dtype);
  if (operand.dtype.bits() == dtype.bits())
    return typed(operand.value, dtype);
  if (operand.dtype.bits() > dtype.bits())
    return typed(create<arith::TruncIOp>(type, operand.value), dtype);
  return typed(isSigned ? create<arith::ExtSIOp>(type, operand.value)
                        : create<arith::ExtUIOp>(type, operand.value),
               dtype);
}

TypedValue OperandBuilder::convert(TypedValue operand, DType dtype) {
  mlir::MLIRContext *context = builder.getContext();
  if (std::optional<llvm::APSInt> number = literalInteger(operand))
    return typed(create<arith::ConstantOp>(numberAttribute(*number, dtype, context)), dtype);
  if (std::optional<llvm::APFloat> number = literalFloat(operand))
    return typed(create<arith::ConstantOp>(numberAttribute(*number, dtype, context)), dtype);
  if (operand.dtype == dtype)
    return typed(operand.value, dtype);
  if (dtype.isBool())
    return isNonzero(operand);
  return operand.dtype.isFloat() ? convertFloat(operand, dtype) : convertInteger(operand, dtype);
}

TypedValue OperandBuilder::addresses(TypedValue pointer) {
  DType uint64 = findDType("uint64");
  return typed(create<tile::PtrToIntOp>(typeLike(pointer, uint64), pointer.value), uint64);
}

//===-- Broadcasting -------------------------------------------------------------------------===//

TypedValue OperandBuilder::splatTo(TypedValue operand, llvm::ArrayRef<int64_t> shape) {
  if (shape.empty())
    return operand;
  auto type = mlir::RankedTensorType::get(shape, operand.value.getType());
  return typed(create<tile::SplatOp>(type, operand.value), operand.dtype);
}

TypedValue OperandBuilder::expandTo(TypedValue operand, llvm::ArrayRef<int64_t> shape) {
  if (!operand.isTile())
    return splatTo(operand, shape);
  while (operand.shape().size() < shape.size()) {
    llvm::SmallVector<int64_t> expanded{1};
    llvm::append_range(expanded, operand.shape());
    auto type = mlir::RankedTensorType::get(expanded, tile::elementTypeOf(operand.value.getType()));
    operand.value = create<tile::ExpandDimsOp>(type, operand.value, 0);
  }
  if (operand.shape() == shape)
    return operand;
  auto type = mlir::RankedTensorType::get(shape, tile::elementTypeOf(operand.value.getType()));
  return typed(create<tile::BroadcastOp>(type, operand.value), operand.dtype);
}

TilePairOr OperandBuilder::broadcast(TypedValue lhs, TypedValue rhs) {
  OrReason<llvm::SmallVector<int64_t>> shape = commonShape({lhs, rhs});
  if (!shape)
    return shape.reason();
  if (shape->empty())
    return std::pair(lhs, rhs);
  return std::pair(expandTo(lhs, *shape), expandTo(rhs, *shape));
}

//===-- Promotion ----------------------------------------------------------------------------===//

/// An error when an integer literal does not fit the integer dtype that it takes.
static std::optional<Reason> checkLiterals(llvm::ArrayRef<TypedValue> operands, DType dtype) {
  for (auto [index, operand] : llvm::enumerate(operands)) {
    std::optional<llvm::APSInt> number = literalInteger(operand);
    if (!number || !dtype.isInt() || dtype.isBool() || fitsInteger(*number, dtype))
      continue;
    Reason error = operandError(
        Code::LiteralRange,
        "the number " + llvm::toString(*number, 10) + " is out of range for " + dtype.str(),
        "a number takes the integer type of the other operand; cast that operand to a type that "
        "holds both, as in x.to(tw.int64)",
        operands);
    error.labels[index].second = "this does not fit " + dtype.str();
    return error;
  }
  return std::nullopt;
}

static std::optional<Reason> refusePointers(llvm::ArrayRef<TypedValue> operands) {
  if (llvm::none_of(operands, [](const TypedValue &value) { return value.dtype.isPointer; }))
    return std::nullopt;
  return operandError(Code::PointerArithmetic, "this operation is not defined on pointers",
                      kPointerHint, operands);
}

TilesOr OperandBuilder::convertAll(std::vector<TypedValue> operands, DType dtype) {
  if (std::optional<Reason> error = checkLiterals(operands, dtype))
    return *error;
  OrReason<llvm::SmallVector<int64_t>> shape = commonShape(operands);
  if (!shape)
    return shape.reason();
  // Converting before broadcasting leaves less work where a pass does not look through the broadcast.
  for (TypedValue &operand : operands)
    operand = expandTo(convert(operand, dtype), *shape);
  return operands;
}

TilesOr OperandBuilder::promoteAll(std::vector<TypedValue> operands, bool isDivision) {
  if (std::optional<Reason> error = refusePointers(operands))
    return *error;
  PromotionOperand common = operands.front();
  for (const TypedValue &operand : llvm::drop_begin(operands)) {
    if (isFloat8WithInteger(common, operand))
      return operandError(Code::OperandType,
                          "there is no common type of " + common.dtype.str() + " and " +
                              operand.dtype.str(),
                          "cast the 8-bit float, as in x.to(tw.float32)", operands);
    common.dtype = promoteDTypes(common, operand, isDivision);
    common.isLiteral &= operand.isLiteral;
    common.isNamed |= operand.isNamed;
  }
  return convertAll(std::move(operands), common.dtype);
}

TilePairOr OperandBuilder::promote(TypedValue lhs, TypedValue rhs, bool isDivision) {
  TilesOr operands = promoteAll({lhs, rhs}, isDivision);
  if (!operands)
    return operands.reason();
  return std::pair((*operands)[0], (*operands)[1]);
}

TilePairOr OperandBuilder::unify(TypedValue lhs, TypedValue rhs) {
  if (lhs.dtype.isPointer && lhs.dtype == rhs.dtype)
    return broadcast(lhs, rhs);
  return promote(lhs, rhs);
}
