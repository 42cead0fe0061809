// Elementwise operations: operators, comparisons, selection and the functions of the table.
#include "frontend/tiles/Operands.h"
#include "frontend/tiles/TileBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace tw;
namespace arith = mlir::arith;

static llvm::StringRef symbolOf(BinaryOperator op) {
  static constexpr const char *symbols[] = {"+",  "-",  "*", "/", "//", "%",
                                            "<<", ">>", "&", "|", "^"};
  return symbols[static_cast<int>(op)];
}

//===-- Binary operators ---------------------------------------------------------------------===//

TileBuilder::Value TileBuilder::binary(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  if (lhs.dtype.isPointer || rhs.dtype.isPointer)
    return pointerBinary(op, lhs, rhs);
  switch (op) {
  case BinaryOperator::Add:
  case BinaryOperator::Sub:
  case BinaryOperator::Mul:
    return arithmetic(op, lhs, rhs);
  case BinaryOperator::Div:
    return divide(lhs, rhs);
  case BinaryOperator::FloorDiv:
  case BinaryOperator::Mod:
    return divideIntegers(op, lhs, rhs);
  default:
    return bitwise(op, lhs, rhs);
  }
}

TileBuilder::Value TileBuilder::pointerBinary(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  bool isAdd = op == BinaryOperator::Add, isSub = op == BinaryOperator::Sub;
  TypedValue pointer = lhs, offset = rhs;
  if (isAdd && rhs.dtype.isPointer)
    std::swap(pointer, offset);
  if ((!isAdd && !isSub) || !pointer.dtype.isPointer || !offset.dtype.isInt())
    return operandError(Code::PointerArithmetic,
                        "`" + symbolOf(op).str() + "` is not defined on " + lhs.dtype.str() +
                            " and " + rhs.dtype.str(),
                        "a pointer takes integer offsets: pointer + int, int + pointer, pointer - "
                        "int. " +
                            std::string(kPointerHint),
                        {lhs, rhs});
  OrError<llvm::SmallVector<int64_t>> shape = commonShape({lhs, rhs});
  if (!shape)
    return shape.error();
  // Offsets are signed; a narrow unsigned one, or one about to be negated, may need one bit more.
  bool isNarrowUnsigned = !offset.dtype.isSigned() && offset.dtype.bits() < 64;
  if (isNarrowUnsigned || (isSub && offset.dtype.bits() < 64))
    offset = convert(offset, findDType("int64"));
  if (isSub)
    offset.value = create<arith::SubIOp>(constantLike(offset, offset.dtype, 0).value, offset.value);
  pointer = growTo(pointer, *shape);
  return typed(create<tile::AddPtrOp>(pointer.value, growTo(offset, *shape).value), pointer.dtype);
}

TileBuilder::Value TileBuilder::arithmetic(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  Pair operands = promote(lhs, rhs);
  if (!operands)
    return operands.error();
  DType dtype = operands->first.dtype, computed = arithmeticDTypeOf(dtype);
  TypedValue left = convert(operands->first, computed), right = convert(operands->second, computed);
  mlir::Value result;
  bool isFloat = left.dtype.isFloat();
  if (op == BinaryOperator::Add)
    result = isFloat ? create<arith::AddFOp>(left.value, right.value)
                     : create<arith::AddIOp>(left.value, right.value);
  else if (op == BinaryOperator::Sub)
    result = isFloat ? create<arith::SubFOp>(left.value, right.value)
                     : create<arith::SubIOp>(left.value, right.value);
  else
    result = isFloat ? create<arith::MulFOp>(left.value, right.value)
                     : create<arith::MulIOp>(left.value, right.value);
  checkOverflow(op, left, right, result);
  return convert(typed(result, computed), dtype);
}

TileBuilder::Value TileBuilder::divide(TypedValue lhs, TypedValue rhs) {
  DType dtype = findDType("float32");
  if (lhs.dtype.isFloat() || rhs.dtype.isFloat())
    dtype = promoteDTypes(lhs, rhs, true);
  OrError<std::vector<TypedValue>> operands = convertAll({lhs, rhs}, dtype);
  if (!operands)
    return operands.error();
  return typed(quotientOf((*operands)[0], (*operands)[1], /*isExact=*/false), dtype);
}

/// A GPU divides float32 several times faster when it may multiply by a reciprocal, within 2 units
/// in the last place.
mlir::Value TileBuilder::quotientOf(TypedValue lhs, TypedValue rhs, bool isExact) {
  bool mayUseReciprocal = !isExact && lhs.dtype.bits() <= 32;
  arith::FastMathFlags flags =
      mayUseReciprocal ? arith::FastMathFlags::arcp : arith::FastMathFlags::none;
  return create<arith::DivFOp>(lhs.value, rhs.value, flags);
}

TileBuilder::Value TileBuilder::divideIntegers(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  bool isMod = op == BinaryOperator::Mod;
  if (lhs.dtype.isFloat() || rhs.dtype.isFloat()) {
    if (!isMod)
      return operandError(Code::OperandType, "`//` is not defined on floats",
                          "write tw.floor(a / b)", {lhs, rhs});
    Pair operands = promote(lhs, rhs, /*isDivision=*/true);
    if (!operands)
      return operands.error();
    return typed(create<arith::RemFOp>(operands->first.value, operands->second.value),
                 operands->first.dtype);
  }
  // A literal takes the other's sign.
  if (lhs.isLiteral == rhs.isLiteral && haveMixedSigns(lhs.dtype, rhs.dtype))
    return operandError(Code::MixedSigns,
                        "Cannot use `" + symbolOf(op).str() + "` with " + lhs.dtype.str() +
                            " and " + rhs.dtype.str() + " because they have different signedness",
                        "cast one operand to the sign of the other, as in x.to(tw.int32)",
                        {lhs, rhs});
  Pair operands = promote(lhs, rhs);
  if (!operands)
    return operands.error();
  auto [left, right] = *operands;
  mlir::Value result;
  if (left.dtype.isSigned())
    result = isMod ? create<arith::RemSIOp>(left.value, right.value)
                   : create<arith::DivSIOp>(left.value, right.value);
  else
    result = isMod ? create<arith::RemUIOp>(left.value, right.value)
                   : create<arith::DivUIOp>(left.value, right.value);
  return typed(result, left.dtype);
}

TileBuilder::Value TileBuilder::bitwise(BinaryOperator op, TypedValue lhs, TypedValue rhs) {
  if (!lhs.dtype.isInt() || !rhs.dtype.isInt())
    return operandError(Code::OperandType,
                        "invalid operands of type " + lhs.dtype.str() + " and " + rhs.dtype.str() +
                            ": `" + symbolOf(op).str() + "` needs integers or bools",
                        "cast with .to(tw.int32), or with .to(tw.int32, bitcast=True) for the bits",
                        {lhs, rhs});
  Pair operands = promote(lhs, rhs);
  if (!operands)
    return operands.error();
  mlir::Value left = operands->first.value, right = operands->second.value, result;
  DType dtype = operands->first.dtype;
  // What moves in at the top is the sign of the operand that is shifted, whatever type the result
  // has; a number has the type that it takes.
  bool keepsSign = lhs.isLiteral ? dtype.isSigned() : lhs.dtype.isSigned();
  if (op == BinaryOperator::LShift)
    result = create<arith::ShLIOp>(left, right);
  else if (op == BinaryOperator::RShift)
    result = keepsSign ? create<arith::ShRSIOp>(left, right) : create<arith::ShRUIOp>(left, right);
  else if (op == BinaryOperator::BitAnd)
    result = create<arith::AndIOp>(left, right);
  else if (op == BinaryOperator::BitOr)
    result = create<arith::OrIOp>(left, right);
  else
    result = create<arith::XOrIOp>(left, right);
  return typed(result, dtype);
}

//===-- Comparison, logic, selection ---------------------------------------------------------===//

static arith::CmpFPredicate floatPredicate(Comparison op) {
  using P = arith::CmpFPredicate;
  static constexpr P predicates[] = {P::OLT, P::OLE, P::OGT, P::OGE, P::OEQ, P::UNE};
  return predicates[static_cast<int>(op)];
}

static arith::CmpIPredicate intPredicate(Comparison op, bool isSigned) {
  using P = arith::CmpIPredicate;
  static constexpr P signedPredicates[] = {P::slt, P::sle, P::sgt, P::sge, P::eq, P::ne};
  static constexpr P unsignedPredicates[] = {P::ult, P::ule, P::ugt, P::uge, P::eq, P::ne};
  return (isSigned ? signedPredicates : unsignedPredicates)[static_cast<int>(op)];
}

TileBuilder::Value TileBuilder::compare(Comparison op, TypedValue lhs, TypedValue rhs) {
  if (lhs.dtype.isPointer || rhs.dtype.isPointer) {
    if (lhs.dtype != rhs.dtype)
      return pointerAsNumber(lhs.dtype.isPointer && rhs.dtype.isPointer
                                 ? "pointers to different types are compared"
                                 : "a pointer is compared with a number",
                             {lhs, rhs});
    lhs = addresses(lhs);
    rhs = addresses(rhs);
  }
  Pair operands = promote(lhs, rhs);
  if (!operands)
    return operands.error();
  DType computed = arithmeticDTypeOf(operands->first.dtype);
  TypedValue left = convert(operands->first, computed), right = convert(operands->second, computed);
  mlir::Value result =
      left.dtype.isFloat()
          ? create<arith::CmpFOp>(floatPredicate(op), left.value, right.value)
          : create<arith::CmpIOp>(intPredicate(op, left.dtype.isSigned()), left.value, right.value);
  return typed(result, findDType("int1"));
}

TileBuilder::Value TileBuilder::unary(UnaryOperator op, TypedValue operand) {
  if (op == UnaryOperator::Not) {
    Value condition = truth(operand);
    if (!condition)
      return condition.error();
    return typed(create<arith::XOrIOp>(condition->value, allOnesLike(*condition)),
                 condition->dtype);
  }
  if (operand.dtype.isPointer)
    return operandError(Code::PointerArithmetic, "this operator is not defined on pointers",
                        kPointerHint, operand);
  if (op == UnaryOperator::UAdd)
    return operand;
  if (op == UnaryOperator::USub) {
    DType computed = arithmeticDTypeOf(operand.dtype);
    if (operand.dtype.isFloat())
      return convert(typed(create<arith::NegFOp>(convert(operand, computed).value), computed),
                     operand.dtype);
    TypedValue zero = constantLike(operand, operand.dtype, 0);
    mlir::Value negated = create<arith::SubIOp>(zero.value, operand.value);
    checkOverflow(BinaryOperator::Sub, zero, operand, negated);
    return typed(negated, operand.dtype);
  }
  if (operand.dtype.isFloat())
    return operandError(Code::OperandType, "`~` needs an integer or a bool",
                        "cast with .to(tw.int32, bitcast=True) for the bits", operand);
  return typed(create<arith::XOrIOp>(operand.value, allOnesLike(operand)), operand.dtype);
}

TileBuilder::Value TileBuilder::logical(bool isAnd, TypedValue lhs, TypedValue rhs) {
  Pair operands = broadcast(lhs, rhs);
  if (!operands)
    return operands.error();
  Value left = truth(operands->first), right = truth(operands->second);
  if (!left || !right)
    return left ? right.error() : left.error();
  mlir::Value result = isAnd ? create<arith::AndIOp>(left->value, right->value)
                             : create<arith::OrIOp>(left->value, right->value);
  return typed(result, left->dtype);
}

TileBuilder::Value TileBuilder::logicalAnd(TypedValue lhs, TypedValue rhs) {
  return logical(true, lhs, rhs);
}

TileBuilder::Value TileBuilder::logicalOr(TypedValue lhs, TypedValue rhs) {
  return logical(false, lhs, rhs);
}

TileBuilder::Value TileBuilder::where(TypedValue condition, TypedValue lhs, TypedValue rhs) {
  OrError<llvm::SmallVector<int64_t>> shape = commonShape({condition, lhs, rhs});
  if (!shape)
    return shape.error();
  bool hasPointer = lhs.dtype.isPointer || rhs.dtype.isPointer;
  if (hasPointer && lhs.dtype != rhs.dtype)
    return operandError(
        Code::PointerArithmetic,
        "where chooses between " + lhs.dtype.str() + " and " + rhs.dtype.str(),
        "both values must be pointers to one type, or none a pointer; cast one with "
        ".to(...)",
        {lhs, rhs}, 1);
  if (!hasPointer) {
    Pair operands = promote(lhs, rhs);
    if (!operands) {
      for (auto &label : operands.error().labels)
        ++label.first; // the condition is operand 0
      return operands.error();
    }
    std::tie(lhs, rhs) = *operands;
  }
  Value chosen = truth(condition);
  if (!chosen)
    return chosen.error();
  mlir::Value mask = growTo(*chosen, *shape).value;
  return typed(create<arith::SelectOp>(mask, growTo(lhs, *shape).value, growTo(rhs, *shape).value),
               lhs.dtype);
}

//===-- Extrema ------------------------------------------------------------------------------===//

TypedValue TileBuilder::extremumOf(bool isMaximum, TypedValue lhs, TypedValue rhs,
                                   bool propagateNan) {
  DType dtype = lhs.dtype, computed = arithmeticDTypeOf(dtype);
  mlir::Value left = convert(lhs, computed).value, right = convert(rhs, computed).value, result;
  if (lhs.dtype.isFloat() && propagateNan)
    result =
        isMaximum ? create<arith::MaximumFOp>(left, right) : create<arith::MinimumFOp>(left, right);
  else if (lhs.dtype.isFloat())
    result =
        isMaximum ? create<arith::MaxNumFOp>(left, right) : create<arith::MinNumFOp>(left, right);
  else if (lhs.dtype.isSigned())
    result = isMaximum ? create<arith::MaxSIOp>(left, right) : create<arith::MinSIOp>(left, right);
  else
    result = isMaximum ? create<arith::MaxUIOp>(left, right) : create<arith::MinUIOp>(left, right);
  return convert(typed(result, computed), dtype);
}

TileBuilder::Value TileBuilder::extremum(bool isMaximum, TypedValue lhs, TypedValue rhs,
                                         bool propagateNan) {
  Pair operands = promote(lhs, rhs);
  if (!operands)
    return operands.error();
  return extremumOf(isMaximum, operands->first, operands->second, propagateNan);
}

TileBuilder::Value TileBuilder::minimum(TypedValue lhs, TypedValue rhs, bool propagateNan) {
  return extremum(false, lhs, rhs, propagateNan);
}

TileBuilder::Value TileBuilder::maximum(TypedValue lhs, TypedValue rhs, bool propagateNan) {
  return extremum(true, lhs, rhs, propagateNan);
}

TileBuilder::Value TileBuilder::clamp(TypedValue x, TypedValue lower, TypedValue upper,
                                      bool propagateNan) {
  OrError<std::vector<TypedValue>> operands = promoteAll({x, lower, upper}, false);
  if (!operands)
    return operands.error();
  TypedValue raised = extremumOf(true, (*operands)[0], (*operands)[1], propagateNan);
  return extremumOf(false, raised, (*operands)[2], propagateNan);
}
